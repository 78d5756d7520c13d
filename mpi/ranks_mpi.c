/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libfarwire-mpi.so implements sim/analysis/ranks.h with MPI. An error of MPI ends all ranks, which
 * is MPI's default. */
#include <mpi.h>
#include <stddef.h>

#include "sim/analysis/ranks.h"

static void send(int to, int tag, const char *bytes, size_t size_B)
{
	MPI_Send(bytes, (int)size_B, MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

static int waiting(int *from, int *tag, size_t *size_B)
{
	MPI_Status status;
	int there, count;
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
	if (!there)
		return 0;
	MPI_Get_count(&status, MPI_CHAR, &count);
	*from = status.MPI_SOURCE;
	*tag = status.MPI_TAG;
	*size_B = (size_t)count;
	return 1;
}

static void receive(int from, int tag, char *bytes, size_t size_B)
{
	MPI_Recv(bytes, (int)size_B, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void finish(void)
{
	MPI_Finalize();
}

ranks_start_fn farwire_ranks_start;

__attribute__((visibility("default"))) int farwire_ranks_start(struct ranks *ranks)
{
	int given;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS ||
	    given < MPI_THREAD_SERIALIZED)
		return -1;
	*ranks = (struct ranks){.version = RANKS_VERSION,
				.send = send,
				.waiting = waiting,
				.receive = receive,
				.finish = finish};
	MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks->count);
	return 0;
}
