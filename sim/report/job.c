/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a training job, several jobs on one system, a model server, or a
 * collective without training. */
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/report/part.h"
#include "sim/report/sweep_figures.h"

/* ---- the answer ---- */

/* Returns for example "8 GPUs of dgx1-v100 (exchange horovod-2018, tcp)". */
static const char *system_words(struct arena *arena, const struct scenario *scenario, size_t gpus)
{
	return arena_printf(arena, "%zu %s of %s (exchange %s, %s)", gpus,
			    one_or(gpus, "GPU", "GPUs"), scenario->topology.name,
			    scenario->params->exchange, scenario->jobs[0].transport->name);
}

static const char *input_words(struct arena *arena, const struct scenario *scenario)
{
	const char *source = scenario->jobs[0].input ? scenario->jobs[0].input->source : "gpu";
	return scenario->jobs[0].storage ? arena_printf(arena, "real data from %s", source)
					 : "synthetic data";
}

static const char *milliseconds(struct arena *arena, double seconds)
{
	return arena_printf(arena, "%s" NBSP "ms", figures(arena, 1e3 * seconds, 3));
}

/* Says how much collectives slow the kernels down, because they take SMs and memory bandwidth. */
static const char *slowed_words(struct arena *arena, const struct prediction *p)
{
	double alone_s = p->step_s.value * p->ratio.value;
	/* a step on one GPU has gaps and host work, too */
	double kernel_s = prediction_part_s(p, PART_KERNEL) + prediction_part_s(p, PART_OTHER);
	if (!(kernel_s > 1.01 * alone_s) || p->gpu_count == 1)
		return "";
	return arena_printf(arena, " Concurrent collectives slow the kernels from %s to %s.",
			    milliseconds(arena, alone_s), milliseconds(arena, kernel_s));
}

/* Describes the parts of the step time and the bottleneck. */
static const char *step_words(struct arena *arena, const struct prediction *p)
{
	static const struct {
		const char *part, *words;
	} parts[] = {{PART_EXPOSED, "exposed communication"},
		     {PART_STRAGGLER, "straggler wait"},
		     {PART_INPUT, "input wait"},
		     {PART_OTHER, "waiting for host work of the framework"}};
	const char *text = "";
	for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
		double seconds = prediction_part_s(p, parts[k].part);
		if (seconds > 1e-4 * p->step_s.value)
			text = arena_printf(arena, "%s%s%s of %s", text, *text ? ", " : "",
					    milliseconds(arena, seconds), parts[k].words);
	}
	if (*text)
		text = arena_printf(arena, "A step takes %s, which includes %s.",
				    milliseconds(arena, p->step_s.value), text);
	if (p->communication_s > prediction_part_s(p, PART_EXPOSED))
		text = arena_printf(arena, "%s Collectives run for %s of the step.", text,
				    milliseconds(arena, p->communication_s));
	return arena_printf(arena, "%s%s Bottleneck: %s.", text, slowed_words(arena, p),
			    p->bottleneck);
}

static const char *training_words(struct arena *arena, const struct scenario *scenario,
				  const struct prediction *p)
{
	if (!isfinite(p->training_s.value))
		return "";
	return arena_printf(arena, " %.0f epochs of %.0f images take %s" NBSP "hours%s.",
			    scenario->params->epochs_count, scenario->params->images_count,
			    figures(arena, p->training_s.value / 3600, 3),
			    interval_words(arena, p->training_s, 1.0 / 3600, 3));
}

static void answer_training(struct report *report, const struct scenario *scenario,
			    const struct prediction *p)
{
	struct arena *arena = report->arena;
	const struct job_entry *job = &scenario->jobs[0];
	const char *rate = throughput_words(arena, p, 4);
	const char *who = arena_printf(
		arena, "%s, batch %g per GPU, on %s, %s", job->network->name, job->batch_count,
		system_words(arena, scenario, p->gpu_count), input_words(arena, scenario));
	if (scenario->job_count > 1)
		report_answer(report, false,
			      "%zu jobs on %s train at %s together, with a mean scaling efficiency "
			      "of %s. %s",
			      scenario->job_count, system_words(arena, scenario, p->gpu_count),
			      rate, percent_words(arena, p->ratio), step_words(arena, p));
	else if (p->gpu_count == 1)
		report_answer(report, false, "%s, trains at %s. %s%s", who, rate,
			      step_words(arena, p), training_words(arena, scenario, p));
	else
		report_answer(report, false,
			      "%s, trains at %s: a speed-up of %s over one GPU, a scaling "
			      "efficiency of %s. %s%s",
			      who, rate, figures(arena, p->speedup.value, 3),
			      percent_words(arena, p->ratio), step_words(arena, p),
			      training_words(arena, scenario, p));
}

