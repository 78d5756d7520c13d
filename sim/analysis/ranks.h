/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other processes of the same program, on this machine or others.
 *
 *  farwire itself does not link MPI. If a launcher (mpirun, srun) started several processes,
 * farwire opens libfarwire-mpi.so, which links MPI (mpi/ranks_mpi.c) and provides these
 * functions. A rank sends texts with a tag. Texts from one rank to another arrive in order. Only
 * one thread at a time may call these functions. */
#pragma once

#include "sim/base/base.h"

enum { RANKS_VERSION = 2 };

struct ranks {
	int version; /* RANKS_VERSION */
	int rank, count;
	int *gone_count; /* on rank 0: ranks that have left */
	/* size_B may be up to INT_MAX. If a rank ends unexpectedly, the launcher ends all
	 * others. */
	void (*send)(int to, int tag, const char *bytes, size_t size_B);
	/* Returns whether a text is waiting, and sets its sender, tag and size. Does not block. */
	int (*waiting)(int *from, int *tag, size_t *size_B);
	void (*receive)(int from, int tag, char *bytes, size_t size_B);
	void (*finish)(void); /* blocks until all ranks have called it; no function may be called
				 afterwards */
};

/* Type of the function that the library exports. It starts MPI and sets *ranks. Returns -1 on
 * failure. */
typedef int ranks_start_fn(struct ranks *ranks);
#define RANKS_START_NAME "farwire_ranks_start"

/* Returns the number of ranks that the launcher started, according to the environment; 1 without
 * a launcher. *rank is the number of this process. */
int ranks_launched(int *rank);
struct arena;
/* Returns the functions. NULL on failure, with the reason in *message. */
const struct ranks *ranks_open(struct arena *arena, const char **message);
