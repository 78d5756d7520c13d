/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/dataset_charts.h"
#include "sim/report/caption.h"
#include "sim/report/chart_data.h"

enum { LINES_A_CHART = 5 };

/* Returns the unit of a measure in charts, "images/s" or "us". */
static struct chart_unit measure_shown(enum measure measure)
{
	return measure == MEASURE_TIME ? (struct chart_unit){1e6, "us"}
				       : (struct chart_unit){1, measures[measure].words};
}

const char *dataset_configuration(struct arena *arena,
				  const struct dataset_outcome *const *outcomes, size_t count)
{
	VEC(const struct cfg_resolution *) cases = {0};
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < outcomes[i]->dataset->row_count; k++)
			*VEC_PUSH(arena, &cases) = outcomes[i]->rows[k].prediction->resolution;
	return caption_configuration(arena, cases.items, cases.count);
}

/* ---- parity ---- */

struct drawing *dataset_parity(struct arena *arena, const char *title, const char *caption,
			       const struct dataset_outcome *const *outcomes, size_t count,
			       enum measure measure)
{
	VEC(struct parity_point) points = {0};
	bool all = measure == MEASURE_COUNT;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < outcomes[i]->dataset->row_count; k++) {
			const struct row_outcome *row = &outcomes[i]->rows[k];
			const char *name = outcomes[i]->dataset->name;
			struct chart_unit unit = measure_shown(row->row->measure);
			if ((all || row->row->measure == measure) && isfinite(row->error) &&
			    row->row->role != ROLE_REPORT)
				*VEC_PUSH(arena, &points) = (struct parity_point){
					count > 1 ? arena_printf(arena, "%s: %s", name,
								 row->row->label)
						  : row->row->label,
					row->row->measured * unit.factor,
					estimate_scaled(row->predicted, unit.factor),
					row->row->role == ROLE_TEST};
		}
	const struct chart_unit unit =
		all ? (struct chart_unit){1, "each row in its own unit"} : measure_shown(measure);
	const struct chart_text text = {
		title ? title
		      : arena_printf(arena, "Predicted against measured %s%s",
				     measure == MEASURE_TIME ? "time in " : "", unit.name),
		caption};
	return points.count ? chart_parity(arena, text, unit.name, points.items, points.count)
			    : NULL;
}

/* ---- lines of rows ---- */

/* Rows that differ only in the varied number. */
struct row_line {
	const char *label;
	bool collective;
	VEC(const struct prediction *) predictions;
	VEC(double) measured; /* throughput; NaN: none */
	VEC(double) sizes_B;
	VEC(bool) test;
};
typedef VEC(struct row_line) line_vec;

