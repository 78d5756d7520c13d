/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "sim/base/table.h"
#include "sim/cfg/cfg.h"
#include "sim/result/answer.h"
#include "sim/result/write.h"
#include "sim/serving/serving.h"

bool has_interval(struct estimate estimate)
{
	return isfinite(estimate.low) && isfinite(estimate.high) && estimate.low < estimate.high;
}

struct estimate estimate_exact(double value)
{
	return (struct estimate){value, value, value};
}

struct estimate estimate_scaled(struct estimate estimate, double factor)
{
	return (struct estimate){estimate.value * factor, estimate.low * factor,
				 estimate.high * factor};
}

struct estimate estimate_output(struct estimate estimate)
{
	return has_interval(estimate) ? estimate : (struct estimate){estimate.value, NAN, NAN};
}

/* Formats a number without an exponent. like: NaN for its own unit. */
static const char *quantity_text(struct arena *arena, enum quantity quantity, double value,
				 double like)
{
	bool large = quantity == QUANTITY_COUNT && fabs(value) >= 1e4 && fabs(value) < 1e15;
	return large ? arena_printf(arena, "%.0f", value)
		     : quantity_format_like(arena, quantity, value, isnan(like) ? value : like);
}

const char *estimate_text_like(struct arena *arena, enum quantity quantity,
			       struct estimate estimate, double like)
{
	if (!isfinite(estimate.value))
		return "-";
	const char *value = quantity_text(arena, quantity, estimate.value, like);
	if (!has_interval(estimate))
		return value;
	return arena_printf(arena, "%s (%s..%s)", value,
			    quantity_text(arena, quantity, estimate.low, like),
			    quantity_text(arena, quantity, estimate.high, like));
}

static const char *estimate_text(struct arena *arena, enum quantity quantity,
				 struct estimate estimate)
{
	return estimate_text_like(arena, quantity, estimate, NAN);
}

const char *fixed_text(struct arena *arena, struct estimate estimate, int decimals, double scale,
		       const char *unit)
{
	if (!isfinite(estimate.value))
		return "-";
	char *text = arena_printf(arena, "%.*f%s", decimals, estimate.value * scale, unit);
	if (!has_interval(estimate))
		return text;
	return arena_printf(arena, "%s (%.*f..%.*f)", text, decimals, estimate.low * scale,
			    decimals, estimate.high * scale);
}

const char *duration_text(struct arena *arena, struct estimate time_s)
{
	double hours = time_s.value / 3600;
	if (hours >= 48)
		return fixed_text(arena, time_s, 2, 1.0 / 86400, " days");
	if (hours >= 1)
		return fixed_text(arena, time_s, 2, 1.0 / 3600, " h");
	if (time_s.value >= 120)
		return fixed_text(arena, time_s, 1, 1.0 / 60, " min");
	return estimate_text(arena, QUANTITY_TIME, time_s);
}

const char *rate_text(struct arena *arena, struct estimate estimate)
{
	double size = fabs(estimate.value);
	if (size > 0 && size < 1e-3)
		return arena_printf(arena, "%.3g", estimate.value);
	int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
	return fixed_text(arena, estimate, decimals, 1, "");
}

static const char *verdict_text(struct arena *scratch, bool ok, const char *reason)
{
	return ok ? "ok" : arena_printf(scratch, "FAIL: %s", reason ? reason : "no reason given");
}

const char *counted_unit(const char *counted)
{
	return !counted ? "images/s" : strcmp(counted, "steps") == 0 ? "steps/s" : "sequences/s";
}

const char *throughput_unit(const struct prediction *const *predictions, size_t count)
{
	const char *unit = NULL;
	if (prediction_kinds(predictions, count) == PREDICTION_SERVING)
		return "requests/s";
	for (size_t i = 0; i < count; i++) {
		const char *own = counted_unit(predictions[i]->setup.counted);
		if (unit && strcmp(own, unit) != 0)
			return "samples/s";
		unit = own;
	}
	return unit ? unit : counted_unit(NULL);
}

static void setup(FILE *out, struct arena *scratch, const struct prediction *const *predictions,
		  size_t count)
{
	const char *text = predictions_setup(scratch, predictions, count);
	if (text)
		fprintf(out, "setup: %s\n", text_visible(scratch, text));
}

