/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/longrun.h"

/* Llama 3 405B had 419 unexpected interruptions in 54 days on 16,384 H100, which are 21.2 million
 * GPU-hours or 2.65 million host-hours (arXiv:2407.21783, table 5). The two research clusters of
 * Meta had 6.50 and 2.34 failures in 1,000 days of a machine of eight A100 (arXiv:2410.21680),
 * and Llama 3's 3.79. The prior of an assumption covers this range. */
#define LLAMA(what) "Llama 3 405B (arXiv:2407.21783, table 5): " what
#define MTBF(field, preset, help, source)                                                          \
	COST_ASSUMED(struct longrun_params, field, QUANTITY_TIME, 0, 1e13, preset, help, source)
#define FAILURES(field, preset, what)                                                              \
	PARAM_WHOLE(struct longrun_params, field, 0, 1e9, preset,                                  \
		    "number of observed failures behind " what                                     \
		    ", whose gamma distribution the draws follow; 0 means that the rate is exact", \
		    LLAMA("the events of this cause"))

static const struct param_row longrun_rows[] = {
	MTBF(gpu_mtbf_s, "79200 h",
	     "mean time between failures of a GPU while a job runs on it; 0 means that it has none",
	     LLAMA("268 failures of GPUs and their memory in 21.2 million GPU-hours")),
	FAILURES(gpu_failures_count, "268", "run.gpu_mtbf"),
	MTBF(host_mtbf_s, "57700 h",
	     "mean time between failures of a machine without its GPUs; 0 means that it has none",
	     LLAMA("46 failures and unplanned maintenances in 2.65 million host-hours")),
	FAILURES(host_failures_count, "46", "run.host_mtbf"),
	MTBF(link_mtbf_s, "433000 h",
	     "mean time between failures of a machine's network link with its adapter and "
	     "switches; "
	     "0 means that it has none",
	     LLAMA("49 failures of switches, cables, adapters and NCCL in 21.2 million hours of an "
		   "adapter")),
	FAILURES(link_failures_count, "49", "run.link_mtbf"),
	MTBF(software_mtbf_s, "47400 h",
	     "mean time between failures of software on a machine; 0 means that there are none",
	     LLAMA("56 software bugs in 2.65 million host-hours; assumption: they grow with the "
		   "number of machines")),
	FAILURES(software_failures_count, "56", "run.software_mtbf"),
	COST_ASSUMED(struct longrun_params, hang_ratio, QUANTITY_RATIO, 0, 1, "0.5",
		     "part of the failures that no process reports, so that the watchdog of "
		     "collectives finds them",
		     "assumption: a lost GPU or link can end a process or only stop a collective"),
	COST_ASSUMED(struct longrun_params, detect_s, QUANTITY_TIME, 0, 1e6, "30 s",
		     "time from a failure that a process reports to the end of all processes",
		     "assumption: torchrun's agents look at their processes each 0.1 s, and then "
		     "wait 30 s for them to end"),
	PARAM_NUMBER(struct longrun_params, watchdog_s, QUANTITY_TIME, 0, 1e6, "10 min",
		     "time after which a collective that hangs ends the job",
		     "PyTorch: the default timeout of NCCL groups (pull request 110947)"),
	COST_ASSUMED(struct longrun_params, schedule_s, QUANTITY_TIME, 0, 1e7, "60 s",
		     "time from a job's submission to the start of its containers",
		     "assumption: a scheduler with reserved machines, and images on local disks"),
	COST_ASSUMED(struct longrun_params, start_s, QUANTITY_TIME, 0, 1e6, "120 s",
		     "time to start processes, import the framework, and make contexts, kernels "
		     "and the data loader",
		     "assumption: imports from a shared file system and just-in-time kernels"),
	COST_ASSUMED(struct longrun_params, connect_s, QUANTITY_TIME, 0, 100, "10 ms",
		     "time to connect the groups of collectives, for each rank of the job",
		     "assumption: each rank registers at one store, which answers them in turn"),
	PARAM_NUMBER(struct longrun_params, spare_ratio, QUANTITY_RATIO, 0, 10, "0.02",
		     "spare machines divided by the job's machines, rounded up to whole machines",
		     "assumption: one spare for 50 machines"),
	COST_ASSUMED(struct longrun_params, repair_s, QUANTITY_TIME, 0, 1e8, "12 h",
		     "time from a failure of hardware until its machine is a spare again",
		     "assumption: most are resets and tests within a day, few wait for parts"),
	PARAM_NUMBER(
		struct longrun_params, checkpoint_interval_s, QUANTITY_TIME, 0, 1e9, "30 min",
		"time of steps from one checkpoint to the next, rounded to whole steps",
		"assumption: near the optimum of thousands of GPUs; the result names the best"),
	PARAM_BOOL(struct longrun_params, checkpoint_asynchronous, "true",
		   "whether steps continue while a checkpoint in host memory is written",
		   "Megatron-LM, --async-save; torch.distributed.checkpoint.async_save"),
	PARAM_BOOL(struct longrun_params, checkpoint_sharded, "true",
		   "whether all ranks of a data group write an equal part of the checkpoint; false "
		   "means that its first rank writes all, and each rank reads all of its state",
		   "Megatron-LM, fully parallel save"),
	COST_ASSUMED(struct longrun_params, checkpoint_plan_s, QUANTITY_TIME, 0, 1e6, "1 s",
		     "time for which steps stop while ranks agree on who writes what and start the "
		     "writers, before the copy to host memory",
		     "assumption: gathering descriptions of all tensors, and starting processes"),
	PARAM_TEXT(struct longrun_params, checkpoint_storage, "parallel-fs",
		   "storage of checkpoints: a file of models/storages/",
		   "assumption: all machines share a parallel file system"),
	COST_ASSUMED(
		struct longrun_params, checkpoint_work_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-5,
		"1 ns/B",
		"work of serialising a byte of a checkpoint, one core at 2.4 GHz for each rank",
		"assumption: a copy, a CRC and a buffered write"),
};
const struct param_table longrun_table = PARAM_TABLE("run", struct longrun_params, longrun_rows);

