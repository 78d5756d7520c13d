/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/network.h"
#include "sim/training/network_reader.h"
#include "sim/training/network_forms.h"

_Static_assert(LAYER_INPUTS_MAX == 8, "a message says 8");

static const char input_name[] = "input";

/* ---- values ---- */

bool read_size(struct network_reader *reader, const struct cfg_node *node, const char *thing,
	       const char *name, size_t *value)
{
	double number;
	if (!cfg_number(node, &number) || number != floor(number) || number < 1 ||
	    number > LAYER_SIZE_MAX) {
		const char *text = cfg_scalar_text(reader->arena, node);
		return diag_error(reader->diag, cfg_origin(node),
				  "%s '%s': %s is %s (write a whole number from 1 to %d)", thing,
				  name, cfg_name(node) ? cfg_name(node) : "an element",
				  text ? text : "not a number", LAYER_SIZE_MAX);
	}
	*value = (size_t)number;
	return true;
}

bool read_sides(struct network_reader *reader, const struct cfg_node *layer, const char *key,
		const char *thing, const char *name, size_t sides[SIDES])
{
	const struct cfg_node *node = cfg_child(layer, key);
	if (node == NULL)
		return true;
	/* reader->network is set once the image is known: an image of three sides is a volume */
	bool volume = reader->network ? reader->network->image_depth > 1 : cfg_count(node) == SIDES;
	if (!cfg_is_list(node)) {
		if (!read_size(reader, node, thing, name, &sides[0]))
			return false;
		sides[1] = sides[0];
		sides[2] = volume ? sides[0] : 1;
		return true;
	}
	if (cfg_count(node) != (volume ? 3 : 2))
		return diag_error(reader->diag, cfg_origin(node),
				  "%s '%s': %s has %zu numbers (write %s = [%sheight, width])",
				  thing, name, key, cfg_count(node), key, volume ? "depth, " : "");
	sides[2] = 1;
	return (!volume || read_size(reader, cfg_at(node, 0), thing, name, &sides[2])) &&
	       read_size(reader, cfg_at(node, volume), thing, name, &sides[0]) &&
	       read_size(reader, cfg_at(node, volume + 1), thing, name, &sides[1]);
}

bool read_flag(struct network_reader *reader, const struct cfg_node *layer, const char *key,
	       const char *name, bool *value)
{
	const struct cfg_node *node = cfg_child(layer, key);
	if (node == NULL || cfg_bool(node, value))
		return true;
	return diag_error(reader->diag, cfg_origin(node),
			  "layer '%s': %s has the wrong type (write true or false)", name, key);
}

/* ---- where a line takes its input from ---- */

static void unknown_from(struct network_reader *reader, const struct cfg_node *node, size_t index,
			 const char *text)
{
	const char **names = ARENA_ARRAY(reader->arena, index, const char *);
	size_t count = 0;
	const char *near;
	for (size_t i = 0; i < index; i++)
		if (reader->lines[i].name != NULL)
			names[count++] = reader->lines[i].name;
	near = diag_nearest(text, names, count);
	diag_error(reader->diag, cfg_origin(node),
		   "layer '%s': from = '%s' is not the name of a layer (%s%s%swrite the name of an "
		   "earlier layer)",
		   reader->lines[index].name, text, near ? "did you mean '" : "", near ? near : "",
		   near ? "'? " : "");
}

/* Finds the earlier line that node names. Returns false after an error. */
static bool read_one_from(struct network_reader *reader, const struct cfg_node *node, size_t index,
			  size_t *from)
{
	const char *text = cfg_text(node);
	size_t found;
	if (text == NULL)
		return diag_error(
			reader->diag, cfg_origin(node),
			"layer '%s': from has the wrong type (write from = \"conv1\" or from = "
			"[\"a\", \"b\"])",
			reader->lines[index].name);
	found = lines_find(reader, index, text);
	if (found == NO_LINE) {
		unknown_from(reader, node, index, text);
		return false;
	}
	if (found >= index)
		return diag_error(
			reader->diag, cfg_origin(node),
			"layer '%s': from = '%s' is %s, but a layer's input must be an earlier "
			"layer (%s)",
			reader->lines[index].name, text,
			found == index ? "the layer itself" : "a later layer",
			found == index ? "write the name of an earlier layer"
				       : "move this layer below it");
	reader->lines[found].consumed = true;
	*from = found;
	return true;
}