static void answer_serving(struct report *report, const struct prediction *p)
{
	struct arena *arena = report->arena;
	const struct estimate *slow_s = &p->latency_s[QUANTILE_COUNT - 1];
	const char *tokens = "";
	if (!p->ok) {
		report_answer(report, true, "%s fails: %s.", p->name, p->reason);
		return;
	}
	if (isfinite(p->token_s.value))
		tokens = arena_printf(arena,
				      " The first token takes %s" NBSP
				      "ms in the mean, and each further one %s" NBSP "ms.",
				      figures(arena, 1e3 * p->first_token_mean_s.value, 3),
				      figures(arena, 1e3 * p->token_s.value, 3));
	report_answer(report, false,
		      "%s serves %s, and 99" NBSP "%% of the requests take up to %s" NBSP
		      "s%s.%s Bottleneck: %s.",
		      p->name, throughput_words(arena, p, 3), figures(arena, slow_s->value, 3),
		      interval_words(arena, *slow_s, 1, 3), tokens, p->bottleneck);
}

static void answer(struct report *report, const struct scenario *scenario,
		   const struct prediction *p)
{
	struct arena *arena = report->arena;
	if (prediction_kind(p) == PREDICTION_SERVING)
		answer_serving(report, p);
	else if (!p->ok)
		report_answer(report, true, "%s on %s fails: %s.", p->name,
			      system_words(arena, scenario, p->gpu_count), p->reason);
	else if (p->collective)
		report_answer(report, false,
			      "%s among %s takes %s" NBSP "us%s: a bus bandwidth of %s" NBSP
			      "GB/s, with %s.",
			      p->collective, system_words(arena, scenario, p->gpu_count),
			      figures(arena, 1e6 * p->step_s.value, 4),
			      interval_words(arena, p->step_s, 1e6, 4),
			      figures(arena, 1e-9 * p->throughput.value, 4),
			      p->choice ? p->choice : "the given algorithm");
	else
		answer_training(report, scenario, p);
}

/* ---- scaling ---- */

static void scaling(struct report *report, const struct case_request *request,
		    const struct prediction *p)
{
	struct arena *arena = report->arena;
	struct scaling_request over_gpus = {
		.input = report_input(report, request, report->request->options.draws_count),
		.gpus = {NULL, {"report", 0}}};
	struct sweep_fault fault;
	const struct scaling *found = scaling_run(arena, report->diag, &over_gpus, &fault);
	report_break(report, fault.broken);
	if (!found)
		return; /* the report still has the case itself */
	struct chart_text text = report_text(report, arena_printf(arena, "Scaling of %s", p->name));
	report_add(report, BLOCK_HEADING, "Scaling to more GPUs");
	report_figure(report, scaling_chart(arena, text, found),
		      "Throughput and scaling efficiency over the number of GPUs, which fill "
		      "machine after machine. The dashed line is ideal linear scaling.");
	text.title = arena_printf(arena, "Parts of the step time of %s", p->name);
	report_figure(report, scaling_parts_chart(arena, text, found),
		      "The parts of one step, as the mean over the ranks.");
	report_results(report, scaling_table(arena, found), over_gpus.input.options.draws_count > 0,
		       "The numbers of these figures", NULL);
}

void report_job(struct report *report, const struct case_request *request,
		const struct scenario *scenario, const struct prediction *p)
{
	bool one = scenario->job_count == 1 && prediction_kind(p) != PREDICTION_SERVING;
	answer(report, scenario, p);
	report_numbers(report, scenario, p);
	if (p->ok && !p->collective)
		report_breakdown(report, &p, 1);
	if (one && !p->collective && p->gpu_count > 1)
		scaling(report, request, p);
}
