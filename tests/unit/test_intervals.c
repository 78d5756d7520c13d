/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of complete predictions. */
#include "sim/predict/draws.h"
#include "tests/case_points.h"

#define AT(field) offsetof(struct job_point, field)

enum { DRAWS = 100, SETTINGS_MAX = 512 };

struct request {
	struct arena *arena;
	struct setting settings[SETTINGS_MAX];
	size_t count;
};

static struct request request_of(struct arena *arena, const struct settings *base)
{
	struct request request = {.arena = arena};
	num_init();
	for (size_t i = 0; base->texts[i]; i++)
		request.settings[request.count++].text = base->texts[i];
	return request;
}

static void set(struct request *request, const char *text)
{
	if (CHECK(request->count < SETTINGS_MAX))
		request->settings[request->count++].text = text;
}

static const struct prediction *predicted_with(const struct request *request,
					       const struct predict_options *options)
{
	struct diag *diag = diag_new(request->arena);
	const struct case_request asked = {.settings = request->settings,
					   .setting_count = request->count,
					   .data_root = data_root_find(request->arena)};
	const char *broken;
	const struct prediction *prediction =
		predict_case(request->arena, diag, &asked, options, &broken);
	diag_print(diag, stdout);
	CHECK(prediction != NULL);
	return prediction;
}

static const struct prediction *predicted(const struct request *request, size_t draws,
					  unsigned jobs)
{
	const struct predict_options options = {.seed = 3, .draws_count = draws, .jobs = jobs};
	return predicted_with(request, &options);
}

/* Sets every number that would be drawn to its value, which makes it exact. */
static void make_exact(struct request *request)
{
	const struct prediction *p = predicted(request, 0, 1);
	for (size_t i = 0; p && i < cfg_param_count(p->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(p->resolution, i);
		if (cfg_param_varies(param))
			set(request,
			    arena_printf(request->arena, "%s=%.17g %s", param->path, param->value,
					 quantity_unit(param->row->quantity)));
	}
}

/* Only the model has an error, of 10 %: the ends of the throughput's interval are exp(-+0.1645)
 * times its value, those of the step the inverse. The ratio of the program with a local GPU
 * stays 1.
 */
static void planted_model_error_gives_its_quantiles(void)
{
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &beside_gpu);
	make_exact(&request);
	set(&request, "error.local=0.1");
	const struct prediction *p = predicted(&request, DRAWS, 2);
	CHECK(p->draws_count == DRAWS && p->failed_draws_count == 0);
	CHECK_NEAR(p->throughput.high / p->throughput.value, exp(0.16449), 0.02);
	CHECK_NEAR(p->throughput.low / p->throughput.value, exp(-0.16449), 0.02);
	CHECK_NEAR(p->step_s.high / p->step_s.value, exp(0.16449), 0.02);
	CHECK(p->ratio.low == 1 && p->ratio.high == 1);
	CHECK(p->gpu_utilization.high == 1 && p->gpu_utilization.low < 0.9);
	arena_free(arena);
}

/* Around the two draws 1 and 2, Student's t with 3 degrees of freedom (95 % point 2.353) times
 * 0.01. The lower end is the point below which 10 % of the first draw's distribution lie (10 %
 * point -1.638), the upper end likewise. One failing draw is more than 1 in 20, so then the lower
 * end is zero. */
static void model_error_is_added_around_each_draw(void)
{
	struct arena *arena = arena_new();
	struct draw_answers answers[] = {{.all = {.throughput = 1, .ratio = 1}},
					 {.all = {.throughput = 2, .ratio = 1}},
					 {.all = {.throughput = NAN, .ratio = NAN}}};
	struct draws draws = {.count = 1, .answers = answers, .error = {0.01, 3}};
	struct estimate e = draws_interval(arena, &draws, 1, -1, AT(throughput));
	CHECK_NEAR(e.low, exp(-0.02353), 2e-5);
	CHECK_NEAR(e.high, exp(0.02353), 2e-5);
	draws.count = 2;
	e = draws_interval(arena, &draws, 1, -1, AT(throughput));
	CHECK_NEAR(e.low, exp(-0.01638), 2e-5);
	CHECK_NEAR(e.high, 2 * exp(0.01638), 4e-5);
	draws.count = 3;
	e = draws_interval(arena, &draws, 1, -1, AT(throughput));
	CHECK(e.low == 0);
	draws.count = 2;
	e = draws_interval(arena, &draws, 1, -1, AT(ratio));
	CHECK(e.low == 1 && e.high == 1); /* ratios have an error of their own, here 0 */
	arena_free(arena);
}

