/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim/result/result.h"

enum { SYNC_S = 3 };
static const long long FILE_MAX_B = 16LL << 30; /* a million points take 3 GB */

struct journal {
	FILE *file; /* reads; closing it is the end of the lock. Lines are written to its fd. */
	int fd;
	time_t synced_s;
};

/* ---- opening ---- */

struct opening {
	struct arena *arena;
	struct diag *diag;
	struct origin origin;
	const struct journal_head *head;
	struct journal_reader reader;
	FILE *file;
	int fd;
	bool refused;
};

static bool fail(struct opening *o, const char *what)
{
	return diag_error(o->diag, o->origin, "%s: %s", what, strerror(errno));
}

static bool refuse(struct opening *o, const char *why)
{
	o->refused = true;
	return diag_error(o->diag, o->origin, "%s", why);
}

static bool lock(struct opening *o)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(o->fd, F_SETLK, &whole) == 0)
		return true;
	if (errno != EACCES && errno != EAGAIN)
		return true; /* without locks the user must avoid concurrent runs */
	return refuse(
		o,
		"another farwire process is running this sweep (wait for it, or write another -o)");
}

static bool is_journal(struct opening *o)
{
	struct stat status;
	if (fstat(o->fd, &status) != 0)
		return fail(o, "the file cannot be read");
	if (!S_ISREG(status.st_mode))
		return refuse(o, "this is not a regular file, so it cannot be the journal of a "
				 "sweep (write another -o)");
	if (status.st_size > FILE_MAX_B)
		return refuse(o, "the file is larger than 16 GiB, so it is not the journal of a "
				 "sweep (write another -o)");
	return true;
}

/* Some file systems cannot do this and return EINVAL. */
static int sync_data(int fd)
{
	return fdatasync(fd) == 0 || errno == EINVAL ? 0 : -1;
}

/* Reports why the first line is not the one expected: which parts differ. */
static bool refuse_other(struct opening *o, const char *line, size_t size_B)
{
	const char *text = arena_printf(o->arena, "%.*s", (int)size_B, line);
	if (strncmp(text, "{\"format\":\"farwire-sweep\",", 26) != 0)
		return refuse(
			o, "the file is not the journal of a sweep (move it, or write another -o)");
	const char *differs = "";
	for (size_t i = 0; i < o->head->part_count; i++) {
		const struct journal_part *part = &o->head->parts[i];
		if (!strstr(text, arena_printf(o->arena, "\"%s\":\"%016" PRIx64 "\"", part->name,
					       part->hash)))
			differs = arena_printf(o->arena, "%s%s%s", differs, *differs ? " and " : "",
					       part->what);
	}
	return refuse(o, arena_printf(o->arena,
				      "the file is the journal of another sweep, because %s "
				      "changed (remove it to start again, or write another -o)",
				      *differs ? differs : "the points"));
}

/* Passes a line to the reader. A file of several journals has several first lines, one of which may
 * follow the incomplete last line of the journal before it. */
static bool take_line(struct opening *o, const char *head, const char *line, size_t line_B)
{
	const char *other = strstr(line, "{\"format\":");
	if (other)
		return strcmp(other, head) == 0 || refuse_other(o, other, strlen(other));
	o->reader.take(o->reader.ctx, line, line_B);
	return true;
}

/* Passes complete lines to the reader, one at a time. *end_B is the end of the last one. */
static bool take_lines(struct opening *o, const char *head, size_t head_B, size_t *end_B)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	bool ok = true;
	while (ok && (got = getline(&line, &room, o->file)) > 0) {
		size_t line_B = (size_t)got;
		bool whole = line[line_B - 1] == '\n';
		if (*end_B == 0) /* a run may have been killed while it wrote the first line */
			ok = (line_B <= head_B && memcmp(line, head, line_B) == 0) ||
			     refuse_other(o, line, line_B);
		else if (whole)
			ok = take_line(o, head, line, line_B);
		*end_B += whole ? line_B : 0;
	}
	free(line);
	return ok && (feof(o->file) || fail(o, "the file cannot be read"));
}

static bool continue_file(struct opening *o)
{
	size_t end_B = 0;
	const char *head =
		arena_printf(o->arena, "{\"format\":\"farwire-sweep\",\"version\":2,\"points\":%zu",
			     o->head->point_count);
	for (size_t i = 0; i < o->head->part_count; i++)
		head = arena_printf(o->arena, "%s,\"%s\":\"%016" PRIx64 "\"", head,
				    o->head->parts[i].name, o->head->parts[i].hash);
	head = arena_printf(o->arena, "%s}\n", head);
	size_t head_B = strlen(head);
	if (!lock(o) || !is_journal(o) || !take_lines(o, head, head_B, &end_B))
		return false;
	if (ftruncate(o->fd, (off_t)end_B) != 0 ||
	    (end_B == 0 && (output_write_whole(o->fd, head, head_B) != 0 || sync_data(o->fd) != 0)))
		return fail(o, "the file cannot be written");
	return true;
}

struct journal *journal_open(struct arena *arena, struct diag *diag, const char *path,
			     const struct journal_head *head, struct journal_reader reader,
			     bool *refused)
{
	struct opening o = {.arena = arena,
			    .diag = diag,
			    .origin = {path, 0},
			    .head = head,
			    .reader = reader,
			    .fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
	struct journal *journal = NULL;
	o.file = o.fd < 0 ? NULL : fdopen(o.fd, "r");
	if (!o.file) {
		fail(&o, "the file cannot be written");
	} else if (continue_file(&o)) {
		journal = ARENA_NEW(arena, struct journal);
		*journal = (struct journal){o.file, o.fd, time(NULL)};
	} else {
		fclose(o.file);
	}
	*refused = o.refused;
	return journal;
}

/* ---- adding lines ---- */

int journal_add(struct journal *journal, const char *line, size_t size_B)
{
	if (output_write_whole(journal->fd, line, size_B) != 0)
		return -1;
	time_t now_s = time(NULL); /* a clock that is set back must not delay the next time */
	if (now_s >= journal->synced_s && now_s - journal->synced_s < SYNC_S)
		return 0;
	journal->synced_s = now_s;
	return sync_data(journal->fd);
}

int journal_close(struct journal *journal)
{
	int answer = sync_data(journal->fd);
	int kept = errno;
	if (fclose(journal->file) != 0 && answer == 0)
		return -1;
	errno = kept;
	return answer;
}
