/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire diagnose: compares a log of a benchmark, or a step time, with the prediction, and ranks
 * single faults. */
#include "calib/fit/fit.h"
#include "calib/fit/recording.h"
#include "plots/charts.h"
#include "sim/analysis/diagnose.h"
#include "sim/import/importer.h"
#include "sim/verb/verbs.h"

enum { SHOWN_MOST = 8, HEADLINES_MOST = 8 };
/* Suspects with less probability are ruled out. */
static const double shown_least = 0.01;
/* Rates of smaller messages over RDMA show how fast a core and an adapter post them, not the path.
 */
static const double small_B = 16384;

/* ---- what was measured ---- */

struct measurements {
	const struct command *command;
	struct diagnose_request *request;
	VEC(struct dataset_row) rows;
	VEC(struct transfer) transfers;
};

/* Reads recorded samples, or a log of a known tool, whose points are then in *log. */
static const struct recording *read(const struct command *command, struct diag *diag,
				    const char *path, const struct importing **log)
{
	size_t size_B;
	*log = NULL;
	if (ends_in(path, ".jsonl"))
		return recording_read(command->arena, diag, path);
	struct imported imported = {0};
	if (!import_log.files(command->arena, diag, &path, 1, &imported))
		return NULL;
	char *text;
	FILE *out = open_memstream(&text, &size_B);
	imported.write(out, imported.ctx);
	fclose(out);
	*log = imported.ctx;
	const struct recording *recording =
		recording_read_from(command->arena, diag, fmemopen(text, size_B, "r"), path);
	free(text);
	return recording;
}

static void add_transfer(struct measurements *m, struct transfer transfer, const char *group,
			 const char *label, double time_s)
{
	struct arena *arena = m->command->arena;
	*VEC_PUSH(arena, &m->transfers) = transfer;
	*VEC_PUSH(arena, &m->rows) = (struct dataset_row){
		.label = label, .group = group, .measure = MEASURE_TIME, .measured = time_s};
}

static double number_of(const struct import_point *point, const char *key)
{
	for (size_t i = 0; i < IMPORT_NUMBERS && point->x[i].key; i++)
		if (strcmp(point->x[i].key, key) == 0)
			return point->x[i].value;
	return 0;
}

/* Adds the cells of a matrix of copies: one for each GPU, or for each pair of GPUs, of which `from`
 * is the column and `to` the row. */
static void add_copies(struct measurements *m, const struct import_point *point)
{
	static const struct {
		const char *words, *text;
	} kinds[] = {[TRANSFER_TO_DEVICE] = {"direction=h2d memory=pinned", "to GPU"},
		     [TRANSFER_TO_HOST] = {"direction=d2h memory=pinned", "from GPU"},
		     [TRANSFER_PEER] = {"direction=peer memory=direct", "between GPUs"}};
	struct arena *arena = m->command->arena;
	size_t count = point->samples.count, gpus = 1;
	double size_B = number_of(point, "size_B");
	while (gpus * (gpus - 1) < count)
		gpus++;
	for (enum transfer_kind kind = 0; kind <= TRANSFER_PEER; kind++)
		for (size_t i = 0; i < count && strstr(point->words, kinds[kind].words); i++) {
			struct transfer transfer = {.kind = kind, .from = i, .size_B = size_B};
			size_t column = i % (gpus - 1), row = i / (gpus - 1);
			if (kind == TRANSFER_PEER) {
				transfer.from = column + (column >= row);
				transfer.to = row;
			}
			const char *which = kind == TRANSFER_PEER
						    ? arena_printf(arena, "%zu and %zu",
								   transfer.from, transfer.to)
						    : arena_printf(arena, "%zu", i);
			add_transfer(m, transfer, kinds[kind].words,
				     arena_printf(arena, "copy %s %s", kinds[kind].text, which),
				     size_B / point->samples.items[i]);
		}
}