/* Finds the lines that are the inputs of a line. Returns false after an error. */
static bool read_from(struct network_reader *reader, const struct cfg_node *layer, size_t index,
		      const struct form *form, size_t from[LAYER_INPUTS_MAX], size_t *count)
{
	const struct cfg_node *node = cfg_child(layer, "from");
	const char *name = reader->lines[index].name;
	bool many = node != NULL && cfg_is_list(node);
	bool good = true;
	*count = many ? cfg_count(node) : 1;
	if (form->joins ? *count < 2 || *count > LAYER_INPUTS_MAX : *count != 1)
		return diag_error(reader->diag,
				  node ? cfg_origin(node) : reader->lines[index].origin,
				  "layer '%s': %s takes %s, not %zu (write from = %s)", name,
				  form->op, form->joins ? "2 to 8 inputs" : "one input", *count,
				  form->joins ? "[\"a\", \"b\"]" : "\"a\"");
	if (node == NULL) {
		from[0] = index - 1;
		reader->lines[index - 1].consumed = true;
		return true;
	}
	for (size_t i = 0; i < *count; i++)
		good &= read_one_from(reader, many ? cfg_at(node, i) : node, index, &from[i]);
	return good;
}

/* ---- lines to layers ---- */

bool append_layer(struct network_reader *reader, const struct layer_spec *spec, struct layer *layer)
{
	if (!layer_derive(reader->diag, spec, reader->layers.items, layer))
		return false;
	layer->block = reader->block;
	layer->frozen = reader->network->frozen && !spec->adapter;
	*VEC_PUSH(reader->arena, &reader->layers) = *layer;
	return true;
}

static bool read_line(struct network_reader *reader, const struct cfg_node *node, size_t index)
{
	const struct form *form;
	struct expansion *expansion;
	size_t inputs[LAYER_INPUTS_MAX];
	size_t count;
	bool broken = false;
	if (reader->lines[index].name == NULL)
		return false; /* collect_names has reported it */
	form = form_read(reader, node, reader->lines[index].name);
	if (form == NULL)
		return false;
	expansion = expansion_new(reader, index, form);
	if (!read_from(reader, node, index, form, inputs, &count) || expansion == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		broken |= reader->lines[inputs[i]].broken;
		inputs[i] = reader->lines[inputs[i]].last;
	}
	if (broken || !expansion_append(expansion, inputs, count))
		return false;
	reader->lines[index].last = reader->layers.count - 1;
	return true;
}

/* Errors of a repeated group are reported once: after one, later repetitions are not read. */
static void read_lines(struct network_reader *reader)
{
	for (size_t i = 1; i < reader->line_count; i++) {
		struct layer_line *line = &reader->lines[i];
		bool again = reader->scopes.items[line->scope].again;
		reader->block = line->scope;
		line->broken = (again && diag_count(reader->diag) > reader->errors_before) ||
			       !read_line(reader, line->node, i);
	}
}

static void check_loose_ends(struct network_reader *reader)
{
	for (size_t i = 0; i + 1 < reader->line_count; i++) {
		const struct layer_line *line = &reader->lines[i];
		if (!line->consumed)
			diag_error(reader->diag, line->origin,
				   "layer '%s': no other layer uses its output (write its name in "
				   "the `from` of a later layer, or leave it out)",
				   line->name);
	}
}

/* ---- the file ---- */