static void print_below(FILE *out, const struct table *table)
{
	fputc('\n', out);
	table_print(table, out);
}

/* ---- one line for each prediction ---- */

static const enum answer line_answers[] = {
	ANSWER_NAME,          ANSWER_GPUS,        ANSWER_THROUGHPUT,  ANSWER_BANDWIDTH,
	ANSWER_RATIO,         ANSWER_SPEEDUP,     ANSWER_EFFICIENCY,  ANSWER_UTILIZATION,
	ANSWER_STEP,          ANSWER_TIME,        ANSWER_COLLECTIVE,  ANSWER_REQUESTS,
	ANSWER_SERVED_TOKENS, ANSWER_LATENCY_P50, ANSWER_LATENCY_P99, ANSWER_ATTAINMENT,
	ANSWER_BOTTLENECK,    ANSWER_VERDICT,
};
enum { LINE_COUNT = sizeof line_answers / sizeof line_answers[0] };

static const char *answer_text(struct arena *scratch, const struct prediction *p,
			       enum answer answer)
{
	const struct reported *row = answer_at(answer);
	if (answer == ANSWER_VERDICT)
		return verdict_text(scratch, p->ok, p->reason);
	if (answer == ANSWER_BOTTLENECK)
		return p->bottleneck && p->bottleneck[0] ? p->bottleneck : "-";
	if (!(row->kinds & (unsigned)prediction_kind(p)))
		return "-";
	switch (answer) {
	case ANSWER_NAME:
		return p->name;
	case ANSWER_COLLECTIVE:
		return p->choice ? arena_printf(scratch, "%s: %s", p->collective, p->choice)
				 : p->collective;
	case ANSWER_GPUS:
		return arena_printf(scratch, "%zu", p->gpu_count);
	case ANSWER_THROUGHPUT:
	case ANSWER_REQUESTS:
	case ANSWER_SERVED_TOKENS:
		return rate_text(scratch, reported_of(row, p));
	case ANSWER_RATIO:
	case ANSWER_EFFICIENCY:
		return fixed_text(scratch, reported_of(row, p), 3, 1, "");
	case ANSWER_SPEEDUP:
		return fixed_text(scratch, reported_of(row, p), 2, 1, "");
	case ANSWER_UTILIZATION:
	case ANSWER_ATTAINMENT:
		return fixed_text(scratch, reported_of(row, p), 1, 100, " %");
	default:
		return estimate_text(scratch, row->quantity, reported_of(row, p));
	}
}

static const char *heading_of(const struct prediction *const *predictions, size_t count,
			      enum answer answer)
{
	return answer == ANSWER_THROUGHPUT ? throughput_unit(predictions, count)
					   : answer_at(answer)->heading;
}

static void overview(FILE *out, struct arena *scratch, const struct prediction *const *predictions,
		     size_t count, size_t line_width)
{
	struct table *table = table_new(scratch, "", line_width);
	unsigned kinds = prediction_kinds(predictions, count);
	for (size_t k = 0; k < LINE_COUNT; k++) {
		const struct reported *row = answer_at(line_answers[k]);
		if (row->kinds & kinds)
			table_column(table, heading_of(predictions, count, line_answers[k]),
				     !row->text);
	}
	for (size_t i = 0; i < count; i++) {
		table_row(table);
		for (size_t k = 0; k < LINE_COUNT; k++)
			if (line_answers[k] == ANSWER_VERDICT && !predictions[i]->ok)
				table_cell_failed(table, predictions[i]->reason);
			else if (answer_at(line_answers[k])->kinds & kinds)
				table_cell(table, "%s",
					   answer_text(scratch, predictions[i], line_answers[k]));
	}
	setup(out, scratch, predictions, count);
	print_below(out, table);
}

/* ---- one prediction ---- */

static void statistical_error(FILE *out, enum prediction_kind kind, const char *of, double ratio)
{
	if (kind == PREDICTION_SERVING && ratio >= ERROR_SHOWN)
		fprintf(out,
			"statistical error: %.0f %% of the %s, because few requests were simulated "
			"(write a larger serve.requests)\n",
			100 * ratio, of);
}

