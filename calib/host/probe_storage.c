/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of a file, block after block or at random positions, by one reader or several at once. A
 * round reads one block per reader; its time is the mean of several.
 *
 * The reads bypass the kernel's page cache if the file system allows it (O_DIRECT, "path": "direct"
 * in line 1). Otherwise the probe requests that the kernel drops the file from the cache before
 * each round, which it may ignore ("path": "cached").
 *
 * The file is given by the user, or created in a given folder. A created file is unlinked at once,
 * so that it disappears when the program ends in any way.
 */
#define _GNU_SOURCE /* for O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/host/team.h"

#ifndef O_DIRECT
#define O_DIRECT 0
#endif

#define READERS_MOST 8
#define BLOCK_B      4096.0
#define PIECE_B      ((size_t)1 << 20)
#define QUICK_FILE_B ((off_t)128 << 20)
#define FULL_FILE_B  ((off_t)1 << 30)
#define READS_B      ((size_t)1 << 20) /* approximate bytes of one reader in a round */
#define READS_MOST   8

struct reading {
	struct host_bench *bench;
	bool random;
	size_t size_B, reads, readers;
	size_t next; /* next block of all readers */
	struct plan_random draw;
	off_t places_B[READERS_MOST][READS_MOST]; /* offsets of the current round */
	unsigned char *bytes[READERS_MOST];
	struct team *team;
};

static void add(const struct host_bench *bench, struct plan *plan, struct plan_random *random)
{
	static const char *const orders[] = {"sequential", "random"};
	bool full = bench->full;
	/* Direct reads need whole blocks. */
	struct host_sizes sizes = host_sizes(BLOCK_B, 4 << 20, full ? 4 : 16, 0, random);
	for (size_t o = 0; o < 2; o++)
		for (size_t i = 0; i < sizes.count; i++)
			for (size_t readers = 1; readers <= READERS_MOST; readers *= full ? 2 : 8) {
				plan_add(plan,
					 &(struct plan_point){
						 .is = {{"what", orders[o]}},
						 .x = {{"size_B", sizes.size_B[i]},
						       {"parallel", (double)readers}},
						 .held_out = full && i % 2 == 1 && readers == 4,
					 });
			}
}

/* ---- the file ---- */

static int fill(int fd, off_t size_B)
{
	struct plan_random random = {1};
	unsigned char *piece = malloc(PIECE_B);
	bool written = piece != NULL;
	for (size_t i = 0; written && i < PIECE_B; i++)
		piece[i] = (unsigned char)plan_random_next(&random);
	for (off_t at = 0; written && at < size_B && !stop_asked(); at += (off_t)PIECE_B)
		written = pwrite(fd, piece, PIECE_B, at) == (ssize_t)PIECE_B;
	free(piece);
	return written && fsync(fd) == 0 ? 0 : -1;
}

static void complain(struct host_bench *bench)
{
	snprintf(bench->file.why, sizeof(bench->file.why), "%.100s: %s", bench->scratch,
		 strerror(errno));
}

