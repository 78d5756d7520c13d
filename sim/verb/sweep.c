/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sweep: predicts a case over a grid of parameter values. */
#include "sim/report/answers.h"
#include "sim/report/sweep_figures.h"
#include "sim/verb/verbs.h"

/* Runs the sweep, writes the result and removes the journal. */
static int grid(const struct command *command, struct diag *diag,
		const struct sweep_request *request)
{
	const struct sweep *sweep = NULL;
	struct target target = {0};
	if (diag_count(diag) == 0) {
		const struct scenario *scenario = sweep_base(command->arena, request);
		if (command->target && scenario)
			target_read(command->arena, diag, (struct origin){"--target", 0},
				    reporting_of(command->arena, scenario), command->target,
				    &target);
	}
	int code = diag_count(diag) ? command_failed(diag, NULL) : EXIT_DONE;
	if (code == EXIT_DONE && !command_follows(command) && !command_can_write(command))
		code = EXIT_FAILED;
	if (code == EXIT_DONE)
		sweep = command_sweep(command, *request, &code);
	if (!sweep)
		return code;
	struct arena *arena = command->arena;
	const struct result_table *table = sweep_table(arena, sweep);
	const struct target *wanted = target.reported ? &target : NULL;
	bool priced = costs_are_known(sweep->points, sweep->point_count);
	const struct drawing *drawing = NULL;
	if (command->plot && priced && !(wanted && reported_is_cost(wanted->reported)))
		drawing = cost_chart(arena, command_chart_text(command, "Throughput over cost"),
				     table, sweep->axis_count, sweep->points, wanted);
	else if (command->plot)
		drawing = sweep_chart(arena, command_chart_text(command, NULL), sweep, wanted);
	if (wanted && (priced || !command->plot))
		table = ranked_table(arena, table, sweep->points, sweep->axis_count, wanted);
	return command_answer(command, table, drawing, request->journal);
}

static int run(const struct command *command)
{
	struct diag *diag = diag_new(command->arena);
	struct sweep_axis axes[AXES_MAX];
	struct sweep_request request = {.input = command_input(command, NULL),
					.axes = axes,
					.axis_count = command->vary.count,
					.most_drawn =
						command_gave(command, "draws") ? 0 : SWEEP_DRAWN,
					.journal = command_journal(command)};
	request.input.request.beside = true;
	if (command->vary.count == 0)
		diag_error(diag, (struct origin){0},
			   "farwire: `farwire sweep` needs 1 to %d options --vary KEY=VALUES",
			   AXES_MAX);
	command_axes(command, diag, axes);
	return grid(command, diag, &request);
}

const struct verb verb_sweep = {
	.name = "sweep",
	.words = "CASE",
	.help = "predicts a case over a grid of parameter values; of more than 16 points, "
		"only the first and the fastest ones have intervals, unless --draws is given",
	.examples = "  farwire sweep case.cfg --vary 'link.wire.latency=1 us:1 ms:log20' --plot "
		    "curve.svg\n"
		    "  farwire sweep case.cfg --vary 'link.wire.latency=1 us:1 ms:log100' \\\n"
		    "      --vary 'link.wire.bandwidth=1 Gbit/s:100 Gbit/s:log100' -o grid.csv "
		    "--plot map.svg --target 'ratio>=0.9'\n"
		    "  mpirun -n 64 farwire sweep case.cfg --vary ... -o grid.csv\n"
		    "  farwire sweep nccl.cfg --vary 'case.collective_size=8 B:8 GiB:log31' --plot "
		    "bandwidth.svg\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "vary target",
	.ranks = true,
	.run = run,
};
