/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/answers.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/predict/draws.h"

static const struct estimate none = {NAN, NAN, NAN};

/* Sets of enum prediction_kind. */
enum {
	CLIENTS = PREDICTION_CLIENTS,
	TRAINING = PREDICTION_TRAINING,
	COLLECTIVE = PREDICTION_COLLECTIVE,
	STEPS = CLIENTS | TRAINING,
	ALL = STEPS | COLLECTIVE
};
/* Sets of tables. */
enum { COMPARE = 1, SWEEP = 2, SCALE = 4, EVERY = COMPARE | SWEEP | SCALE };

enum source { ESTIMATE, PART, TEXT, GPUS, TO_FIRST, VERDICT };

struct answer {
	const char *name;
	enum quantity quantity;
	bool interval;
	bool wanted; /* only where a case asks for it: left out if no cell has a value */
	unsigned tables, kinds;
	enum source source;
	size_t offset;    /* in struct prediction: of an estimate or a text */
	const char *part; /* of the step's time */
};

#define FIELD(source, field)    source, offsetof(struct prediction, field), NULL
#define SECONDS(part)           PART, 0, part
#define OTHER(source)           source, 0, NULL
#define WITH_INTERVAL           true, false
#define WITHOUT_INTERVAL        false, false
#define WITH_INTERVAL_IF_ANY    true, true
#define WITHOUT_INTERVAL_IF_ANY false, true

/* In the order of columns. */
static const struct answer answers[] = {
	{"case", QUANTITY_COUNT, WITHOUT_INTERVAL, COMPARE, ALL, FIELD(TEXT, name)},
	{"gpus", QUANTITY_COUNT, WITHOUT_INTERVAL, COMPARE | SCALE, TRAINING | COLLECTIVE,
	 OTHER(GPUS)},
	{"images_per_s", QUANTITY_COUNT, WITH_INTERVAL, EVERY, STEPS, FIELD(ESTIMATE, throughput)},
	{"bus_bandwidth_Bps", QUANTITY_RATE, WITH_INTERVAL, EVERY, COLLECTIVE,
	 FIELD(ESTIMATE, throughput)},
	{"to_first", QUANTITY_RATIO, WITH_INTERVAL, COMPARE, ALL, OTHER(TO_FIRST)},
	{"to_local", QUANTITY_RATIO, WITH_INTERVAL, COMPARE, CLIENTS, FIELD(ESTIMATE, ratio)},
	{"ratio", QUANTITY_RATIO, WITH_INTERVAL, SWEEP, CLIENTS, FIELD(ESTIMATE, ratio)},
	{"speedup", QUANTITY_RATIO, WITH_INTERVAL, SWEEP | SCALE, TRAINING,
	 FIELD(ESTIMATE, speedup)},
	{"efficiency", QUANTITY_RATIO, WITH_INTERVAL, EVERY, TRAINING, FIELD(ESTIMATE, ratio)},
	{"step_s", QUANTITY_TIME, WITH_INTERVAL, EVERY, STEPS, FIELD(ESTIMATE, step_s)},
	{"time_s", QUANTITY_TIME, WITH_INTERVAL, EVERY, COLLECTIVE, FIELD(ESTIMATE, step_s)},
	{"training_s", QUANTITY_TIME, WITH_INTERVAL_IF_ANY, COMPARE, TRAINING,
	 FIELD(ESTIMATE, training_s)},
	{"exposed_s", QUANTITY_TIME, WITHOUT_INTERVAL, EVERY, TRAINING, SECONDS(PART_EXPOSED)},
	{"straggler_s", QUANTITY_TIME, WITHOUT_INTERVAL, SCALE, TRAINING, SECONDS(PART_STRAGGLER)},
	{"input_wait_s", QUANTITY_TIME, WITHOUT_INTERVAL, EVERY, TRAINING, SECONDS(PART_INPUT)},
	{"training_s", QUANTITY_TIME, WITH_INTERVAL_IF_ANY, SCALE, TRAINING,
	 FIELD(ESTIMATE, training_s)},
	{"choice", QUANTITY_COUNT, WITHOUT_INTERVAL, COMPARE, COLLECTIVE, FIELD(TEXT, choice)},
	{"gpu_utilization", QUANTITY_RATIO, WITHOUT_INTERVAL, COMPARE, STEPS,
	 FIELD(ESTIMATE, gpu_utilization)},
	{"gpu_utilization", QUANTITY_RATIO, WITH_INTERVAL, SWEEP, STEPS,
	 FIELD(ESTIMATE, gpu_utilization)},
	{"choice", QUANTITY_COUNT, WITHOUT_INTERVAL, SWEEP, COLLECTIVE, FIELD(TEXT, choice)},
	{"choice", QUANTITY_COUNT, WITHOUT_INTERVAL_IF_ANY, SCALE, TRAINING | COLLECTIVE,
	 FIELD(TEXT, choice)},
	{"bottleneck", QUANTITY_COUNT, WITHOUT_INTERVAL, SWEEP | SCALE, STEPS,
	 FIELD(TEXT, bottleneck)},
	{"verdict", QUANTITY_COUNT, WITHOUT_INTERVAL, EVERY, ALL, OTHER(VERDICT)},
};
enum { ANSWERS = sizeof answers / sizeof answers[0] };

