/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks: a small one is counted by hand, and the shipped ones are compared with published sizes
 * (calib/measured/facts_models.tsv). The test must run from the root folder. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/network.h"
#include "tests/test.h"

static const double mebibyte = 1048576;

static const struct network *read_text(struct arena *arena, const char *text)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file = cfg_read_text(arena, diag, "tiny.cfg", text);
	const struct network *network = file ? network_read(arena, diag, file, 0) : NULL;

	diag_print(diag, stdout);
	return network;
}

static const struct network *shipped(struct arena *arena, const char *name)
{
	struct diag *diag = diag_new(arena);
	const char *path = arena_printf(arena, "models/networks/%s.cfg", name);
	const struct cfg_node *file = cfg_read(arena, diag, path);
	const struct network *network = file ? network_read(arena, diag, file, 0) : NULL;

	diag_print(diag, stdout);
	if (CHECK(network != NULL))
		CHECK_TEXT(network->name, name);
	return network;
}

static const struct layer *find(const struct network *network, const char *name)
{
	for (size_t i = 0; i < network->layer_count; i++)
		if (strcmp(network->layers[i].name, name) == 0)
			return &network->layers[i];
	printf("  no layer '%s' in %s\n", name, network->name);
	return NULL;
}

static size_t count_op(const struct network *network, enum layer_op op)
{
	size_t count = 0;

	for (size_t i = 0; i < network->layer_count; i++)
		count += network->layers[i].op == op;
	return count;
}

/* ---- by hand ---- */

/* A layer of a block can name the layer before all blocks, or one of its own block. */
static void names_are_looked_up_in_the_block_and_around_it(void)
{
	static const char text[] =
		"network = { name = \"n\"; sequence = 4; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 2; layers = (\n"
		"  { name = \"p\"; op = \"linear\"; out = 8; },\n"
		"  { name = \"s\"; op = \"add\"; from = [\"p\", \"e\"]; } ); },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, text);
	size_t sums = 0;
	for (size_t i = 0; network && i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		if (layer->op != LAYER_ADD)
			continue;
		CHECK(layer->input_count == 2 && layer->inputs[0] == i - 1);
		CHECK_TEXT(network->layers[layer->inputs[1]].name, "e");
		sums++;
	}
	CHECK(sums == 2);
	arena_free(arena);
}

/* image 5 x 5 x 3
 *   a  conv 3 x 3 / 2, valid: (5 - 3) / 2 + 1 = 2, so 2 x 2 x 4 = 16 numbers;
 *      3*3*3*4 = 108 weights, 16 * 27 = 432 MACs; batch norm 4 + 4, 2 x 4 moving
 *   b  conv 1 x 1: 16 numbers; 16 weights, 64 MACs; bias 4
 *   s  sum of a and b: 16;  j  s joined with a: 8 x 2 x 2 = 32
 *   f  fc: 32 * 2 = 64 weights and MACs; bias 2 */
static const char tiny[] =
	"network = { name = \"tiny\"; image = 5; channels = 3; classes = 2; source = \"by hand\";\n"
	"layers = (\n"
	"{ name = \"a\"; op = \"conv\"; kernel = [3, 3]; out = 4; stride = 2; pad = \"valid\";\n"
	"  batch_norm = true; relu = true; },\n"
	"{ name = \"b\"; op = \"conv\"; kernel = [1, 1]; out = 4; bias = true; },\n"
	"{ name = \"s\"; op = \"add\"; relu = true; from = [\"a\", \"b\"]; },\n"
	"{ name = \"j\"; op = \"concat\"; from = [\"s\", \"a\"]; },\n"
	"{ name = \"f\"; op = \"fc\"; out = 2; bias = true; },\n"
	"{ name = \"loss\"; op = \"softmax\"; }\n"
	"); };\n";

