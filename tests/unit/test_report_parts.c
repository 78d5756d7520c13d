/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a report from predictions and topologies that are made up: the comparison of cases, and
 * the table of links. */
#include "sim/base/arena.h"
#include "sim/report/part.h"
#include "tests/test.h"

static struct arena *arena;

static struct report *report_of(void)
{
	static const struct report_request request = {.data_root = "."};
	struct report *report = report_new(arena, NULL, "by");
	report->request = &request;
	report->caption = "c";
	return report;
}

/* Returns the text of the first block of this kind. */
static const char *text_of(const struct report *report, enum block_kind kind)
{
	for (size_t i = 0; i < report->blocks.count; i++)
		if (report->blocks.items[i].kind == kind)
			return report->blocks.items[i].text;
	return "";
}

/* ---- comparison ---- */

static struct prediction job(const char *name, double value, double low, double high)
{
	return (struct prediction){.name = name,
				   .ok = true,
				   .gpu_count = 1,
				   .throughput = {value, low, high},
				   .speedup = estimate_exact(1),
				   .ratio = ESTIMATE_NONE,
				   .bottleneck = "kernel-bound"};
}

static struct report *compared(struct prediction *list, size_t count)
{
	struct report *report = report_of();
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(arena, &report->predictions) = &list[i];
	report_finish(report);
	return report;
}

/* The intervals of c and b are +-10 % and +-10.5 %, so the quotient of 1.05 is 0.6 standard
 * deviations above 1. */
static void comparison_has_the_ratio_of_the_fastest_case_to_each_other_one(void)
{
	struct prediction list[] = {job("a", 50, 45, 55), job("d", NAN, NAN, NAN),
				    job("b", 95, 85, 105), job("c", 100, 90, 110)};
	list[1].ok = false;
	list[1].reason = "timeout";
	struct report *report = compared(list, 4);
	CHECK_TEXT(report->title, "Which of these cases is the fastest?");
	CHECK_TEXT(text_of(report, BLOCK_PART), "Comparison of the cases");
	CHECK_TEXT(
		text_of(report, BLOCK_ANSWER),
		"c is the fastest of 4 cases, with 100 images/s (90.0 to 110): 2.00 times the "
		"throughput of a (1.74 to 2.31), faster with a probability of over 99 %, 1.05 "
		"times "
		"the throughput of b (0.910 to 1.22), faster with a probability of 72 %. d fails: "
		"timeout.");
	CHECK(report->blocks.items[1].alarm);
	CHECK_TEXT(text_of(report, BLOCK_FOLD), "The numbers of this figure");
	CHECK_PART(text_of(report, BLOCK_TABLE), "Without intervals.");
	report = compared(&list[2], 2);
	CHECK(report->blocks.count == 6 && !report->blocks.items[1].alarm);
	for (size_t i = 0; i < 4; i++)
		list[i].ok = false;
	list[0].reason = list[2].reason = list[3].reason = "no route";
	report = compared(list, 2);
	CHECK_TEXT(text_of(report, BLOCK_ANSWER),
		   "None of the 2 cases works. a fails: no route. d fails: timeout.");
	CHECK(report->blocks.items[1].alarm);
}

/* Bytes of a collective and images have no quotient. A failed case does not matter for that. */
static void cases_of_two_kinds_have_no_fastest_one(void)
{
	struct prediction list[] = {job("a", 50, 50, 50), job("b", 40, 40, 40),
				    job("c", 2e9, 2e9, 2e9)};
	list[1].ok = false;
	list[1].reason = "timeout";
	list[2].collective = "all_reduce, 1 MiB";
	CHECK_TEXT(text_of(compared(list, 3), BLOCK_ANSWER),
		   "The cases count samples, requests and bytes, so that none is the fastest. b "
		   "fails: "
		   "timeout.");
	CHECK_TEXT(text_of(compared(list, 2), BLOCK_ANSWER),
		   "a is the fastest of 2 cases, with 50.0 images/s. b fails: timeout.");
	CHECK_TEXT(throughput_words(arena, &list[2], 3), "2.00" NBSP "GB/s");
}

static void title_asks_what_the_prediction_answers(void)
{
	struct prediction one = job("a", 50, 50, 50);
	CHECK_TEXT(compared(&one, 0)->title, "Predictions and measurements");
	CHECK_TEXT(compared(&one, 1)->title, "How does this training scale?");
	CHECK(compared(&one, 1)->blocks.count == 0);
	one.gpu_count = 0;
	CHECK_TEXT(compared(&one, 1)->title, "What does a remote GPU cost?");
	one.requests_count = 1;
	CHECK_TEXT(compared(&one, 1)->title, "How fast are requests served?");
	one = job("a", 50, 50, 50);
	one.collective = "all_reduce";
	CHECK_TEXT(compared(&one, 1)->title, "How fast is this collective?");
}