static bool is_varied(const char *word)
{
	static const char *const keys[] = {"gpus=", "machines=", "bytes="};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (strncmp(word, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

/* Returns a row's label without the number that varies along the line. For a collective the number
 * of GPUs is added, because it differs between lines. */
static const char *line_label(struct arena *arena, const struct row_outcome *row)
{
	char *rest = arena_strdup(arena, row->row->label), *next = rest;
	const char *label = "";
	while (next) {
		char *word = next;
		next = strchr(word, ' ');
		if (next)
			*next++ = '\0';
		if (!is_varied(word))
			label = arena_printf(arena, "%s%s%s", label, *label ? " " : "", word);
	}
	if (prediction_kind(row->prediction) != PREDICTION_COLLECTIVE)
		return label;
	/* A label of digits is the number of GPUs. */
	bool count = strspn(label, "0123456789") == strlen(label);
	return arena_printf(arena, "%s%s%zu GPUs", count ? "" : label, count ? "" : ", ",
			    row->prediction->gpu_count);
}

/* Converts a measurement to throughput, or for a collective to bus bandwidth. */
static double measured_throughput(const struct row_outcome *row)
{
	const struct prediction *p = row->prediction;
	double measured = row->row->measured, alone = p->throughput.value / p->speedup.value;
	switch (row->row->measure) {
	case MEASURE_THROUGHPUT:
		return measured;
	case MEASURE_TOKENS:
	case MEASURE_TOKENS_GPU:
	case MEASURE_TFLOPS_GPU:
	case MEASURE_MFU:
	case MEASURE_HFU: /* all are proportional to the throughput */
		return measured * p->throughput.value / row->predicted.value;
	case MEASURE_SPEEDUP:
		return measured * alone;
	case MEASURE_RATIO:
		return measured * alone * (double)p->gpu_count;
	case MEASURE_TIME: /* same work in the measured time */
		return p->throughput.value * p->step_s.value / measured;
	default:
		return NAN;
	}
}

static double size_B(const struct prediction *prediction)
{
	const struct cfg_param *param =
		cfg_param_find(prediction->resolution, "case.collective_size");
	return param ? param->value : NAN;
}

static bool has_point(const struct row_line *line, const struct row_outcome *row)
{
	for (size_t i = 0; i < line->predictions.count; i++)
		if (line->collective
			    ? line->sizes_B.items[i] == size_B(row->prediction)
			    : line->predictions.items[i]->gpu_count == row->prediction->gpu_count)
			return true;
	return false;
}

static void take_row(struct arena *arena, line_vec *lines, const struct row_outcome *row)
{
	bool collective = prediction_kind(row->prediction) == PREDICTION_COLLECTIVE;
	const char *label = line_label(arena, row);
	struct row_line *line = NULL;
	for (size_t i = 0; i < lines->count && !line; i++)
		if (strcmp(lines->items[i].label, label) == 0 &&
		    lines->items[i].collective == collective)
			line = &lines->items[i];
	if (!line) {
		line = VEC_PUSH(arena, lines);
		*line = (struct row_line){.label = label, .collective = collective};
	}
	if (has_point(line, row))
		return;
	*VEC_PUSH(arena, &line->predictions) = row->prediction;
	*VEC_PUSH(arena, &line->measured) = measured_throughput(row);
	*VEC_PUSH(arena, &line->sizes_B) = size_B(row->prediction);
	*VEC_PUSH(arena, &line->test) = row->row->role == ROLE_TEST;
}

/* Returns the lines of one kind that have at least two points. */
static line_vec lines_of(struct arena *arena, const struct dataset_outcome *outcome,
			 bool collective)
{
	line_vec all = {0}, kept = {0};
	enum prediction_kind kind = collective ? PREDICTION_COLLECTIVE : PREDICTION_TRAINING;
	for (size_t i = 0; i < outcome->dataset->row_count; i++) {
		const struct row_outcome *row = &outcome->rows[i];
		if (prediction_kind(row->prediction) == kind && row->row->measure != MEASURE_GAIN)
			take_row(arena, &all, row);
	}
	for (size_t i = 0; i < all.count; i++)
		if (all.items[i].predictions.count > 1)
			*VEC_PUSH(arena, &kept) = all.items[i];
	return kept;
}

static struct drawing *draw_lines(struct arena *arena, struct chart_text text,
				  const struct row_line *lines, size_t count)
{
	struct prediction_line *shown = ARENA_ARRAY(arena, count, struct prediction_line);
	for (size_t i = 0; i < count; i++)
		shown[i] = (struct prediction_line){lines[i].label,
						    lines[i].predictions.items,
						    lines[i].predictions.count,
						    lines[i].collective ? lines[i].sizes_B.items
									: NULL,
						    lines[i].measured.items,
						    lines[i].test.items};
	return chart_lines(arena, text, shown, count);
}

size_t dataset_charts(struct arena *arena, const char *caption,
		      const struct dataset_outcome *outcome, const struct dataset_chart **charts)
{
	static const char *const titles[2][2] = {
		{"Scaling, measured and predicted", "Bus bandwidth, measured and predicted"},
		{"Scaling", "Bus bandwidth"}};
	static const char *const captions[2][2] = {
		{"Throughput and scaling efficiency over the number of GPUs. Diamonds are "
		 "measurements. The dashed line is ideal linear scaling.",
		 "Bus bandwidth over the message size. Diamonds are measurements."},
		{"Throughput and scaling efficiency over the number of GPUs. The dashed line is "
		 "ideal linear scaling.",
		 "Bus bandwidth over the message size."}};
	bool alone = outcome->dataset->what_if;
	VEC(struct dataset_chart) found = {0};
	for (int collective = 0; collective < 2; collective++) {
		const line_vec lines = lines_of(arena, outcome, collective);
		const struct chart_text text = {arena_printf(arena, "%s: %s",
							     titles[alone][collective],
							     outcome->dataset->title),
						caption};
		for (size_t i = 0; i < lines.count; i += LINES_A_CHART) {
			size_t left = lines.count - i;
			struct drawing *drawing =
				draw_lines(arena, text, &lines.items[i],
					   left < LINES_A_CHART ? left : LINES_A_CHART);
			*VEC_PUSH(arena, &found) =
				(struct dataset_chart){drawing, captions[alone][collective]};
		}
	}
	*charts = found.items;
	return found.count;
}