static void answer(FILE *out, struct arena *scratch, const struct prediction *p)
{
	enum prediction_kind kind = prediction_kind(p);
	enum answer main = kind == PREDICTION_SERVING      ? ANSWER_REQUESTS
			   : kind == PREDICTION_COLLECTIVE ? ANSWER_BANDWIDTH
							   : ANSWER_THROUGHPUT;
	const char *name = text_visible(scratch, p->name);
	if (!p->ok) {
		fprintf(out, "%s: %s\n", name,
			text_visible(scratch, verdict_text(scratch, p->ok, p->reason)));
		setup(out, scratch, &p, 1);
		return;
	}
	fprintf(out, "%s: %s %s\n", name, answer_text(scratch, p, main), heading_of(&p, 1, main));
	setup(out, scratch, &p, 1);
	if (kind != PREDICTION_COLLECTIVE && p->bottleneck && p->bottleneck[0])
		fprintf(out, "bottleneck: %s\n", p->bottleneck);
	if (p->remedy)
		fprintf(out, "would help: %s\n", p->remedy);
	if (kind == PREDICTION_SERVING && p->overload_ratio >= OVERLOAD_LEAST)
		fprintf(out,
			"overload: requests arrive faster than they are served; %.0f %% of them "
			"were refused or made the queues longer\n",
			100 * p->overload_ratio);
	statistical_error(out, kind, "throughput", p->error_ratio);
	statistical_error(out, kind, "mean latency", p->latency_error_ratio);
	if (kind == PREDICTION_SERVING && p->wanted_count > 0)
		fprintf(out,
			"few requests: the throughput is that of all of them until the last one "
			"ends, because there is no long steady state (write serve.requests=%.0f or "
			"more)\n",
			p->wanted_count);
}

static void further_answers(FILE *out, struct arena *scratch, const struct prediction *p)
{
	struct table *table = table_new(scratch, "answer", 0);
	table_column(table, "", false);
	for (size_t k = 0; k < LINE_COUNT; k++) {
		enum answer answer = line_answers[k];
		const char *text = answer_text(scratch, p, answer);
		if (answer == ANSWER_NAME || answer == ANSWER_THROUGHPUT ||
		    answer == ANSWER_BANDWIDTH || answer == ANSWER_REQUESTS ||
		    answer == ANSWER_BOTTLENECK || strcmp(text, "-") == 0)
			continue;
		table_cells(table, CELLS(answer_at(answer)->heading, text));
	}
	print_below(out, table);
}

/* Prints parts of a time. slowest has the same parts on one rank; NULL: there is none. */
static void breakdown(FILE *out, struct arena *scratch, const char *title,
		      const struct breakdown_part *parts, size_t count,
		      const struct stage_prediction *slowest)
{
	double sum_s = 0;
	for (size_t i = 0; i < count; i++)
		sum_s += parts[i].seconds;
	struct table *table = table_new(scratch, title, 0);
	table_column(table, slowest ? "mean of all ranks" : "time", true);
	table_column(table, "share", true);
	if (slowest)
		table_column(table, slowest->name, true);
	for (size_t i = 0; i < count; i++) {
		const struct breakdown_part *part = &parts[i];
		if (fabs(part->seconds) < 1e-6 * sum_s) /* hides remainders of rounding, too */
			continue;
		table_cells(table, CELLS(part_label(part->name),
					 quantity_format(scratch, QUANTITY_TIME, part->seconds)));
		table_cell(table, "%.1f %%", sum_s > 0 ? 100 * part->seconds / sum_s : 0);
		if (slowest)
			table_cell(
				table, "%s",
				quantity_format(scratch, QUANTITY_TIME, slowest->parts[i].seconds));
	}
	print_below(out, table);
}

static void quantiles(FILE *out, struct arena *scratch, const struct prediction *prediction,
		      size_t line_width)
{
	const struct {
		const char *name;
		struct estimate mean;
		const struct estimate *quantiles;
	} rows[] = {
		{"of a request", prediction->step_s, prediction->latency_s},
		{"to the first token", prediction->first_token_mean_s, prediction->first_token_s},
		{"per token of a request", prediction->token_s, NULL},
		{"between tokens", ESTIMATE_NONE, prediction->between_tokens_s}};
	struct table *table =
		table_new(scratch, "latency|mean>|50 %>|90 %>|95 %>|99 %>", line_width);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct estimate *quantiles = rows[i].quantiles;
		if (!isfinite(rows[i].mean.value) && !(quantiles && isfinite(quantiles[0].value)))
			continue;
		table_cells(table, CELLS(rows[i].name,
					 estimate_text(scratch, QUANTITY_TIME, rows[i].mean)));
		for (size_t k = 0; k < QUANTILE_COUNT; k++)
			table_cell(table, "%s",
				   quantiles ? estimate_text(scratch, QUANTITY_TIME, quantiles[k])
					     : "-");
	}
	print_below(out, table);
	fprintf(out, "\n%" PRIu64 " requests, %" PRIu64 " refused, %" PRIu64 " preemptions\n",
		prediction->requests_count, prediction->refused_count, prediction->preempted_count);
}