/* A sample is an image or a sequence of tokens. */
static bool read_sample(struct network_reader *reader, const struct cfg_node *group,
			struct network *network)
{
	static const struct {
		const char *key, *example;
	} images[] = {{"channels", "3"}, {"classes", "1000"}},
	  sequences[] = {{"sequence", "1024"}, {"vocabulary", "50257"}};
	const char *name = network->name ? network->name : "?";
	bool tokens = cfg_child(group, "sequence") || cfg_child(group, "vocabulary");
	size_t *const fields[2][2] = {{&network->image_channels, &network->classes},
				      {&network->sequence, &network->vocabulary}};
	size_t image[SIDES] = {0, 0, 1}, before = diag_count(reader->diag);
	for (size_t i = 0; i < 2; i++) {
		const char *key = (tokens ? sequences : images)[i].key;
		const char *example = (tokens ? sequences : images)[i].example;
		const struct cfg_node *other = cfg_child(group, images[i].key);
		const struct cfg_node *node = cfg_child(group, key);
		if (node == NULL)
			diag_error(reader->diag, cfg_origin(group),
				   "the network has no %s (write %s = %s)", key, key, example);
		else
			read_size(reader, node, "network", name, fields[tokens][i]);
		if (tokens && other)
			diag_error(reader->diag, cfg_origin(other),
				   "network '%s': %s works only with images, but the samples are "
				   "sequences (leave it out)",
				   name, images[i].key);
	}
	if (tokens)
		return diag_count(reader->diag) == before;
	if (cfg_child(group, "image") == NULL)
		diag_error(reader->diag, cfg_origin(group),
			   "the network has no image (write image = 224)");
	read_sides(reader, group, "image", "network", name, image);
	network->image_height = image[0];
	network->image_width = image[1];
	network->image_depth = image[2];
	return diag_count(reader->diag) == before;
}

const char *const served_type_names[] = {"auto", "bf16",      "fp8",   "int8", "fp4",
					 "int4", "fp8_block", "mxfp4", NULL};

static void read_weights(struct network_reader *reader, const struct cfg_node *node,
			 struct network *network)
{
	const char *text = cfg_text(node);
	size_t type = 0;
	while (text && served_type_names[type] && strcmp(served_type_names[type], text) != 0)
		type++;
	if (node && (!text || !served_type_names[type]))
		diag_error(
			reader->diag, cfg_origin(node),
			"network '%s': weights is not a number type of a checkpoint (write weights "
			"= \"fp8_block\", \"fp8\", \"fp4\", \"mxfp4\", \"int8\", \"int4\" or "
			"\"bf16\")",
			network->name ? network->name : "?");
	else
		network->weights = (enum served_type)type;
}

static bool read_head(struct network_reader *reader, const struct cfg_node *group,
		      struct network *network)
{
	static const char *const known[] = {"name",   "image",    "channels",   "classes",
					    "source", "sequence", "vocabulary", "frozen",
					    "layers", "weights"};
	size_t before = diag_count(reader->diag);
	cfg_only(reader->diag, group, known, sizeof(known) / sizeof(known[0]));
	network->name = cfg_text(cfg_child(group, "name"));
	network->source = cfg_text(cfg_child(group, "source"));
	if (network->name == NULL)
		diag_error(reader->diag, cfg_origin(group),
			   "the network has no name (write name = \"resnet50\")");
	if (network->source == NULL)
		diag_error(reader->diag, cfg_origin(group),
			   "the network has no source (write where it comes from: source = \"He et "
			   "al., arXiv:1512.03385\")");
	read_sample(reader, group, network);
	read_flag(reader, group, "frozen", network->name, &network->frozen);
	read_weights(reader, cfg_child(group, "weights"), network);
	return diag_count(reader->diag) == before;
}