static void chance_beyond_the_resolution_of_draws_is_over_99_percent(void)
{
	CHECK_TEXT(chance_words(arena, 0.994), ", faster with a probability of 99 %");
	CHECK_TEXT(chance_words(arena, 0.996), ", faster with a probability of over 99 %");
	CHECK_TEXT(chance_words(arena, 0.5), ", faster with a probability of 50 %");
	CHECK_TEXT(chance_words(arena, NAN), "");
}

static void captions_say_what_belongs_to_the_numbers(void)
{
	struct result_table *table = result_table_new(arena, "t", "T");
	result_columns(table, "a:text");
	struct report *report = report_of();
	report_results(report, table, true, NULL, NULL);
	report_results(report, table, false, "folded", NULL);
	table->setup = "network x";
	table->without_effect = "a.b, c.d";
	report_results(report, table, false, NULL, "Own");
	const struct block *blocks = report->blocks.items;
	if (!CHECK(report->blocks.count == 5))
		return;
	CHECK_TEXT(blocks[0].text, "With 90 % intervals.");
	CHECK_TEXT(blocks[1].text, "folded");
	CHECK_TEXT(blocks[2].text, "Without intervals.");
	CHECK(blocks[3].kind == BLOCK_UNFOLD);
	CHECK_TEXT(blocks[4].text, "Own. Setup: network x. Changes nothing here: a.b, c.d.");
}

static void caption_has_the_subject_and_the_configuration_if_they_are_known(void)
{
	struct caption caption = {.settings = ", a.b=1", .seed = 7};
	CHECK_TEXT(caption_text(arena, &caption),
		   "farwire " FARWIRE_VERSION ", seed 7, no intervals, a.b=1");
	caption.subject = "case";
	caption.configuration = "configuration 0";
	caption.draws = 24;
	CHECK_TEXT(caption_text(arena, &caption),
		   "farwire " FARWIRE_VERSION
		   ", case, seed 7, 90 % intervals from 24 draws, a.b=1, configuration 0");
}

static void moved_blocks_come_first_and_the_others_follow(void)
{
	struct report *report = report_of();
	for (int i = 0; i < 5; i++)
		report_add(report, BLOCK_TEXT, "%d", i);
	report_to_front(report, 3);
	const char *text = "";
	for (size_t i = 0; i < report->blocks.count; i++)
		text = arena_printf(arena, "%s%s", text, report->blocks.items[i].text);
	CHECK_TEXT(text, "34012");
	report_add(report, BLOCK_PART, "p");
	report_answer(report, false, "It takes 3. 2 of 4 fail. The rest follows.");
	CHECK_TEXT(report_brief_of(report, 5), "It takes 3. 2 of 4 fail.");
}

/* ---- links ---- */

static const struct link_kind slot = {.name = "pcie", .inside_host = true},
			      chip = {.name = "c2c", .inside_host = true},
			      wire = {.name = "ethernet"};

static struct link_entry link_of(const struct link_kind *kind, const char *from, const char *to,
				 double there_Bps, double back_Bps)
{
	return (struct link_entry){
		.kind = kind,
		.ends = {from, to},
		.traits = {.capacity_Bps = {there_Bps, back_Bps}, .latency_s = 5e-6}};
}

/* The program runs on the bare host n0, and its server in the container box of n1. */
struct world {
	struct host_entry hosts[2];
	struct guest_entry guests[2];
	struct gpu_entry gpus[3];
	size_t place[2];
	struct job_entry job;
	struct runtime_params runtime;
	struct scenario scenario;
};

static struct world *world_of(const struct link_entry *links, size_t count)
{
	struct world *w = ARENA_NEW(arena, struct world);
	w->hosts[0].name = w->guests[0].name = "n0";
	w->hosts[1].name = "n1";
	w->guests[0].params.kind = GUEST_BARE;
	w->guests[1].name = "box";
	w->guests[1].host = 1;
	w->guests[1].params.kind = GUEST_CONTAINER;
	static const char *const names[] = {"n1.g0", "n1.g1", "n1.g2"};
	for (size_t i = 0; i < 3; i++) {
		w->gpus[i].name = names[i];
		w->gpus[i].profile = i == 2 ? "v100" : "p100";
	}
	w->place[1] = 1;
	w->job = (struct job_entry){.guests = &w->place[0],
				    .servers = &w->place[1],
				    .gpus = &w->place[0],
				    .simulated_count = 1,
				    .runtime = &w->runtime};
	w->scenario.jobs = &w->job;
	w->scenario.job_count = 1;
	w->scenario.style = JOBS_PROGRAMS;
	w->scenario.topology = (struct topology){.name = "net",
						 .hosts = w->hosts,
						 .host_count = 2,
						 .guests = w->guests,
						 .guest_count = 2,
						 .gpus = w->gpus,
						 .gpu_count = 3,
						 .links = links,
						 .link_count = count};
	return w;
}

/* Returns the rows of the table of links, with bars between the cells. */
static const char *rows_of(const struct world *w, const struct prediction *p, const char **caption)
{
	struct report *report = report_of();
	report_topology(report, &w->scenario, p, "case");
	const struct block *block = &report->blocks.items[0];
	const char *text = "";
	for (size_t i = 0; i < block->table->rows.count;
	     i++, text = arena_printf(arena, "%s\n", text))
		for (size_t k = 0; k < block->table->rows.items[i].count; k++)
			text = arena_printf(arena, "%s%s%s", text, k ? "|" : "",
					    block->table->rows.items[i].cells[k]);
	*caption = block->text;
	return text;
}