/* Adds the median of the samples of messages or streams. */
static void add_messages(struct measurements *m, const struct import_point *point, bool tcp)
{
	struct arena *arena = m->command->arena;
	bool latency = strstr(point->words, "what=latency");
	bool small = !tcp && !latency && number_of(point, "size_B") < small_B;
	if (small || (!latency && !strstr(point->words, tcp ? "what=stream" : "what=rate")))
		return;
	struct transfer transfer = {.kind = latency ? TRANSFER_ROUND_TRIP : TRANSFER_MESSAGES,
				    .size_B = number_of(point, "size_B"),
				    .streams_count = number_of(point, "streams"),
				    .back = point->link.back || strstr(point->words, "verb=read")};
	double *samples = ARENA_ARRAY(arena, point->samples.count, double);
	memcpy(samples, point->samples.items, point->samples.count * sizeof *samples);
	double middle = num_quantile(samples, point->samples.count, 0.5);
	/* perftest prints half of a round trip, but a whole one for reads */
	double halves = strstr(point->words, "verb=read") ? 2 : 1;
	const char *size = quantity_format(arena, QUANTITY_BYTES, transfer.size_B);
	add_transfer(m, transfer, point->words,
		     tcp ? arena_printf(arena, "TCP%s, streams: %.0f", transfer.back ? " back" : "",
					fmax(transfer.streams_count, 1))
		     : latency ? arena_printf(arena, "latency of %s over RDMA", size)
			       : arena_printf(arena, "messages of %s over RDMA", size),
		     latency ? middle / halves : transfer.size_B / middle);
}

/* Returns the settings of a case with the machines and the transport of the transfers. */
static void set_transfers(struct measurements *m)
{
	const struct command *command = m->command;
	struct setting *settings =
		ARENA_ARRAY(command->arena, command->setting_count + 4, struct setting);
	size_t count = 0;
	bool tcp = m->request->measured == MEASURED_TCP, server = false;
	for (size_t i = 0; i < command->setting_count; i++)
		server = server || strncmp(command->settings[i].text, "case.server=", 12) == 0;
	const char *const pair[] = {"case.collective=all_reduce", "case.gpus=2",
				    "case.gpus_per_machine=1"};
	for (size_t i = 0; i < 3 && !server && m->request->measured != MEASURED_COPY; i++)
		settings[count++] = (struct setting){pair[i], {"the log", 0}};
	if (m->request->measured != MEASURED_COPY)
		settings[count++] = (struct setting){
			tcp ? "case.transport=tcp" : "case.transport=rdma", {"the log", 0}};
	if (server)
		settings[count++] = (struct setting){"case.runtime=synchronous", {"the log", 0}};
	for (size_t i = 0; i < command->setting_count; i++)
		settings[count++] = command->settings[i];
	for (size_t i = 0; i < m->rows.count; i++) {
		m->rows.items[i].settings = settings;
		m->rows.items[i].setting_count = count;
	}
	m->request->transfers = m->transfers.items;
}

/* Takes the points of one sort: those of the first log with one. */
static void add_log(struct measurements *m, const struct importing *log)
{
	static const struct {
		const char *test;
		enum measured measured;
	} tests[] = {{"copy", MEASURED_COPY}, {"rdma", MEASURED_RDMA}, {"tcp", MEASURED_TCP}};
	for (size_t i = 0; i < log->points.count; i++)
		for (size_t k = 0; k < sizeof tests / sizeof tests[0]; k++) {
			const struct import_point *point = &log->points.items[i];
			enum measured measured = tests[k].measured;
			if (strcmp(point->test, tests[k].test) != 0 || point->pass > 0 ||
			    point->samples.count == 0 ||
			    (m->rows.count > 0 && m->request->measured != measured))
				continue;
			m->request->measured = measured;
			if (measured == MEASURED_COPY)
				add_copies(m, point);
			else
				add_messages(m, point, measured == MEASURED_TCP);
		}
}

static const struct dataset *dataset_of(struct measurements *m, const char *path)
{
	struct dataset *dataset = ARENA_NEW(m->command->arena, struct dataset);
	*dataset = (struct dataset){.name = path,
				    .path = path,
				    .measure = MEASURE_TIME,
				    .draws = SIZE_MAX,
				    .rows = m->rows.items,
				    .row_count = m->rows.count};
	return dataset;
}

/* Reads the logs: all of collectives, or all of one path. */
static const struct dataset *read_logs(struct measurements *m, struct diag *diag)
{
	const struct command *command = m->command;
	const struct recording **recordings =
		ARENA_ARRAY(command->arena, command->word_count, const struct recording *);
	for (size_t i = 0; i < command->word_count; i++) {
		const struct importing *log;
		recordings[i] = read(command, diag, command->words[i], &log);
		if (!recordings[i])
			return NULL;
		size_t before = m->rows.count;
		if (log)
			add_log(m, log);
		if (i > 0 && (before == 0) != (m->rows.count == before))
			return diag_null(diag, (struct origin){command->words[i], 0},
					 "this log is not of the same benchmark as '%s' (diagnose "
					 "each by itself)",
					 command->words[0]);
	}
	m->request->input.request.path = NULL;
	m->request->input.request.setting_count = 0;
	if (m->rows.count > 0) {
		set_transfers(m);
		return dataset_of(m, command->words[0]);
	}
	m->request->measured = MEASURED_COLLECTIVE;
	const struct fit_collectives_request from = {.recordings = recordings,
						     .recording_count = command->word_count,
						     .settings = command->settings,
						     .setting_count = command->setting_count};
	return collectives_dataset(command->arena, diag, &from);
}