/* One of two draws failed. Its rates count as 0, but it has no times, costs and powers. */
static void a_failed_draw_has_no_rate_and_no_time(void)
{
	enum { RATES = 5 };
	static const size_t offsets[] = {AT(throughput),
					 AT(ratio),
					 AT(gpu_utilization),
					 AT(serving.tokens_per_s),
					 AT(serving.attainment_ratio),
					 AT(step_s),
					 AT(elapsed_s),
					 AT(serving.latency_s[3]),
					 AT(serving.first_s[0]),
					 AT(serving.between_s[1]),
					 AT(energy_J),
					 AT(sample_cost),
					 AT(run_cost),
					 AT(run_J),
					 AT(power_W),
					 AT(hour_cost)};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
		struct draw_answers answers[2] = {{.all = job_point_failed(NULL)},
						  {.all = job_point_failed(NULL)}};
		*(double *)(void *)((char *)&answers[1].all + offsets[i]) = 1;
		const struct draws draws = {.count = 2, .answers = answers};
		struct estimate e = draws_interval(arena, &draws, 1, -1, offsets[i]);
		if (!CHECK(e.low == (i < RATES ? 0 : 1) && e.value == 1 && e.high == 1))
			printf("  row %zu\n", i);
	}
	arena_free(arena);
}

/* A job has an error of one GPU, which its ratio to one GPU does not have, and one of several. */
static void ratio_has_only_the_error_of_several_gpus(void)
{
	static const struct settings two = {{"case.topology=dgx1-v100", "case.model=alexnet",
					     "case.batch=64", "case.gpus=2", "exchange.noise=0"}};
	static const struct {
		const char *local, *training;
		double all, ratio;
	} rows[] = {{"error.local=0.1", "error.training=0", 0.1, 0},
		    {"error.local=0.03", "error.training=0.04", 0.05, 0.04}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct request request = request_of(arena, &two);
		make_exact(&request);
		set(&request, rows[i].local);
		set(&request, rows[i].training);
		set(&request, "error.exposed=0");
		const struct prediction *p = predicted(&request, 10, 1);
		CHECK_NEAR(log(p->throughput.high / p->throughput.value), 1.6449 * rows[i].all,
			   0.03);
		CHECK_NEAR(log(p->ratio.high / p->ratio.value), 1.6449 * rows[i].ratio, 0.03);
	}
	arena_free(arena);
}

/* A step of 1 s has 0.6 s of the local step and 0.4 s that forwarding adds. The added time has an
 * error of 0.2, so its ends are 0.4 exp(+-0.329) s: 0.288 and 0.556 s. The program that is faster
 * than local gains 0.1 of its speed, and its ends are 1 + 0.1 exp(+-0.329). */
static void error_of_forwarding_scales_the_added_time(void)
{
	struct arena *arena = arena_new();
	struct draw_answers answers[] = {{.all = {.throughput = 1, .step_s = 1, .ratio = 0.6}}};
	struct draws draws = {.count = 1, .answers = answers, .added_error = {.ratio = 0.2}};
	const double low = 0.4 * exp(-0.32897), high = 0.4 * exp(0.32897), near = 3e-3;
	struct estimate e = draws_interval(arena, &draws, 1, -1, AT(step_s));
	CHECK_NEAR(e.low, 0.6 + low, near);
	CHECK_NEAR(e.high, 0.6 + high, near);
	/* Energy and cost of a sample grow with its time; power and the cost of an hour do not. */
	answers[0].all.energy_J = answers[0].all.sample_cost = answers[0].all.power_W = 1;
	CHECK_NEAR(draws_interval(arena, &draws, 1, -1, AT(energy_J)).high, 0.6 + high, near);
	CHECK_NEAR(draws_interval(arena, &draws, 1, -1, AT(sample_cost)).low, 0.6 + low, near);
	CHECK(draws_interval(arena, &draws, 1, -1, AT(power_W)).high == 1);
	e = draws_interval(arena, &draws, 0.6, -1, AT(ratio));
	CHECK_NEAR(e.low, 0.6 / (0.6 + high), near);
	CHECK_NEAR(e.high, 0.6 / (0.6 + low), near);
	answers[0].all.ratio = 1.1;
	e = draws_interval(arena, &draws, 1.1, -1, AT(ratio));
	CHECK_NEAR(e.low, 1 + 0.1 * exp(-0.32897), near);
	CHECK_NEAR(e.high, 1 + 0.1 * exp(0.32897), near);
	/* With an error of 0.1 of the local part and hardly any added time, only that remains. */
	answers[0].all.ratio = 1 - 1e-6;
	draws.error.ratio = 0.1;
	e = draws_interval(arena, &draws, 1, -1, AT(throughput));
	CHECK_NEAR(e.low, exp(-0.16449), near);
	CHECK_NEAR(e.high, exp(0.16449), near);
	e = draws_interval(arena, &draws, 1 - 1e-6, -1, AT(ratio));
	CHECK(e.low > 1 - 1e-5 && e.high < 1);
	arena_free(arena);
}

