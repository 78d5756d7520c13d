/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output is collected in a file without a name until the commit, because it can be larger than
 * memory. A run that fails or is interrupted therefore leaves nothing, neither on disk nor on
 * stdout. An error such as a full disk is reported with its errno. */
#define _GNU_SOURCE /* for realpath() and O_TMPFILE */
#include "sim/result/result.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
	char *path;   /* path with symbolic links resolved; NULL: stdout */
	bool special; /* a device or pipe, which is written in place and never replaced */
	bool beside;  /* `file` is in the folder of the target, so it only needs a name */
	FILE *file;
};

/* Closes the file after a write with this answer. Returns -1 after an error, whose errno stays. */
static int close_after(int fd, int answer)
{
	int kept = errno;
	if (close(fd) != 0 && answer == 0)
		return -1;
	errno = kept;
	return answer;
}

static void output_free(struct output *output)
{
	int kept = errno;
	if (output->file)
		fclose(output->file);
	free(output->path);
	free(output);
	errno = kept;
}

/* Returns the folder of a path. The caller frees it. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Checks early, before the run, whether the commit can succeed. */
static int target_check(struct output *output, const char *path)
{
	struct stat status;
	if (stat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode)) {
			errno = EISDIR;
			return -1;
		}
		output->special = !S_ISREG(status.st_mode);
		if (access(path, W_OK) != 0)
			return -1;
		output->path = realpath(path, NULL);
	} else {
		size_t length = strlen(path);
		if (errno == ENOENT && length > 0 && path[length - 1] == '/')
			errno = EISDIR;
		if (errno != ENOENT || length == 0)
			return -1;
		if (lstat(path, &status) == 0) { /* rename would replace a dangling symbolic link */
			errno = ENOENT;
			return -1;
		}
		output->path = strdup(path);
	}
	if (!output->path || output->special)
		return output->path ? 0 : -1;
	char *folder = folder_of(output->path);
	int answer = folder ? access(folder, W_OK | X_OK) : -1;
	int kept = errno;
	free(folder);
	errno = kept;
	return answer;
}

/* Returns a file without a name in the folder of the target, or NULL: the file system has none. */
static FILE *beside_open(const struct output *output)
{
	if (!output->path || output->special)
		return NULL;
	char *folder = folder_of(output->path);
	int fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
	free(folder);
	FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

struct output *output_open(const char *path)
{
	struct output *output = calloc(1, sizeof *output);
	if (!output)
		return NULL;
	if (strcmp(path, "-") != 0 && target_check(output, path) != 0) {
		output_free(output);
		return NULL;
	}
	output->file = beside_open(output);
	output->beside = output->file != NULL;
	if (!output->beside)
		output->file = tmpfile();
	if (!output->file) {
		output_free(output);
		return NULL;
	}
	return output;
}

FILE *output_file(struct output *output)
{
	return output->file;
}

int output_write_whole(int fd, const char *text, size_t size_B)
{
	while (size_B > 0) {
		ssize_t written_B = write(fd, text, size_B);
		if (written_B < 0 && errno == EINTR)
			continue;
		if (written_B < 0)
			return -1;
		text += written_B;
		size_B -= (size_t)written_B;
	}
	return 0;
}

static int copy_to(int fd, const struct output *output)
{
	char part[1 << 16];
	size_t size_B;
	rewind(output->file);
	while ((size_B = fread(part, 1, sizeof part, output->file)) > 0)
		if (output_write_whole(fd, part, size_B) != 0)
			return -1;
	return ferror(output->file) ? -1 : 0;
}

/* Creates a file in the target's folder and writes its name to name[size]. *linked: it is the
 * output itself, and not empty. The mode follows the umask, which mkstemp ignores. */
static int temporary_open(const struct output *output, char *name, size_t size, bool *linked)
{
	const char *path = output->path, *slash = strrchr(path, '/');
	char unnamed[64];
	snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", fileno(output->file));
	int folder = slash ? (int)(slash + 1 - path) : 0;
	for (int attempt = 0; attempt < 100; attempt++) {
		snprintf(name, size, "%.*s.farwire-%ld-%d.tmp", folder, path, (long)getpid(),
			 attempt);
		*linked = output->beside &&
			  linkat(AT_FDCWD, unnamed, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
		int fd = *linked ? dup(fileno(output->file))
			 : output->beside && errno == EEXIST
				 ? -1
				 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int write_and_rename(const struct output *output)
{
	size_t size = strlen(output->path) + 64;
	char *name = malloc(size);
	if (!name)
		return -1;
	bool linked = false;
	int fd = temporary_open(output, name, size, &linked);
	int answer = -1;
	if (fd >= 0) {
		struct stat status;
		answer = linked ? 0 : copy_to(fd, output);
		if (answer == 0 && stat(output->path, &status) == 0)
			answer = fchmod(fd, status.st_mode & 07777);
		/* some file systems do not support fsync and return EINVAL */
		if (answer == 0 && fsync(fd) != 0 && errno != EINVAL)
			answer = -1;
		answer = close_after(fd, answer);
		if (answer == 0)
			answer = rename(name, output->path);
		if (answer != 0) {
			int kept = errno;
			unlink(name);
			errno = kept;
		}
	}
	int kept = errno;
	free(name);
	errno = kept;
	return answer;
}

/* Signals that end the program are blocked until the target exists and the temporary file does
 * not. */
static int replace_target(const struct output *output)
{
	sigset_t held, before;
	sigemptyset(&held);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, &before);
	int answer = write_and_rename(output);
	int kept = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = kept;
	return answer;
}

static int write_in_place(const struct output *output)
{
	int fd = open(output->path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return close_after(fd, copy_to(fd, output));
}

static int write_stdout(const struct output *output)
{
	if (fflush(stdout) != 0)
		return -1;
	return copy_to(STDOUT_FILENO, output);
}

int output_commit(struct output *output)
{
	int answer = fflush(output->file);
	if (ferror(output->file)) {
		errno = answer ? errno : ENOSPC; /* of an earlier write */
		answer = -1;
	}
	if (answer == 0 && !output->path)
		answer = write_stdout(output);
	else if (answer == 0)
		answer = output->special ? write_in_place(output) : replace_target(output);
	output_free(output);
	return answer;
}

void output_abandon(struct output *output)
{
	output_free(output);
}