/* Takes the step time of --step as the only row. */
static const struct dataset *read_step(struct measurements *m, struct diag *diag)
{
	const struct command *command = m->command;
	double step_s = 0;
	if (quantity_parse(command->arena, QUANTITY_TIME, command->step, &step_s) || !(step_s > 0))
		return diag_null(diag, (struct origin){"--step", 0},
				 "'%s' is not a time above 0 (write 1.78s, for example)",
				 command->step);
	m->request->measured = MEASURED_STEP;
	*VEC_PUSH(command->arena, &m->rows) = (struct dataset_row){
		.label = "the step", .measure = MEASURE_TIME, .measured = step_s};
	return dataset_of(m, "--step");
}

/* ---- words ---- */

/* Returns a time of a point as the log has it: as a bandwidth, or for a step and for latencies as a
 * time. */
static bool has_rates(const struct diagnosis *d, size_t point)
{
	return d->measured != MEASURED_STEP && !strstr(d->labels[point], "latency");
}

static const char *value_words(struct arena *arena, const struct diagnosis *d, size_t point,
			       double time_s)
{
	return has_rates(d, point)
		       ? quantity_format(arena, QUANTITY_RATE, diagnosis_rate(d, point, time_s))
		       : quantity_format(arena, QUANTITY_TIME, time_s);
}

/* Returns the sentence that compares a point with its prediction. */
static const char *headline(struct arena *arena, const struct diagnosis *d, size_t point)
{
	const struct estimate *e = &d->expected_s[point];
	bool rates = has_rates(d, point);
	double measured_s = d->rows[point]->measured;
	double percent = 100 * (rates ? e->value / measured_s - 1 : measured_s / e->value - 1);
	return arena_printf(arena, "%s: expected %s%s (%s to %s), measured %s (%+.0f %%)\n",
			    d->labels[point], value_words(arena, d, point, e->value),
			    d->measured == MEASURED_COLLECTIVE ? " bus bandwidth" : "",
			    value_words(arena, d, point, rates ? e->high : e->low),
			    value_words(arena, d, point, rates ? e->low : e->high),
			    value_words(arena, d, point, measured_s), percent);
}

/* Returns the point of a curve, given its last one, that stands for it: its largest size, or if all
 * have one size, the slowest compared with its prediction. */
static size_t largest_of(const struct diagnosis *d, size_t last)
{
	size_t best = last;
	for (size_t i = last; i-- > 0 && d->curve[i] == d->curve[last];)
		if (d->size_B[i] >= d->size_B[last] &&
		    d->rows[i]->measured / d->expected_s[i].value >
			    d->rows[best]->measured / d->expected_s[best].value)
			best = i;
	return best;
}

/* Returns a sentence for each curve, the first of which is that of the largest job. */
static const char *headlines(struct arena *arena, const struct diagnosis *d)
{
	const char *text = "";
	size_t shown = 0;
	for (size_t i = d->count; i-- > 0 && shown < HEADLINES_MOST;) {
		if (i + 1 < d->count && d->curve[i] == d->curve[i + 1])
			continue;
		text = arena_printf(arena, "%s%s", text, headline(arena, d, largest_of(d, i)));
		shown++;
	}
	return text;
}

static const char *range_words(struct arena *arena, const struct size_range *range)
{
	const char *from = quantity_format(arena, QUANTITY_BYTES, range->from_B);
	const char *to = quantity_format(arena, QUANTITY_BYTES, range->to_B);
	const char *sizes =
		strcmp(from, to) == 0 ? from : arena_printf(arena, "%s to %s", from, to);
	double times = range->ratio < 1 ? 1 / range->ratio : range->ratio;
	return arena_printf(arena,
			    "%s sizes (%s): %s; %.2f times the predicted %s, %zu of %zu outside "
			    "the interval",
			    range->name, sizes,
			    range->deviation == 0  ? "as expected"
			    : range->deviation < 0 ? "faster than expected"
						   : "slower than expected",
			    times, range->ratio < 1 ? "speed" : "time", range->outside_count,
			    range->count);
}