/* A recorded program on the recorded GPU has its scatter of 0.5 % from run to run in place of the
 * error of one GPU, so its end is exp(0.00822) away. */
static void recorded_kernels_scatter_only_from_run_to_run(void)
{
	static const struct settings replay = {{"case.topology=lan-pair",
						"case.calls=recorded/lupine-toy-gpt.jsonl",
						"case.runtime=synchronous", "case.program=client",
						"error.local=0.2", "error.forwarded=0"}};
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &replay);
	make_exact(&request);
	set(&request, "error.local=0.2");
	set(&request, "error.forwarded=0");
	const struct prediction *p = predicted(&request, 8, 1);
	CHECK(p && p->ratio.value < 1 && p->throughput.high < 1.009 * p->throughput.value);
	arena_free(arena);
}

/* One of 20 draws failed, so the fifth of a hundred is 0. */
static void a_failed_draw_of_twenty_is_the_lower_end(void)
{
	struct arena *arena = arena_new();
	struct draw_answers answers[20] = {{.all = {.throughput = NAN}}};
	for (size_t i = 1; i < 20; i++)
		answers[i].all.throughput = 1;
	const struct draws draws = {
		.count = 20, .answers = answers, .error = {.ratio = 0.01, .freedom_count = 3}};
	struct estimate e = draws_interval(arena, &draws, 1, -1, AT(throughput));
	CHECK(e.low == 0 && e.high > 1);
	arena_free(arena);
}

/* Model errors make no share larger than 1, but each interval contains its value. */
static void shares_end_at_one(void)
{
	struct arena *arena = arena_new();
	struct draw_answers answers[] = {{.all = {.gpu_utilization = 0.99}}};
	struct draws draws = {
		.count = 1, .answers = answers, .error = {.ratio = 0.1, .freedom_count = 3}};
	const size_t offset = offsetof(struct job_point, gpu_utilization);
	CHECK(draws_interval(arena, &draws, 0.99, -1, offset).high == 1);
	CHECK(draws_interval(arena, &draws, 1 + 1e-9, -1, offset).high == 1 + 1e-9);
	/* nor does an error of the time that forwarding adds */
	answers[0].all.ratio = 0.6;
	draws.error.ratio = 0;
	draws.added_error.ratio = 0.2;
	CHECK(draws_interval(arena, &draws, 0.99, -1, offset).high == 1);
	arena_free(arena);
}

/* Noise is the only difference between draws, and each has its own. */
static void draws_have_different_seeds(void)
{
	static const struct settings noisy = {
		{"case.topology=dgx1-v100", "case.model=alexnet", "case.batch=64", "case.gpus=2",
		 "exchange.noise=0.05", "error.local=0", "error.training=0", "error.exposed=0"}};
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &noisy);
	make_exact(&request);
	set(&request, noisy.texts[5]);
	set(&request, noisy.texts[6]);
	set(&request, noisy.texts[7]);
	const struct prediction *p = predicted(&request, 2, 1);
	CHECK(p->drawn[0].seconds != p->drawn[1].seconds);
	arena_free(arena);
}

