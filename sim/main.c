/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program farwire: parses the command line, runs one verb and returns its exit code. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/result/result.h"
#include "sim/verb/verb.h"

/* Opens /dev/null for each closed standard stream. Otherwise the next opened file would get its
 * number, and messages would go into that file. It is open for reading only, so that writing fails
 * as it does with a closed stream.
 */
static void streams_hold(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			exit(EXIT_FAILED);
}

enum { STACK_B = 512 * 1024, PAGE_B = 4096 };

/* Lets the stack grow now, after a check that there is memory for it. If there is none later, the
 * program would end with a signal. A function of its own, because its frame comes after the check.
 */
__attribute__((noinline)) static void stack_touch(void)
{
	volatile char part[STACK_B];
	for (size_t i = STACK_B; i >= PAGE_B; i -= PAGE_B)
		part[i - 1] = 0;
	(void)part;
}

static void stack_reserve(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < 2 * (rlim_t)STACK_B) {
		fprintf(stderr,
			"farwire: the limit on the stack is %llu KiB (write ulimit -s 1024, "
			"or more)\n",
			(unsigned long long)limit.rlim_cur / 1024);
		exit(EXIT_FAILED);
	}
	char *volatile memory = malloc(2 * STACK_B);
	if (!memory)
		arena_out_of_memory();
	free(memory);
	stack_touch();
}

#ifndef FARWIRE_COMMIT /* the Makefile sets it in a Git checkout, for example to " (1f2e3d4c)" */
#define FARWIRE_COMMIT ""
#endif

/* A function of its own, because its frame comes after the check of the stack. */
__attribute__((noinline, noreturn)) static void program(int argc, char **argv)
{
	char buffer[1 << 16]; /* holds all of a help text, so that the last fflush reports errors */
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	setlocale(LC_ALL, "C");
	/* Writes to a closed pipe or over a quota return errors. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	num_init();
	arena_keep_freed();
	struct arena *arena = arena_new();
	int code = EXIT_DONE;
	const struct command *command = NULL;
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		puts("farwire " FARWIRE_VERSION FARWIRE_COMMIT);
	else
		command = command_parse(arena, argc - 1, argv + 1, &code);
	if (command) {
		code = command_run(command);
		baselines_free(command->baselines);
	}
	arena_free(arena);
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
		if (errno != EPIPE)
			fprintf(stderr, "farwire: cannot write the standard output: %s\n",
				strerror(errno));
		code = EXIT_FAILED;
	}
	exit(code);
}

int main(int argc, char **argv)
{
	streams_hold();
	stack_reserve();
	program(argc, argv);
}
