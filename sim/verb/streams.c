/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test of the whole: programs that the probe ran through its forwarder, and that
 * no fit has seen (the test `stream`, docs/calibration.md), predicted from the
 * parameters that were fitted. Two bare hosts and a wire of the latency and rate
 * that the forwarder added stand for the loopback. */
#include <math.h>
#include <string.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/calls/recorded.h"
#include "sim/verb/calibration.h"
#include "sim/verb/report.h"

static const char topology[] =
	"# Where `farwire calibrate` predicts the probe's forwarded programs.\n"
	"topology = {\n"
	"\tname = \"streams\";\n"
	"\thosts = (\n"
	"\t\t{ name = \"a\"; c_states = false; nic_moderation = false; power_policy = "
	"\"max_performance\"; },\n"
	"\t\t{ name = \"b\"; c_states = false; nic_moderation = false; power_policy = "
	"\"max_performance\"; } );\n"
	"\tguests = ( { name = \"client\"; host = \"a\"; }, { name = \"server\"; host = \"b\"; } "
	");\n"
	"\tgpus = ( { name = \"gpu0\"; host = \"b\"; profile = \"v100-sxm2\"; } );\n"
	"\tlinks = ( { name = \"slot\"; kind = \"pcie\"; ends = [\"b\", \"gpu0\"]; lanes = 16; },\n"
	"\t\t{ name = \"wire\"; kind = \"ethernet\"; ends = [\"client\", \"server\"];\n"
	"\t\t  bandwidth = \"400 Gbit/s\"; latency = \"0 us\"; } );\n"
	"};\n";

enum { STEPS = 3, SETTINGS_MAX = 64 };

/* ---- the programs, as docs/calibration.md has them ---- */

struct program {
	struct arena *arena;
	VEC(struct recorded_call) calls;
	double kernel_s, floor_s, t_s;
};

static struct recorded_call *add(struct program *p, const char *function)
{
	struct recorded_call *call = VEC_PUSH(p->arena, &p->calls);
	*call = (struct recorded_call){.start_s = p->t_s,
				       .end_s = p->t_s,
				       .gpu_s = -1,
				       .function = function,
				       .stream = 7,
				       .event = -1};
	p->t_s += 1e-9; /* nothing between them */
	return call;
}

static void launches(struct program *p, size_t count, double part)
{
	for (size_t i = 0; i < count; i++)
		add(p, "cudaLaunchKernel")->gpu_s = part * p->kernel_s + p->floor_s;
}

static void copy(struct program *p, enum recorded_copy way, double size_B)
{
	struct recorded_call *call = add(p, "cudaMemcpy");
	call->copy = (uint8_t)way;
	call->memory = MEMORY_PINNED;
	call->size_B = size_B;
}

/* False: no such program. */
static bool step_of(struct program *p, const char *name)
{
	if (strcmp(name, "launches") == 0) {
		launches(p, 200, 1);
		add(p, "cudaStreamSynchronize");
		return true;
	}
	if (strcmp(name, "pipeline") == 0) {
		for (int i = 0; i < 8; i++) {
			copy(p, COPY_H2D, 1 << 20);
			launches(p, 1, 1);
			copy(p, COPY_D2H, 256 << 10);
		}
		return true;
	}
	if (strcmp(name, "training") != 0)
		return false;
	copy(p, COPY_H2D, 4 << 20);
	launches(p, 60, 1);
	launches(p, 20, 0.1);
	copy(p, COPY_D2H, 4);
	add(p, "cudaStreamSynchronize");
	return true;
}

static const struct recorded_calls *program_of(struct arena *arena, const char *name,
					       double kernel_s, double floor_s)
{
	struct program p = {.arena = arena, .kernel_s = kernel_s, .floor_s = floor_s};
	struct recorded_calls *recorded = ARENA_NEW(arena, struct recorded_calls);
	recorded->marks = ARENA_ARRAY(arena, STEPS + 1, struct recorded_mark);
	for (uint32_t step = 0; step <= STEPS; step++) {
		recorded->marks[recorded->mark_count++] = (struct recorded_mark){p.t_s, step, 0};
		p.t_s += 1e-9;
		if (step < STEPS && !step_of(&p, name))
			return NULL;
	}
	recorded->tool = recorded->gpu = "";
	recorded->calls = p.calls.items;
	recorded->call_count = p.calls.count;
	recorded->thread_count = 1;
	return recorded;
}

/* ---- predicting ---- */

struct predicting {
	const struct command *command;
	const struct calibration *calibration;
	const char *topology;
	double floor_s;
	struct setting settings[SETTINGS_MAX];
	size_t count;
};

static void set(struct predicting *p, const char *text)
{
	if (p->count < SETTINGS_MAX)
		p->settings[p->count++] = (struct setting){text, {"calibrate", 0}};
}

/* What was fitted and such a run uses, for whichever GPU and guest. */
static void set_parameters(struct predicting *p)
{
	static const char *const used[] = {"driver.", "gpu.", "dma.", "runtime.", "guest."};
	struct arena *arena = p->command->arena;
	for (size_t i = 0; i < p->calibration->parameters.count; i++) {
		const struct calibrated *c = &p->calibration->parameters.items[i];
		const char *path = c->path, *key = strrchr(path, '.');
		size_t k = 0;
		while (k < sizeof used / sizeof used[0] &&
		       strncmp(path, used[k], strlen(used[k])) != 0)
			k++;
		if (k == sizeof used / sizeof used[0])
			continue;
		if (strncmp(path, "gpu.", 4) == 0)
			path = arena_printf(arena, "gpu.*%s", key);
		if (strcmp(path, "gpu.*.kernel_floor") == 0)
			p->floor_s = c->value.value;
		set(p, arena_printf(arena, "%s=%.9g %s", path, c->value.value,
				    quantity_unit(c->quantity)));
	}
}