static void put_numbers(struct table *table, struct arena *scratch,
			const struct job_prediction *client, bool serving)
{
	if (!client->ok) {
		for (int i = 0; i < 4; i++)
			table_cell(table, "-");
		return;
	}
	table_cell(table, "%s", rate_text(scratch, client->throughput));
	table_cell(table, "%s",
		   serving ? estimate_text(scratch, QUANTITY_TIME, client->latency_p99_s)
			   : fixed_text(scratch, client->ratio, 3, 1, ""));
	table_cell(table, "%s", fixed_text(scratch, client->gpu_utilization, 1, 100, " %"));
	table_cell(table, "%s", estimate_text(scratch, QUANTITY_TIME, client->step_s));
}

struct table *prediction_jobs(struct arena *scratch, const struct prediction *prediction)
{
	bool jobs = prediction->gpu_count > 0, elapsed = prediction->phase_count > 0;
	bool serving = prediction_kind(prediction) == PREDICTION_SERVING;
	const enum answer numbers[] = {ANSWER_THROUGHPUT,
				       serving ? ANSWER_LATENCY_P99
				       : jobs  ? ANSWER_EFFICIENCY
					       : ANSWER_RATIO,
				       ANSWER_UTILIZATION, serving ? ANSWER_LATENCY : ANSWER_STEP};
	struct table *table = table_new(scratch, jobs ? "job" : "client|GPU", 0);
	table_column(table, throughput_unit(&prediction, 1), true);
	for (size_t k = 1; k < sizeof numbers / sizeof numbers[0]; k++)
		table_column(table, answer_at(numbers[k])->heading, true);
	if (elapsed)
		table_column(table, answer_at(ANSWER_ELAPSED)->heading, true);
	table_column(table, "verdict", false);
	for (size_t i = 0; i < prediction->job_count; i++) {
		const struct job_prediction *client = &prediction->jobs[i];
		table_cells(table, CELLS(client->name));
		if (!jobs)
			table_cell(table, "%s", client->gpu ? client->gpu : "-");
		put_numbers(table, scratch, client, serving);
		if (elapsed)
			table_cell(table, "%s",
				   estimate_text(scratch, QUANTITY_TIME, client->elapsed_s));
		if (client->ok) {
			table_cell(table, "ok");
		} else {
			table_cell_failed(table, client->reason);
			table_tone(table, TONE_ALARM);
		}
	}
	return table;
}

enum { LINKS_SHOWN = 40, CALLS_SHOWN = 5 };

/* Orders links by falling utilisation. Equal links keep the order of the topology. */
static int by_utilization(const void *a, const void *b)
{
	const struct link_prediction *x = *(const struct link_prediction *const *)a,
				     *y = *(const struct link_prediction *const *)b;
	int order = (x->utilization < y->utilization) - (x->utilization > y->utilization);
	return order ? order : (x > y) - (x < y);
}

static void links(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	size_t all = prediction->link_count, count = all > LINKS_SHOWN ? LINKS_SHOWN : all;
	const struct link_prediction **shown =
		ARENA_ARRAY(scratch, all, const struct link_prediction *);
	for (size_t i = 0; i < all; i++)
		shown[i] = &prediction->links[i];
	if (all > count)
		qsort(shown, all, sizeof *shown, by_utilization);
	struct table *table = table_new(scratch, "link|utilisation>|bytes carried>", 0);
	for (size_t i = 0; i < count; i++) {
		struct estimate busy = {shown[i]->utilization, NAN, NAN};
		table_cells(table,
			    CELLS(shown[i]->name, fixed_text(scratch, busy, 1, 100, " %"),
				  quantity_format(scratch, QUANTITY_BYTES, shown[i]->carried_B)));
	}
	print_below(out, table);
	if (count < all)
		fprintf(out, "(the %zu most used of %zu links; each direction counts separately)\n",
			count, all);
}