/* Draws of half the batch have answers of their own, which are scaled to the whole one's. */
static void draws_with_other_settings_keep_the_scale(void)
{
	static const struct settings one_gpu = {{"case.topology=dgx1-v100", "case.model=alexnet",
						 "case.batch=64", "case.gpus=1",
						 "case.job_steps=100"}};
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &one_gpu);
	make_exact(&request);
	set(&request, "error.local=0");
	const struct setting half = {.text = "case.batch=32"};
	const struct predict_options options = {.seed = 3,
						.draws_count = 2,
						.jobs = 1,
						.draw_settings = &half,
						.draw_setting_count = 1};
	const struct prediction *p = predicted_with(&request, &options);
	const struct estimate estimates[] = {p->throughput, p->step_s, p->gpu_utilization,
					     p->elapsed_s};
	for (size_t i = 0; i < sizeof estimates / sizeof estimates[0]; i++) {
		CHECK(estimates[i].value > 0);
		CHECK_NEAR(estimates[i].low, estimates[i].value, 0.01);
		CHECK_NEAR(estimates[i].high, estimates[i].value, 0.01);
	}
	arena_free(arena);
}

static void exact_case_has_no_interval(void)
{
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &beside_gpu);
	make_exact(&request);
	set(&request, "error.local=0");
	const struct prediction *p = predicted(&request, 8, 1);
	CHECK(p->draws_count == 8);
	CHECK(p->throughput.low == p->throughput.value &&
	      p->throughput.high == p->throughput.value);
	arena_free(arena);
}

/* The costs of calls and the GPU's peak: every uncertain parameter widens the interval. */
static void uncertain_parameters_widen_the_interval(void)
{
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &beside_gpu);
	set(&request, "error.local=0");
	const struct prediction *free_of = predicted(&request, 24, 1);
	make_exact(&request);
	set(&request, "error.local=0");
	const struct prediction *exact = predicted(&request, 24, 1);
	CHECK(free_of->throughput.value == exact->throughput.value);
	CHECK(free_of->throughput.high > 1.005 * free_of->throughput.value);
	arena_free(arena);
}

/* Both sides scale with one number, so their quotient is a half. Each also has its own error of
 * 0.1, Student's t with 4 degrees of freedom: 0.1 sqrt(2) times the 95 % point for 8, 1.8595. A
 * draw in which the dividend fails counts as 0; one in which the divisor fails is ignored. */
static void quotients_are_formed_for_each_draw(void)
{
	struct breakdown_part half[] = {{"1", 1}, {"2", 2}, {"3", 4}, {"4", 8}},
			      whole[] = {{"1", 2}, {"2", 4}, {"3", 8}, {"4", 16}};
	struct prediction a = {.throughput = {3, 1, 8}, .drawn_count = 4, .drawn = half},
			  b = {.throughput = {6, 2, 16}, .drawn_count = 4, .drawn = whole};
	struct estimate q = draws_quotient(&a, &b).estimate;
	CHECK(q.value == 0.5 && q.low == 0.5 && q.high == 0.5);
	struct error_part errors[] = {{"", 0.1, 4, 1, 0}};
	a.errors = b.errors = errors;
	a.error_count = b.error_count = 1;
	q = draws_quotient(&a, &b).estimate;
	CHECK_NEAR(q.low, 0.5 * exp(-0.1 * sqrt(2) * 1.8595), 1e-5);
	CHECK_NEAR(q.high, 0.5 * exp(0.1 * sqrt(2) * 1.8595), 1e-5);
	errors[0].ratio = 0;
	whole[3].seconds = 0;
	CHECK(draws_quotient(&a, &b).estimate.low == 0.5);
	half[0].seconds = 0;
	q = draws_quotient(&a, &b).estimate;
	CHECK(q.low == 0 && q.high == 0.5);
}

/* The program on one GPU is the same in both cases (equal `about`). It takes 0.9 of one step and
 * 0.5 of the other, so its error of 0.1 acts on the difference, 0.4: 1.6449 x 0.04. With another
 * program the errors are independent: hypot(0.09, 0.05). */
