/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derives a library's parameters from a log of nccl-tests and the machine's topology.
 *
 * By itself, a log gives a start time and a bandwidth in each regime, for its own sizes and ranks.
 * With the topology, the simulator runs the library's model and algorithms over the links. The
 * remaining parameters then hold for other sizes, numbers of ranks and networks. The offered
 * parameters are those that differed from the library's own in measurements of two systems
 * (docs/models/nccl.md), and efficiencies. */
#include "calib/fit/fit.h"
#include "calib/fit/recording.h"
#include "calib/sample/stats.h"
#include "sim/collective/schedule.h"

/* The limit for whole programs in docs/models/calibration_fits.md. */
static const double LIMIT = 0.10;
/* nccl-tests prints microseconds with two digits. */
static const double ROUNDING_S = 0.005e-6;
enum { SETTINGS_MORE = 3, HELD_OUT_EVERY = 3, FIT_ROWS_MOST = 40 };

static const struct fit_offer offers[] = {
	{"library.channel_start", 1e-6, 1e-8, 1e-5}, {"library.nvlink_efficiency", 0.85, 0.4, 1},
	{"library.pci_efficiency", 0.83, 0.3, 1},    {"library.net_efficiency", 0.9, 0.3, 1},
	{"library.block_copy", 2e10, 1e9, 1e12},     {"library.block_ll", 0.5, 0.05, 2},
	{"library.simple_scale", 1.4, 0.2, 5},       {"library.tree_split_ll", 0.2, 0.02, 1},
	{"library.ll_nodes_scale", 1.4, 0.2, 5},
};

/* Converts the name of a collective in nccl-tests to farwire's; NULL: unknown. */
static const char *simulated(const char *collective)
{
	for (size_t i = 0; collective && i < collective_kind_count(); i++)
		if (strcmp(collective_kind_at(i)->measured, collective) == 0)
			return collective_kind_at(i)->name;
	return NULL;
}

struct measured_collective {
	const char *collective;
	double ranks, size_B, time_s;
};

static int by_size(const void *a, const void *b)
{
	const struct measured_collective *x = a, *y = b;
	int order = strcmp(x->collective, y->collective);
	return order ? order
		     : ORDER_THEN(x->ranks, y->ranks,
				  ORDER_THEN(x->size_B, y->size_B, ORDER(x->time_s, y->time_s)));
}

struct rows {
	VEC(struct measured_collective) measured;
	VEC(const struct dataset_row *) fit, held_out;
};

static void gather(struct arena *arena, const struct fit_collectives_request *request,
		   struct rows *rows)
{
	for (size_t i = 0; i < request->recording_count; i++) {
		const struct recording_point *const *points;
		size_t count =
			recording_find(request->recordings[i], arena, "collective", "", &points);
		for (size_t k = 0; k < count; k++) {
			const char *name = simulated(recording_point_word(points[k], "collective"));
			double ranks = recording_point_number(points[k], "ranks", 0);
			double size_B = recording_point_number(points[k], "size_B", 0);
			if (!name || ranks < 2 || size_B < 1 || !(points[k]->value > 0))
				continue;
			*VEC_PUSH(arena, &rows->measured) =
				(struct measured_collective){name, ranks, size_B, points[k]->value};
		}
	}
	if (rows->measured.count > 1)
		qsort(rows->measured.items, rows->measured.count,
		      sizeof(struct measured_collective), by_size);
}

static const struct dataset_row *row_of(struct arena *arena,
					const struct fit_collectives_request *request,
					const struct measured_collective *measured)
{
	struct setting *settings =
		ARENA_ARRAY(arena, request->setting_count + SETTINGS_MORE, struct setting);
	struct dataset_row *row = ARENA_NEW(arena, struct dataset_row);
	const struct origin origin = {"the recording", 0};
	size_t count = 0;
	settings[count++] = (struct setting){
		arena_printf(arena, "case.collective=%s", measured->collective), origin};
	settings[count++] =
		(struct setting){arena_printf(arena, "case.gpus=%.0f", measured->ranks), origin};
	settings[count++] = (struct setting){
		arena_printf(arena, "case.collective_size=%.0f B", measured->size_B), origin};
	for (size_t i = 0; i < request->setting_count; i++)
		settings[count++] = request->settings[i];
	*row = (struct dataset_row){.label = arena_printf(arena, "%s %.0f bytes=%.0f",
							  measured->collective, measured->ranks,
							  measured->size_B),
				    .origin = origin,
				    .measure = MEASURE_TIME,
				    .measured = measured->time_s,
				    .rounding_ratio = ROUNDING_S / measured->time_s,
				    .utilization_max = NAN,
				    .linear = NAN,
				    .settings = settings,
				    .setting_count = count,
				    .judged = true};
	return row;
}

