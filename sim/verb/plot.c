/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire plot: draws saved results without predicting them again. */
#include "sim/report/chart_data.h"
#include "sim/verb/verbs.h"

typedef VEC(const struct prediction *) predictions_vec;

static int read_all(const struct command *command, predictions_vec *all)
{
	struct diag *diag = diag_new(command->arena);
	for (size_t i = 0; i < command->word_count; i++) {
		size_t count = 0;
		const struct prediction *const *read =
			predictions_read(command->arena, diag, command->words[i], &count);
		for (size_t k = 0; read && k < count; k++)
			*VEC_PUSH(command->arena, all) = read[k];
	}
	if (diag_count(diag) == 0)
		return EXIT_DONE;
	diag_print(diag, stderr);
	return EXIT_USAGE;
}

static const char *caption_of(const struct command *command, const predictions_vec *all)
{
	FW_ASSERT(all->count > 0); /* predictions_read refuses a file without predictions */
	const struct prediction *first = all->items[0];
	const char *files = "";
	for (size_t i = 0; i < command->word_count; i++)
		files = arena_printf(command->arena, "%s%s%s", files, i ? ", " : "",
				     command->words[i]);
	const struct caption caption = {files, "", first->seed, first->draws_count, NULL};
	return caption_text(command->arena, &caption);
}

/* Draws the parts of the step time for one result, and the ratios for several results. A PDF of
 * several results has both. */
static int draw(const struct command *command, const char *path, const predictions_vec *all)
{
	struct arena *arena = command->arena;
	struct chart_text text = {command->title, caption_of(command, all)};
	const struct drawing *pages[2];
	size_t count = 0;
	if (all->count > 1) {
		if (!text.title)
			text.title = chart_bars_title(all->items, all->count);
		pages[count++] = chart_ratio_bars(
			arena, text, chart_bars(arena, all->items, all->count), all->count);
		text.title = NULL;
	}
	if (!text.title)
		text.title = "Parts of the step time";
	if (all->count == 1 || ends_in(path, ".pdf"))
		pages[count++] = chart_breakdown(arena, text, all->items, all->count);
	return command_draw(command, path, pages, count);
}

static int run(const struct command *command)
{
	bool data = command->format != FORMAT_TABLE;
	const char *path = command->plot;
	if (!path && !data && strcmp(command->output, "-") != 0)
		path = command->output;
	if (!path && !data)
		return command_stop(
			EXIT_USAGE,
			"`farwire plot` needs an image file (write --plot FILE.svg, .pdf or .png)");
	predictions_vec all = {0};
	int code = read_all(command, &all);
	if (code == EXIT_DONE && path)
		code = draw(command, path, &all);
	if (code == EXIT_DONE && data)
		code = command_write_predictions(command, all.items, all.count);
	return code;
}

const struct verb verb_plot = {
	.name = "plot",
	.words = "RESULT...",
	.help = "draws saved results: the parts of the step time, or the ratios of several results",
	.examples = "  farwire run case.cfg --format json -o result.json\n"
		    "  farwire plot result.json --plot result.svg\n"
		    "  farwire plot a.json b.json -o both.pdf --title 'a or b?'\n",
	.options = "format output plot title color quiet",
	.run = run,
};
