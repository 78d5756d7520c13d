/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files are written atomically, also after any failure. */
#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/result/result.h"

static char folder[] = "/tmp/farwire-output-XXXXXX";
static char target[sizeof folder + 16];

/* Counts the names in the folder, with dot files but without "." and "..". */
static int names_count(void)
{
	int count = 0;
	DIR *directory = opendir(folder);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(directory);
	return count;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	if (CHECK(file != NULL)) {
		fputs(text, file);
		fclose(file);
	}
}

static bool holds(const char *path, const char *text)
{
	char buffer[64] = "";
	FILE *file = fopen(path, "r");
	if (!file)
		return false;
	size_t count = fread(buffer, 1, sizeof buffer - 1, file);
	fclose(file);
	return strlen(text) == count && memcmp(buffer, text, count) == 0;
}

static void file_appears_only_at_the_commit(void)
{
	struct output *output = output_open(target);
	if (!CHECK(output != NULL))
		return;
	fputs("new\n", output_file(output));
	CHECK(names_count() == 0); /* nothing appears before the commit */
	CHECK(output_commit(output) == 0);
	CHECK(holds(target, "new\n"));
	CHECK(names_count() == 1);
	unlink(target);
}

static void replaced_file_keeps_its_mode(void)
{
	put(target, "old\n");
	chmod(target, 0640);
	struct output *output = output_open(target);
	fputs("new\n", output_file(output));
	CHECK(holds(target, "old\n"));
	CHECK(output_commit(output) == 0);
	struct stat status;
	CHECK(holds(target, "new\n"));
	CHECK(stat(target, &status) == 0 && (status.st_mode & 07777) == 0640);
	unlink(target);
}

static void abandoned_output_leaves_the_file_unchanged(void)
{
	put(target, "old\n");
	struct output *output = output_open(target);
	fputs("half", output_file(output));
	output_abandon(output);
	CHECK(holds(target, "old\n"));
	CHECK(names_count() == 1);
	unlink(target);
}

static void output_follows_symbolic_links(void)
{
	char link[sizeof target + 8];
	snprintf(link, sizeof link, "%s.link", target);
	put(target, "old\n");
	CHECK(symlink(target, link) == 0);
	struct output *output = output_open(link);
	fputs("new\n", output_file(output));
	CHECK(output_commit(output) == 0);
	struct stat status;
	CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
	CHECK(holds(target, "new\n"));
	unlink(link);
	unlink(target);
}

/* A device is written in place, because replacing /dev/null would damage the machine. */
static void devices_are_written_in_place(void)
{
	struct output *output = output_open("/dev/null");
	if (!CHECK(output != NULL))
		return;
	fputs("gone\n", output_file(output));
	CHECK(output_commit(output) == 0);
	struct stat status;
	CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
}

static void full_device_is_reported(void)
{
	struct output *output = output_open("/dev/full");
	if (!CHECK(output != NULL))
		return;
	fputs("text\n", output_file(output));
	errno = 0;
	CHECK(output_commit(output) == -1);
	CHECK(errno == ENOSPC);
}

/* A limit of the file size simulates a disk that becomes full. */
static void full_disk_leaves_the_file_unchanged(void)
{
	put(target, "old\n");
	struct output *output = output_open(target);
	for (int i = 0; i < 10000; i++)
		fputs("0123456789\n", output_file(output));
	struct rlimit before;
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){65536, before.rlim_max});
	errno = 0;
	CHECK(output_commit(output) == -1);
	CHECK(errno == EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	CHECK(holds(target, "old\n"));
	CHECK(names_count() == 1);
	unlink(target);
}

enum { LARGE_B = 16 << 20 };

static void commit_large(void)
{
	struct output *output = output_open(target);
	for (int i = 0; output && i < LARGE_B / 16; i++)
		fputs("0123456789abcde\n", output_file(output));
	_exit(!output || output_commit(output) != 0);
}

/* A program that is killed while its temporary file exists leaves the target unchanged. On a busy
 * machine it may finish before the signal; then the test repeats. */