struct table *prediction_calls(struct arena *scratch, const struct prediction *prediction,
			       size_t most)
{
	struct table *table =
		table_new(scratch,
			  "call|calls a step>|time in them>|mean>|share of the step>|server and "
			  "GPU>|client and network>",
			  0);
	for (size_t i = 0; i < prediction->waiting_call_count && i < most; i++) {
		const struct call_prediction *call = &prediction->waiting_calls[i];
		const double times_s[] = {call->waited_s, call->mean_s, call->served_s,
					  call->waited_s - call->served_s};
		const char *texts[4];
		for (int k = 0; k < 4; k++)
			texts[k] = quantity_format(scratch, QUANTITY_TIME, times_s[k]);
		table_cells(table,
			    CELLS(call->name, number_format(scratch, 4, call->per_step_count),
				  texts[0], texts[1],
				  arena_printf(scratch, "%.1f %%", 100 * call->share_ratio),
				  texts[2], texts[3]));
	}
	return table;
}

static void calls(FILE *out, struct arena *scratch, const struct prediction *prediction,
		  size_t line_width)
{
	size_t count = prediction->waiting_call_count;
	struct table *table = prediction_calls(scratch, prediction, CALLS_SHOWN);
	table_line_width(table, line_width);
	print_below(out, table);
	if (count > CALLS_SHOWN)
		fprintf(out,
			"(the %d of %zu kinds in which the program spends most time; JSON has "
			"all)\n",
			CALLS_SHOWN, count);
}

/* Says where kernel times come from if no rate of the network was fitted. A collective has none. */
static void unfitted_kernels(FILE *out, const struct prediction *prediction)
{
	static const char efficiency[] = "efficiency.", peak[] = ".peak", kernels[] = "kernels.";
	size_t count = prediction->resolution ? cfg_param_count(prediction->resolution) : 0;
	bool by_law = false, fitted = false;
	for (size_t i = 0; i < count && !prediction->collective; i++) {
		const struct cfg_param *param = cfg_param_at(prediction->resolution, i);
		bool is_default = strcmp(param->status, "default") == 0;
		if (strncmp(param->path, kernels, strlen(kernels)) == 0)
			fitted |= !is_default;
		else if (strncmp(param->path, efficiency, strlen(efficiency)) == 0 &&
			 strcmp(strrchr(param->path, '.'), peak) == 0)
			by_law |= is_default;
	}
	if (by_law)
		fprintf(out, "kernel times come from shapes%s (docs/models/kernels.md)\n",
			fitted ? ", with constants fitted to other networks or GPUs"
			       : " and data sheets; no measurement set their constants");
}

static void job(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	fputc('\n', out);
	if (prediction->communication_s > 0)
		fprintf(out,
			"collectives run for %s of a step; exposed communication is %s of it\n",
			quantity_format(scratch, QUANTITY_TIME, prediction->communication_s),
			quantity_format(scratch, QUANTITY_TIME,
					prediction_part_s(prediction, PART_EXPOSED)));
	if (prediction->choice)
		fprintf(out, "library's choice for all gradients at once: %s\n",
			prediction->choice);
	bool run = prediction->checkpoint_count > 0;
	if (isfinite(prediction->training_s.value) && prediction->training_s.value > 0)
		fprintf(out, "training time%s: %s\n", run ? " without a failure" : "",
			duration_text(scratch, prediction->training_s));
	if (prediction->elapsed_s.value > 0 && (run || isnan(prediction->training_s.value)))
		fprintf(out, "time from launch to end: %s\n",
			duration_text(scratch, prediction->elapsed_s));
	if (run)
		prediction_long_run(out, scratch, prediction);
}