static void small_network_has_the_counts_by_hand(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);

	if (CHECK(network != NULL)) {
		CHECK(network->layer_count == 12); /* input, a + 2, b + 1, s + 1, j, f + 1, loss */
		CHECK(network->parameters_count == 108 + 8 + 16 + 4 + 64 + 2);
		CHECK(network->gradient_tensors_count == 7);
		CHECK(network->macs_count == 432 + 64 + 64);
		/* image, a, its batch norm, b, s, j, f, loss; without ReLU and bias */
		CHECK(network->activations_count == 75 + 16 + 16 + 16 + 16 + 32 + 2 + 2);
	}
	arena_free(arena);
}

static void layers_expand_and_connect_by_name(void)
{
	static const char *const names[] = {"input",  "a",   "a/batch_norm", "a/relu", "b",
					    "b/bias", "s",   "s/relu",       "j",      "f",
					    "f/bias", "loss"};
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);

	if (CHECK(network != NULL && network->layer_count == 12)) {
		const struct layer *layers = network->layers;

		for (size_t i = 0; i < 12; i++)
			CHECK_TEXT(layers[i].name, names[i]);
		CHECK(layers[2].op == LAYER_BATCH_NORM && layers[2].tensor_count == 2);
		CHECK(layers[2].state_tensor_count == 2 && layers[1].state_tensor_count == 0);
		CHECK(layer_has(layers[3].op, IN_PLACE) && layer_has(layers[5].op, IN_PLACE) &&
		      !layer_has(layers[2].op, IN_PLACE));
		/* "a" is the name of the final output of a, its ReLU */
		CHECK(layers[6].input_count == 2 && layers[6].inputs[0] == 3 &&
		      layers[6].inputs[1] == 5);
		CHECK(layers[8].inputs[0] == 7 && layers[8].inputs[1] == 3);
		CHECK(layers[8].input_count_total == 32 && layers[8].channels == 8);
		CHECK(layers[9].tensor_count == 1 && layers[9].tensors[0] == 64);
	}
	arena_free(arena);
}

/* Weights and momentum (202 * 2) and moving averages (8) in fp32, gradients 202, ten images with
 * 175 kept numbers, and 32 + 16 + 16 gradients of the join. */
static void memory_matches_hand_calculation(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);

	if (CHECK(network != NULL)) {
		CHECK(network_memory_B(network, 10, 4, 1, 1000, true) ==
		      412 * 4 + 202 * 4 + 10 * (175 + 64) * 4 + 1000);
		/* fp16: fp32 variables, their cast copy, fp16 gradients and images */
		CHECK(network_memory_B(network, 10, 2, 0, 0, true) ==
		      210 * 4 + 202 * 2 + 202 * 2 + 10 * (175 + 64) * 2);
	}
	arena_free(arena);
}

/* A 1 x 7 kernel has height 1 and width 7. Same: ceil(9 / 2) = 5. Valid: width 5 with a kernel of 2
 * and stride 3 gives 2; height 5 with 4 and 1 gives 2. */
static void kernels_with_different_sides_have_their_shapes(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(
		arena,
		"network = { name = \"n\"; image = 9; channels = 2; classes = 12; source = \"s\";\n"
		"layers = ( { name = \"w\"; op = \"conv\"; kernel = [1, 7]; out = 3; pad = "
		"\"valid\"; },\n"
		"{ name = \"p\"; op = \"max_pool\"; kernel = 3; stride = [2, 1]; },\n"
		"{ name = \"q\"; op = \"avg_pool\"; kernel = [4, 2]; stride = [1, 1]; pad = "
		"\"valid\"; },\n"
		"{ name = \"g\"; op = \"global_pool\"; from = \"w\"; },\n"
		"{ name = \"gj\"; op = \"fc\"; out = 12; },\n"
		"{ name = \"r\"; op = \"fc\"; out = 12; from = \"q\"; },\n"
		"{ name = \"z\"; op = \"add\"; from = [\"gj\", \"r\"]; } ); };\n");

	if (CHECK(network != NULL)) {
		const struct layer *w = find(network, "w"), *p = find(network, "p");
		const struct layer *q = find(network, "q"), *g = find(network, "g");

		CHECK(w->channels == 3 && w->height == 9 && w->width == 3);
		CHECK(w->tensors[0] == 1 * 7 * 2 * 3 && w->macs == 9 * 3 * 3 * 14);
		CHECK(p->height == 5 && p->width == 3);
		CHECK(q->height == 2 && q->width == 2);
		CHECK(g->op == LAYER_AVG_POOL && g->height == 1 && g->width == 1 &&
		      g->channels == 3);
		CHECK(find(network, "r")->tensors[0] == 3 * 2 * 2 * 12);
	}
	arena_free(arena);
}