static struct estimate exactly(double value)
{
	return (struct estimate){value, value, value};
}

struct estimate throughput_quotient(const struct prediction *a, const struct prediction *b)
{
	bool bytes = prediction_kind(a) == PREDICTION_COLLECTIVE;
	if (!a->ok || !b->ok || bytes != (prediction_kind(b) == PREDICTION_COLLECTIVE))
		return none;
	return a == b ? exactly(1) : draws_quotient(a, b);
}

static struct result_cell cell_of(const struct prediction *p, const struct answer *answer,
				  const struct prediction *first)
{
	const void *field = (const char *)p + answer->offset;
	if (!(answer->kinds & (unsigned)prediction_kind(p)))
		return (struct result_cell){NULL, none};
	switch (answer->source) {
	case TEXT:
		return (struct result_cell){*(const char *const *)field, none};
	case VERDICT:
		return (struct result_cell){p->ok ? "ok" : p->reason, none};
	case GPUS:
		return (struct result_cell){NULL, exactly((double)p->gpu_count)};
	case TO_FIRST:
		return (struct result_cell){NULL, throughput_quotient(p, first)};
	case PART:
		return (struct result_cell){
			NULL, p->ok ? exactly(prediction_part_s(p, answer->part)) : none};
	case ESTIMATE:
		break;
	}
	return (struct result_cell){NULL, p->ok ? *(const struct estimate *)field : none};
}

/* The predictions behind a table, and the columns before their answers. */
struct lines {
	const struct prediction *const *predictions;
	size_t count;
	const struct result_column *lead;
	const struct result_cell *lead_cells; /* count * lead_count */
	size_t lead_count;
};

static bool is_shown(const struct lines *lines, const struct answer *answer, unsigned table)
{
	bool any = !answer->wanted;
	for (size_t i = 0; i < lines->count && !any; i++) {
		struct result_cell cell =
			cell_of(lines->predictions[i], answer, lines->predictions[0]);
		any = cell.text || isfinite(cell.number.value);
	}
	return any && (answer->tables & table) &&
	       (answer->kinds & prediction_kinds(lines->predictions, lines->count));
}

static const struct result_table *tabulate(struct arena *arena, unsigned which, const char *name,
					   const char *title, struct lines lines)
{
	size_t lead = lines.lead_count, count = lead;
	struct result_column *columns = ARENA_ARRAY(arena, lead + ANSWERS, struct result_column);
	const struct answer *shown[ANSWERS];
	for (size_t k = 0; k < lead; k++)
		columns[k] = lines.lead[k];
	for (const struct answer *a = answers; a < answers + ANSWERS; a++)
		if (is_shown(&lines, a, which)) {
			bool text = a->source == TEXT || a->source == VERDICT;
			shown[count - lead] = a;
			columns[count++] =
				(struct result_column){a->name, a->quantity, text, a->interval};
		}
	struct result_cell *cells = ARENA_ARRAY(arena, lines.count * count + 1, struct result_cell);
	for (size_t i = 0; i < lines.count; i++)
		for (size_t k = 0; k < count; k++)
			cells[i * count + k] =
				k < lead ? lines.lead_cells[i * lead + k]
					 : cell_of(lines.predictions[i], shown[k - lead],
						   lines.predictions[0]);
	struct result_table *table = ARENA_NEW(arena, struct result_table);
	*table = (struct result_table){.name = name,
				       .title = title,
				       .columns = columns,
				       .column_count = count,
				       .cells = cells,
				       .row_count = lines.count};
	return table;
}

const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count)
{
	return tabulate(arena, COMPARE, "comparison", "Cases beside each other",
			(struct lines){.predictions = predictions, .count = count});
}

const struct result_table *scaling_table(struct arena *arena, const struct scaling *scaling)
{
	return tabulate(
		arena, SCALE, "scaling", arena_printf(arena, "Scaling of %s", scaling->name),
		(struct lines){.predictions = scaling->predictions, .count = scaling->count});
}

const struct result_table *sweep_table(struct arena *arena, const struct sweep *sweep)
{
	size_t axes = sweep->axis_count;
	struct result_column *lead = ARENA_ARRAY(arena, axes, struct result_column);
	struct result_cell *cells =
		ARENA_ARRAY(arena, axes * sweep->point_count, struct result_cell);
	for (size_t a = 0; a < axes; a++) {
		const struct sweep_axis *axis = &sweep->axes[a];
		lead[a] = (struct result_column){axis->key, axis->quantity, axis->words, false};
		for (size_t i = 0; i < sweep->point_count; i++) {
			size_t index = sweep_axis_index(sweep, i, a);
			cells[i * axes + a] =
				(struct result_cell){axis->texts[index] + strlen(axis->key) + 1,
						     exactly(axis->values[index])};
		}
	}
	return tabulate(arena, SWEEP, "sweep", "Sweep",
			(struct lines){sweep->points, sweep->point_count, lead, cells, axes});
}