/* Opens the file for reading, with O_DIRECT if possible. */
static void open_named(struct host_file *file, const char *path)
{
	file->fd = O_DIRECT ? open(path, O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	file->direct = file->fd >= 0;
	if (file->fd < 0)
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
}

static void make_file(struct host_bench *bench)
{
	char path[4096];
	struct host_file *file = &bench->file;
	off_t size_B = bench->full ? FULL_FILE_B : QUICK_FILE_B;
	int length = snprintf(path, sizeof(path), "%s/farwire-probe-XXXXXX", bench->scratch);
	int fd = length < (int)sizeof(path) ? mkstemp(path) : -1;
	if (fd < 0) {
		complain(bench);
		return;
	}
	open_named(file, path);
	unlink(path);
	if (file->fd < 0 || fill(fd, size_B) != 0) {
		complain(bench);
		if (file->fd >= 0)
			close(file->fd);
		file->fd = -1;
	}
	close(fd);
	file->size_B = (double)size_B;
}

int host_file_open(struct host_bench *bench)
{
	struct stat about;
	struct host_file *file = &bench->file;
	*file = (struct host_file){.fd = -1};
	if (stat(bench->scratch, &about) != 0) {
		complain(bench);
	} else if (S_ISDIR(about.st_mode)) {
		make_file(bench);
	} else {
		open_named(file, bench->scratch);
		file->size_B = (double)about.st_size;
		if (file->fd < 0)
			complain(bench);
	}
	return stop_asked() ? HOST_STOPPED : HOST_OK;
}

/* ---- a point ---- */

static int read_some(void *context, size_t member)
{
	struct reading *reading = context;
	for (size_t i = 0; i < reading->reads; i++) {
		off_t at = reading->places_B[member][i];
		if (pread(reading->bench->file.fd, reading->bytes[member], reading->size_B, at) !=
		    (ssize_t)reading->size_B)
			return HOST_FAILED;
	}
	return HOST_OK;
}

/* In sequential order, the readers' blocks are neighbours. */
static void choose_places(struct reading *reading)
{
	size_t blocks = (size_t)(reading->bench->file.size_B / (double)reading->size_B);
	for (size_t i = 0; i < reading->reads; i++)
		for (size_t r = 0; r < reading->readers; r++) {
			size_t block = reading->random ? plan_random_below(&reading->draw, blocks)
						       : reading->next++ % blocks;
			reading->places_B[r][i] = (off_t)(block * reading->size_B);
		}
}

static int begin(struct host_bench *bench, const struct plan_point *point)
{
	struct host_file *file = &bench->file;
	if (file->fd < 0)
		return host_fail(bench, HOST_WAIVED, file->why);
	struct reading *reading = bench->own;
	reading->bench = bench;
	reading->random = strcmp(plan_point_word(point, "what"), "random") == 0;
	reading->size_B = (size_t)plan_point_number(point, "size_B", BLOCK_B);
	reading->readers = (size_t)plan_point_number(point, "parallel", 1);
	reading->reads = READS_B / reading->size_B;
	if (reading->reads < 1)
		reading->reads = 1;
	if (reading->reads > READS_MOST)
		reading->reads = READS_MOST;
	reading->draw.state = (uint64_t)reading->size_B;
	if (file->size_B < (double)(reading->size_B * reading->readers))
		return host_fail(bench, HOST_WAIVED,
				 "the file of --scratch is too short for one read by each reader "
				 "(name a larger one)");
	for (size_t i = 0; i < reading->readers; i++) {
		void *bytes = NULL;
		if (posix_memalign(&bytes, (size_t)BLOCK_B, reading->size_B) != 0)
			return host_fail(bench, HOST_FAILED, "out of memory");
		reading->bytes[i] = bytes;
	}
	reading->team = team_new(reading->readers, read_some, reading);
	return reading->team ? HOST_OK : host_fail(bench, HOST_FAILED, "cannot start threads");
}

static int sample(struct host_bench *bench, const struct plan_point *point, double *value)
{
	struct reading *reading = bench->own;
	double span_s = 0;
	if (stop_asked())
		return HOST_STOPPED;
	choose_places(reading);
	if (!bench->file.direct)
		posix_fadvise(bench->file.fd, 0, 0, POSIX_FADV_DONTNEED);
	int code = team_round(reading->team, &span_s);
	*value = span_s / (double)reading->reads;
	return code == HOST_OK ? code : host_fail(bench, code, "the file cannot be read");
}

static void end(struct host_bench *bench)
{
	struct reading *reading = bench->own;
	team_free(reading->team);
	for (size_t i = 0; i < READERS_MOST; i++)
		free(reading->bytes[i]);
}

const struct host_probe host_probe_storage = {
	.test = "storage",
	.help = "reads of a file, in order and at random, by several readers",
	.own_B = sizeof(struct reading),
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
};