/* Returns the sentence that judges the log. It agrees with the counts of the ranges. */
static const char *verdict_of(struct arena *arena, const struct diagnosis *d)
{
	bool step = d->measured == MEASURED_STEP;
	const char *first = d->suspects[0].what, *log = step ? "step" : "log";
	double percent = 100 * fabs((d->ratio < 1 ? 1 / d->ratio : d->ratio) - 1);
	size_t outside = 0;
	for (size_t i = 0; i < DIAGNOSE_RANGES; i++)
		outside += d->ranges[i].deviation != 0;
	if (d->faster)
		return arena_printf(
			arena,
			"no suspect: the %s is faster than predicted by %.0f %%, and no fault "
			"makes it faster (the prediction is pessimistic, or the options describe "
			"another system)",
			log, percent);
	if (*d->suspects[0].setting)
		return d->explained ? arena_printf(arena, "first suspect: %s", first)
				    : arena_printf(arena,
						   "none of the simulated faults explains the %s "
						   "well; the nearest one: %s",
						   log, first);
	if (outside == 0 && step)
		return "no suspect: the step time is inside the 90 % interval of the prediction "
		       "(if it should be shorter, the faults below are the most likely ones)";
	if (outside == 0)
		return d->explained ? "no suspect: the log agrees with the prediction"
				    : "no suspect, but the shape of the curve differs from the "
				      "prediction";
	return arena_printf(arena,
			    "no suspect: the %s is %s than predicted by %.0f %%, but an error of "
			    "the prediction explains that better than each simulated fault",
			    log, d->ratio < 1 ? "faster" : "slower", percent);
}

static const char *title_of(const struct command *command, const struct diagnosis *d)
{
	struct arena *arena = command->arena;
	const char *text = headlines(arena, d);
	const struct size_range *only = d->ranges[2].count == d->count ? &d->ranges[2] : NULL;
	if (only && d->count > 1)
		text = arena_printf(arena, "%s%zu of %zu results are outside the interval\n", text,
				    only->outside_count, only->count);
	for (size_t i = 0; i < DIAGNOSE_RANGES && !only; i++)
		if (d->ranges[i].count)
			text = arena_printf(arena, "%s%s\n", text,
					    range_words(arena, &d->ranges[i]));
	return arena_printf(
		arena,
		"%s%s\n%zu faults were simulated; %zu of them cannot be seen in these numbers\n"
		"noise of each number: %.3g %%, %s%s",
		text, verdict_of(arena, d), d->simulated_count, d->hidden_count,
		100 * d->noise_ratio, d->noise_why ? "because " : "from --noise",
		d->noise_why ? d->noise_why : "");
}

/* Returns why a fault is not a suspect: the point at which its prediction is farthest from the
 * measurement. */
static const char *ruled_out(struct arena *arena, const struct diagnosis *d,
			     const struct suspect *s)
{
	size_t worst = 0;
	for (size_t i = 1; i < d->count; i++)
		if (fabs(log(s->time_s[i] / d->rows[i]->measured)) >
		    fabs(log(s->time_s[worst] / d->rows[worst]->measured)))
			worst = i;
	return arena_printf(arena, "tried: it predicts %s for %s, and %s were measured",
			    value_words(arena, d, worst, s->time_s[worst]), d->labels[worst],
			    value_words(arena, d, worst, d->rows[worst]->measured));
}

static const struct result_table *table_of(const struct command *command, const struct diagnosis *d)
{
	struct arena *arena = command->arena;
	size_t point = largest_of(d, d->count - 1);
	bool rates = has_rates(d, point);
	struct result_table *table = result_table_new(arena, "diagnosis", title_of(command, d));
	result_columns(table, "suspect:text|probability:ratio|verdict_of_fault:text:verdict");
	result_column(table,
		      (struct result_column){.name = rates ? "predicted_Bps" : "predicted_s",
					     .quantity = rates ? QUANTITY_RATE : QUANTITY_TIME,
					     .heading = arena_printf(arena, "predicted for %s",
								     d->labels[point])});
	result_columns(table, "check:text:what to check next, or why it is ruled out|"
			      "alike:text:has the same curve|setting:text:simulated with --set");
	for (size_t i = 0; i < d->suspect_count; i++) {
		const struct suspect *s = &d->suspects[i];
		bool out =
			d->faster ? *s->setting : i >= SHOWN_MOST || s->probability < shown_least;
		double time_s = s->time_s[point];
		result_row(table);
		result_text(table, s->what);
		result_number(table, round(1000 * s->probability) / 1000);
		result_text(table, out ? "ruled out" : *s->setting ? "suspect" : "possible");
		result_number(table, rates ? diagnosis_rate(d, point, time_s) : time_s);
		result_text(table, out ? ruled_out(arena, d, s) : *s->check ? s->check : NULL);
		result_text(table, s->alike);
		result_text(table, *s->setting ? s->setting : NULL);
	}
	return table;
}

