/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads nccl-tests' JSON (-J FILE, from 2.17 on; src/util.cu of nccl-tests):
 *
 *   {"version":2, "args":["./all_reduce_perf",...],
 *    "config":{"nthreads":1,"ngpus":1,...,"devices":[{"rank":0,...,"device_info":"..."}]},
 *    "results":[{"size":1024,...,"out_of_place":{"time":20.5,...},"in_place":{...}}]}
 *
 * devices[] has an element for each process, so the number of ranks is its length times nthreads
 * times ngpus. Times are in us. */
#include "sim/base/arena.h"
#include "sim/import/nccl.h"

/* Adds the times of a row of the results. */
static void take_result(struct importing *importing, const struct json *result)
{
	static const char *const places[] = {"out_of_place", "in_place"};
	double size_B = 0, time_us;
	import_json_at(importing, result);
	if (!import_json_object(importing, result))
		return;
	import_json_number(importing, result, "size", &size_B);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const struct json *place =
			import_json_object(importing, json_member(result, places[i]));
		if (json_member(place, "cpu_time"))
			import_error(importing, "these are CPU times, not times of the collective "
						"(measure without -C)");
		else if (import_json_number(importing, place, "time", &time_us) && size_B > 0)
			import_nccl_time(importing, size_B, time_us);
	}
}

void import_nccl_json(struct importing *importing)
{
	size_t first = importing->points.count;
	const struct json *root = import_json(importing);
	const struct json *config = import_json_object(importing, json_member(root, "config")),
			  *results = json_member(root, "results"),
			  *devices = json_member(config, "devices");
	const char *program = json_text_of(json_at(json_member(root, "args"), 0)),
		   *collective = program ? import_nccl_program(importing, program) : NULL;
	double threads = 0, gpus = 0;
	import_json_number(importing, config, "nthreads", &threads);
	import_json_number(importing, config, "ngpus", &gpus);
	for (size_t i = 0; i < json_size(devices) && !importing->gpu; i++) {
		const struct json *device = import_json_object(importing, json_at(devices, i));
		const char *gpu = json_text_of(json_member(device, "device_info"));
		importing->gpu = gpu ? arena_strdup(importing->arena, gpu) : NULL;
	}
	for (size_t i = 0; i < json_size(results) && diag_count(importing->diag) == 0; i++)
		take_result(importing, json_at(results, i));
	double ranks = (double)json_size(devices) * threads * gpus;
	if (diag_count(importing->diag) || importing->points.count == first)
		return;
	if (ranks < 2 || !collective)
		import_error(
			importing,
			ranks < 2
				? "there is one rank, but a collective needs two or more (measure "
				  "with more GPUs; \"config\" states nthreads, ngpus and devices)"
				: "the log does not name the collective (the first word of "
				  "\"args\" must be the program, for example all_reduce_perf)");
	else
		import_nccl_name(importing, first, collective, ranks);
}
