/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that kineto.c (the file) and kineto_join.c (calls and their work) share. */
#pragma once

#include "sim/base/vec.h"
#include "sim/traces/collective_record.h"
#include "sim/traces/kineto.h"

enum category {
	CATEGORY_CALL,
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_MEMSET,
	CATEGORY_SYNC,  /* a call waited for an event or a stream */
	CATEGORY_EVENT, /* a call recorded an event */
	CATEGORY_OTHER,
};

struct kineto_call {
	struct recorded_call call; /* start_s and end_s are not set */
	int64_t start_ns, lasts_ns;
	int64_t correlation;
	size_t record; /* index in records, plus 1; 0: none */
};

/* Work of the GPU, or an event or stream that a call recorded or waited for. */
struct kineto_work {
	int64_t correlation, start_ns, lasts_ns, stream, awaited, recorded_on;
	double size_B;
	const char *label;
	enum category category;
	size_t record; /* index in records, plus 1; 0: none */
};

/* An event of the host that describes the collectives launched while it lasts. */
struct kineto_span {
	int64_t start_ns, end_ns;
	uint32_t thread;
	size_t record; /* index in records */
};

struct kineto_mark {
	int64_t start_ns, end_ns;
	uint32_t step, thread;
};

struct kineto {
	struct arena *arena;
	struct diag *diag;
	const char *path;
	struct jp_reader *json;
	struct names *names, *threads;
	const char *gpu;
	VEC(struct kineto_call) calls;
	VEC(struct kineto_work) works;
	VEC(struct kineto_mark) marks;
	VEC(struct kineto_span) spans;
	VEC(struct collective_record) records;
	double rank, world_count; /* of distributedInfo; < 0: unknown */
	size_t *cells; /* hash table of the marks by step, open addressing: index + 1; 0: empty */
	size_t size;   /* number of cells: a power of two, at least twice the marks, or 0 */
	struct kineto_counts counts;
	bool failed;
};

/* Joins the work of the GPU, collectives and events to the calls. */
const struct recorded_calls *kineto_join(struct kineto *k);
