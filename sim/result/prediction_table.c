/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/table.h"
#include "sim/cfg/cfg.h"
#include "sim/result/write.h"

static bool has_interval(struct estimate estimate)
{
	return isfinite(estimate.low) && isfinite(estimate.high) &&
	       (estimate.low < estimate.value || estimate.high > estimate.value);
}

const char *estimate_text(struct arena *arena, enum quantity quantity, struct estimate estimate)
{
	if (!isfinite(estimate.value))
		return "-";
	if (!has_interval(estimate))
		return quantity_format(arena, quantity, estimate.value);
	return arena_printf(arena, "%s (%s..%s)", quantity_format(arena, quantity, estimate.value),
			    quantity_format(arena, quantity, estimate.low),
			    quantity_format(arena, quantity, estimate.high));
}

/* With that many decimals, times scale, then unit: "87.1 %". */
static const char *fixed_text(struct arena *arena, struct estimate estimate, int decimals,
			      double scale, const char *unit)
{
	if (!isfinite(estimate.value))
		return "-";
	char *text = arena_printf(arena, "%.*f%s", decimals, estimate.value * scale, unit);
	if (!has_interval(estimate))
		return text;
	return arena_printf(arena, "%s (%.*f..%.*f)", text, decimals, estimate.low * scale,
			    decimals, estimate.high * scale);
}

/* Four significant digits without an exponent, for rates of 0.1 and more. */
static const char *rate_text(struct arena *arena, struct estimate estimate)
{
	double size = fabs(estimate.value);
	int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
	return fixed_text(arena, estimate, decimals, 1, "");
}

static void put_columns(struct table *table, const char *first, const char *last)
{
	table_column(table, first, false);
	if (last)
		table_column(table, last, false);
	table_column(table, "images/s", true);
	table_column(table, "ratio", true);
	table_column(table, "GPU busy", true);
	table_column(table, "step", true);
}

struct numbers {
	struct estimate throughput, ratio, utilization, step_s;
};

static void put_numbers(struct table *table, struct arena *scratch, bool ok,
			const struct numbers *numbers)
{
	if (!ok) {
		for (int i = 0; i < 4; i++)
			table_cell(table, "-");
		return;
	}
	table_cell(table, "%s", rate_text(scratch, numbers->throughput));
	table_cell(table, "%s", fixed_text(scratch, numbers->ratio, 3, 1, ""));
	table_cell(table, "%s", fixed_text(scratch, numbers->utilization, 1, 100, " %"));
	table_cell(table, "%s", estimate_text(scratch, QUANTITY_TIME, numbers->step_s));
}

static const char *verdict_text(struct arena *scratch, bool ok, const char *reason)
{
	return ok ? "ok" : arena_printf(scratch, "FAIL: %s", reason ? reason : "no reason given");
}

static void overview(FILE *out, struct arena *scratch, const struct prediction *const *predictions,
		     size_t count)
{
	struct table *table = table_new(scratch);
	put_columns(table, "case", NULL);
	table_column(table, "bottleneck", false);
	table_column(table, "verdict", false);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *prediction = predictions[i];
		table_row(table);
		table_cell(table, "%s", prediction->name);
		put_numbers(table, scratch, prediction->ok,
			    &(struct numbers){prediction->throughput, prediction->ratio,
					      prediction->gpu_utilization, prediction->step_s});
		table_cell(table, "%s", prediction->bottleneck ? prediction->bottleneck : "-");
		table_cell(table, "%s", verdict_text(scratch, prediction->ok, prediction->reason));
	}
	table_print(table, out);
}

static void breakdown(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	double sum_s = 0;
	for (size_t i = 0; i < prediction->breakdown_count; i++)
		sum_s += prediction->breakdown[i].seconds;
	struct table *table = table_new(scratch);
	table_column(table, "where a step's time goes", false);
	table_column(table, "time", true);
	table_column(table, "share", true);
	for (size_t i = 0; i < prediction->breakdown_count; i++) {
		const struct breakdown_part *part = &prediction->breakdown[i];
		if (fabs(part->seconds) < 1e-6 * sum_s) /* also what rounding leaves */
			continue;
		table_row(table);
		table_cell(table, "%s", part->name);
		table_cell(table, "%s", quantity_format(scratch, QUANTITY_TIME, part->seconds));
		table_cell(table, "%.1f %%", sum_s > 0 ? 100 * part->seconds / sum_s : 0);
	}
	fputc('\n', out);
	table_print(table, out);
}

