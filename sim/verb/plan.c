/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire plan: searches the fastest plans by which a transformer can be split over GPUs, or the
 * layouts by which model servers carry the highest load. */
#include "plots/style.h"
#include "sim/report/answers.h"
#include "sim/verb/verbs.h"

static const struct drawing *draw(const struct command *command, const struct plan_search *search)
{
	static const double giga = 1e9;
	struct arena *arena = command->arena;
	struct plan_mark *marks = ARENA_ARRAY(arena, search->plan_count, struct plan_mark);
	const struct prediction *first = search->plans[0].prediction;
	const char *unit = throughput_unit(&first, 1);
	for (size_t i = 0; i < search->plan_count; i++) {
		const struct found_plan *plan = &search->plans[i];
		const struct estimate *y = &plan->prediction->throughput;
		double memory = plan->memory_B / giga;
		const char *hint =
			arena_printf(arena, "%s GB: %s %s", number_format(arena, 6, memory),
				     interval_text(arena, y), unit);
		marks[i] = (struct plan_mark){memory, *y, i < search->best_count, hint};
	}
	const struct plan_axes axes = {"GPU memory (GB)",
				       arena_printf(arena, "throughput (%s)", unit),
				       {"other simulated plans", "best plans"},
				       search->gpu_memory_B / giga,
				       "memory of a GPU"};
	const struct chart_text text =
		command_chart_text(command, arena_printf(arena, "Plans of %s", search->name));
	return chart_plans(arena, text, &axes, marks, search->plan_count);
}

/* Searches layouts of model servers. */
static int serve(const struct command *command, const struct sweep_axis *axes, size_t axis_count)
{
	struct progress progress = progress_new("simulations", NULL, command->quiet);
	struct serve_search_request request = {.input = command_input(command, &progress),
					       .axes = axes,
					       .axis_count = axis_count,
					       .most_count = command->best_count};
	struct diag *diag = diag_new(command->arena);
	struct sweep_fault fault;
	request.input.request.memo = serving_memo_new();
	const struct serve_search *search =
		serve_search_run(command->arena, diag, &request, &fault);
	serving_memo_free(request.input.request.memo);
	progress_end(&progress);
	if (!search)
		return command_sweep_failed(diag, fault);
	if (command_follows(command))
		return EXIT_DONE;
	const struct chart_text text = command_chart_text(
		command, arena_printf(command->arena, "Layouts of %s", search->name));
	return command_answer(
		command, serve_search_table(command->arena, search),
		command->plot ? serve_search_chart(command->arena, text, search) : NULL, NULL);
}

/* Returns the largest number of events of a plan, because a search simulates many; 0: the user has
 * set it. */
static uint64_t events_most(const struct command *command)
{
	for (size_t i = 0; i < command->setting_count; i++)
		if (strncmp(command->settings[i].text, "case.events=", 12) == 0)
			return 0;
	return 100000000;
}

static int run(const struct command *command)
{
	struct sweep_axis axes[AXES_MAX];
	struct diag *diag = diag_new(command->arena);
	size_t axis_count = command_axes(command, diag, axes);
	if (diag_count(diag))
		return command_failed(diag, NULL);
	if (!command_follows(command) && !command_can_write(command))
		return EXIT_FAILED;
	const struct case_request own = command_case(command, 0);
	if (serve_search_takes(&own))
		return serve(command, axes, axis_count);
	const char *journal = command_journal(command);
	struct progress progress = progress_new("simulated steps", journal, command->quiet);
	struct plan_search_request request = {.input = command_input(command, &progress),
					      .axes = axes,
					      .axis_count = axis_count,
					      .most_count = command->best_count,
					      .exhaustive = command->exhaustive,
					      .journal = journal};
	request.input.request.events_max = events_most(command);
	struct sweep_fault fault;
	const struct plan_search *search = plan_search_run(command->arena, diag, &request, &fault);
	progress_end(&progress);
	if (!search)
		return command_sweep_failed(diag, fault);
	if (command_follows(command))
		return EXIT_DONE;
	return command_answer(command, plan_search_table(command->arena, search),
			      command->plot ? draw(command, search) : NULL, journal);
}

const struct verb verb_plan = {
	.name = "plan",
	.words = "CASE",
	.help = "searches the plans by which a transformer is split over GPUs, or the layouts of "
		"model servers, and prints the best ones",
	.examples = "  farwire plan case.cfg --gpus 64 --plan global_batch=512 --plot plans.svg\n"
		    "  farwire plan --topology dgx-h100 --model llama3-8b --stack "
		    "pytorch-fsdp-bf16 \\\n"
		    "      --exchange nccl-2.18 --gpus 16 --plan global_batch=64,tp=4 \\\n"
		    "      --vary plan.micro_batch=1,2 --vary plan.cp=1,2\n"
		    "  farwire plan --topology dgx-h100 --gpus 16 --model llama3-8b --engine vllm "
		    "\\\n"
		    "      --serve \"prompt=1024,output=200,first_slo=500 ms,between_slo=30 ms\"\n",
	.options = "set plan serve vary best exhaustive wide format output plot no-data title seed "
		   "draws=8 jobs color quiet",
	.words_min = 1,
	.cases = true,
	.ranks = true,
	.run = run,
};
