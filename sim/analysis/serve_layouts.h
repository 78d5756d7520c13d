/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a search of layouts, and the layouts with limits that it tries. */
#pragma once

#include "sim/analysis/plan_meter.h"
#include "sim/analysis/serve_search.h"

extern const char *const layout_keys[LAYOUT_KEYS];

struct layout_try { /* a layout with limits */
	struct serve_layout found;
	size_t layout, number;
	double met, missed;  /* highest load that is met, lowest that is missed */
	double start, least; /* load to begin with; no load is below least; 0: unknown */
	double next;         /* load of the next simulation; 0: none */
};

struct layout_search {
	struct arena *arena;
	struct diag *diag;
	const struct serve_search_request *request;
	struct case_request base; /* without case.gpus */
	const struct scenario *scenario;
	const struct service_entry *service;
	const struct serve_params *params;
	struct sweep_axis axes[LAYOUT_KEYS]; /* count 0: the default values */
	double gpus, machine_gpus, experts;
	bool closed, own_requests, own_warmup;
	VEC(struct layout_try) candidates;
	size_t layout_count, simulation_count;
	VEC(struct serve_mark) marks;
	struct plan_meter meter;
};

/* Reads the values that the user has given for keys of layouts. Returns false after errors in diag:
 * too many values, values that are not sizes, or other keys. */
bool layouts_read(struct layout_search *s);
/* Finds the layouts that fit on the GPUs, with all limits. Returns false after errors in diag:
 * there are none, or too many. */
bool layouts_find(struct layout_search *s);
