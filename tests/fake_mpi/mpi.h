/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An MPI of one process, which plays the rank FAKE_RANK of FAKE_RANKS for
 * tests/recorded/programs.sh. Its clock shows 1, 3, 6, 10 ... s, so the n-th operation takes 2 n s.
 * Each call is written to standard error with its counts. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const char *MPI_Datatype;

#define MPI_FLOAT         "float"
#define MPI_DOUBLE        "double"
#define MPI_COMM_WORLD    0
#define MPI_STATUS_IGNORE NULL
#define MPI_SUM           "sum"
#define MPI_MAX           "max"

#define NOTED(...) fprintf(stderr, __VA_ARGS__)

#define MPI_Init(argc, argv)                           ((void)(argc))
#define MPI_Finalize()                                 fflush(stdout)
#define MPI_Barrier(comm)                              NOTED("barrier\n")
#define MPI_Comm_rank(comm, rank)                      fake_number("FAKE_RANK", rank)
#define MPI_Comm_size(comm, size)                      fake_number("FAKE_RANKS", size)
#define MPI_Abort(comm, code)                          exit(code)
#define MPI_Send(from, n, type, peer, tag, comm)       NOTED("send %d to %d\n", n, peer)
#define MPI_Recv(to, n, type, peer, tag, comm, status) NOTED("receive %d from %d\n", n, peer)
#define MPI_Sendrecv(a, n, at, to, tag, b, m, bt, from, bg, comm, st)                              \
	NOTED("exchange %d with %d, %d from %d\n", n, to, m, from)
#define MPI_Allreduce(a, b, n, type, op, comm)  NOTED("%s of %d\n", op, n)
#define MPI_Bcast(a, n, type, root, comm)       NOTED("broadcast %d from %d\n", n, root)
#define MPI_Allgather(a, n, at, b, m, bt, comm) NOTED("gather %d %d\n", n, m)
#define MPI_Alltoall(a, n, at, b, m, bt, comm)  NOTED("all to all %d %d\n", n, m)
#define MPI_Reduce_scatter(a, b, counts, type, op, comm)                                           \
	NOTED("%s of %d and %d\n", op, (counts)[0], (counts)[3])
#define MPI_Reduce(a, b, n, type, op, root, comm)                                                  \
	(memcpy(b, a, (size_t)(n) * sizeof *(a)), NOTED("%s of %d times to %d\n", op, n, root))

static inline int fake_number(const char *name, int *number)
{
	*number = atoi(getenv(name));
	return 0;
}

static inline double MPI_Wtime(void)
{
	static double now_s, step_s;
	return now_s += ++step_s;
}