/* Holds out every third size. If there are very many others, some are dropped. */
static void deal(struct arena *arena, const struct fit_collectives_request *request,
		 struct rows *rows)
{
	size_t count = rows->measured.count, stride = 1;
	while (count / stride * (HELD_OUT_EVERY - 1) / HELD_OUT_EVERY > FIT_ROWS_MOST)
		stride++;
	for (size_t i = 0; i < count; i += stride) {
		bool held_out = i / stride % HELD_OUT_EVERY == 1;
		const struct dataset_row **slot =
			held_out ? VEC_PUSH(arena, &rows->held_out) : VEC_PUSH(arena, &rows->fit);
		*slot = row_of(arena, request, &rows->measured.items[i]);
	}
}

const struct dataset *collectives_dataset(struct arena *arena, struct diag *diag,
					  const struct fit_collectives_request *request)
{
	struct rows rows = {0};
	const char *path = request->recordings[0]->path;
	gather(arena, request, &rows);
	if (rows.measured.count == 0)
		return diag_null(diag, (struct origin){path, 0},
				 "the recording has no times of collectives that can be simulated "
				 "(import a log of nccl-tests)");
	struct dataset_row *list = ARENA_ARRAY(arena, rows.measured.count, struct dataset_row);
	for (size_t i = 0; i < rows.measured.count; i++) {
		list[i] = *row_of(arena, request, &rows.measured.items[i]);
		list[i].role = ROLE_TEST;
	}
	struct dataset *dataset = ARENA_NEW(arena, struct dataset);
	*dataset = (struct dataset){.name = path,
				    .title = "Recorded collectives",
				    .source = path,
				    .path = path,
				    .measure = MEASURE_TIME,
				    .draws = SIZE_MAX,
				    .rows = list,
				    .row_count = rows.measured.count};
	return dataset;
}

static double held_out_ratio(struct arena *arena, struct diag *diag, const char *data_root,
			     const struct rows *rows, const struct fit_result *result,
			     uint64_t seed, const char **broken)
{
	struct draw_value draws[FIT_PARAMETERS_MAX];
	size_t count = rows->held_out.count;
	double *errors = ARENA_ARRAY(arena, count + 1, double);
	for (size_t i = 0; i < result->count; i++)
		draws[i] = (struct draw_value){result->parameters[i].path,
					       result->parameters[i].value};
	for (size_t i = 0; i < count; i++) {
		const struct dataset_row *row = rows->held_out.items[i];
		double value = dataset_point(arena, diag, row, data_root, draws, result->count,
					     seed, NULL, broken);
		errors[i] = isfinite(value) ? fabs(value / row->measured - 1) : INFINITY;
	}
	if (count == 0)
		return NAN;
	stats_sort(errors, count);
	return stats_median_sorted(errors, count);
}

const struct collectives_fit *fit_collectives(struct arena *arena, struct diag *diag,
					      const char *data_root,
					      const struct fit_collectives_request *request,
					      uint64_t seed, FILE *progress, const char **broken)
{
	struct rows rows = {0};
	*broken = NULL;
	gather(arena, request, &rows);
	deal(arena, request, &rows);
	const struct origin origin = {request->recordings[0]->path, 0};
	if (rows.fit.count < 4)
		return diag_null(
			diag, origin,
			"the recording has %zu times of collectives that can be simulated, but "
			"a fit to a topology needs six (measure more sizes with nccl-tests)",
			rows.measured.count);
	const char *note = "";
	for (size_t i = 0; i < request->recording_count; i++)
		note = arena_printf(arena, "%s%s%.16s", note, i ? ", " : "recording ",
				    request->recordings[i]->hash);
	const struct fit_rows_request fit = {.rows = rows.fit.items,
					     .row_count = rows.fit.count,
					     .offers = offers,
					     .offer_count = sizeof offers / sizeof offers[0],
					     .profile = request->profile,
					     .note = note};
	const struct fit_result *result =
		fit_rows(arena, diag, data_root, &fit, seed, progress, broken);
	if (!result)
		return NULL;
	struct collectives_fit *answer = ARENA_NEW(arena, struct collectives_fit);
	*answer = (struct collectives_fit){
		.result = result, .held_out_count = rows.held_out.count, .limit_ratio = LIMIT};
	answer->held_out_ratio =
		held_out_ratio(arena, diag, data_root, &rows, result, seed, broken);
	return diag_count(diag) || *broken ? NULL : answer;
}
