/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire scale: predicts a training job or a collective on increasing numbers of GPUs. */
#include "sim/report/answers.h"
#include "sim/report/sweep_figures.h"
#include "sim/verb/verbs.h"

static int run(const struct command *command)
{
	struct target target = {0};
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = progress_new("points", NULL, command->quiet);
	struct scaling_request request = {.input = command_input(command, &progress),
					  .gpus = {command->gpus, {"--gpus", 0}}};
	request.input.options.effects = !command->quiet;
	struct diag *diag = diag_new(command->arena);
	struct sweep_fault fault;
	const struct scaling *scaling = scaling_run(command->arena, diag, &request, &fault);
	progress_end(&progress);
	if (!scaling)
		return command_sweep_failed(diag, fault);
	const struct prediction *first = scaling->predictions[0];
	const struct reporting reporting = {prediction_kind(first),
					    counted_unit(first->setup.counted)};
	if (command->target && !target_read(command->arena, diag, (struct origin){"--target", 0},
					    reporting, command->target, &target))
		return command_failed(diag, NULL);
	const struct result_table *table = scaling_table(command->arena, scaling);
	if (target.reported)
		table = ranked_table(command->arena, table, scaling->predictions, 1, &target);
	int code = command_table(command, table);
	if (code == EXIT_DONE && command->plot) {
		struct arena *arena = command->arena;
		struct chart_text text = command_chart_text(
			command, arena_printf(arena, "Scaling of %s", scaling->name));
		const struct drawing *pages[2] = {scaling_chart(arena, text, scaling)};
		size_t count = 1;
		text.title =
			arena_printf(arena, "Step time of %s by number of GPUs", scaling->name);
		if (ends_in(command->plot, ".pdf")) {
			pages[count] = scaling_parts_chart(arena, text, scaling);
			count += pages[count] != NULL;
		}
		code = command_draw(command, command->plot, pages, count);
	}
	return code;
}

const struct verb verb_scale = {
	.name = "scale",
	.words = "CASE",
	.help = "predicts a training job on increasing numbers of GPUs: speed-up, efficiency, "
		"exposed communication; with --target, the cheapest that satisfies it comes first",
	.examples = "  farwire scale job.cfg --gpus 1,2,4,8 --plot scaling.svg\n"
		    "  farwire scale --topology dgx1-v100 --model resnet50 --batch 64 --draws 0\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "gpus target",
	.run = run,
};
