/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The charts. Each function takes plain data and returns a drawing in arena.
 *
 * Common style: Okabe-Ito colours together with markers, dashes or hatches (never colour alone),
 * viridis maps, ticks at 1, 2 and 5, whiskers for 90 % intervals, and a caption with the origin of
 * the numbers. Each chart has its own file. */
#pragma once

#include "plots/canvas.h"
#include "sim/result/result.h"

struct chart_text {
	const char *title;   /* the shown quantity, in words */
	const char *caption; /* seed, draws, version, configuration */
};

/* Bars of ratios with whiskers, and reference lines at 1 and 0.95. A failed case is a hatched stub
 * with its reason. */
struct ratio_bar {
	const char *label;
	struct estimate ratio;
	const char *failed; /* reason; NULL: the case did not fail */
};
struct drawing *chart_ratio_bars(struct arena *arena, struct chart_text text,
				 const struct ratio_bar *bars, size_t count);

/* Draws stacked horizontal bars of step time by cause, with a legend. */
struct drawing *chart_breakdown(struct arena *arena, struct chart_text text,
				const struct prediction *const *predictions, size_t count);

/* Draws a timeline: host threads, wires and GPU streams over a window of time. */
struct drawing *chart_timeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, int64_t from_ps, int64_t to_ps);

/* Draws the last step of a plan in the trace: a row for each stage, or for each rank, with its
 * passes, numbered by micro-batch, and its waits. Returns NULL if no rank of a plan is in the
 * trace. */
struct drawing *chart_pipeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, bool all_ranks);

/* Returns the spans of this chart as a table of rank, name, start and end. */
const struct result_table *pipeline_table(struct arena *arena, const struct trace *trace,
					  bool all_ranks);

/* Predicted over measured values in this unit, with logarithmic axes and guides at +-5 and +-10 %.
 * Fit rows have hollow markers and test rows filled ones; whiskers are intervals. */
struct parity_point {
	const char *label;
	double measured;
	struct estimate predicted;
	bool test;
};
struct drawing *chart_parity(struct arena *arena, struct chart_text text, const char *unit,
			     const struct parity_point *points, size_t count);
/* The same for several groups, each with its own colour. */
struct parity_group {
	const char *label; /* NULL: the only group */
	const struct parity_point *points;
	size_t count;
};
struct drawing *chart_parity_groups(struct arena *arena, struct chart_text text, const char *unit,
				    const struct parity_group *groups, size_t count);

/* Lines over one varied parameter, with optional logarithmic axes, and measured values on top. A
 * point where the case fails is a cross on the axis. */
struct curve {
	const char *label;
	const double *x;
	const struct estimate *y; /* NaN value: the case fails there */
	size_t count;
	/* measured values at the same x, with intervals; NaN: none there; NULL: none at all */
	const struct estimate *measured;
	const bool *test; /* whether a measured value is a test row */
};
struct chart_axes {
	const char *x_label, *y_label;
	bool x_log, y_log;
	bool share;  /* y is a fraction: a line at 95 % */
	double goal; /* a line at this value instead, with this label; NULL: no such line */
	const char *goal_label;
	bool x_sizes;                /* x is in bytes, shown as KiB, MiB ... */
	const char *intervals_label; /* in the legend; NULL: "90 % interval" */
};
struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count);
/* Draws one to three panels below each other, over the same x axis and with one legend. */
struct curve_panel {
	struct chart_axes axes;
	const struct curve *curves;
	size_t count;
};
struct drawing *chart_panels(struct arena *arena, struct chart_text text,
			     const struct curve_panel *panels, size_t count);

/* Plans or layouts as points, for example their throughput over the GPU memory that they need. The
 * best ones have filled markers and their intervals. */
struct plan_mark {
	double x;
	struct estimate y; /* NaN: the plan fails */
	bool best;
	const char *hint; /* text below the mouse */
};
struct plan_axes {
	const char *x_label, *y_label;
	const char *names[2]; /* of other marks and of the best ones; NULL: each by its hint */
	double limit;         /* of x, shown by a line with this label; NAN: none */
	const char *limit_label;
};
struct drawing *chart_plans(struct arena *arena, struct chart_text text,
			    const struct plan_axes *axes, const struct plan_mark *marks,
			    size_t count);

/* Map of an answer over two varied parameters. Cells are coloured with viridis and explained by a
 * colour bar. A line shows where the answer crosses the target, by interpolation between cells.
 * Cells in which the case fails are hatched. Several maps are drawn side by side with the same
 * colours. */
struct heat_map {
	const char *label;   /* name of the map; used only if there are several maps */
	const double *x, *y; /* ascending, at least two of each */
	size_t x_count, y_count;
	const double *z; /* row by row, one row for each y; NaN: the case fails there */
};
struct heat_axes {
	const char *x_label, *y_label, *z_label;
	bool x_log, y_log;
	bool share;   /* z is a fraction: the line is at 95 % */
	double limit; /* the line is at this value instead, with this label; NULL: no such line */
	const char *limit_label;
};
struct drawing *chart_heat(struct arena *arena, struct chart_text text, struct heat_axes axes,
			   const struct heat_map *maps, size_t count);

/* Throughput over the number of GPUs, with the ideal line (the number of GPUs times the throughput
 * of one), the 90 % band and measured values. Below it the scaling efficiency. Both axes are
 * logarithmic for more than 16 GPUs or for very different curves. */
struct scaling_point {
	double gpus;
	struct estimate throughput; /* NaN: the case fails there */
	/* throughput divided by gpus times that of one GPU; its interval is narrower, because both
	 * vary together */
	struct estimate efficiency;
	double measured; /* throughput; NaN: none */
	bool test;       /* the measured value is a test row */
};
struct scaling_curve {
	const char *label, *unit;           /* unit of throughput, for example "images/s" */
	double alone;                       /* throughput of one GPU; NaN: unknown */
	double measured_alone;              /* NaN: same as alone */
	const struct scaling_point *points; /* in ascending order of gpus */
	size_t count;
};
struct drawing *chart_scaling(struct arena *arena, struct chart_text text,
			      const struct scaling_curve *curves, size_t count);

/* Influences on a quantity. Each cause has a bar from the quantity at the cause's low end to that
 * at its high end. A line marks the nominal value. Bars keep the given order, up to the
 * twelfth. */
struct tornado_bar {
	/* for example "runtime.handoff", "23.7 us" and "174.7 us" */
	const char *label, *low_label, *high_label;
	/* the quantity at this end; NaN: the case fails */
	double low, high;
};
struct tornado_view {
	const char *x_label;
	double value;
	const struct tornado_bar *bars;
	size_t count;
};
struct drawing *chart_tornado(struct arena *arena, struct chart_text text,
			      const struct tornado_view *view);

/* Computes ticks at multiples of 1, 2 or 5 that cover [low, high]. Fills ticks[max] and returns
 * their number. Returns 0 if max is below 3 (a range around zero needs three) or a bound is not
 * finite. */
size_t nice_ticks(double low, double high, size_t max, double *ticks);
