/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sample charts of searches over parameters: tornados and maps. It is a part of
 * sample_charts.h. */
#pragma once

/* Parameters with a change on both sides, on one side, with a failure, and more bars than fit. */
static struct drawing *tornado(struct arena *arena)
{
	static const struct tornado_bar bars[] = {
		{"guest.*.coalescing_rate", "0 Hz", "8 kHz", NAN, 0.7},
		{"runtime.handoff", "23.7 us", "174.7 us", 0.655, 0.527},
		{"efficiency.gtx-1050ti.resnet50.half_work", "678.2 Mflop", "977.9 Mflop", 0.62,
		 0.69},
		{"stack.calls_per_library_op", "1.38", "2.23", 0.68, 0.621},
		{"hump", "1 us", "3 us", 0.63, 0.62},
		{"one end", "1 us", "3 us", 0.654, 0.67},
		{"a", "1", "2", 0.65, 0.66},
		{"b", "1", "2", 0.66, 0.65},
		{"c", "1", "2", 0.652, 0.657},
		{"d", "1", "2", 0.653, 0.656},
		{"e", "1", "2", 0.654, 0.6545},
		{"f", "1", "2", 0.654, 0.6545},
		{"g", "1", "2", 0.651, 0.657},
		{"h", "1", "2", 0.650, 0.652},
	};
	const struct tornado_view view = {"ratio", 0.654, bars, sizeof bars / sizeof *bars};
	return chart_tornado(arena, (struct chart_text){"What the ratio hangs on", CAPTION}, &view);
}

/* A map of 1 / (1 + x / a + b / y) that fails where x is largest and y smallest. */
static struct heat_map heat_of(struct arena *arena, const char *label, size_t count, double b)
{
	double *x = ARENA_ARRAY(arena, count, double), *y = ARENA_ARRAY(arena, count, double);
	double *z = ARENA_ARRAY(arena, count * count, double);
	for (size_t i = 0; i < count; i++) {
		double share = (double)i / (double)(count - 1);
		x[i] = 2 * pow(1000, share);
		y[i] = 1 + 99 * share;
	}
	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			z[j * count + i] =
				i + 2 > count && j < 2 ? NAN : 1 / (1 + x[i] / 8000 + b / y[j]);
	return (struct heat_map){label, x, y, count, count, z};
}

static struct drawing *heat(struct arena *arena)
{
	const struct heat_map map = heat_of(arena, "", 12, 0.4);
	return chart_heat(
		arena, (struct chart_text){"What is kept over latency and bandwidth", CAPTION},
		(struct heat_axes){"link.wire.latency (us)", "link.wire.bandwidth (Gbit/s)",
				   "ratio to the local GPU", .x_log = true, .share = true},
		&map, 1);
}

static struct drawing *heat_four(struct arena *arena)
{
	const struct heat_map maps[] = {
		heat_of(arena, "case.batch=8", 6, 3), heat_of(arena, "case.batch=16", 6, 2),
		heat_of(arena, "case.batch=32", 6, 1),
		heat_of(arena, "case.batch=64, a label far too long for the map under it", 6, 0.5)};
	return chart_heat(
		arena, (struct chart_text){"What is kept over latency and bandwidth", CAPTION},
		(struct heat_axes){"link.wire.latency (us)", "link.wire.bandwidth (Gbit/s)",
				   "bus bandwidth (GB/s)", .x_log = true},
		maps, 4);
}