static void tokens(FILE *out, struct arena *scratch, const struct prediction *p)
{
	if (!(p->token_throughput.value > 0))
		return;
	fprintf(out, "samples are sequences: %s tokens/s", rate_text(scratch, p->token_throughput));
	if (p->gpu_count > 1)
		fprintf(out, ", %s on each GPU", rate_text(scratch, p->gpu_token_throughput));
	if (p->mfu.value > 0)
		fprintf(out, "\nmodel FLOP/s of a GPU: %s; MFU %s, HFU %s",
			estimate_text(scratch, QUANTITY_FLOP_RATE, p->model_flops),
			fixed_text(scratch, p->mfu, 1, 100, " %"),
			fixed_text(scratch, p->hfu, 1, 100, " %"));
	if (p->memory_B > 0)
		fprintf(out, "\nGPU memory of the rank that needs most: %s",
			quantity_format(scratch, QUANTITY_BYTES, p->memory_B));
	if (p->memory_lacking_B > 0)
		fprintf(out,
			"\nthe plan does not fit: this is %s more than the GPU has (plan.anyway)",
			quantity_format(scratch, QUANTITY_BYTES, p->memory_lacking_B));
	fputc('\n', out);
}

static void counters(FILE *out, struct arena *scratch, const struct prediction *prediction)
{
	if (prediction->ok && prediction_kind(prediction) == PREDICTION_TRAINING)
		job(out, scratch, prediction);
	fputc('\n', out);
	bool serving = prediction_kind(prediction) == PREDICTION_SERVING;
	if (!serving)
		tokens(out, scratch, prediction);
	if (prediction->ok && !serving && prediction->gpu_count == 0)
		fprintf(out,
			"%" PRIu64 " calls and %" PRIu64 " polls per step; %.3g retransmission "
			"timeouts per step; connecting took %s\n",
			prediction->calls_count, prediction->polls_count,
			prediction->retransmission_timeouts,
			quantity_format(scratch, QUANTITY_TIME, prediction->connect_s));
	costs_print(out, scratch, prediction);
	if (prediction->without_effect)
		fprintf(out, "changes nothing here: %s\n",
			text_visible(scratch, prediction->without_effect));
	if (prediction->idle_adapters)
		fprintf(out, "idle: %s\n", text_visible(scratch, prediction->idle_adapters));
	if (prediction->evidence)
		fprintf(out, "evidence: %s\n", prediction->evidence);
	if (prediction->width)
		fprintf(out, "interval: %s\n", prediction->width);
	fprintf(out, "%" PRIu64 " events, seed %" PRIu64 ", ", prediction->events_count,
		prediction->seed);
	if (prediction->draws_count > 0)
		fprintf(out, "%zu draws (brackets: 90 %% intervals)", prediction->draws_count);
	else
		fputs(prediction->ok ? "no intervals (--draws 0)" : "no intervals", out);
	fputs(", farwire " FARWIRE_VERSION "\n", out);
	if (prediction->failed_draws_count > 0)
		fprintf(out,
			"%zu of the draws fail and count as 0; a lower end of 0 means that more "
			"than 5 %% of the draws fail\n",
			prediction->failed_draws_count);
	unfitted_kernels(out, prediction);
}

static void one(FILE *out, struct arena *scratch, const struct prediction *p, size_t line_width,
		bool with_links)
{
	bool serving = prediction_kind(p) == PREDICTION_SERVING;
	answer(out, scratch, p);
	if (p->ok)
		further_answers(out, scratch, p);
	if (serving && p->ok)
		quantiles(out, scratch, p, line_width);
	if (p->ok && p->breakdown_count > 0)
		breakdown(out, scratch,
			  serving ? "part of the mean latency" : "part of the step time",
			  p->breakdown, p->breakdown_count,
			  p->stage_count > 0 ? &p->stages[p->stage_count - 1] : NULL);
	if (p->ok && p->waiting_call_count > 0)
		calls(out, scratch, p, line_width);
	if (p->ok && p->phase_count > 0)
		breakdown(out, scratch, "from launch to end", p->phases, p->phase_count, NULL);
	if (p->job_count > 1) {
		struct table *table = prediction_jobs(scratch, p);
		table_line_width(table, line_width);
		print_below(out, table);
	}
	if (p->ok && p->link_count > 0 && with_links)
		links(out, scratch, p);
	counters(out, scratch, p);
}

void predictions_table(FILE *out, const struct prediction *const *predictions, size_t count,
		       size_t line_width, bool links)
{
	struct arena *scratch = arena_new();
	if (count == 1)
		one(out, scratch, predictions[0], line_width, links);
	else
		overview(out, scratch, predictions, count, line_width);
	arena_free(scratch);
}
