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

static struct result_cell cell_of(const struct prediction *p, enum answer answer,
				  const struct prediction *first)
{
	const struct reported *row = answer_at(answer);
	if (!(row->kinds & (unsigned)prediction_kind(p)))
		return (struct result_cell){NULL, none};
	if (row->text)
		return (struct result_cell){reported_text_of(row, p), none};
	return (struct result_cell){NULL, answer == ANSWER_TO_FIRST ? throughput_quotient(p, first)
								    : reported_of(row, p)};
}

static bool is_shown(const struct answers *answers, enum answer answer)
{
	const struct reported *row = answer_at(answer);
	bool any = !row->optional;
	for (size_t i = 0; i < answers->count && !any; i++) {
		struct result_cell cell =
			cell_of(answers->predictions[i], answer, answers->predictions[0]);
		any = cell.text || isfinite(cell.number.value);
	}
	return any && (row->kinds & prediction_kinds(answers->predictions, answers->count));
}

const struct result_table *answers_table(struct arena *arena, const struct answers *answers)
{
	size_t lead = answers->lead_count, most = lead + answers->column_count, count = lead;
	struct result_column *columns = ARENA_ARRAY(arena, most + 1, struct result_column);
	enum answer *shown = ARENA_ARRAY(arena, most + 1, enum answer);
	for (size_t k = 0; k < lead; k++)
		columns[k] = answers->lead[k];
	for (size_t k = 0; k < answers->column_count; k++)
		if (is_shown(answers, answers->columns[k])) {
			const struct reported *row = answer_at(answers->columns[k]);
			shown[count] = answers->columns[k];
			columns[count++] = (struct result_column){row->name, row->quantity,
								  row->text, row->interval};
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
