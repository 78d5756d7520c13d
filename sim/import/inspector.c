/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads what NCCL's Inspector writes, one object for each collective of each rank:
 *
 *   {"header": {"rank": 2, "n_ranks": 8, ...}, "metadata": {...},
 *    "coll_perf": {"coll": "AllReduce", "coll_msg_size_bytes": 17179869184,
 *                  "coll_exec_time_us": 61974, ...}}
 *
 * The size is that of one rank's data. Here it is that of the larger buffer, as in nccl-tests, so
 * that of an all_gather or a reduce_scatter grows with the ranks. Messages between two ranks
 * (p2p_perf) do not name the bytes of the whole exchange and are skipped. */
#include <string.h>

#include "sim/import/importer.h"

static const double MICROS = 1e6;

static const struct {
	const char *coll, *words;
	bool grows;
} collectives[] = {
	{"AllReduce", "collective=all_reduce library=nccl", false},
	{"AllGather", "collective=all_gather library=nccl", true},
	{"ReduceScatter", "collective=reduce_scatter library=nccl", true},
	{"Broadcast", "collective=broadcast library=nccl", false},
	{"Reduce", "collective=reduce library=nccl", false},
};
enum { COLLECTIVES = sizeof collectives / sizeof collectives[0] };

struct record {
	size_t collective; /* COLLECTIVES: another, or none */
	double ranks, size_B, time_us;
};

/* Reads the members that have a place in the record. */
static void take_object(struct importing *importing, const struct json *object,
			struct record *record)
{
	const char *coll = json_text_of(json_member(object, "coll"));
	import_json_number(importing, object, "n_ranks", &record->ranks);
	import_json_number(importing, object, "coll_msg_size_bytes", &record->size_B);
	import_json_number(importing, object, "coll_exec_time_us", &record->time_us);
	for (size_t i = 0; coll && i < COLLECTIVES; i++)
		if (strcmp(collectives[i].coll, coll) == 0)
			record->collective = i;
}

static void add(struct importing *importing, const struct record *record, size_t first)
{
	if (record->collective == COLLECTIVES) {
		import_skip(importing, "no collective that farwire knows");
	} else if (record->ranks < 2 || record->size_B <= 0 || record->time_us <= 0) {
		import_skip(importing, "one rank, no bytes or no time");
	} else {
		bool grows = collectives[record->collective].grows;
		struct import_point *point = import_series(
			importing, first, "collective", collectives[record->collective].words,
			"ranks", record->ranks, record->size_B * (grows ? record->ranks : 1));
		import_sample(importing, point, record->time_us / MICROS);
	}
}

static void read_log(struct importing *importing)
{
	size_t first = importing->points.count;
	const struct json *value;
	while (json_is(value = import_json(importing), JP_OBJECT)) {
		struct record record = {.collective = COLLECTIVES};
		take_object(importing, json_member(value, "header"), &record);
		take_object(importing, json_member(value, "coll_perf"), &record);
		if (diag_count(importing->diag) == 0)
			add(importing, &record, first);
	}
}

const struct importer import_inspector = {
	.name = "nccl-inspector",
	.help = "JSON Lines of NCCL's Inspector",
	.marks = {"\"coll_perf\"", "\"p2p_perf\"", "\"inspector_output_format_version\""},
	.expected = "expected objects with \"header\" and \"coll_perf\"",
	.log = read_log,
};