const char *failure_cause_name(enum failure_cause cause)
{
	static const char *const names[] = {"GPUs", "hosts", "links", "software"};
	return names[cause];
}

const char *longrun_part_name(enum longrun_part part)
{
	static const char *const names[] = {"launch",    "steps",     "checkpoints",
					    "lost work", "detection", "wait for repair",
					    "restart"};
	return names[part];
}

/* ---- a run, event by event ---- */

struct play {
	const struct longrun *run;
	struct longrun_outcome out;
	struct rng times, marks;      /* of failures; what each of them is */
	double now_s, failure_s;      /* failure_s: of the next failure */
	double done_s, saved_s;       /* work that is done, and that a complete checkpoint holds */
	double written_s, complete_s; /* the newest checkpoint: its work, and when it is complete */
	double *ready_s;              /* by spare: when it is repaired; a ring from `oldest` on */
	size_t oldest;
};

static double rate_Hz(const struct longrun *run)
{
	double sum_Hz = 0;
	for (size_t i = 0; i < FAILURE_CAUSE_COUNT; i++)
		sum_Hz += run->rates_Hz[i];
	return sum_Hz;
}

double longrun_mtbf_s(const struct longrun *run)
{
	return 1 / rate_Hz(run);
}

static void next_failure(struct play *p)
{
	p->failure_s -= log(rng_uniform(&p->times)) * longrun_mtbf_s(p->run);
}

static enum failure_cause draw_cause(struct play *p)
{
	double at_Hz = rng_uniform(&p->marks) * rate_Hz(p->run);
	enum failure_cause cause = 0;
	while (cause + 1 < FAILURE_CAUSE_COUNT && at_Hz >= p->run->rates_Hz[cause])
		at_Hz -= p->run->rates_Hz[cause++];
	return cause;
}

static void pass(struct play *p, enum longrun_part part, double duration_s)
{
	p->now_s += duration_s;
	p->out.parts_s[part] += duration_s;
}

/* Lets the duration pass. Returns false if a failure comes before its end. */
static bool spend(struct play *p, enum longrun_part part, double duration_s)
{
	bool whole = p->now_s + duration_s <= p->failure_s;
	pass(p, part, whole ? duration_s : p->failure_s - p->now_s);
	return whole;
}

/* Replaces the machine that failed at failed_s. Repairs take equally long, so the spare that failed
 * first is ready first; without spares the job waits for its own machine. */
static void replace(struct play *p, double failed_s)
{
	double repaired_s = failed_s + p->run->repair_s, ready_s = repaired_s;
	if (p->run->spares_count > 0) {
		ready_s = p->ready_s[p->oldest];
		p->ready_s[p->oldest] = repaired_s;
		p->oldest = (p->oldest + 1) % p->run->spares_count;
	}
	pass(p, LONGRUN_REPAIR, fmax(0, ready_s - p->now_s));
}