static void start_layers(struct network_reader *reader, const struct network *network,
			 struct origin origin, size_t line_count)
{
	bool tokens = network->sequence > 0;
	struct layer *input;
	reader->network = network;
	reader->lines = ARENA_ARRAY(reader->arena, line_count + 1, struct layer_line);
	reader->lines[0] = (struct layer_line){.name = input_name, .origin = origin};
	reader->line_count = 1;
	input = VEC_PUSH(reader->arena, &reader->layers);
	*input = (struct layer){
		.name = input_name,
		.op = LAYER_INPUT,
		.channels = tokens ? 1 : network->image_channels,
		.height = tokens ? network->sequence : network->image_height,
		.width = tokens ? 1 : network->image_width,
		.depth = tokens ? 1 : network->image_depth,
	};
	input->output_count = (double)input->channels * tokens_of(input);
}

static void check_classes(struct network_reader *reader, const struct network *network)
{
	const struct layer_line *line = &reader->lines[reader->line_count - 1];
	const struct layer *last = &reader->layers.items[reader->layers.count - 1];
	if (network->sequence > 0 && last->op != LAYER_CROSS_ENTROPY && last->op != LAYER_LOSSES)
		diag_error(reader->diag, line->origin,
			   "layer '%s': the last layer of a network of sequences must be a loss "
			   "(write "
			   "op = \"cross_entropy\", or losses for a sum of several)",
			   line->name);
	else if (network->sequence == 0 && last->op != LAYER_LOSSES &&
		 last->channels != network->classes &&
		 last->output_count != (double)network->classes)
		diag_error(reader->diag, line->origin,
			   "layer '%s': the output of the last layer has %zu x %zu x %zu elements, "
			   "but classes is %zu (make them the same)",
			   line->name, last->channels, last->height, last->width, network->classes);
}

size_t network_expert_top(const struct network *network)
{
	for (size_t i = 0; i < network->layer_count; i++)
		if (network->layers[i].op == LAYER_ROUTE)
			return network->layers[i].expert_top;
	return 0;
}

const struct network *network_read(struct arena *arena, struct diag *diag,
				   const struct cfg_node *file, size_t sequence)
{
	static const char *const known[] = {"network"};
	struct network_reader reader = {
		.arena = arena, .diag = diag, .errors_before = diag_count(diag)};
	struct network *network = ARENA_NEW(arena, struct network);
	const struct cfg_node *group = cfg_child(file, "network");
	const struct cfg_node *list = cfg_child(group, "layers");
	size_t before = diag_count(diag);
	cfg_only(diag, file, known, 1);
	if (group == NULL || !cfg_is_group(group)) {
		diag_error(diag, cfg_origin(file),
			   "the file has no group network (write network = { name = ...; "
			   "layers = ( ... ); };)");
		return NULL;
	}
	if (list == NULL || !cfg_is_list(list) || cfg_count(list) == 0)
		diag_error(diag, cfg_origin(list ? list : group),
			   "the network has no layers (write layers = ( { name = \"conv1\"; op = "
			   "\"conv\"; ... } );)");
	if (lines_count(list) > LINES_MAX)
		diag_error(diag, cfg_origin(list),
			   "the network has more than %d layers (write smaller repeats)",
			   LINES_MAX);
	if (!read_head(&reader, group, network) || diag_count(diag) != before)
		return NULL;
	if (sequence > 0 && network->sequence > 0)
		network->sequence = sequence;
	start_layers(&reader, network, cfg_origin(group), lines_count(list));
	lines_collect(&reader, list);
	read_lines(&reader);
	if (diag_count(diag) == before) {
		check_loose_ends(&reader);
		check_classes(&reader, network);
	}
	if (diag_count(diag) != before)
		return NULL;
	network->layer_count = reader.layers.count;
	network_totals(network, reader.layers.items);
	return network;
}

bool layer_is_loss(const struct layer *layer)
{
	return layer->op == LAYER_SOFTMAX || layer->op == LAYER_REGRESSION ||
	       layer->op == LAYER_CROSS_ENTROPY || layer->op == LAYER_LOSSES;
}

double network_outputs_count(const struct network *network)
{
	double count = 0;
	for (size_t i = 0; i < network->layer_count; i++)
		if (layer_is_loss(&network->layers[i]) && network->layers[i].op != LAYER_LOSSES)
			count += network->layers[i].input_count_total;
	return count;
}