static void error_of_the_same_program_cancels_in_a_quotient(void)
{
	struct breakdown_part drawn[] = {{"1", 2}, {"2", 2}},
			      nearly[] = {{"1", 2}, {"2", 2 + 1e-12}};
	struct error_part error_a = {"", 0.1, 0, 0.9, 7}, error_b = {"", 0.1, 0, 0.5, 7};
	struct prediction a = {.throughput = {2, 2, 2},
			       .drawn_count = 2,
			       .drawn = drawn,
			       .errors = &error_a,
			       .error_count = 1},
			  b = a;
	b.errors = &error_b;
	b.drawn = nearly;
	CHECK_NEAR(log(draws_quotient(&a, &b).estimate.high), 1.6449 * 0.04, 1e-4);
	error_b.about = 8;
	CHECK_NEAR(log(draws_quotient(&a, &b).estimate.high), 1.6449 * hypot(0.09, 0.05), 1e-4);
	error_b = error_a;
	CHECK_NEAR(draws_quotient(&a, &b).estimate.high, 1, 1e-9);
}

/* Three of four draws are faster. With an error whose 90 % point is ln 2 on the other side, one
 * draw at twice the throughput is faster with 90 %. */
static void quotient_has_the_probability_to_be_faster(void)
{
	struct breakdown_part two[] = {{"1", 2}, {"2", 3}, {"3", 4}, {"4", 1}},
			      one[] = {{"1", 1}, {"2", 2}, {"3", 3}, {"4", 2}};
	struct prediction a = {.throughput = {2, 1, 4}, .drawn_count = 4, .drawn = two},
			  b = {.throughput = {1, 1, 3}, .drawn_count = 4, .drawn = one};
	CHECK_NEAR(draws_quotient(&a, &b).above_one, 0.75, 1e-12);
	CHECK_NEAR(draws_quotient(&a, &a).above_one, 0.5, 1e-12);
	a.drawn_count = b.drawn_count = 1;
	struct error_part error = {"", log(2) / 1.28155, 0, 1, 0}, none = {"", 0, 0, 1, 0};
	a.errors = &error;
	b.errors = &none;
	a.error_count = b.error_count = 1;
	CHECK_NEAR(draws_quotient(&a, &b).above_one, 0.9, 1e-5);
	struct prediction read = {.throughput = {2, 1, 4}}, other = {.throughput = {1, 1, 1}};
	/* The low end of the quotient is 1, so it is above 1 with 95 %. */
	CHECK_NEAR(draws_quotient(&read, &other).above_one, 0.95, 1e-9);
	read.throughput = (struct estimate){2, 2, 2};
	CHECK(isnan(draws_quotient(&read, &other).above_one));
}

/* With exact parameters the model error causes everything. Without it, the one uncertain parameter
 * causes everything, and measuring it would help. Ten draws are too few to tell. */
static void width_is_divided_between_model_error_and_parameters(void)
{
	static const struct settings one_gpu = {
		{"case.topology=dgx1-v100", "case.model=alexnet", "case.batch=64", "case.gpus=1"}};
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &one_gpu);
	make_exact(&request);
	set(&request, "error.local=0.1");
	const char *width = predicted(&request, 24, 1)->width;
	CHECK(strstr(width, "100 % of its variance is model error, above all error.local"));
	CHECK(strstr(width, "a measured step of this system would narrow it most"));
	/* all draws are equal */
	CHECK(strstr(width, "with 24 draws, the ends have a standard error of 0.0 %"));
	request = request_of(arena, &one_gpu);
	set(&request, "error.local=0");
	width = predicted(&request, 24, 1)->width;
	CHECK(strstr(width, "0 % of its variance is model error, and 100 % comes from"));
	CHECK(!strstr(width, "error of 0.0 %"));
	CHECK(predicted(&request, 10, 1)->width == NULL);
	arena_free(arena);
}

/* Two of two GPUs cannot be faster than one each, whatever the error, unless a draw is. */
static void error_makes_no_efficiency_above_one(void)
{
	struct arena *arena = arena_new();
	struct draw_answers answers[] = {{.all = {.ratio = 0.98}}, {.all = {.ratio = 0.96}}};
	struct draws draws = {.count = 2, .answers = answers, .ratio_error = {.ratio = 0.1}};
	struct estimate e = draws_interval(arena, &draws, 0.97, -1, AT(ratio));
	CHECK(e.high == 1 && e.low < 0.85);
	answers[1].all.ratio = 1.02;
	e = draws_interval(arena, &draws, 0.97, -1, AT(ratio));
	CHECK(e.high == 1.02);
	arena_free(arena);
}