static void killed_while_writing(int signal_number)
{
	bool hit = false;
	for (int attempt = 0; attempt < 30 && !hit; attempt++) {
		struct stat status = {0};
		int ended = 0;
		pid_t child = fork();
		if (child == 0)
			commit_large();
		while (names_count() == 0 && waitpid(child, &ended, WNOHANG) == 0)
			;
		kill(child, signal_number);
		waitpid(child, &ended, 0);
		hit = WIFSIGNALED(ended) && WTERMSIG(ended) == signal_number;
		CHECK(names_count() == 1);
		CHECK(stat(target, &status) == 0 && status.st_size == LARGE_B);
		unlink(target);
	}
	CHECK(hit);
}

static void killed_program_leaves_the_file_unchanged(void)
{
	killed_while_writing(SIGTERM);
	killed_while_writing(SIGINT);
}

static void check_refused(const char *path, int error)
{
	errno = 0;
	struct output *output = output_open(path);
	if (!CHECK(output == NULL))
		output_abandon(output);
	if (!CHECK(errno == error))
		printf("  %s: %s\n", path, strerror(errno));
}

static void invalid_targets_are_refused(void)
{
	char path[sizeof folder + 32];
	check_refused(folder, EISDIR);
	snprintf(path, sizeof path, "%s/no/such/file", folder);
	check_refused(path, ENOENT);
	snprintf(path, sizeof path, "%s/new/", folder);
	check_refused(path, EISDIR);
	check_refused("", ENOENT);
	check_refused("/dev/null/file", ENOTDIR);
	CHECK(names_count() == 0);
}

static void read_only_folder_is_refused(void)
{
	if (geteuid() == 0) /* root may write everywhere, except to /proc */
		snprintf(target, sizeof target, "/proc/farwire");
	chmod(folder, 0500);
	struct output *output = output_open(target);
	if (output) {
		fputs("text\n", output_file(output));
		errno = 0;
		CHECK(output_commit(output) == -1);
	}
	CHECK(errno == EACCES || errno == ENOENT || errno == EROFS || errno == EPERM);
	chmod(folder, 0700);
	CHECK(names_count() == 0);
	snprintf(target, sizeof target, "%s/result", folder);
}

/* Commits "text" to standard output, which is fd. */
static int commit_to(int fd)
{
	fflush(stdout);
	int kept = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	struct output *output = output_open("-");
	fputs("text", output_file(output));
	errno = 0;
	int answer = output_commit(output);
	int error = errno;
	dup2(kept, STDOUT_FILENO);
	close(kept);
	errno = error;
	return answer;
}

static void standard_output_and_closed_pipes_are_handled(void)
{
	int ends[2];
	char text[8] = "";
	CHECK(pipe(ends) == 0);
	CHECK(commit_to(ends[1]) == 0);
	CHECK(read(ends[0], text, sizeof text) == 4 && memcmp(text, "text", 4) == 0);
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK(commit_to(ends[1]) == -1);
	CHECK(errno == EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(ends[1]);
}

/* Output can be larger than memory. */
static void large_output_takes_no_memory(void)
{
	static char part[1 << 20];
	struct rusage before, after;
	struct output *output = output_open(target);
	if (!CHECK(output != NULL))
		return;
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 64; i++)
		fwrite(part, 1, sizeof part, output_file(output));
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024); /* KiB */
	CHECK(output_commit(output) == 0);
	struct stat status;
	CHECK(stat(target, &status) == 0 && status.st_size == 64 << 20);
	unlink(target);
}

static const struct test tests[] = {
	TEST(large_output_takes_no_memory),
	TEST(file_appears_only_at_the_commit),
	TEST(replaced_file_keeps_its_mode),
	TEST(abandoned_output_leaves_the_file_unchanged),
	TEST(output_follows_symbolic_links),
	TEST(devices_are_written_in_place),
	TEST(full_device_is_reported),
	TEST(full_disk_leaves_the_file_unchanged),
	TEST(killed_program_leaves_the_file_unchanged),
	TEST(invalid_targets_are_refused),
	TEST(read_only_folder_is_refused),
	TEST(standard_output_and_closed_pipes_are_handled),
};

int main(void)
{
	if (!mkdtemp(folder))
		return 2;
	snprintf(target, sizeof target, "%s/result", folder);
	int answer = TEST_MAIN(tests);
	rmdir(folder);
	return answer;
}