enum { DRAWN_FAILURES = 100 }; /* of those during a repair */

/* Handles the failure of this moment, and those during its restarts. Failures while nothing runs
 * change nothing. */
static void recover(struct play *p)
{
	const struct longrun *run = p->run;
	bool up = false;
	if (p->complete_s <= p->now_s)
		p->saved_s = p->written_s;
	p->complete_s = p->now_s; /* a checkpoint that was being written is given up */
	double lost_s = p->done_s - p->saved_s;
	p->out.parts_s[LONGRUN_STEPS] -= lost_s;
	p->out.parts_s[LONGRUN_LOST] += lost_s;
	p->done_s = p->written_s = p->saved_s;
	while (!up) {
		enum failure_cause cause = draw_cause(p);
		double failed_s = p->now_s;
		bool hangs = rng_uniform(&p->marks) < run->hang_ratio;
		p->out.failures_count++;
		pass(p, LONGRUN_DETECTION, hangs ? run->watchdog_s : run->detect_s);
		if (cause != FAILURE_SOFTWARE)
			replace(p, failed_s);
		/* Failures have no memory, so those of a long repair are passed in one step. */
		if (p->now_s - p->failure_s > DRAWN_FAILURES * longrun_mtbf_s(run))
			p->failure_s = p->now_s;
		while (p->failure_s <= p->now_s)
			next_failure(p);
		up = spend(p, LONGRUN_RESTART, run->restart_s);
		p->out.causes_s[cause] += p->now_s - failed_s + lost_s;
		lost_s = 0;
	}
}

/* Does the steps up to the next checkpoint, and writes it. Only one checkpoint is written at a
 * time. Returns false if a failure ended that. */
static bool advance(struct play *p)
{
	const struct longrun *run = p->run;
	double left_s = run->work_s - p->done_s, began_s = p->now_s;
	bool last = left_s <= run->interval_s;
	if (!spend(p, LONGRUN_STEPS, last ? left_s : run->interval_s)) {
		p->done_s += p->now_s - began_s;
		return false;
	}
	p->done_s = last ? run->work_s : p->done_s + run->interval_s;
	if (!spend(p, LONGRUN_CHECKPOINTS, fmax(0, p->complete_s - p->now_s)))
		return false;
	p->saved_s = p->written_s;
	if (!spend(p, LONGRUN_CHECKPOINTS, run->pause_s))
		return false;
	p->written_s = p->done_s;
	p->complete_s = p->now_s + run->behind_s;
	if (last && !spend(p, LONGRUN_CHECKPOINTS, run->behind_s))
		return false;
	if (last || !(run->behind_s > 0))
		p->saved_s = p->done_s;
	return true;
}

/* Passes, right after a checkpoint, all but one of the equal intervals before the next failure. */
static void skip(struct play *p)
{
	const struct longrun *run = p->run;
	double pause_s = run->pause_s + fmax(0, run->behind_s - run->interval_s);
	double count = floor(fmin((p->failure_s - p->now_s) / (run->interval_s + pause_s),
				  (run->work_s - p->done_s) / run->interval_s)) -
		       1;
	if (count < 1)
		return;
	pass(p, LONGRUN_STEPS, count * run->interval_s);
	pass(p, LONGRUN_CHECKPOINTS, count * pause_s);
	p->done_s += count * run->interval_s;
	p->written_s = p->done_s;
	p->complete_s = p->now_s + run->behind_s;
	p->saved_s = p->done_s - (run->behind_s > 0 ? run->interval_s : 0);
}

/* Plays the run with random failures of this seed. */
static struct longrun_outcome play(struct arena *arena, const struct longrun *run, uint64_t seed)
{
	FW_ASSERT(run->work_s > 0 && run->interval_s > 0);
	struct play p = {.run = run,
			 .times = rng_named(seed, "times of failures"),
			 .marks = rng_named(seed, "causes of failures"),
			 .ready_s = ARENA_ARRAY(arena, run->spares_count + 1, double)};
	next_failure(&p);
	if (!spend(&p, LONGRUN_LAUNCH, run->launch_s))
		recover(&p);
	while (p.saved_s < run->work_s)
		if (advance(&p))
			skip(&p);
		else
			recover(&p);
	p.out.elapsed_s = p.now_s;
	return p.out;
}