/* ---- the shipped networks ---- */

/* Returns true if value, rounded like fact, equals it. */
static bool rounds_to(double value, const char *fact)
{
	const char *dot = strchr(fact, '.');
	char text[32];

	snprintf(text, sizeof text, "%.*f", dot ? (int)strlen(dot + 1) : 0, value);
	return strcmp(text, fact) == 0;
}

/* One rule applies to all rows of a column: a value agrees if it rounds to the published digits or
 * is within the tolerance. */
static bool agrees(const char *name, const char *what, double value, const char *fact,
		   double tolerance_ratio)
{
	double published = strtod(fact, NULL);

	if (strcmp(fact, "NA") == 0 || rounds_to(value, fact) ||
	    fabs(value / published - 1) <= tolerance_ratio)
		return true;
	printf("  %s: %s is %g, published %s\n", name, what, value, fact);
	return false;
}

static void shipped_networks_match_published_facts(void)
{
	FILE *facts = fopen("calib/measured/facts_models.tsv", "r");
	char line[256], name[32], image[8], params[16], tensors[8], macs[16], activations[8];
	size_t rows = 0;

	if (!CHECK(facts != NULL))
		return;
	while (fgets(line, sizeof line, facts) != NULL) {
		struct arena *arena = arena_new();
		const struct network *network;

		if (line[0] != '#' && strncmp(line, "model\t", 6) != 0 &&
		    sscanf(line, "%31s %7s %15s %7s %15s %7s", name, image, params, tensors, macs,
			   activations) == 6 &&
		    (network = shipped(arena, name)) != NULL) {
			rows++;
			CHECK(network->image_height == (size_t)atoi(image));
			CHECK(agrees(name, "Mparameters", network->parameters_count / 1e6, params,
				     0.005));
			CHECK(agrees(name, "gradient tensors", network->gradient_tensors_count,
				     tensors, 0));
			CHECK(agrees(name, "GMAC", network->macs_count / 1e9, macs, 0.12));
			CHECK(agrees(name, "MiB of activations",
				     network->activations_count * 4 / mebibyte, activations, 0.12));
		}
		arena_free(arena);
	}
	fclose(facts);
	CHECK(rows == 9);
}

/* Exact numbers from the papers' tables: weights + biases (vgg), weights + 2 per channel of batch
 * norm (resnet), each with 1001 classes (+ 4097 or 2049). */
static void parameter_counts_are_exact(void)
{
	static const struct {
		const char *name;
		double parameters;
	} rows[] = {
		{"vgg16", 138357544 + 4097},    {"vgg19", 143667240 + 4097},
		{"resnet50", 25557032 + 2049},  {"resnet101", 44549160 + 2049},
		{"resnet152", 60192808 + 2049},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].name);

		if (network != NULL)
			CHECK_NEAR(network->parameters_count, rows[i].parameters, 0);
		arena_free(arena);
	}
}

/* The published 26 MiB of GoogLeNet's activations include two local response normalisations, of 64
 * and 192 channels with 56 pixels. tf_cnn_benchmarks omits them. There is no other difference. */
static void googlenet_lacks_only_its_response_normalisations(void)
{
	struct arena *arena = arena_new();
	const struct network *network = shipped(arena, "googlenet");

	if (network != NULL)
		CHECK(rounds_to((network->activations_count + (64 + 192) * 56 * 56) * 4 / mebibyte,
				"26"));
	arena_free(arena);
}

