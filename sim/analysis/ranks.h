/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other processes of the same program, on this machine or others.
 *
 * farwire itself does not link MPI. Where a launcher (mpirun, srun) started more than
 * one of it, libfarwire-mpi.so is opened, which does (mpi/ranks_mpi.c), and
 * gives these functions. A rank sends texts with a tag; what one rank sends to
 * another arrives in that order. Only one thread at a time may call.
 */
#ifndef FARWIRE_ANALYSIS_RANKS_H
#define FARWIRE_ANALYSIS_RANKS_H

#include <stddef.h>

enum { RANKS_VERSION = 1 };

struct ranks {
	int version; /* RANKS_VERSION */
	int rank, count;
	/* size_B: up to INT_MAX. The launcher ends all ranks if one is gone. */
	void (*send)(int to, int tag, const char *bytes, size_t size_B);
	/* Whether something waits to be received, and what. Does not wait. */
	int (*waiting)(int *from, int *tag, size_t *size_B);
	void (*receive)(int from, int tag, char *bytes, size_t size_B);
	void (*finish)(void); /* waits for all ranks; nothing can be called after it */
};

/* The function that the library exports: starts MPI and fills ranks; -1 if it cannot. */
typedef int ranks_start_fn(struct ranks *ranks);
#define RANKS_START_NAME "farwire_ranks_start"

/* How many ranks the launcher started, as the environment says: 1 without one.
 * *rank: which of them this is. */
int ranks_launched(int *rank);
struct arena;
/* The functions; NULL with why not in *message. */
const struct ranks *ranks_open(struct arena *arena, const char **message);

#endif