/* The efficiency of the prediction is the quotient of a GPU at half its speed and the same GPU at
 * full speed, formed for each draw. A case divided by itself is 1 with any model error. */
static void quotient_equals_the_ratio_to_the_same_baseline(void)
{
	static const struct settings one_gpu = {
		{"case.topology=dgx1-v100", "case.model=alexnet", "case.batch=64", "case.gpus=1"}};
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &one_gpu);
	const struct prediction *alone = predicted(&request, 24, 2);
	const struct prediction *again = predicted(&request, 24, 1);
	struct estimate same = draws_quotient(again, alone).estimate;
	CHECK(same.low == 1 && same.value == 1 && same.high == 1);
	CHECK(alone->throughput.low < 0.99 * alone->throughput.high);
	set(&request, "error.local=0");
	alone = predicted(&request, 24, 2);
	set(&request, "case.straggler=2");
	const struct prediction *half = predicted(&request, 24, 2);
	struct estimate quotient = draws_quotient(half, alone).estimate;
	CHECK_NEAR(quotient.value, half->ratio.value, 1e-12);
	CHECK_NEAR(quotient.low, half->ratio.low, 1e-12);
	CHECK_NEAR(quotient.high, half->ratio.high, 1e-12);
	CHECK(quotient.high / quotient.low - 1 <
	      0.5 * (half->throughput.high / half->throughput.low - 1));
	arena_free(arena);
}

/* One machine represents both, so the folded case simulates half as many of them. Draws name a
 * parameter by its row, value and file, so both cases draw the same values. Without noise the
 * steps are equal, so the intervals are, too. */
static void folded_cases_have_the_intervals_of_unfolded_ones(void)
{
	static const struct settings rows[] = {
		{{"case.topology=dgx-h100-fat-tree", "case.gpus=16", "case.model=bert-base",
		  "case.stack=pytorch", "case.exchange=nccl-2.18", "plan.tp=4", "plan.dp=4",
		  "plan.global_batch=16", "case.steps=1", "case.steps_warmup=0"}},
		{{"case.topology=dgx2", "case.gpus=32", "case.exchange=nccl-2.8",
		  "library.algorithm=ring", "case.transport=rdma", "case.collective=all_reduce",
		  "case.collective_size=1 MiB"}},
	};
	static const char *const symmetries[] = {"case.symmetry=on", "case.symmetry=off"};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct prediction *p[2];
		for (size_t k = 0; k < 2; k++) {
			struct request request = request_of(arena, &rows[i]);
			set(&request, "exchange.noise=0");
			set(&request, symmetries[k]);
			p[k] = predicted(&request, 4, 2);
		}
		CHECK(10 * p[0]->events_count < 6 * p[1]->events_count);
		CHECK(p[0]->throughput.low < 0.99 * p[0]->throughput.value);
		CHECK(p[0]->throughput.value == p[1]->throughput.value);
		CHECK_NEAR(p[0]->throughput.low / p[1]->throughput.low, 1, 1e-12);
		CHECK_NEAR(p[0]->throughput.high / p[1]->throughput.high, 1, 1e-12);
		CHECK_NEAR(p[0]->step_s.low / p[1]->step_s.low, 1, 1e-12);
	}
	arena_free(arena);
}

static void number_of_threads_does_not_change_intervals(void)
{
	struct arena *arena = arena_new();
	struct request request = request_of(arena, &same_esxi);
	const struct prediction *one = predicted(&request, 7, 1),
				*three = predicted(&request, 7, 3);
	const struct estimate pairs[][2] = {{one->throughput, three->throughput},
					    {one->ratio, three->ratio},
					    {one->step_s, three->step_s},
					    {one->gpu_utilization, three->gpu_utilization}};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		CHECK(pairs[i][0].low == pairs[i][1].low && pairs[i][0].high == pairs[i][1].high);
		CHECK(pairs[i][0].low < pairs[i][0].high);
	}
	arena_free(arena);
}

/* The memory of a context is an assumption, 128 MiB x/÷ 1.7. If the GPU has hardly more than the
 * required memory, some draws have too little. */
