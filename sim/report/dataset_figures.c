/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a dataset's part of a report. */
#include <math.h>
#include <string.h>

#include "sim/report/dataset_charts.h"
#include "sim/report/dataset.h"

void part_figures(const struct part *part)
{
	const char *caption = part->report->caption;
	const struct dataset_chart *charts;
	size_t count = dataset_charts(part->arena, caption, part->outcome, &charts);
	for (size_t i = 0; i < count; i++)
		report_figure(part->report, charts[i].drawing, "%s", charts[i].caption);
	for (enum measure measure = 0; measure < MEASURE_COUNT; measure++) {
		struct drawing *drawing =
			dataset_parity(part->arena, NULL, caption, &part->outcome, 1, measure);
		if (drawing)
			report_figure(
				part->report, drawing,
				"Prediction of each row over its measurement. Points on the "
				"diagonal have no error; the other lines mark errors of 5 and "
				"10 %%. The numbers are in the table above.");
	}
}

/* ---- causes ---- */

/* The most rows whose step times are drawn. If there are more, only rows with the most GPUs are
 * drawn. */
enum { STEPS_MOST = 48 };

static bool is_step_shown(const struct part *part, const struct row_outcome *row)
{
	size_t most = 0, with_parts = 0;
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct prediction *p = part->outcome->rows[i].prediction;
		most = p->gpu_count > most ? p->gpu_count : most;
		with_parts += p->breakdown_count > 0 || !p->ok;
	}
	if (row->prediction->ok && row->prediction->breakdown_count == 0)
		return false;
	return with_parts <= STEPS_MOST || row->prediction->gpu_count == most;
}

static void breakdown(const struct part *part)
{
	size_t count = 0;
	const struct prediction **list =
		ARENA_ARRAY(part->arena, part->dataset->row_count + 1, const struct prediction *);
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		struct prediction *named = ARENA_NEW(part->arena, struct prediction);
		*named = *part->outcome->rows[i].prediction;
		named->name = part->outcome->rows[i].row->label;
		if (is_step_shown(part, &part->outcome->rows[i]))
			list[count++] = named;
	}
	if (part_kinds(part) != PREDICTION_COLLECTIVE && count)
		report_breakdown(part->report, list, count);
}

static const struct scenario *scenario_of(const struct part *part, size_t row)
{
	const struct case_request request =
		dataset_request(&part->dataset->rows[row], part->report->request->data_root);
	/* the row was read before without errors */
	return case_read(part->arena, diag_new(part->arena), &request);
}

/* Returns true if data crosses a link between GPUs or between program and GPU. */
static bool is_remote(const struct scenario *scenario)
{
	const struct job_entry *job = &scenario->jobs[0];
	return job->rank_count > 1 || (job->runtime && job->guests[0] != job->servers[0]);
}

static size_t gpus_of(const struct part *part, size_t row)
{
	return part->outcome->rows[row].prediction->gpu_count;
}

/* Returns the row whose step is drawn: the first remote row that works, if possible a fit row.
 * SIZE_MAX means none. */
static size_t timeline_row(const struct part *part, const struct scenario *const *all)
{
	size_t shown = SIZE_MAX;
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct row_outcome *row = &part->outcome->rows[i];
		if (!is_remote(all[i]) || !row->prediction->ok)
			continue;
		bool better = shown != SIZE_MAX && row->row->role == ROLE_FIT &&
			      part->outcome->rows[shown].row->role != ROLE_FIT;
		if (shown == SIZE_MAX || better)
			shown = i;
	}
	return shown;
}

/* Returns the row whose links are drawn for the topology of row i: its remote row with the most
 * GPUs. SIZE_MAX means that an earlier row has shown this topology. */
static size_t topology_row(const struct part *part, const struct scenario *const *all, size_t i)
{
	size_t chosen = SIZE_MAX;
	for (size_t k = 0; k < part->dataset->row_count; k++) {
		if (strcmp(all[k]->topology.name, all[i]->topology.name) != 0)
			continue;
		if (k < i)
			return SIZE_MAX;
		if (is_remote(all[k]) &&
		    (chosen == SIZE_MAX || gpus_of(part, k) > gpus_of(part, chosen)))
			chosen = k;
	}
	return chosen == SIZE_MAX ? i : chosen;
}

void part_scenes(const struct part *part)
{
	size_t count = part->dataset->row_count;
	const struct scenario **all = ARENA_ARRAY(part->arena, count + 1, const struct scenario *);
	for (size_t i = 0; i < count; i++)
		all[i] = scenario_of(part, i);
	breakdown(part);
	size_t shown = timeline_row(part, all);
	if (shown != SIZE_MAX)
		report_timeline(part->report, all[shown], part->outcome->rows[shown].row->label);
	for (size_t i = 0; i < count; i++) {
		size_t chosen = topology_row(part, all, i);
		if (chosen != SIZE_MAX)
			report_topology(part->report, all[chosen],
					part->outcome->rows[chosen].prediction,
					part->outcome->rows[chosen].row->label);
	}
}