static bool predict(struct predicting *p, const struct recording_point *point,
		    struct parity_point *parity)
{
	struct arena *arena = p->command->arena;
	const char *program = recording_point_word(point, "program");
	const char *mode = recording_point_word(point, "mode");
	const char *place = recording_point_word(point, "place");
	double rate_Bps = recording_point_number(point, "rate_Bps", 0);
	double latency_s = recording_point_number(point, "latency_s", 0);
	double kernel_s = recording_point_number(point, "kernel_s", 0);
	const char *broken;
	if (!program || !mode || !place || strcmp(place, "forwarded") != 0 || !(point->value > 0))
		return false;
	size_t kept = p->count;
	struct diag *diag = diag_new(arena);
	set(p, arena_printf(arena, "case.runtime=%s",
			    strcmp(mode, "sync") == 0    ? "synchronous"
			    : strcmp(mode, "async") == 0 ? "asynchronous"
							 : "batched"));
	set(p, arena_printf(arena, "link.wire.latency=%.9g s", latency_s));
	if (rate_Bps > 0)
		set(p, arena_printf(arena, "link.wire.bandwidth=%.9g B/s", rate_Bps));
	const struct case_request request = {
		.settings = p->settings,
		.setting_count = p->count,
		.data_root = p->command->data_root,
		.calls = program_of(arena, program, kernel_s, p->floor_s)};
	const struct predict_options options = {.seed = p->command->seed, .jobs = 1};
	const struct prediction *prediction =
		request.calls ? predict_case(arena, diag, &request, &options, &broken) : NULL;
	p->count = kept;
	if (!prediction || !prediction->ok) {
		diag_print(diag, stderr);
		return false;
	}
	*parity = (struct parity_point){
		.label = arena_printf(arena, "%s %s, kernels of %.0f us, %.0f us each way", program,
				      mode, 1e6 * kernel_s, 1e6 * latency_s),
		.measured = point->value,
		.predicted = prediction->step_s,
		.test = true};
	return true;
}

static void write_topology(FILE *out, const void *ctx)
{
	fputs(ctx, out);
}

static void add_table(struct report *report, const struct parity_point *points, size_t count)
{
	report_add(report, BLOCK_FOLD, "The steps behind the figure");
	struct report_table *table = report_table(report, "Steps of forwarded programs.");
	report_column(table, "program", COLUMN_TEXT);
	report_column(table, "measured", COLUMN_NUMBER);
	report_column(table, "predicted", COLUMN_NUMBER);
	report_column(table, "error", COLUMN_NUMBER);
	for (size_t i = 0; i < count; i++) {
		report_row(table, TONE_PLAIN);
		report_cell(table, "%s", points[i].label);
		report_cell(table, "%s",
			    quantity_format(report->arena, QUANTITY_TIME, points[i].measured));
		report_cell(
			table, "%s",
			quantity_format(report->arena, QUANTITY_TIME, points[i].predicted.value));
		report_cell(table, "%+.1f %%",
			    100 * (points[i].predicted.value / points[i].measured - 1));
	}
	report_add(report, BLOCK_UNFOLD, "%s", "");
}

double calibration_streams(const struct command *command, const struct calibration *calibration,
			   const char *folder, struct report *report)
{
	struct arena *arena = command->arena;
	const struct recording_point *const *points;
	size_t count = recording_find(calibration->recording, arena, "stream", "", &points), n = 0;
	struct parity_point *parity = ARENA_ARRAY(arena, count + 1, struct parity_point);
	double *errors = ARENA_ARRAY(arena, count + 1, double);
	struct predicting p = {.command = command, .calibration = calibration};
	struct command to_file = *command;
	p.topology = to_file.output = arena_printf(arena, "%s/streams.cfg", folder);
	if (count == 0 || command_write(&to_file, write_topology, topology) != EXIT_DONE)
		return NAN;
	set(&p, arena_printf(arena, "case.topology=%s", p.topology));
	set(&p, "case.calls=the probe's program");
	set(&p, "case.transport=tcp");
	/* the forwarder sends a payload whole, and then copies it */
	set(&p, "runtime.pipelined=false");
	set(&p, "runtime.chunk=512 MiB");
	set(&p, "case.program=client");
	set(&p, "case.server=server");
	set_parameters(&p);
	for (size_t i = 0; i < count; i++)
		if (predict(&p, points[i], &parity[n])) {
			errors[n] = fabs(parity[n].predicted.value / parity[n].measured - 1);
			n++;
		}
	if (n == 0)
		return NAN;
	double error = num_quantile(errors, n, 0.5);
	const char *title = arena_printf(arena,
					 "%zu forwarded programs that no fit has seen: "
					 "median error %.1f %%",
					 n, 100 * error);
	report_figure(
		report,
		chart_parity(arena,
			     (struct chart_text){title, "steps of the test `stream`: measured "
							"through the probe's forwarder, and "
							"predicted from the parameters above"},
			     parity, n),
		"%s.", title);
	add_table(report, parity, n);
	return error;
}
