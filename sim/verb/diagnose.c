/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire diagnose: compares a log of collectives with the prediction, and ranks single faults. */
#include "calib/fit/fit.h"
#include "sim/import/importer.h"
#include "calib/fit/recording.h"
#include "plots/charts.h"
#include "sim/analysis/diagnose.h"
#include "sim/verb/verbs.h"

enum { SHOWN_MOST = 8, DRAWN_MOST = 3 };
/* Suspects with less probability are not printed. */
static const double shown_least = 0.01;

/* Reads recorded samples, or a log of a known tool. */
static const struct recording *read(const struct command *command, struct diag *diag)
{
	const char *path = command->words[0];
	size_t size_B;
	if (ends_in(path, ".jsonl"))
		return recording_read(command->arena, diag, path);
	struct imported imported = {0};
	if (!import_log.files(command->arena, diag, &path, 1, &imported))
		return NULL;
	char *text;
	FILE *out = open_memstream(&text, &size_B);
	imported.write(out, imported.ctx);
	fclose(out);
	const struct recording *recording =
		recording_read_from(command->arena, diag, fmemopen(text, size_B, "r"), path);
	free(text);
	return recording;
}

static const char *range_words(struct arena *arena, const struct size_range *range)
{
	const char *from = quantity_format(arena, QUANTITY_BYTES, range->from_B);
	const char *to = quantity_format(arena, QUANTITY_BYTES, range->to_B);
	double times = range->ratio < 1 ? 1 / range->ratio : range->ratio;
	return arena_printf(arena,
			    "%s sizes (%s to %s): %s; %.2f times the predicted %s, %zu of %zu "
			    "outside the interval",
			    range->name, from, to,
			    range->deviation == 0  ? "as expected"
			    : range->deviation < 0 ? "faster than expected"
						   : "slower than expected",
			    times, range->ratio < 1 ? "speed" : "time", range->outside_count,
			    range->count);
}

/* Returns the sentence that judges the log. It agrees with the counts of the ranges. */
static const char *verdict_of(struct arena *arena, const struct diagnosis *d)
{
	const char *first = d->suspects[0].what;
	double percent = 100 * fabs((d->ratio < 1 ? 1 / d->ratio : d->ratio) - 1);
	size_t outside = 0;
	for (size_t i = 0; i < DIAGNOSE_RANGES; i++)
		outside += d->ranges[i].deviation != 0;
	if (d->faster)
		return arena_printf(
			arena,
			"no suspect: the log is faster than predicted by %.0f %%, and no fault "
			"makes a collective faster (the prediction is pessimistic, or --topology "
			"and --exchange describe another system)",
			percent);
	if (*d->suspects[0].setting)
		return d->explained ? arena_printf(arena, "first suspect: %s", first)
				    : "none of the simulated faults explains the log well";
	if (outside == 0)
		return d->explained ? "no suspect: the log agrees with the prediction"
				    : "no suspect, but the shape of the curve differs from the "
				      "prediction";
	return arena_printf(arena,
			    "no suspect: the log is %s than predicted by %.0f %%, but an error of "
			    "the prediction explains that better than each simulated fault",
			    d->ratio < 1 ? "faster" : "slower", percent);
}

/* Returns where the noise comes from. */
static const char *noise_words(const struct command *command, const struct diagnosis *d)
{
	if (command->noise_ratio > 0)
		return "from --noise";
	return d->distance == DISTANCE_SAME_SYSTEM
		       ? "the error of predictions for a system with a fit of its own"
		       : "the error of predictions for a system without a fit of its own (a fit of "
			 "its log and --profile lower it)";
}

static const char *title_of(const struct command *command, const struct diagnosis *d)
{
	struct arena *arena = command->arena;
	const char *text = "";
	for (size_t i = 0; i < DIAGNOSE_RANGES; i++)
		if (d->ranges[i].count)
			text = arena_printf(arena, "%s%s\n", text,
					    range_words(arena, &d->ranges[i]));
	return arena_printf(arena,
			    "%s%s\n%zu faults were simulated; %zu of them cannot be seen at these "
			    "sizes\nnoise of each size: %.3g %%, %s",
			    text, verdict_of(arena, d), d->simulated_count, d->hidden_count,
			    100 * d->noise_ratio, noise_words(command, d));
}

