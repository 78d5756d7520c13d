/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs and jobs share cores, a GPU and a wire. The order in which a case lists them does not
 * change the results. */
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

enum { LISTED_MAX = 3 };

struct listing {
	const char *head; /* text of a case, up to the list */
	const char *items[LISTED_MAX];
	size_t count;
};

/* Three different programs on a server of two cores: one core serves two of them. */
static const struct listing programs = {
	.head = "topology = \"gpu-pool\"; runtime = \"asynchronous\"; transport = \"tcp\"; "
		"settings = [\"host.rack1.cores=2\", \"case.steps=3\"]; clients = (",
	.items = {"{ name = \"one\"; program = \"client1\"; gpu = \"gpu1\"; model = "
		  "\"resnet50\"; batch = 2; }",
		  "{ name = \"two\"; program = \"client2\"; gpu = \"gpu1\"; model = "
		  "\"googlenet\"; batch = 4; }",
		  "{ name = \"three\"; program = \"client3\"; gpu = \"gpu2\"; model = "
		  "\"alexnet_tf\"; batch = 8; }"},
	.count = 3,
};

/* Three different jobs on a host of two cores. One of the cores copies the input of two jobs. */
static const struct listing jobs = {
	.head = "topology = \"dgx1-p100\"; stack = \"tf-1.1-2017\"; model = \"alexnet_tf\"; "
		"profile = \"tf-2017-nccl1\"; exchange = \"tf-replicated-nccl1\"; settings = "
		"[\"host.*.cores=2\", \"input.source=host\", \"input.pinned=false\", "
		"\"case.steps=3\"]; jobs = (",
	.items = {"{ name = \"one\"; gpus = 1; first_gpu = 0; batch = 64; }",
		  "{ name = \"two\"; gpus = 1; first_gpu = 3; batch = 32; }",
		  "{ name = \"three\"; gpus = 1; first_gpu = 5; batch = 128; }"},
	.count = 3,
};

/* Step time of each item, by its number, in a case that lists the items in this order. */
static void step_times(const struct listing *listing, const size_t *order, double *step_s)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	char path[] = "/tmp/farwire-order-XXXXXX";
	int file = mkstemp(path);
	const char *text = arena_printf(arena, "case = { name = \"n\"; %s", listing->head);
	for (size_t i = 0; i < listing->count; i++)
		text = arena_printf(arena, "%s%s %s", text, i ? "," : "", listing->items[order[i]]);
	text = arena_printf(arena, "%s ); };\n", text);
	CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
	const struct case_request request = {.path = path, .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	remove(path);
	diag_print(diag, stdout);
	for (size_t i = 0; i < listing->count; i++)
		step_s[order[i]] = NAN;
	if (CHECK(scenario != NULL)) {
		struct point point = predict_point(arena, scenario, 1, false, NULL, NULL);
		CHECK(!point.broken && !point.failed);
		for (size_t i = 0; i < listing->count; i++)
			step_s[order[i]] = point.jobs[i].step_s;
	}
	arena_free(arena);
}

static void any_order_is_the_same(const struct listing *listing)
{
	static const size_t orders[][LISTED_MAX] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}};
	double first_s[LISTED_MAX], step_s[LISTED_MAX];
	step_times(listing, orders[0], first_s);
	for (size_t k = 1; k < sizeof orders / sizeof orders[0]; k++) {
		step_times(listing, orders[k], step_s);
		for (size_t i = 0; i < listing->count; i++)
			if (!CHECK(memcmp(&first_s[i], &step_s[i], sizeof first_s[i]) == 0))
				printf("  %s: %.17g s, then %.17g s\n", listing->items[i],
				       first_s[i], step_s[i]);
	}
}

static void order_of_clients_does_not_change_their_step_times(void)
{
	any_order_is_the_same(&programs);
}

static void order_of_jobs_does_not_change_their_step_times(void)
{
	any_order_is_the_same(&jobs);
}

static const struct test tests[] = {
	TEST(order_of_clients_does_not_change_their_step_times),
	TEST(order_of_jobs_does_not_change_their_step_times),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
