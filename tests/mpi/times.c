/* SPDX-License-Identifier: Apache-2.0 */
/* Times collectives of an MPI library: times OPERATION REPEATS SIZE...
 *
 * tests/mpi/measure compiles and starts this program with mpicc and mpirun. For each size in bytes
 * rank 0 prints one line of JSON with the time of each repeat. All ranks begin a repeat after a
 * barrier, and its time is that of the slowest rank. The first repeat is not printed, because it
 * opens connections. A size is that of the whole buffer, as nccl-tests defines it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 100, RANKS_MOST = 64 };

struct buffers {
	float *in, *out;
	int rank, count;
};

/* A message from rank 0 to rank 1 and back; the time is halved by the caller. */
static void send(struct buffers *b, int n)
{
	if (b->rank == 0) {
		MPI_Send(b->in, n, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(b->out, n, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (b->rank == 1) {
		MPI_Recv(b->out, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(b->in, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
	}
}

/* Neighbours 0 and 1, 2 and 3 ... send to each other at the same time. */
static void exchange(struct buffers *b, int n)
{
	int peer = b->rank ^ 1;
	if (peer < b->count)
		MPI_Sendrecv(b->in, n, MPI_FLOAT, peer, 0, b->out, n, MPI_FLOAT, peer, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void all_reduce(struct buffers *b, int n)
{
	MPI_Allreduce(b->in, b->out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcast(struct buffers *b, int n)
{
	MPI_Bcast(b->in, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void reduce_scatter(struct buffers *b, int n)
{
	int counts[RANKS_MOST];
	for (int i = 0; i < b->count; i++)
		counts[i] = n / b->count;
	MPI_Reduce_scatter(b->in, b->out, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void all_gather(struct buffers *b, int n)
{
	n /= b->count;
	MPI_Allgather(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, MPI_COMM_WORLD);
}

static void all_to_all(struct buffers *b, int n)
{
	n /= b->count;
	MPI_Alltoall(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, MPI_COMM_WORLD);
}

static const struct operation {
	const char *name;
	void (*run)(struct buffers *b, int n);
	double part; /* of the measured time that counts */
} operations[] = {
	{"send", send, 0.5},
	{"exchange", exchange, 1},
	{"all_reduce", all_reduce, 1},
	{"broadcast", broadcast, 1},
	{"reduce_scatter", reduce_scatter, 1},
	{"all_gather", all_gather, 1},
	{"all_to_all", all_to_all, 1},
};

static const struct operation *find(const char *name)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}

static void measure(const struct operation *operation, struct buffers *b, size_t size_B,
		    int repeats)
{
	double own_s[REPEATS_MOST + 1], all_s[REPEATS_MOST + 1];
	for (int i = 0; i <= repeats; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		double start_s = MPI_Wtime();
		operation->run(b, (int)(size_B / sizeof *b->in));
		own_s[i] = operation->part * (MPI_Wtime() - start_s);
	}
	MPI_Reduce(own_s, all_s, repeats + 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (b->rank != 0)
		return;
	printf("{\"operation\":\"%s\",\"ranks\":%d,\"size_B\":%zu,\"unit\":\"s\",\"samples\":[",
	       operation->name, b->count, size_B);
	for (int i = 1; i <= repeats; i++)
		printf("%s%.9g", i > 1 ? "," : "", all_s[i]);
	printf("]}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct buffers b;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.count);
	const struct operation *operation = argc > 3 ? find(argv[1]) : NULL;
	int repeats = argc > 3 ? atoi(argv[2]) : 0;
	if (!operation || repeats < 1 || repeats > REPEATS_MOST || b.count > RANKS_MOST) {
		fprintf(stderr, "usage: times OPERATION REPEATS SIZE... (tests/mpi/measure)\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	size_t most_B = 0;
	for (int i = 3; i < argc; i++)
		if (strtoull(argv[i], NULL, 10) > most_B)
			most_B = (size_t)strtoull(argv[i], NULL, 10);
	b.in = malloc(most_B + sizeof *b.in);
	b.out = malloc(most_B + sizeof *b.out);
	if (!b.in || !b.out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(b.in, 0, most_B);
	memset(b.out, 0, most_B);
	for (int i = 3; i < argc; i++)
		measure(operation, &b, (size_t)strtoull(argv[i], NULL, 10), repeats);
	MPI_Finalize();
	return 0;
}