static void failing_draws_lower_the_interval_to_zero(void)
{
	struct arena *arena = arena_new();
	bool some = false;
	for (int MiB = 2000; MiB <= 4000 && !some; MiB += 40) {
		struct request request = request_of(arena, &beside_gpu);
		set(&request, arena_printf(arena, "gpu.gtx-1050ti.memory=%d MiB", MiB));
		const struct prediction *p = predicted(&request, 0, 1);
		if (!p->ok)
			continue;
		p = predicted(&request, 24, 1);
		some = true;
		CHECK(p->failed_draws_count > 1 && p->failed_draws_count < 24);
		CHECK(p->throughput.low == 0 && p->throughput.high > p->throughput.value);
		CHECK(isfinite(p->step_s.high) && p->step_s.high > 0);
	}
	CHECK(some);
	arena_free(arena);
}

/* The first wins one of four draws, the second wins three, and the failed one wins none. The cost
 * goes the other way round. An error that all have in common changes no order. Then only the
 * first has an independent error, whose 90 % point is ln 2. With a probability of 10 % it doubles
 * the rate, which 256 errors meet within 4 x sqrt(0.1 x 0.9 / 256). */
static void best_of_several_has_its_share_of_draws(void)
{
	struct breakdown_part one[] = {{"1", 9}, {"2", 1}, {"3", 1}, {"4", 1}},
			      two[] = {{"1", 2}, {"2", 2}, {"3", 2}, {"4", 2}};
	struct error_part common = {"", 0.3, 0, 1, 7}, own = {"", log(2) / 1.28155, 0, 1, 0};
	struct prediction a = {.ok = true, .drawn_count = 4, .drawn = one, .drawn_costs = one},
			  b = {.ok = true, .drawn_count = 4, .drawn = two, .drawn_costs = two},
			  failed = {.ok = false};
	a.errors = b.errors = &common;
	a.error_count = b.error_count = 1;
	a.drawn_cost_count = b.drawn_cost_count = 4;
	const struct prediction *const all[] = {&a, &failed, &b};
	double chances[3];
	draws_chances(all, 3, false, chances);
	CHECK(chances[0] == 0.25 && chances[2] == 0.75 && isnan(chances[1]));
	draws_chances(all, 3, true, chances);
	CHECK(chances[0] == 0.75 && chances[2] == 0.25);
	one[0].seconds = 1;
	a.drawn_count = b.drawn_count = 1;
	a.errors = &own;
	b.error_count = 0;
	draws_chances(all, 3, false, chances);
	CHECK(fabs(chances[0] - 0.1) < 4 * sqrt(0.1 * 0.9 / 256));
	CHECK_NEAR(chances[0] + chances[2], 1, 1e-12);
	b.seed = 2;
	draws_chances(all, 3, false, chances);
	CHECK(isnan(chances[0]) && isnan(chances[2]));
}

static const struct test tests[] = {
	TEST(planted_model_error_gives_its_quantiles),
	TEST(model_error_is_added_around_each_draw),
	TEST(a_failed_draw_has_no_rate_and_no_time),
	TEST(ratio_has_only_the_error_of_several_gpus),
	TEST(error_of_forwarding_scales_the_added_time),
	TEST(recorded_kernels_scatter_only_from_run_to_run),
	TEST(a_failed_draw_of_twenty_is_the_lower_end),
	TEST(shares_end_at_one),
	TEST(draws_have_different_seeds),
	TEST(draws_with_other_settings_keep_the_scale),
	TEST(exact_case_has_no_interval),
	TEST(uncertain_parameters_widen_the_interval),
	TEST(quotients_are_formed_for_each_draw),
	TEST(error_of_the_same_program_cancels_in_a_quotient),
	TEST(quotient_has_the_probability_to_be_faster),
	TEST(best_of_several_has_its_share_of_draws),
	TEST(error_makes_no_efficiency_above_one),
	TEST(width_is_divided_between_model_error_and_parameters),
	TEST(quotient_equals_the_ratio_to_the_same_baseline),
	TEST(folded_cases_have_the_intervals_of_unfolded_ones),
	TEST(number_of_threads_does_not_change_intervals),
	TEST(failing_draws_lower_the_interval_to_zero),
};

int main(void)
{
	return TEST_MAIN(tests);
}
