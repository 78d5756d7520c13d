/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a verb in one process, or in all processes that a launcher such as mpirun started. All
 * ranks run the same verb, and share the work in sweep_run. */
#include "sim/analysis/ranks.h"
#include "sim/verb/verbs.h"

/* Finds the other ranks if a launcher started this process; *ranks is NULL if it did not. Prints an
 * error and returns false if there are other ranks but MPI cannot be used. */
static bool find_ranks(struct arena *arena, const struct ranks **ranks)
{
	const char *message = "";
	int rank, count = ranks_launched(&rank);
	*ranks = count > 1 ? ranks_open(arena, &message) : NULL;
	if (count == 1 || (*ranks && (*ranks)->count == count))
		return true;
	if (*ranks) /* a launcher that this MPI does not understand */
		message = "the launcher belongs to another MPI than libfarwire-mpi.so (use its own "
			  "mpirun)";
	if (rank == 0)
		fprintf(stderr, "farwire: %d ranks were started, but MPI cannot be used: %s\n",
			count, message);
	return false;
}

bool command_follows(const struct command *command)
{
	return command->ranks && command->ranks->rank > 0;
}

/* Runs the verb on a rank other than the first. Its messages go to the first rank, which prints
 * them if it has none of its own. */
static void follow(const struct command *command)
{
	FILE *shown = stderr;
	char *said = NULL;
	size_t size_B = 0;
	FILE *memory = open_memstream(&said, &size_B);
	if (memory)
		stderr = memory;
	command->verb->run(command);
	stderr = shown;
	if (memory)
		fclose(memory);
	const char *text = arena_printf(command->arena, "0\nrank %d: %s", command->ranks->rank,
					said ? said : "");
	sweep_leave(command->ranks, text);
	free(said);
}

int command_run(const struct command *command)
{
	struct command own = *command;
	if (command->verb->ranks && !find_ranks(command->arena, &own.ranks))
		return EXIT_USAGE;
	if (!own.ranks)
		return command->verb->run(command);
	own.jobs = command_gave(command, "jobs") ? own.jobs : 1;
	own.quiet |= own.ranks->rank > 0;
	int code = EXIT_DONE;
	if (own.ranks->rank > 0) {
		follow(&own);
	} else {
		code = own.verb->run(&own);
		sweep_leave(own.ranks, NULL);
	}
	own.ranks->finish();
	return code;
}
