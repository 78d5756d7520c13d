/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sweep: a case over a grid of parameter values. */
#include "sim/predict/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/predict/ranks.h"
#include "sim/verb/answers.h"
#include "sim/verb/sweep_figures.h"
#include "sim/verb/verbs.h"

static const char *axis_word(const struct sweep_axis *axis, size_t index)
{
	return axis->texts[index] + strlen(axis->key) + 1;
}

static const struct result_table *tabulate(struct arena *arena, const struct sweep *sweep)
{
	static const struct answer_column answers[] = {
		{{"images_per_s", QUANTITY_COUNT, false, true},
		 ANSWER_THROUGHPUT,
		 CLIENTS | TRAINING,
		 false},
		{{"bus_bandwidth_Bps", QUANTITY_RATE, false, true},
		 ANSWER_THROUGHPUT,
		 COLLECTIVE,
		 false},
		{{"ratio", QUANTITY_RATIO, false, true}, ANSWER_RATIO, CLIENTS, false},
		{{"speedup", QUANTITY_RATIO, false, true}, ANSWER_SPEEDUP, TRAINING, false},
		{{"efficiency", QUANTITY_RATIO, false, true}, ANSWER_RATIO, TRAINING, false},
		{{"step_s", QUANTITY_TIME, false, true}, ANSWER_STEP, CLIENTS | TRAINING, false},
		{{"time_s", QUANTITY_TIME, false, true}, ANSWER_STEP, COLLECTIVE, false},
		{{"exposed_s", QUANTITY_TIME, false, false}, ANSWER_EXPOSED, TRAINING, false},
		{{"input_wait_s", QUANTITY_TIME, false, false}, ANSWER_INPUT, TRAINING, false},
		{{"gpu_utilization", QUANTITY_RATIO, false, true},
		 ANSWER_UTILIZATION,
		 CLIENTS | TRAINING,
		 false},
		{{"choice", QUANTITY_COUNT, true, false}, ANSWER_CHOICE, COLLECTIVE, false},
		{{"bottleneck", QUANTITY_COUNT, true, false},
		 ANSWER_BOTTLENECK,
		 CLIENTS | TRAINING,
		 false},
		{{"verdict", QUANTITY_COUNT, true, false}, ANSWER_VERDICT, ALL_KINDS, false},
	};
	size_t axes = sweep->axis_count;
	struct result_column *lead = ARENA_ARRAY(arena, axes, struct result_column);
	struct result_cell *cells =
		ARENA_ARRAY(arena, axes * sweep->point_count, struct result_cell);
	for (size_t a = 0; a < axes; a++)
		lead[a] = (struct result_column){sweep->axes[a].key, sweep->axes[a].quantity,
						 sweep->axes[a].words, false};
	for (size_t i = 0; i < sweep->point_count; i++)
		for (size_t a = 0; a < axes; a++) {
			size_t index = sweep_axis_index(sweep, i, a);
			double value = sweep->axes[a].values[index];
			cells[i * axes + a] = (struct result_cell){
				axis_word(&sweep->axes[a], index), {value, value, value}};
		}
	const struct answers all = {.name = "sweep",
				    .title = "Sweep",
				    .predictions = sweep->points,
				    .count = sweep->point_count,
				    .columns = answers,
				    .column_count = sizeof answers / sizeof answers[0],
				    .lead = lead,
				    .lead_cells = cells,
				    .lead_count = axes};
	return answers_table(arena, &all);
}

/* Where points are kept while they are computed: beside the output, if that is a
 * file. */
static const char *journal_path(const struct command *command)
{
	struct stat status;
	bool there = stat(command->output, &status) == 0;
	if (strcmp(command->output, "-") == 0 || (there && !S_ISREG(status.st_mode)))
		return NULL;
	return arena_printf(command->arena, "%s.journal", command->output);
}

static bool can_write(const struct command *command)
{
	struct output *output = output_open(command->output);
	if (output)
		output_abandon(output);
	else
		fprintf(stderr, "farwire: cannot write '%s': %s\n", command->output,
			strerror(errno));
	return output != NULL;
}