/* Multiplies all times but the launch, and the failures. */
static void stretch(struct longrun_outcome *outcome, double times)
{
	double launch_s = outcome->parts_s[LONGRUN_LAUNCH];
	outcome->elapsed_s = launch_s + (outcome->elapsed_s - launch_s) * times;
	outcome->failures_count *= times;
	for (size_t k = LONGRUN_LAUNCH + 1; k < LONGRUN_PART_COUNT; k++)
		outcome->parts_s[k] *= times;
	for (size_t k = 0; k < FAILURE_CAUSE_COUNT; k++)
		outcome->causes_s[k] *= times;
}

/* A run with more failures than this plays only a part of its work, which takes the same time for
 * each step as the rest. */
static const double played_failures_count = 30000;

struct longrun_outcome longrun_mean(const struct longrun *run, uint64_t seed, size_t count)
{
	struct longrun_outcome mean = {0};
	double n = (double)count, failures = longrun_expected_s(run) / longrun_mtbf_s(run);
	struct longrun played = *run;
	if (failures > played_failures_count)
		played.work_s *= played_failures_count / failures;
	if (played.work_s <
	    fmin(run->interval_s, run->work_s)) /* a checkpoint is hardly ever reached */
		return (struct longrun_outcome){.elapsed_s = INFINITY};
	for (size_t i = 0; i < count; i++) {
		struct arena *scratch = arena_new();
		struct longrun_outcome one = play(scratch, &played, seed + i);
		if (played.work_s < run->work_s)
			stretch(&one, run->work_s / played.work_s);
		arena_free(scratch);
		mean.elapsed_s += one.elapsed_s / n;
		mean.failures_count += one.failures_count / n;
		for (size_t k = 0; k < LONGRUN_PART_COUNT; k++)
			mean.parts_s[k] += one.parts_s[k] / n;
		for (size_t k = 0; k < FAILURE_CAUSE_COUNT; k++)
			mean.causes_s[k] += one.causes_s[k] / n;
	}
	return mean;
}

/* ---- intervals ---- */

double longrun_young_s(const struct longrun *run)
{
	return sqrt(2 * run->pause_s * longrun_mtbf_s(run));
}

double longrun_daly_s(const struct longrun *run)
{
	double mtbf_s = longrun_mtbf_s(run), part = run->pause_s / (2 * mtbf_s);
	if (part >= 1)
		return mtbf_s;
	return longrun_young_s(run) * (1 + sqrt(part) / 3 + part / 9) - run->pause_s;
}

double longrun_expected_s(const struct longrun *run)
{
	double mtbf_s = longrun_mtbf_s(run), segment_s = run->interval_s + run->pause_s;
	if (isinf(mtbf_s))
		return segment_s * run->work_s / run->interval_s;
	return mtbf_s * exp(run->restart_s / mtbf_s) * expm1(segment_s / mtbf_s) * run->work_s /
	       run->interval_s;
}

/* Returns the lowest place of the parabola through three values at -1, 0 and 1. */
static double vertex(const double *y)
{
	double bend = y[0] - 2 * y[1] + y[2];
	return bend > 0 && isfinite(bend) ? fmin(fmax((y[0] - y[2]) / (2 * bend), -1), 1) : 0;
}

double longrun_best_s(const struct longrun *run, double least_s, uint64_t seed, size_t count)
{
	/* Intervals are 2^(k/2) times Daly's. The values of neighbours are noisy, so the parabola
	 * goes through values that are a factor of two apart. */
	enum { POINTS = 13, MIDDLE = 6, APART = 2 };
	double at_s[POINTS], took_s[POINTS];
	size_t best = APART;
	for (size_t k = 0; k < POINTS; k++) {
		struct longrun with = *run;
		at_s[k] = longrun_daly_s(run) * pow(2, ((double)k - MIDDLE) / 2);
		with.interval_s = fmin(fmax(at_s[k], least_s), run->work_s);
		took_s[k] = longrun_mean(&with, seed, count).elapsed_s;
		if (k >= APART && k + APART < POINTS && took_s[k] < took_s[best])
			best = k;
	}
	const double near[] = {took_s[best - APART], took_s[best], took_s[best + APART]};
	double found_s = at_s[best] * pow(2, vertex(near));
	return fmin(fmax(found_s, least_s), run->work_s);
}
