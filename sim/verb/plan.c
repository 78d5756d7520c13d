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
					       .most_count = command->best_count,
					       .all_marks = command->plot};
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

/* Searches plans on one system; --topology can list several. */
static const struct plan_search *search_one(const struct command *command, size_t system,
					    struct plan_search_request request, int *exit_code)
{
	struct diag *diag = diag_new(command->arena);
	bool several = command->systems.count > 0;
	const char *name = several ? command->systems.items[system] : "";
	const char *things = several ? arena_printf(command->arena, "simulated steps of %s", name)
				     : "simulated steps";
	struct progress progress = progress_new(things, request.journal, command->quiet);
	struct sweep_fault fault;
	request.input = command_input(command, &progress);
	request.tell_best = progress_best;
	request.input.request = command_case(command, system);
	request.input.request.events_max = events_most(command);
	const struct plan_search *search = plan_search_run(command->arena, diag, &request, &fault);
	progress_end(&progress);
	if (search)
		return search;
	*exit_code = command_sweep_failed(diag, fault);
	if (several)
		command_stop(*exit_code,
			     "no plan can be searched on %s (remove it from --topology, or correct "
			     "the value above)",
			     name);
	return NULL;
}

static int answer_one(const struct command *command, const struct plan_search *search,
		      const struct target *target, const char *journal)
{
	const struct result_table *table = plan_search_table(command->arena, search);
	const struct prediction **best =
		ARENA_ARRAY(command->arena, search->best_count + 1, const struct prediction *);
	for (size_t i = 0; i < search->best_count; i++)
		best[i] = search->plans[i].prediction;
	if (target)
		table = ranked_table(command->arena, table, best, 1, target);
	return command_answer(command, table, command->plot ? draw(command, search) : NULL,
			      journal);
}

/* Searches plans on each system. Plans of all systems are counted first, so that a system on which
 * there is none is found before the long work. */
static int compare_systems(const struct command *command, struct plan_search_request request,
			   const struct target *target)
{
	struct arena *arena = command->arena;
	size_t count = command->systems.count;
	const char *journal = request.journal;
	const struct plan_search **searches = ARENA_ARRAY(arena, count, const struct plan_search *);
	const char **names = ARENA_ARRAY(arena, count, const char *);
	const char **journals = ARENA_ARRAY(arena, count, const char *);
	if (!command_gave(command, "best"))
		request.most_count = 1;
	for (size_t i = 0; i < 2 * count; i++) {
		size_t k = i % count;
		int code = EXIT_DONE;
		names[k] = command_base_name(command, command->systems.items[k]);
		journals[k] = journal ? arena_printf(arena, "%s.%s", journal, names[k]) : NULL;
		request.count_only = i < count;
		request.journal = request.count_only ? NULL : journals[k];
		searches[k] = search_one(command, k, request, &code);
		if (!searches[k])
			return code;
	}
	if (command_follows(command))
		return EXIT_DONE;
	const struct prediction *const *predictions;
	const struct result_table *table =
		systems_table(arena, names, searches, count, &predictions);
	if (target)
		table = ranked_table(arena, table, predictions, 2, target);
	const struct drawing *drawing = command->plot
						? command_comparison(command, table, 2, predictions,
								     table->row_count, target)
						: NULL;
	int code = command_answer(command, table, drawing, NULL);
	for (size_t i = 0; i < count && journal && code == EXIT_DONE; i++)
		code = command_end_journal(journals[i]);
	return code;
}

static int run(const struct command *command)
{
	struct sweep_axis axes[AXES_MAX];
	struct diag *diag = diag_new(command->arena);
	size_t axis_count = command_axes(command, diag, axes);
	struct target target = {0};
	const struct case_request own = command_case(command, 0);
	bool served = serve_search_takes(&own);
	/* the batch need not be divisible in the case, which is only one of the plans */
	const struct setting any_batch = {"plan.global_batch=0", {"farwire plan", 0}};
	const struct case_request one = request_with(command->arena, &own, &any_batch, 1);
	const struct scenario *scenario = command->target && !served && !diag_count(diag)
						  ? case_read(command->arena, diag, &one)
						  : NULL;
	if (scenario)
		target_read(command->arena, diag, (struct origin){"--target", 0},
			    reporting_of(command->arena, scenario), command->target, &target);
	if (diag_count(diag))
		return command_failed(diag, NULL);
	if (!command_follows(command) && !command_can_write(command))
		return EXIT_FAILED;
	if (served && (command->systems.count || command->target))
		return command_stop(EXIT_USAGE,
				    "layouts of model servers are searched on one system and "
				    "without --target (write one name after --topology, and limits "
				    "of the latency after --serve)");
	if (served)
		return serve(command, axes, axis_count);
	const struct plan_search_request request = {.axes = axes,
						    .axis_count = axis_count,
						    .most_count = command->best_count,
						    .exhaustive = command->exhaustive,
						    .journal = command_journal(command)};
	if (command->systems.count)
		return compare_systems(command, request, command->target ? &target : NULL);
	int code = EXIT_DONE;
	const struct plan_search *search = search_one(command, 0, request, &code);
	if (command_follows(command))
		return code;
	return search ? answer_one(command, search, command->target ? &target : NULL,
				   request.journal)
		      : code;
}

const struct verb verb_plan = {
	.name = "plan",
	.words = "CASE",
	.help = "searches the plans by which a transformer is split over GPUs, or the layouts of "
		"model servers, and prints the best ones",
	.examples =
		"  farwire plan case.cfg --gpus 64 --plan global_batch=512 --plot plans.svg\n"
		"  farwire plan --topology dgx-h100 --model llama3-8b --stack "
		"pytorch-fsdp-bf16 \\\n"
		"      --exchange nccl-2.18 --gpus 16 --plan global_batch=64,tp=4 \\\n"
		"      --vary plan.micro_batch=1,2 --vary plan.cp=1,2\n"
		"  farwire plan --topology dgx-a100,dgx-h100,dgx-b200 --model llama3-8b --gpus 8 "
		"\\\n"
		"      --stack pytorch-bf16-adamw --exchange nccl-2.18 --plan global_batch=64 "
		"\\\n"
		"      --prices list-2026\n"
		"  farwire plan --topology dgx-h100 --gpus 16 --model llama3-8b --engine vllm "
		"\\\n"
		"      --serve \"prompt=1024,output=200,first_slo=500 ms,between_slo=30 ms\"\n",
	.options = CASE_OPTIONS "draws=8 vary target best exhaustive " ANSWER_OPTIONS,
	.systems = true,
	.ranks = true,
	.run = run,
};