/* ---- chart ---- */

/* Draws bandwidths over the sizes of the largest job, or over the points if they have one size:
 * measured, expected with its interval, and the first suspect. */
static const struct drawing *draw(const struct command *command, const struct diagnosis *d)
{
	struct arena *arena = command->arena;
	struct curve curves[3];
	size_t first = d->count - 1, count = 0;
	const struct suspect *suspect = NULL;
	while (first > 0 && d->curve[first - 1] == d->curve[d->count - 1])
		first--;
	for (size_t i = 0; i < d->suspect_count && !suspect && !d->faster; i++)
		suspect = *d->suspects[i].setting ? &d->suspects[i] : NULL;
	size_t points = d->count - first;
	bool sizes = d->size_B[first] < d->size_B[d->count - 1];
	double *x = ARENA_ARRAY(arena, points, double);
	for (size_t i = 0; i < points; i++)
		x[i] = sizes ? d->size_B[first + i] : (double)i;
	for (size_t c = 0; c < (suspect ? 3 : 2); c++) {
		struct estimate *y = ARENA_ARRAY(arena, points, struct estimate);
		for (size_t i = 0; i < points; i++) {
			size_t at = first + i;
			const struct estimate *e = &d->expected_s[at];
			double time_s = c == 2 ? suspect->time_s[at] : d->rows[at]->measured;
			y[i] = c == 1 ? (struct estimate){diagnosis_rate(d, at, e->value) * 1e-9,
							  diagnosis_rate(d, at, e->high) * 1e-9,
							  diagnosis_rate(d, at, e->low) * 1e-9}
				      : estimate_exact(diagnosis_rate(d, at, time_s) * 1e-9);
		}
		curves[count++] = (struct curve){.label = c == 0   ? "measured"
							  : c == 1 ? "expected"
								   : suspect->what,
						 .x = x,
						 .y = y,
						 .count = points};
	}
	struct caption caption = command_caption_of(command);
	caption.configuration = caption_configuration(arena, d->cases, d->count);
	struct chart_text text = {command->title ? command->title : "Measured and predicted",
				  caption_text(arena, &caption)};
	const struct chart_axes axes = {.x_label = sizes ? "message size" : "point of the log",
					.y_label = d->measured == MEASURED_COLLECTIVE
							   ? "bus bandwidth (GB/s)"
							   : "bandwidth (GB/s)",
					.x_log = sizes,
					.y_log = sizes,
					.x_sizes = sizes};
	return chart_curves(arena, text, axes, curves, count);
}

static int run(const struct command *command)
{
	if (command->step && command->plot)
		return command_stop(EXIT_USAGE, "--plot: one step time gives no curve (leave it "
						"out, or diagnose a log)");
	if (command->word_count == 0 && !command->step)
		return command_stop(EXIT_USAGE,
				    "`farwire diagnose` needs a LOG, or --step TIME and a CASE");
	if (command->step && command->word_count > 1)
		return command_stop(EXIT_USAGE,
				    "--step takes one case, but '%s' is another one "
				    "(remove it)",
				    command->words[1]);
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct diag *diag = diag_new(command->arena);
	const char *journal = command_journal(command);
	struct progress progress = progress_new("predictions", journal, command->quiet);
	struct diagnose_request request = {.input = command_input(command, &progress),
					   .noise_ratio = command->noise_ratio,
					   .journal = journal};
	struct measurements measurements = {.command = command, .request = &request};
	request.dataset =
		command->step ? read_step(&measurements, diag) : read_logs(&measurements, diag);
	if (!request.dataset)
		return command_failed(diag, NULL);
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
	.words = "LOG...|CASE",
	.help = "says whether a log of a benchmark, or a step time, is as expected, and ranks "
		"faults that explain it",
	.examples =
		"  farwire diagnose nccl.log --topology dgx-h100 --exchange nccl-2.18\n"
		"  farwire diagnose nccl.log --topology mine.cfg --plot curves.svg\n"
		"  farwire diagnose 2-nodes.log 8-nodes.log --topology dgx-h100-roce\n"
		"  farwire diagnose --step 95ms --topology dgx-h100 --model resnet50 --gpus 16\n"
		"  farwire diagnose nvbandwidth.log --topology dgx-h100\n",
	.options = ANSWER_OPTIONS "step set plan noise",
	.run = run,
};
