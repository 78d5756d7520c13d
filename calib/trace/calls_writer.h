/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the recorded calls of a program to a call file (JSON Lines, see farwire's
 * docs/formats.md): one line per call, with its GPU work.
 *
 * A call and its kernel arrive separately and in any order. The call arrives when it returns. The
 * kernel arrives when a buffer of GPU records is full, which may be seconds later or even before
 * the call. The first of the two waits for the other, which has the same correlation number. Calls
 * without GPU work are written at once. Calls still waiting at the end are written then.
 *
 * This file does not use CUDA, so that it can be tested without it. Only one thread may use a
 * writer at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TRACE_NO_STREAM UINT32_MAX

enum trace_ready { TRACE_READY_UNKNOWN, TRACE_READY_NO, TRACE_READY_YES };

/* The outermost call of a thread. */
struct trace_call {
	const char *function; /* CUPTI's name; lives as long as the program */
	uint64_t start_ns, end_ns;
	uint64_t event;             /* handle of the event; 0: none */
	uint64_t address, size_B;   /* allocation (size_B > 0) or release; address 0: neither */
	uint32_t correlation;       /* 0: none */
	uint32_t inner_correlation; /* correlation of the last call inside this one; 0: none, or the
				       same correlation */
	uint32_t thread;
	uint32_t stream; /* stream, or TRACE_NO_STREAM */
	enum trace_ready ready;
};

enum trace_work { TRACE_KERNEL, TRACE_COPY, TRACE_MEMSET, TRACE_GRAPH };
/* Work of the GPU. */
struct trace_gpu {
	enum trace_work work;
	uint64_t start_ns, end_ns, size_B;
	uint32_t correlation, stream;
	const char *copy;   /* copies only: for example "h2d" */
	const char *memory; /* "pinned" or "pageable"; NULL: neither */
	const char *label;  /* kernels only; copied */
};

struct calls_writer;

/* Creates a writer that owns out. start_ns is time zero of the file. Returns NULL if memory runs
 * out. */
struct calls_writer *calls_writer_new(FILE *out, const char *program, uint64_t start_ns);
void calls_writer_call(struct calls_writer *writer, const struct trace_call *call);
void calls_writer_gpu(struct calls_writer *writer, const struct trace_gpu *gpu);
/* Sets the GPU's name. */
void calls_writer_device(struct calls_writer *writer, const char *name);
/* Marks the beginning of a step on that thread. */
void calls_writer_mark(struct calls_writer *writer, uint32_t step, uint64_t t_ns, uint32_t thread);
/* Flushes the file, so that its content survives a crash of the program. */
void calls_writer_flush(struct calls_writer *writer);
/* Writes the last line and closes the file. dropped is the number of records lost before they
 * reached the writer. Returns false if any write failed. */
bool calls_writer_close(struct calls_writer *writer, uint64_t dropped);
