/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fit takes the number of a row from one point without draws, and `validate` takes it from a
 * prediction. For each measured quantity both are the same number. */
#include "sim/analysis/dataset.h"
#include "tests/own_folder.h"

enum { ROWS_MOST = 24 };

/* Predicts a dataset with this text, whose rows have a measured value of 2 each, in these
 * quantities. Writes the predictions to `predicted` and returns their number after it checked that
 * points have the same ones. */
static size_t both(const char *text, const char *const *quantities, double *predicted)
{
	const char *lines = "\"what\\tvalue\"", *named = "", *broken = NULL;
	const char *root = data_root_find(arena);
	const struct validation_input input = {.data_root = root, .options = {.seed = 1}};
	size_t count = 0;
	for (; quantities[count]; count++) {
		const char *name = quantities[count];
		const char *what = arena_printf(arena, "%s%zu", name, count);
		lines = arena_printf(arena, "%s, \"%s\\t2\"", lines, what);
		named = arena_printf(arena, "%s%s{ is = \"%s\"; quantity = \"%s\"; }", named,
				     count ? ", " : "", what, name);
	}
	write_file("own.cfg",
		   arena_printf(arena,
				"dataset = { name = \"own\"; title = \"t\"; source = \"s\"; lines "
				"= [%s]; value = \"value\"; role = \"test\"; label = [\"what\"]; "
				"quantity_column = \"what\"; quantities = ( %s ); %s };\n",
				lines, named, text));
	diag = diag_new(arena);
	const struct dataset *dataset =
		dataset_read(arena, diag, root, path_of("own.cfg"), NULL, 0);
	remove(path_of("own.cfg"));
	const struct dataset_outcome *outcome =
		dataset ? dataset_evaluate(arena, diag, dataset, &input, &broken) : NULL;
	diag_print(diag, stdout);
	if (!CHECK(outcome != NULL && !broken && dataset->row_count == count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		double point = dataset_point(arena, diag, &dataset->rows[i], root, NULL, 0, 1, NULL,
					     &broken);
		predicted[i] = outcome->rows[i].predicted.value;
		if (!CHECK(point > 0) || !CHECK_NEAR(point / predicted[i], 1, 1e-12))
			printf("  quantity %s\n", quantities[i]);
		CHECK_NEAR(outcome->rows[i].error, predicted[i] / 2 - 1, 1e-12);
	}
	return count;
}

/* Eight GPUs read 2048 tokens of each of the 16 sequences of a step. */
static void quantities_of_a_plan(void)
{
	static const char *const quantities[] = {"throughput", "time",    "tokens",
						 "tokens_gpu", "elapsed", "tflops_gpu",
						 "mfu",        "hfu",     NULL};
	double x[ROWS_MOST];
	if (both("settings = [\"case.topology=dgx-h100\", \"case.gpus=8\", "
		 "\"case.model=gpt3-125m\", \"case.stack=pytorch-fsdp-bf16\", "
		 "\"case.exchange=nccl-2.18\", \"case.job_steps=10\", \"plan.global_batch=16\"];",
		 quantities, x) == 0)
		return;
	CHECK_NEAR(x[0] * x[1], 16, 1e-9);
	CHECK_NEAR(x[2] / x[0], 2048, 1e-9);
	CHECK_NEAR(x[2] / x[3], 8, 1e-12);
	CHECK(x[4] > 10 * x[1]);
	/* the dense peak of bf16 of an H100 is 989.4 TFLOP/s */
	CHECK_NEAR(x[5] / x[6], 989.4, 0.1);
	CHECK(x[7] >= x[6]);
}

/* Four GPUs are four times as fast as one, times the ratio to four independent GPUs. */
static void speedup_is_the_ratio_times_the_gpus(void)
{
	static const char *const quantities[] = {"ratio", "speedup", NULL};
	double x[ROWS_MOST];
	if (both("settings = [\"case.topology=dgx1-v100\", \"case.gpus=4\", "
		 "\"case.model=alexnet\", \"case.stack=pytorch\", \"case.exchange=ddp\", "
		 "\"case.batch=32\"];",
		 quantities, x) > 0)
		CHECK_NEAR(x[1] / x[0], 4, 1e-12);
}

/* The foreground job has half of the batch of the background job, and both take ten steps. */
static void quantities_of_one_of_two_jobs(void)
{
	static const char *const quantities[] = {"throughput", "time", "ratio", "elapsed", NULL};
	double one[ROWS_MOST], other[ROWS_MOST];
	static const char text[] = "case = \"closer2018-two-jobs\"; judge = \"%s\"; settings = "
				   "[\"case.job_steps=10\", \"job.foreground.batch=256\"];";
	if (both(arena_printf(arena, text, "foreground"), quantities, one) == 0 ||
	    both(arena_printf(arena, text, "background"), quantities, other) == 0)
		return;
	CHECK_NEAR(one[0] * one[1], 256, 1e-6);
	CHECK_NEAR(other[0] * other[1], 512, 1e-6);
	CHECK(one[3] > 9 * one[1] && other[3] - one[3] > 9 * (other[1] - one[1]));
}

/* Each request has sixteen tokens, also those at the ends of the measured time, in part. */
static void quantities_of_a_server(void)
{
	static const char *const quantities[] = {"tokens", "throughput",
#define SERVED(name, text, words, member, answer) text,
#include "sim/analysis/serving_measures.def"
#undef SERVED
						 NULL};
	double x[ROWS_MOST];
	size_t count = both("settings = [\"case.topology=dgx-h100\", \"case.model=llama3-8b\", "
			    "\"case.engine=vllm\", \"serve.rate=40\", \"serve.requests=40\", "
			    "\"serve.prompt=256\", \"serve.output=16\", "
			    "\"serve.output_spread=0\"];",
			    quantities, x);
	if (count == 0)
		return;
	CHECK_NEAR(x[0] / x[1], 16, 0.1);
	/* the quantiles of 50, 90, 95 and 99 % of each time are in rising order */
	for (size_t i = 2; i < count; i++)
		if (strstr(quantities[i], "_p9"))
			CHECK(x[i] >= x[i - 1]);
}

/* An observation of a fit is the number of its row divided by that of its reference; so is a gain.
 */
static void observations_and_gains_divide_by_the_reference(void)
{
	const char *root = data_root_find(arena), *broken = NULL;
	const struct predict_options options = {.seed = 1};
	write_file("own.cfg",
		   "dataset = { name = \"own\"; title = \"t\"; source = \"s\"; quantity = "
		   "\"throughput\"; settings = "
		   "[\"case.topology=dgx1-v100\", \"case.model=alexnet\", "
		   "\"case.stack=pytorch\", \"case.exchange=ddp\", \"case.batch=32\"]; dimensions "
		   "= ( { name = \"gpus\"; setting = \"case.gpus\"; values = [\"1\", \"4\"]; } ); "
		   "claims = ( { claim = \"c\"; kind = \"range\"; low = 1; high = 4; role = "
		   "\"fit\"; where = { gpus = \"4\"; }; over = { gpus = \"1\"; }; } ); };\n");
	diag = diag_new(arena);
	const struct dataset *d = dataset_read(arena, diag, root, path_of("own.cfg"), NULL, 0);
	remove(path_of("own.cfg"));
	diag_print(diag, stdout);
	if (!CHECK(d != NULL && d->observation_count == 1 && d->row_count == 2))
		return;
	double number[2];
	for (size_t i = 0; i < 2; i++)
		number[i] =
			dataset_point(arena, diag, &d->rows[i], root, NULL, 0, 1, NULL, &broken);
	double ratio =
		dataset_point(arena, diag, &d->observations[0], root, NULL, 0, 1, NULL, &broken);
	CHECK_NEAR(ratio, number[1] / number[0], 1e-12);
	CHECK(ratio > 1.5 && ratio < 4);
	struct dataset_row gain = d->observations[0];
	struct row_outcome outcome;
	gain.measure = MEASURE_GAIN;
	gain.relative = false;
	gain.measured = 2;
	CHECK_NEAR(dataset_point(arena, diag, &gain, root, NULL, 0, 1, NULL, &broken), ratio,
		   1e-12);
	if (CHECK(dataset_predict_row(arena, diag, &gain, root, NULL, &options, &broken,
				      &outcome))) {
		CHECK_NEAR(outcome.predicted.value, ratio, 1e-12);
		CHECK_NEAR(outcome.error, ratio / 2 - 1, 1e-12);
	}
	CHECK(!broken && diag_count(diag) == 0);
}

static const struct test tests[] = {
	TEST(quantities_of_a_plan),
	TEST(speedup_is_the_ratio_times_the_gpus),
	TEST(quantities_of_one_of_two_jobs),
	TEST(quantities_of_a_server),
	TEST(observations_and_gains_divide_by_the_reference),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int code = TEST_MAIN(tests);
	folder_end();
	return code;
}