static void clients(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	struct table *table = table_new(scratch);
	put_columns(table, "client", "GPU");
	table_column(table, "verdict", false);
	for (size_t i = 0; i < prediction->client_count; i++) {
		const struct client_prediction *client = &prediction->clients[i];
		table_row(table);
		table_cell(table, "%s", client->name);
		table_cell(table, "%s", client->gpu ? client->gpu : "-");
		put_numbers(table, scratch, client->ok,
			    &(struct numbers){client->throughput, client->ratio,
					      client->gpu_utilization, client->step_s});
		table_cell(table, "%s", verdict_text(scratch, client->ok, client->reason));
	}
	fputc('\n', out);
	table_print(table, out);
}

static void links(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	struct table *table = table_new(scratch);
	table_column(table, "link", false);
	table_column(table, "busy", true);
	table_column(table, "carried", true);
	for (size_t i = 0; i < prediction->link_count; i++) {
		const struct link_prediction *link = &prediction->links[i];
		struct estimate busy = {link->utilization, NAN, NAN};
		table_row(table);
		table_cell(table, "%s", link->name);
		table_cell(table, "%s", fixed_text(scratch, busy, 1, 100, " %"));
		table_cell(table, "%s", quantity_format(scratch, QUANTITY_BYTES, link->carried_B));
	}
	fputc('\n', out);
	table_print(table, out);
}

/* Kernel times that nobody fitted: absolute rates are guesses then. */
static void guessed_rates(FILE *out, const struct prediction *prediction)
{
	static const char prefix[] = "efficiency.", key[] = ".peak";
	size_t count = prediction->resolution ? cfg_param_count(prediction->resolution) : 0;
	for (size_t i = 0; i < count; i++) {
		const struct cfg_param *param = cfg_param_at(prediction->resolution, i);
		const char *last = strrchr(param->path, '.');
		if (strncmp(param->path, prefix, strlen(prefix)) == 0 && strcmp(last, key) == 0 &&
		    strcmp(param->status, "default") == 0)
			fprintf(out,
				"images/s are a guess: no measured rate behind %s; ratios "
				"depend less on it\n",
				param->path);
	}
}

static void counters(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	fputc('\n', out);
	if (prediction->ok)
		fprintf(out,
			"%" PRIu64 " calls and %" PRIu64
			" polls a step; %.3g retransmission timeouts a step; connecting took %s\n",
			prediction->calls_count, prediction->polls_count,
			prediction->retransmission_timeouts,
			quantity_format(scratch, QUANTITY_TIME, prediction->connect_s));
	fprintf(out, "%" PRIu64 " events, seed %" PRIu64 ", ", prediction->events_count,
		prediction->seed);
	if (prediction->draws_count > 0)
		fprintf(out, "%zu draws (in brackets: 90 %% intervals)", prediction->draws_count);
	else
		fputs("no intervals (--draws 0, or no parameter has one)", out);
	fputs(", farwire " FARWIRE_VERSION "\n", out);
	guessed_rates(out, prediction);
}

void predictions_table(FILE *out, const struct prediction *const *predictions, size_t count)
{
	struct arena *scratch = arena_new();
	overview(out, scratch, predictions, count);
	if (count == 1) {
		const struct prediction *prediction = predictions[0];
		if (prediction->ok && prediction->breakdown_count > 0)
			breakdown(out, scratch, prediction);
		if (prediction->client_count > 1)
			clients(out, scratch, prediction);
		if (prediction->ok && prediction->link_count > 0)
			links(out, scratch, prediction);
		counters(out, scratch, prediction);
	}
	arena_free(scratch);
}
