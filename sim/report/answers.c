/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/answers.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/predict/draws.h"

static const struct estimate none = {NAN, NAN, NAN};

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

static struct estimate number_of(const struct prediction *p, enum answer answer,
				 const struct prediction *first)
{
	if (answer == ANSWER_GPUS)
		return exactly((double)p->gpu_count);
	if (!p->ok)
		return none;
	switch (answer) {
	case ANSWER_THROUGHPUT:
		return p->throughput;
	case ANSWER_TO_FIRST:
		return throughput_quotient(p, first);
	case ANSWER_RATIO:
		return p->ratio;
	case ANSWER_SPEEDUP:
		return p->speedup;
	case ANSWER_STEP:
		return p->step_s;
	case ANSWER_TRAINING:
		return p->training_s;
	case ANSWER_INPUT:
		return exactly(prediction_part_s(p, PART_INPUT));
	case ANSWER_EXPOSED:
		return exactly(prediction_part_s(p, PART_EXPOSED));
	case ANSWER_STRAGGLER:
		return exactly(prediction_part_s(p, PART_STRAGGLER));
	case ANSWER_UTILIZATION:
		return p->gpu_utilization;
	default:
		return none;
	}
}

static const char *text_of(const struct prediction *p, enum answer answer)
{
	switch (answer) {
	case ANSWER_NAME:
		return p->name;
	case ANSWER_CHOICE:
		return p->choice;
	case ANSWER_BOTTLENECK:
		return p->bottleneck;
	case ANSWER_VERDICT:
		return p->ok ? "ok" : p->reason;
	default:
		return NULL;
	}
}

static struct result_cell cell_of(const struct prediction *p, const struct answer_column *column,
				  const struct prediction *first)
{
	if (!(column->kinds & (unsigned)prediction_kind(p)))
		return (struct result_cell){NULL, none};
	if (column->column.text)
		return (struct result_cell){text_of(p, column->answer), none};
	return (struct result_cell){NULL, number_of(p, column->answer, first)};
}

static bool is_shown(const struct answers *answers, const struct answer_column *column)
{
	bool any = false;
	for (size_t i = 0; i < answers->count; i++) {
		struct result_cell cell =
			cell_of(answers->predictions[i], column, answers->predictions[0]);
		any = any || cell.text || isfinite(cell.number.value);
	}
	return (column->kinds & prediction_kinds(answers->predictions, answers->count)) &&
	       (any || !column->wanted);
}

const struct result_table *answers_table(struct arena *arena, const struct answers *answers)
{
	size_t lead = answers->lead_count, most = lead + answers->column_count, count = lead;
	struct result_column *columns = ARENA_ARRAY(arena, most + 1, struct result_column);
	const struct answer_column **shown =
		ARENA_ARRAY(arena, most + 1, const struct answer_column *);
	for (size_t k = 0; k < lead; k++)
		columns[k] = answers->lead[k];
	for (size_t k = 0; k < answers->column_count; k++)
		if (is_shown(answers, &answers->columns[k])) {
			shown[count] = &answers->columns[k];
			columns[count++] = answers->columns[k].column;
		}
	struct result_cell *cells =
		ARENA_ARRAY(arena, answers->count * count + 1, struct result_cell);
	for (size_t i = 0; i < answers->count; i++)
		for (size_t k = 0; k < count; k++)
			cells[i * count + k] = k < lead ? answers->lead_cells[i * lead + k]
							: cell_of(answers->predictions[i], shown[k],
								  answers->predictions[0]);
	struct result_table *table = ARENA_NEW(arena, struct result_table);
	*table = (struct result_table){.name = answers->name,
				       .title = answers->title,
				       .columns = columns,
				       .column_count = count,
				       .cells = cells,
				       .row_count = answers->count};
	return table;
}