static const struct result_table *table_of(const struct command *command, const struct diagnosis *d)
{
	struct arena *arena = command->arena;
	static const struct result_column columns[] = {
		{.name = "suspect", .text = true},
		{.name = "probability", .quantity = QUANTITY_RATIO},
		{.name = "check", .text = true, .heading = "what to check next"},
		{.name = "alike", .text = true, .heading = "has the same curve"},
		{.name = "setting", .text = true, .heading = "simulated with --set"}};
	const double digits = 1000;
	struct result_table *table = result_table_new(arena, "diagnosis", title_of(command, d),
						      columns, sizeof columns / sizeof columns[0]);
	for (size_t i = 0; i < d->suspect_count && i < SHOWN_MOST && !d->faster; i++) {
		const struct suspect *s = &d->suspects[i];
		if (s->probability < shown_least)
			break;
		struct result_cell *cells = result_table_row(arena, table);
		cells[0].text = s->what;
		cells[1].number = estimate_exact(round(digits * s->probability) / digits);
		cells[2].text = *s->check ? s->check : NULL;
		cells[3].text = s->alike;
		cells[4].text = *s->setting ? s->setting : NULL;
	}
	return table;
}

/* Adds a curve of bandwidths over the sizes of the first collective. */
static struct curve curve_of(struct arena *arena, const struct diagnosis *d, const char *label)
{
	size_t count = 1;
	while (count < d->count && d->size_B[count] > d->size_B[count - 1])
		count++;
	return (struct curve){label, d->size_B, ARENA_ARRAY(arena, count, struct estimate),
			      count, NULL,      NULL};
}

static const struct drawing *draw(const struct command *command, const struct diagnosis *d)
{
	struct arena *arena = command->arena;
	struct curve curves[DRAWN_MOST + 2];
	size_t count = 0;
	for (size_t c = 0; c < 2 + (d->faster ? 0 : d->suspect_count) && count < DRAWN_MOST + 2;
	     c++) {
		const struct suspect *s = c < 2 ? NULL : &d->suspects[c - 2];
		if (s && !*s->setting)
			continue;
		struct curve curve = curve_of(arena, d,
					      c == 0   ? "measured"
					      : c == 1 ? "expected"
						       : s->what);
		struct estimate *y = ARENA_ARRAY(arena, curve.count, struct estimate);
		for (size_t i = 0; i < curve.count; i++) {
			double time_s = s ? s->time_s[i] : d->rows[i]->measured;
			const struct estimate *e = &d->expected_s[i];
			double size_GB = d->size_B[i] * 1e-9, rate = size_GB / time_s;
			y[i] = c == 1 ? (struct estimate){size_GB / e->value, size_GB / e->high,
							  size_GB / e->low}
				      : (struct estimate){rate, rate, rate};
		}
		curve.y = y;
		curves[count++] = curve;
	}
	struct caption caption = command_caption_of(command);
	caption.configuration = caption_configuration(arena, d->cases, d->count);
	struct chart_text text = {command->title ? command->title : "Measured and predicted",
				  caption_text(arena, &caption)};
	const struct chart_axes axes = {.x_label = "message size",
					.y_label = "message size divided by time (GB/s)",
					.x_log = true,
					.y_log = true,
					.x_sizes = true};
	return chart_curves(arena, text, axes, curves, count);
}

static int run(const struct command *command)
{
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct diag *diag = diag_new(command->arena);
	const struct recording *recording = read(command, diag);
	const struct fit_collectives_request from = {.recordings = &recording,
						     .recording_count = 1,
						     .settings = command->settings,
						     .setting_count = command->setting_count};
	const struct dataset *dataset =
		recording ? collectives_dataset(command->arena, diag, &from) : NULL;
	if (!dataset)
		return command_failed(diag, NULL);
	const char *journal = command_journal(command);
	struct progress progress = progress_new("predictions", journal, command->quiet);
	struct diagnose_request request = {.input = command_input(command, &progress),
					   .dataset = dataset,
					   .noise_ratio = command->noise_ratio,
					   .journal = journal};
	request.input.request.path = NULL;
	request.input.request.setting_count = 0;
	struct sweep_fault fault;
	const struct diagnosis *d = diagnose(command->arena, diag, &request, &fault);
	progress_end(&progress);
	if (!d)
		return command_sweep_failed(diag, fault);
	return command_answer(command, table_of(command, d),
			      command->plot ? draw(command, d) : NULL, journal);
}

const struct verb verb_diagnose = {
	.name = "diagnose",
	.words = "LOG|SAMPLES.jsonl",
	.help = "says whether a log of nccl-tests is as expected, and ranks faults that explain it",
	.examples = "  farwire diagnose nccl.log --topology dgx-h100 --exchange nccl-2.18\n"
		    "  farwire diagnose nccl.log --topology mine.cfg --plot curves.svg\n",
	.options = "case.topology case.exchange case.transport case.profile case.devices "
		   "case.adapters case.fail case.degrade set noise wide format output plot no-data "
		   "title seed draws jobs color quiet",
	.words_min = 1,
	.run = run,
};
