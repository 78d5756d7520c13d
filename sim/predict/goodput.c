/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays the whole run of a plan at a point. */
#include "sim/predict/predict.h"
#include "sim/scenario/checkpoint.h"

/* At most RUNS_MOST runs give a mean, and fewer if all of them would have more than FAILURES_MOST
 * failures. LONGEST: a run that takes more than this times its steps and checkpoints makes no
 * progress. */
enum { RUNS_MOST = 200, RUNS_LEAST = 2, FAILURES_MOST = 30000, LONGEST = 20 };

/* Returns the rate of `count` things with that mean time between failures. A draw
 * multiplies it by a value of the distribution that the true rate has after `seen` failures. That
 * is a gamma distribution of shape seen + 1/2 (Jeffreys' prior), divided by seen. */
static double rate_Hz(const struct scenario *scenario, struct rng *rng, double count, double mtbf_s,
		      double seen)
{
	double u = rng_uniform(rng);
	double factor = scenario->drawn && seen > 0 ? num_gamma_quantile(u, seen + 0.5) / seen : 1;
	return mtbf_s > 0 ? factor * count / mtbf_s : 0;
}

static struct longrun describe(const struct scenario *scenario, uint64_t seed, double step_s,
			       const struct checkpoint_times *times)
{
	const struct longrun_params *params = scenario->run;
	const struct job_entry *entry = &scenario->jobs[0];
	double machines = (double)checkpoint_machines(scenario);
	struct rng rng = rng_named(seed, "rates of failures");
	struct longrun run = {
		.work_s = scenario_job_steps(scenario, entry) * step_s,
		.interval_s = step_s * fmax(1, round(params->checkpoint_interval_s / step_s)),
		.pause_s = params->checkpoint_plan_s + times->copy_s,
		.launch_s = params->schedule_s + params->start_s +
			    params->connect_s * (double)entry->rank_count,
		.detect_s = params->detect_s,
		.watchdog_s = params->watchdog_s,
		.hang_ratio = params->hang_ratio,
		.repair_s = params->repair_s,
		.spares_count = checkpoint_spares(scenario),
	};
	run.interval_s = fmin(run.interval_s, run.work_s);
	*(params->checkpoint_asynchronous ? &run.behind_s : &run.pause_s) += times->write_s;
	run.restart_s = run.launch_s + times->read_s;
	run.rates_Hz[FAILURE_GPU] = rate_Hz(scenario, &rng, (double)entry->rank_count,
					    params->gpu_mtbf_s, params->gpu_failures_count);
	run.rates_Hz[FAILURE_HOST] =
		rate_Hz(scenario, &rng, machines, params->host_mtbf_s, params->host_failures_count);
	run.rates_Hz[FAILURE_LINK] = rate_Hz(scenario, &rng, checkpoint_links_count(scenario),
					     params->link_mtbf_s, params->link_failures_count);
	run.rates_Hz[FAILURE_SOFTWARE] = rate_Hz(scenario, &rng, machines, params->software_mtbf_s,
						 params->software_failures_count);
	return run;
}

/* Returns why the run would hardly make progress; NULL: it does. */
static const char *no_progress(struct arena *arena, const struct longrun *run)
{
	struct longrun with = *run;
	with.pause_s += run->behind_s;
	double intervals = run->work_s / run->interval_s;
	if (longrun_expected_s(&with) <= LONGEST * (run->work_s + intervals * with.pause_s))
		return NULL;
	return arena_printf(arena,
			    "the run makes no progress: a failure comes every %.3g min, but steps "
			    "up to a checkpoint take %.3g min and a restart %.3g min (write a "
			    "shorter run.checkpoint_interval, or longer times between failures)",
			    longrun_mtbf_s(run) / 60, run->interval_s / 60, run->restart_s / 60);
}

static void note(struct point *point, const char *name, double seconds)
{
	if (isfinite(seconds))
		point->checkpoint[point->checkpoint_count++] =
			(struct breakdown_part){name, seconds};
}

static void take(const struct longrun *run, const struct longrun_outcome *outcome,
		 struct point *point)
{
	point->elapsed_s = point->jobs[0].elapsed_s = outcome->elapsed_s;
	point->goodput_ratio = point->jobs[0].goodput_ratio = run->work_s / outcome->elapsed_s;
	point->failures_count = point->jobs[0].failures_count = outcome->failures_count;
	for (enum longrun_part i = 0; i < LONGRUN_PART_COUNT; i++)
		point->phases[point->phase_count++] =
			(struct breakdown_part){longrun_part_name(i), outcome->parts_s[i]};
	for (enum failure_cause i = 0; i < FAILURE_CAUSE_COUNT; i++)
		point->causes[i] =
			(struct breakdown_part){failure_cause_name(i), outcome->causes_s[i]};
}

void goodput_add(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		 struct point *point)
{
	struct checkpoint_times times = checkpoint_simulate(scenario);
	struct longrun run = describe(scenario, seed, point->step_s, &times);
	const char *why = times.why ? times.why : no_progress(arena, &run);
	if (why) {
		point->failed = point->jobs[0].failed = true;
		point->reason = point->jobs[0].reason = why;
		return;
	}
	double failures = longrun_expected_s(&run) / longrun_mtbf_s(&run);
	size_t runs = (size_t)fmin(RUNS_MOST, fmax(RUNS_LEAST, FAILURES_MOST / (1 + failures)));
	struct longrun_outcome outcome = longrun_mean(&run, seed, scenario->drawn ? 1 : runs);
	take(&run, &outcome, point);
	if (scenario->drawn)
		return;
	note(point, "interval", run.interval_s);
	note(point, "best interval", longrun_best_s(&run, point->step_s, seed, runs));
	note(point, "Young's interval", longrun_young_s(&run));
	note(point, "Daly's interval", longrun_daly_s(&run));
	note(point, "pause", run.pause_s);
	note(point, "copy to the host", times.copy_s);
	note(point, "write", times.write_s);
	note(point, "read", times.read_s);
	note(point, "between failures", longrun_mtbf_s(&run));
}