/* The other ranks that were started; *ranks is NULL without any. */
static bool find_ranks(struct arena *arena, const struct ranks **ranks)
{
	const char *message;
	int rank, count = ranks_launched(&rank);
	*ranks = count > 1 ? ranks_open(arena, &message) : NULL;
	if (count == 1 || (*ranks && (*ranks)->count == count))
		return true;
	if (*ranks) /* a launcher that this MPI does not understand */
		message = "the launcher is not that of the MPI of libfarwire-mpi.so";
	if (rank == 0)
		fprintf(stderr, "farwire: %d ranks were started, but there is no MPI: %s\n", count,
			message);
	return false;
}

static int write_sweep(const struct command *command, const struct sweep *sweep)
{
	int code = command_table(command, tabulate(command->arena, sweep));
	if (code == EXIT_DONE && command->plot)
		code = sweep_draw(command, sweep);
	return code;
}

/* On the first rank, or without others. */
static int lead(const struct command *command, struct diag *diag, const struct sweep_axis *axes,
		const struct ranks *ranks)
{
	const struct case_request request = command_case(command, 0);
	const struct sweep_how how = {.journal = journal_path(command), .ranks = ranks};
	const struct sweep *sweep = NULL;
	int code = diag_count(diag) ? command_failed(diag, NULL) : EXIT_DONE;
	if (code == EXIT_DONE && !can_write(command))
		code = EXIT_FAILED;
	if (code == EXIT_DONE)
		sweep = command_sweep_kept(command, &request, axes, command->vary_count, how,
					   &code);
	else if (ranks)
		sweep_dismiss(ranks, command->jobs);
	if (ranks)
		ranks->finish();
	if (!sweep)
		return code;
	code = write_sweep(command, sweep);
	if (code == EXIT_DONE && how.journal && unlink(how.journal) != 0) {
		fprintf(stderr, "farwire: cannot remove '%s': %s\n", how.journal, strerror(errno));
		code = EXIT_FAILED;
	}
	return code;
}

static int run(const struct command *command)
{
	struct arena *arena = command->arena;
	struct diag *diag = diag_new(arena);
	struct sweep_axis axes[AXES_MAX];
	const struct ranks *ranks;
	if (!find_ranks(arena, &ranks))
		return EXIT_USAGE;
	size_t count = command->vary_count;
	if (count == 0 || count > AXES_MAX)
		diag_error(diag, (struct origin){0},
			   "farwire: `farwire sweep` needs 1 to %d --vary key=...", AXES_MAX);
	for (size_t i = 0; i < count && i < AXES_MAX; i++)
		sweep_axis_read(arena, diag, "--vary", command->vary[i], &axes[i]);
	struct command quick = *command; /* points alone, unless draws are asked for */
	if (!command->draws_given)
		quick.draws = 0;
	if (ranks && !command->jobs_given)
		quick.jobs = 1;
	if (!ranks || ranks->rank == 0)
		return lead(&quick, diag, axes, ranks);
	const struct case_request request = command_case(command, 0);
	const struct predict_options options = command_predict(&quick);
	sweep_help(diag, &request, axes, diag_count(diag) ? 0 : count, &options, ranks);
	ranks->finish();
	return EXIT_DONE;
}

const struct verb verb_sweep = {
	.name = "sweep",
	.words = "CASE",
	.help = "a case over a grid of parameter values (point predictions unless --draws)",
	.examples =
		"  farwire sweep case.cfg --vary 'link.wire.latency=1 us:1 ms:log20' --plot "
		"curve.svg\n"
		"  farwire sweep case.cfg --vary 'link.wire.latency=1 us:1 ms:log100' \\\n"
		"      --vary 'link.wire.bandwidth=1 Gbit/s:100 Gbit/s:log100' -o grid.csv --plot "
		"map.svg\n"
		"  mpirun -n 64 farwire sweep case.cfg --vary ... -o grid.csv\n"
		"  farwire sweep nccl.cfg --vary 'case.collective_size=8 B:8 GiB:log31' --plot "
		"bandwidth.svg\n",
	.options = "set vary format output plot title seed draws jobs color quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
