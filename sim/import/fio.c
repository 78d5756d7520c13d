/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads fio's JSON (--output-format=json): reads of a file or device, in order or at random.
 *
 *   {"fio version":"fio-3.33", "global options":{"direct":"1","bs":"4k",...},
 *    "jobs":[{"jobname":"a","groupid":0,"job options":{"rw":"randread","bs":"64k",...},
 *             "read":{"bw_bytes":71208171,...},...}]}
 *
 * A sample is the time in which each of all readers reads a block: blocks of all readers over their
 * bandwidth. Readers are the clones of a job (numjobs), times the requests that an asynchronous
 * engine has in flight (iodepth). Without --group_reporting each clone has an entry of its own. */
#include "sim/import/importer.h"

struct fio_job {
	const struct json *own, *global; /* options */
};

static const char *option(const struct fio_job *job, const char *key, const char *preset)
{
	const char *text = json_text_of(json_member(job->own, key));
	if (!text)
		text = json_text_of(json_member(job->global, key));
	return text ? text : preset;
}

/* Reads "4k", "1m" or "4096"; 0 for other texts. */
static double size_of(const char *text)
{
	static const char units[] = "kmg";
	char *end;
	double size = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
	for (const char *u = units; unit && u <= unit; u++)
		size *= 1024;
	return *end == '\0' || (unit && (end[1] == '\0' || strcmp(end + 1, "i") == 0)) ? size : 0;
}

static bool is_synchronous(const char *engine)
{
	return strstr(engine, "sync") != NULL || strcmp(engine, "mmap") == 0;
}

static bool same_job(const struct json *a, const struct json *b)
{
	const char *left = json_text_of(json_member(a, "jobname"));
	const char *right = json_text_of(json_member(b, "jobname"));
	double groups[2] = {0, 0};
	return left && right && strcmp(left, right) == 0 &&
	       json_number_of(json_member(a, "groupid"), &groups[0]) &&
	       json_number_of(json_member(b, "groupid"), &groups[1]) &&
	       !(groups[0] < groups[1] || groups[1] < groups[0]);
}

static void add_point(struct importing *importing, const struct fio_job *job, double rate_Bps)
{
	const char *order = option(job, "rw", option(job, "readwrite", "read"));
	bool random = strcmp(order, "randread") == 0;
	double size_B = size_of(option(job, "bs", option(job, "blocksize", "4096")));
	double readers = strtod(option(job, "numjobs", "1"), NULL);
	if (!is_synchronous(option(job, "ioengine", "psync")))
		readers *= strtod(option(job, "iodepth", "1"), NULL);
	if (!random && strcmp(order, "read") != 0) {
		import_skip(importing, "a job that does not only read");
		return;
	}
	if (strcmp(option(job, "direct", "0"), "1") != 0) {
		import_error(importing, "a job reads through the kernel's cache (measure with "
					"--direct=1)");
		return;
	}
	if (!(size_B > 0) || !(readers > 0) || !(rate_Bps > 0)) {
		import_error(importing, "a job lacks its bandwidth, or has no single size of a "
					"block (measure with one --bs for each job)");
		return;
	}
	struct import_point *point =
		import_point(importing, "storage", random ? "what=random" : "what=sequential");
	point->unit = "s";
	import_at(importing, point, "size_B", size_B);
	import_at(importing, point, "parallel", readers);
	import_sample(importing, point, size_B * readers / rate_Bps);
}

static void take_jobs(struct importing *importing, const struct json *root)
{
	const struct json *jobs = json_member(root, "jobs");
	for (size_t i = 0; i < json_size(jobs) && diag_count(importing->diag) == 0;) {
		const struct json *first = json_at(jobs, i);
		const struct fio_job job = {json_member(first, "job options"),
					    json_member(root, "global options")};
		double sum_Bps = 0, rate_Bps = 0;
		import_json_at(importing, first);
		do {
			const struct json *read = json_member(json_at(jobs, i), "read");
			if (json_number_of(json_member(read, "bw_bytes"), &rate_Bps))
				sum_Bps += rate_Bps;
		} while (++i < json_size(jobs) && same_job(first, json_at(jobs, i)));
		add_point(importing, &job, sum_Bps);
	}
}

static void read_log(struct importing *importing)
{
	const struct json *root;
	while (diag_count(importing->diag) == 0 && (root = import_json(importing)))
		take_jobs(importing, root);
}

const struct importer import_fio = {
	.name = "fio",
	.help = "JSON of fio, jobs that read with direct=1",
	.marks = {"\"fio version\""},
	.expected = "expected the JSON of fio, with \"jobs\" that read",
	.log = read_log,
};