static void layer_shapes_match_the_papers(void)
{
	static const struct {
		const char *network, *layer;
		size_t channels, pixels;
	} rows[] = {
		{"alexnet", "conv1", 64, 55},       {"alexnet", "pool5", 256, 6},
		{"alexnet_tf", "conv4", 384, 13},   {"vgg16", "pool5", 512, 7},
		{"vgg19", "conv3_4", 256, 56},      {"googlenet", "incept3a", 256, 28},
		{"googlenet", "incept3b", 480, 28}, {"googlenet", "incept4a", 512, 14},
		{"googlenet", "incept4e", 832, 14}, {"googlenet", "incept5b", 1024, 7},
		{"resnet50", "conv1", 64, 112},     {"resnet50", "res2_3", 256, 56},
		{"resnet50", "res3_4", 512, 28},    {"resnet101", "res4_23", 1024, 14},
		{"resnet152", "res5_3", 2048, 7},   {"inception3", "conv5", 192, 71},
		{"inception3", "a1", 256, 35},      {"inception3", "a3", 288, 35},
		{"inception3", "c4", 768, 17},      {"inception3", "d", 1280, 8},
		{"inception3", "e2", 2048, 8},      {"inception4", "stem_b", 192, 71},
		{"inception4", "a4", 384, 35},      {"inception4", "b7", 1024, 17},
		{"inception4", "c3", 1536, 8},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].network);
		const struct layer *layer = network ? find(network, rows[i].layer) : NULL;

		if (!CHECK(layer != NULL && layer->channels == rows[i].channels &&
			   layer->height == rows[i].pixels && layer->width == rows[i].pixels))
			printf("  %s %s\n", rows[i].network, rows[i].layer);
		arena_free(arena);
	}
}

static void numbers_of_convolutions_and_batch_norms_match(void)
{
	static const struct {
		const char *name;
		size_t convs, batch_norms, tensors_each; /* tensors of each batch norm */
	} rows[] = {
		{"googlenet", 57, 0, 0},     {"vgg16", 13, 0, 0},        {"resnet50", 53, 53, 2},
		{"resnet101", 104, 104, 2},  {"resnet152", 155, 155, 2}, {"inception3", 94, 94, 1},
		{"inception4", 149, 149, 1},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].name);

		if (network == NULL)
			continue;
		CHECK(count_op(network, LAYER_CONV) == rows[i].convs);
		CHECK(count_op(network, LAYER_BATCH_NORM) == rows[i].batch_norms);
		for (size_t l = 0; l < network->layer_count; l++) {
			const struct layer *layer = &network->layers[l];

			if (layer->op == LAYER_BATCH_NORM)
				CHECK(layer->tensor_count == rows[i].tensors_each);
			for (size_t k = 0; k < layer->input_count; k++)
				CHECK(layer->inputs[k] < l);
		}
		arena_free(arena);
	}
}

/* A GTX 1050 Ti (4 GiB) trained ResNet-50 with 32 images (flexdirect_1050ti.tsv); GPUs with 16 GB
 * train Inception v3 with 128. */
static void memory_fits_gpus_that_trained_the_network(void)
{
	struct arena *arena = arena_new();
	const struct network *resnet = shipped(arena, "resnet50");
	const struct network *inception = shipped(arena, "inception3");

	if (resnet != NULL && inception != NULL) {
		CHECK(network_memory_B(resnet, 32, 4, 0, 256 * mebibyte, true) < 4096 * mebibyte);
		CHECK(network_memory_B(resnet, 64, 4, 0, 0, true) > 4096 * mebibyte);
		CHECK(network_memory_B(inception, 128, 4, 1, 1024 * mebibyte, true) <
		      16384 * mebibyte);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(names_are_looked_up_in_the_block_and_around_it),
	TEST(small_network_has_the_counts_by_hand),
	TEST(layers_expand_and_connect_by_name),
	TEST(memory_matches_hand_calculation),
	TEST(kernels_with_different_sides_have_their_shapes),
	TEST(shipped_networks_match_published_facts),
	TEST(parameter_counts_are_exact),
	TEST(googlenet_lacks_only_its_response_normalisations),
	TEST(layer_shapes_match_the_papers),
	TEST(numbers_of_convolutions_and_batch_norms_match),
	TEST(memory_fits_gpus_that_trained_the_network),
};

int main(void)
{
	return TEST_MAIN(tests);
}
