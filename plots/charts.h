/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The charts. Each takes plain data and returns a drawing in arena.
 *
 * House style: Okabe-Ito colours together with markers, dashes or hatches
 * (never colour alone), viridis maps, 1-2-5 ticks, whiskers for 90 %
 * intervals, a caption that says where the numbers come from. One file each.
 */
#ifndef FARWIRE_PLOTS_CHARTS_H
#define FARWIRE_PLOTS_CHARTS_H

#include "plots/canvas.h"
#include "sim/result/result.h"

struct arena;
struct trace;

struct chart_text {
	const char *title;   /* what is shown, in words */
	const char *caption; /* seed, draws, version, configuration */
};

/* Ratio bars with whiskers, a line at 1 and one at 0.95; measured (NaN: none)
 * as a diamond on each bar. A failed case gets a hatched stub and its reason. */
struct ratio_bar {
	const char *label;
	struct estimate ratio;
	double measured;
	const char *failed; /* reason; NULL: none */
};
struct drawing *chart_ratio_bars(struct arena *arena, struct chart_text text,
				 const struct ratio_bar *bars, size_t count);

/* Stacked horizontal bars of step time by cause, with a legend. */
struct drawing *chart_breakdown(struct arena *arena, struct chart_text text,
				const struct prediction *const *predictions, size_t count);

/* Timeline: host threads, wires, GPU streams over a window of time. */
struct drawing *chart_timeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, int64_t from_ps, int64_t to_ps);

/* Topology: nodes as boxes, links as lines with name, rate and utilisation. */
struct diagram_node {
	const char *name;
	const char *kind;   /* "host" "guest" "gpu" "switch" */
	const char *inside; /* host it belongs to, or NULL */
	const char *detail; /* second line, or NULL */
};
struct diagram_link {
	const char *name, *kind;
	const char *ends[2];
	const char *detail;    /* "10 Gbit/s, 20 us" */
	double utilization[2]; /* NaN: not simulated */
};
struct drawing *chart_topology(struct arena *arena, struct chart_text text,
			       const struct diagram_node *nodes, size_t node_count,
			       const struct diagram_link *links, size_t link_count);

/* Predicted against measured, log-log, with +-5 and 10 % guides; fit and test
 * rows by marker; whiskers. */
struct parity_point {
	const char *label;
	double measured;
	struct estimate predicted;
	bool test;
};
struct drawing *chart_parity(struct arena *arena, struct chart_text text,
			     const struct parity_point *points, size_t count);

/* Lines over one varied parameter; log axes by request; verdict changes as
 * crosses on the axis. */
struct curve {
	const char *label;
	const double *x;
	const struct estimate *y; /* NaN value: failed there */
	size_t count;
};
struct chart_axes {
	const char *x_label, *y_label;
	bool x_log, y_log;
};
struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count);

/* An answer over two varied parameters: cells in viridis, a bar that says what the
 * colours are, lines of equal answer with their values; cells where the case fails
 * are hatched. Of several, small ones side by side with the same colours. */
struct heat_map {
	const char *label;   /* of one among several */
	const double *x, *y; /* rising, at least two of each */
	size_t x_count, y_count;
	const double *z; /* row by row, a row for each y; NaN: fails there */
};
struct heat_axes {
	const char *x_label, *y_label, *z_label;
	bool x_log, y_log;
	bool share; /* z is a part of one: lines at 50, 75, 90, 95 and 99 % */
};
struct drawing *chart_heat(struct arena *arena, struct chart_text text, struct heat_axes axes,
			   const struct heat_map *maps, size_t count);

/* Throughput over the number of GPUs, with the ideal line (as many times one GPU
 * alone), the 90 % band and what was measured; scaling efficiency below. Both
 * axes are logarithmic where there are more than 16 GPUs or very unlike curves. */
struct scaling_point {
	double gpus;
	struct estimate throughput; /* images/s; NaN: fails there */
	struct estimate efficiency; /* throughput over gpus times one alone; its interval
				       is narrower, for both vary together */
	double measured;            /* images/s; NaN: none */
	bool test;                  /* role of what was measured */
};
struct scaling_curve {
	const char *label;
	double alone;                       /* images/s of one GPU; NaN: not known */
	double measured_alone;              /* NaN: as alone */
	const struct scaling_point *points; /* by rising gpus */
	size_t count;
};
struct drawing *chart_scaling(struct arena *arena, struct chart_text text,
			      const struct scaling_curve *curves, size_t count);

/* Steps of jobs on more and more GPUs: one standing bar each, stacked by cause,
 * and beside it how long collectives were under way, so that what is hidden
 * behind kernels shows. */
struct drawing *chart_exposed(struct arena *arena, struct chart_text text,
			      const struct prediction *const *predictions, size_t count);

/* Bus bandwidth of a collective over the message's size, log-log: measured
 * points over simulated lines. */
struct bandwidth_point {
	double size_B;
	struct estimate bandwidth_Bps; /* NaN: fails there */
	double measured_Bps;           /* NaN: none */
	bool test;
	const char *choice; /* what the library chose, or NULL */
};
struct bandwidth_curve {
	const char *label;
	const struct bandwidth_point *points; /* by rising size */
	size_t count;
};
struct drawing *chart_bandwidth(struct arena *arena, struct chart_text text,
				const struct bandwidth_curve *curves, size_t count);

/* A fit over what was measured: samples' medians with their 95 % intervals, the
 * fit through them, and below by how much it misses each. Points that the fit did
 * not see are hollow. x is logarithmic where it spans more than two decades. */
struct fit_point {
	double x, y_s, low_s, high_s, predicted_s;
	bool held_out;
};
struct fit_view {
	const char *x_label;
	bool sizes;                     /* x in bytes: KiB, MiB ... */
	bool line;                      /* the fit is a function of x alone: drawn as a line */
	double limit_ratio;             /* that held-out points are to keep */
	const struct fit_point *points; /* by rising x */
	size_t count;
};
struct drawing *chart_fit(struct arena *arena, struct chart_text text, const struct fit_view *fit);

/* A number over one parameter, the target that it is to meet, where it meets it, and
 * the bounds of that with their 90 % intervals; crosses where the case fails. */
struct bound_mark {
	double x, low, high; /* low, high: infinite where the interval leaves the axis */
	const char *label;   /* "38 us" */
};
struct bound_region {
	double from, to;
};
struct bound_view {
	struct chart_axes axes;
	struct curve curve;
	double target;
	const char *target_label; /* "ratio >= 0.95" */
	const struct bound_mark *marks;
	size_t mark_count;
	const struct bound_region *regions;
	size_t region_count;
};
struct drawing *chart_bound(struct arena *arena, struct chart_text text,
			    const struct bound_view *view);

/* What moves a number most: for each cause a bar from the number with the cause at its
 * low end to that at its high end, the number itself as a line. Bars are in the order
 * given; those past the twelfth are one bar, their ends' distances summed. */
struct tornado_bar {
	const char *label, *low_label, *high_label; /* "runtime.handoff" "23.7 us" "174.7 us" */
	double low, high;                           /* the number there; NaN: it fails */
};
struct tornado_view {
	const char *x_label;
	double value;
	const struct tornado_bar *bars;
	size_t count;
};
struct drawing *chart_tornado(struct arena *arena, struct chart_text text,
			      const struct tornado_view *view);

/* Shared by the charts. */
/* 1-2-5 ticks covering [low, high]: fills ticks[max], returns how many; 0 if max
 * is below 3 (a range around zero needs three) or a bound is not finite. */
size_t nice_ticks(double low, double high, size_t max, double *ticks);

#endif
