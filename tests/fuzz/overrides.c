/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of --set and --vary, one per line. The first part, up to a line "---", is a file with
 * the group that they override. */
#include "sim/cfg/cfg.h"
#include "sim/analysis/sweep.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

struct wire {
	double bandwidth_Bps, latency_s, streams_count, loss_ratio, per_byte_spB;
	bool full_duplex;
	const char *name;
	int kind;
};

static const char *const kinds[] = {"copper", "fibre", NULL};
static const struct param_row rows[] = {
	COST_SOURCED(struct wire, bandwidth_Bps, QUANTITY_RATE, 1, 1e15, "25 Gbit/s", ""),
	COST_ASSUMED(struct wire, latency_s, QUANTITY_TIME, 0, INFINITY, "5 us", ""),
	PARAM_WHOLE(struct wire, streams_count, 1, 64, "4", ""),
	COST_PRINTED(struct wire, loss_ratio, QUANTITY_RATIO, 0, 1, "0", ""),
	PARAM_NUMBER(struct wire, per_byte_spB, QUANTITY_TIME_PER_BYTE, 0, 1, "0.4 ns/B", ""),
	PARAM_BOOL(struct wire, full_duplex, "true", ""),
	PARAM_TEXT(struct wire, name, "", ""),
	PARAM_CHOICE(struct wire, kind, kinds, "fibre", ""),
};
static const struct param_table table = PARAM_TABLE("wire", struct wire, rows);

static void read_wire(struct cfg_resolution *resolution, struct arena *arena, struct diag *diag,
		      const struct cfg_node *node)
{
	struct wire wire = {0};
	bool fine = cfg_params(resolution, arena, diag, node, "link.wire", "link 'wire'", &table,
			       NULL, 0, &wire);
	FUZZ_CHECK(!fine == (diag_count(diag) > 0));
	if (!fine)
		return;
	FUZZ_CHECK(wire.bandwidth_Bps >= 1 && wire.bandwidth_Bps <= 1e15);
	FUZZ_CHECK(wire.latency_s >= 0 && isfinite(wire.latency_s));
	FUZZ_CHECK(wire.streams_count >= 1 && wire.streams_count <= floor(wire.streams_count));
	FUZZ_CHECK(wire.loss_ratio >= 0 && wire.loss_ratio <= 1);
	FUZZ_CHECK(wire.name && (wire.kind == 0 || wire.kind == 1));
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		FUZZ_CHECK(param->low <= param->value && param->value <= param->high);
	}
}

static void read_axis(struct arena *arena, const char *line)
{
	struct diag *diag = diag_new(arena);
	struct sweep_axis axes[2];
	const char *how = strrchr(line, ':');
	if (how && strlen(how) > strlen(":log99")) /* a million values take half a second */
		return;
	bool fine = sweep_axis_read(arena, diag, "--vary", line, &axes[0]);
	FUZZ_CHECK(fine == (diag_count(diag) == 0));
	if (!fine)
		return;
	FUZZ_CHECK(axes[0].count > 0 && axes[0].count <= POINTS_MAX);
	for (size_t i = 0; i < axes[0].count; i++)
		FUZZ_CHECK(axes[0].texts[i] && isfinite(axes[0].values[i]));
	axes[1] = axes[0];
	FUZZ_CHECK(!sweep_axes_check(diag, axes, 2));
}

/* Removes the next line from *text and returns it. */
static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	char *text = fuzz_text(arena, data, size_B), *file = fuzz_part(&text);
	const struct cfg_node *root = NULL;
	if (*text)
		root = cfg_read_text(arena, diag, "fuzz.cfg", file);
	else
		text = file;
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	while (*text) {
		const char *line = next_line(&text);
		cfg_override(resolution, diag, (struct origin){"--set", 0}, line);
		read_axis(arena, line);
	}
	if (diag_count(diag) == 0) {
		read_wire(resolution, arena, diag, cfg_child(root, "wire"));
		cfg_resolution_finish(resolution, diag);
	}
	arena_free(arena);
}
