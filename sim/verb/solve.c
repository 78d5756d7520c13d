/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire solve: solves for the parameter value up to or from which a target is met. */
#include "sim/report/answers.h"
#include "sim/verb/verbs.h"

static const struct drawing *draw(const struct command *command, const struct solving *solving)
{
	struct arena *arena = command->arena;
	const struct chart_text text = command_chart_text(
		command, arena_printf(arena, "%s: %s with %s", solving->name,
				      cfg_param_words(arena, solving->key, solving->param->row),
				      solving->target.text));
	return solving_chart(arena, text, solving);
}

static int run(const struct command *command)
{
	if (!command->target || command->keys.count != 1)
		return command_stop(
			EXIT_USAGE, "`farwire solve` needs %s",
			!command->target ? "--target, for example --target 'ratio>=0.95'"
			: command->keys.count
				? "exactly one --for KEY (write one command for each parameter)"
				: "--for KEY (`farwire explain CASE` shows the keys)");
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = progress_new("points", NULL, command->quiet);
	const struct solving_request request = {.input = command_input(command, &progress),
						.target = {command->target, {"--target", 0}},
						.key = {command->keys.items[0], {"--for", 0}},
						.between = {command->between, {"--between", 0}},
						.band = command->plot};
	struct diag *diag = diag_new(command->arena);
	const char *broken;
	const struct solving *solving = solving_run(command->arena, diag, &request, &broken);
	progress_end(&progress);
	if (!solving)
		return command_failed(diag, broken);
	return command_answer(command, solving_table(command->arena, solving),
			      command->plot ? draw(command, solving) : NULL, NULL);
}

const struct verb verb_solve = {
	.name = "solve",
	.words = "CASE",
	.help = "solves for the parameter value at which a target is met, with its interval",
	.examples =
		"  farwire solve case.cfg --target 'ratio>=0.95' --for link.wire.latency\n"
		"  farwire solve ddl-host --target 'efficiency>=0.9' --for link.network.bandwidth "
		"--plot bound.svg\n"
		"  farwire solve dgx1-scaling --target 'efficiency>=0.95' --for case.gpus "
		"--between 1:64\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "target for between",
	.run = run,
};
