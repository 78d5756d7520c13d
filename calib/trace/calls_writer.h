/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the calls of a program as they were seen, as a call file (JSON Lines,
 * docs/formats.md of farwire): one line a call, with what the GPU did for it.
 *
 * A call and its kernel come by different ways and in any order: the call when
 * it returns, the kernel when a buffer of the GPU's records is full, seconds
 * later or before the call's own. Whichever comes first waits for the other,
 * found by the correlation number that both carry. Calls that start nothing on
 * the GPU are written at once, what still waits at the end is written then.
 *
 * No CUDA in here, so that it can be tested without. One thread at a time.
 */
#ifndef FARWIRE_TRACE_CALLS_WRITER_H
#define FARWIRE_TRACE_CALLS_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TRACE_NO_STREAM UINT32_MAX

enum trace_ready { TRACE_READY_UNKNOWN, TRACE_READY_NO, TRACE_READY_YES };

/* The outermost call of a thread. */
struct trace_call {
	const char *function; /* as CUPTI names it; lives as long as the program */
	uint64_t start_ns, end_ns;
	uint64_t event;             /* its handle; 0: none */
	uint64_t address, size_B;   /* allocated (size_B > 0) or freed; address 0: neither */
	uint32_t correlation;       /* 0: none */
	uint32_t inner_correlation; /* of the last call inside it; 0: none, or the same */
	uint32_t thread;
	uint32_t stream; /* or TRACE_NO_STREAM */
	enum trace_ready ready;
};

enum trace_work { TRACE_KERNEL, TRACE_COPY, TRACE_MEMSET, TRACE_GRAPH };
/* What the GPU did. */
struct trace_gpu {
	enum trace_work work;
	uint64_t start_ns, end_ns, size_B;
	uint32_t correlation, stream;
	const char *copy;   /* "h2d" ...; of copies */
	const char *memory; /* "pinned" or "pageable"; NULL: neither */
	const char *label;  /* of kernels; copied */
};

struct calls_writer;

/* Takes over out. start_ns: time zero of the file. NULL: no memory. */
struct calls_writer *calls_writer_new(FILE *out, const char *program, uint64_t start_ns);
void calls_writer_call(struct calls_writer *writer, const struct trace_call *call);
void calls_writer_gpu(struct calls_writer *writer, const struct trace_gpu *gpu);
/* The GPU's name, when it is known. */
void calls_writer_device(struct calls_writer *writer, const char *name);
/* A step begins on that thread. */
void calls_writer_mark(struct calls_writer *writer, uint32_t step, uint64_t t_ns, uint32_t thread);
/* What was written so far is in the file, should the program crash. */
void calls_writer_flush(struct calls_writer *writer);
/* The last line. dropped: records that were lost on the way here. False if
 * anything could not be written. */
bool calls_writer_close(struct calls_writer *writer, uint64_t dropped);

#endif