/* Links are one row if their kind, their ends without numbers, what is there, their bandwidths and
 * their latency are equal. The row has the highest utilisation of both directions. */
static void equal_links_are_one_row(void)
{
	struct link_entry links[] = {link_of(&wire, "n0", "sw0", 12.5e9, 12.5e9),
				     link_of(&wire, "n1", "sw1", 12.5e9, 12.5e9),
				     link_of(&wire, "n1", "sw2", 12.5e9, 1.25e9),
				     link_of(&slot, "n1", "n1.g0", 16e9, 16e9),
				     link_of(&slot, "n1", "n1.g1", 16e9, 16e9),
				     link_of(&slot, "n1", "n1.g2", 16e9, 16e9),
				     link_of(&chip, "n1", "n1.g0", 16e9, 16e9),
				     link_of(&wire, "box", "sw0", 1.25e12, 1.25e12),
				     link_of(&wire, "sw1", "sw0", 1.249e12, 1.249e12)};
	enum { LINKS = sizeof links / sizeof links[0] };
	static const double uses[LINKS][2] = {{0.1, 0.3},  {0.4, 0.2},  {0, 0},
					      {0.2, 0.25}, {0.05, 0.1}, {0.01, 0.02},
					      {0, 0},      {0, 0.5},    {1, 0}};
	struct link_prediction used[2 * LINKS];
	for (size_t i = 0; i < 2 * LINKS; i++)
		used[i].utilization = uses[i / 2][i % 2];
	links[8].copies_count = 100000;
	struct prediction p = {.ok = true, .links = used, .link_count = 2 * LINKS};
	struct world *w = world_of(links, LINKS);
	const char *caption;
	CHECK_TEXT(rows_of(w, &p, &caption),
		   "n*|n*.g* (p100)|2|pcie|16 GB/s, 5 us|25" NBSP "%\n"
		   "n1|n1.g2 (v100)|1|pcie|16 GB/s, 5 us|2" NBSP "%\n"
		   "n1|n1.g0 (p100)|1|c2c|16 GB/s, 5 us|–\n"
		   "n0 (program)|sw0|1|ethernet|100 Gbit/s, 5 us|30" NBSP "%\n"
		   "n1|sw1|1|ethernet|100 Gbit/s, 5 us|40" NBSP "%\n"
		   "n1|sw2|1|ethernet|100 Gbit/s, back 10 Gbit/s, 5 us|–\n"
		   "box (server)|sw0|1|ethernet|10 Tbit/s, 5 us|50" NBSP "%\n"
		   "sw*|sw*|100000|ethernet|9992 Gbit/s, 5 us|100" NBSP "%\n");
	CHECK_TEXT(caption, "Links of net; a * stands for numbers. The last column is the highest "
			    "utilisation in case.");
	w->scenario.topology.help = "two machines";
	p.ok = false;
	p.link_count = 2; /* a run that did not simulate these links */
	CHECK_PART(rows_of(w, &p, &caption), "n0 (program)|sw0|1|ethernet|100 Gbit/s, 5 us|–\n");
	CHECK_TEXT(caption,
		   "Links of net: two machines; a * stands for numbers. The last column is the "
		   "highest utilisation in case (a failed run).");
}

static void ends_say_what_runs_there(void)
{
	struct link_entry links[] = {link_of(&wire, "n0", "box", 12.5e9, 12.5e9)};
	struct prediction p = {.ok = true};
	struct world *w = world_of(links, 1);
	const char *caption;
	w->place[0] = 1;
	CHECK_PART(rows_of(w, &p, &caption), "n0|box (program, server)|");
	w->place[1] = 0;
	CHECK_PART(rows_of(w, &p, &caption), "n0 (server)|box (program)|");
	w->job.runtime = NULL; /* without a remoting runtime there is no server */
	CHECK_PART(rows_of(w, &p, &caption), "n0|box (program)|");
	w->scenario.style = JOBS_COLLECTIVE;
	CHECK_PART(rows_of(w, &p, &caption), "n0|box (ranks)|");
	w->scenario.style = JOBS_SERVING;
	CHECK_PART(rows_of(w, &p, &caption), "n0|box (model server)|");
}

static const struct test tests[] = {
	TEST(comparison_has_the_ratio_of_the_fastest_case_to_each_other_one),
	TEST(cases_of_two_kinds_have_no_fastest_one),
	TEST(title_asks_what_the_prediction_answers),
	TEST(chance_beyond_the_resolution_of_draws_is_over_99_percent),
	TEST(captions_say_what_belongs_to_the_numbers),
	TEST(caption_has_the_subject_and_the_configuration_if_they_are_known),
	TEST(moved_blocks_come_first_and_the_others_follow),
	TEST(equal_links_are_one_row),
	TEST(ends_say_what_runs_there),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
