/* SPDX-License-Identifier: Apache-2.0 */
/* Converts CUPTI's activity records to GPU work.
 *
 * A record type grows with CUPTI's version by fields at its end. This file uses the oldest types
 * with an unchanged beginning, so that it reads records of older and newer versions correctly. */
#include <stddef.h>

#include "calib/trace/recorder.h"

#define SAME_PLACE(old, new, field)                                                                \
	_Static_assert(offsetof(old, field) == offsetof(new, field), #new " has moved " #field)
#if CUPTI_API_VERSION >= 130000
SAME_PLACE(CUpti_ActivityKernel4, CUpti_ActivityKernel10, start);
SAME_PLACE(CUpti_ActivityKernel4, CUpti_ActivityKernel10, streamId);
SAME_PLACE(CUpti_ActivityKernel4, CUpti_ActivityKernel10, correlationId);
SAME_PLACE(CUpti_ActivityKernel4, CUpti_ActivityKernel10, name);
SAME_PLACE(CUpti_ActivityMemcpy, CUpti_ActivityMemcpy6, start);
SAME_PLACE(CUpti_ActivityMemcpy, CUpti_ActivityMemcpy6, correlationId);
SAME_PLACE(CUpti_ActivityMemcpyPtoP, CUpti_ActivityMemcpyPtoP4, start);
SAME_PLACE(CUpti_ActivityMemcpyPtoP, CUpti_ActivityMemcpyPtoP4, streamId);
SAME_PLACE(CUpti_ActivityMemcpyPtoP, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME_PLACE(CUpti_ActivityMemset, CUpti_ActivityMemset4, start);
SAME_PLACE(CUpti_ActivityMemset, CUpti_ActivityMemset4, correlationId);
SAME_PLACE(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, start);
SAME_PLACE(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, streamId);
#endif

static const char *copy_name(uint8_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		return "h2d";
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return "d2h";
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return "h2h";
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return "p2p";
	default:
		return "d2d";
	}
}

static const char *memory_name(uint8_t source, uint8_t target)
{
	if (source == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
	    target == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
		return "pageable";
	if (source == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ||
	    target == CUPTI_ACTIVITY_MEMORY_KIND_PINNED)
		return "pinned";
	return NULL;
}

static void write_kernel(struct calls_writer *writer, const CUpti_ActivityKernel4 *kernel)
{
	calls_writer_gpu(writer, &(struct trace_gpu){.work = TRACE_KERNEL,
						     .start_ns = kernel->start,
						     .end_ns = kernel->end,
						     .correlation = kernel->correlationId,
						     .stream = kernel->streamId,
						     .label = kernel->name});
}

static void write_copy(struct calls_writer *writer, const CUpti_ActivityMemcpy *copy)
{
	calls_writer_gpu(writer,
			 &(struct trace_gpu){.work = TRACE_COPY,
					     .start_ns = copy->start,
					     .end_ns = copy->end,
					     .size_B = copy->bytes,
					     .correlation = copy->correlationId,
					     .stream = copy->streamId,
					     .copy = copy_name(copy->copyKind),
					     .memory = memory_name(copy->srcKind, copy->dstKind)});
}

/* Writes a copy between two GPUs. Its record begins like other copies, but its stream field is
 * at another place. */
static void write_peer_copy(struct calls_writer *writer, const CUpti_ActivityMemcpyPtoP *copy)
{
	calls_writer_gpu(writer, &(struct trace_gpu){.work = TRACE_COPY,
						     .start_ns = copy->start,
						     .end_ns = copy->end,
						     .size_B = copy->bytes,
						     .correlation = copy->correlationId,
						     .stream = copy->streamId,
						     .copy = "p2p"});
}

static void write_memset(struct calls_writer *writer, const CUpti_ActivityMemset *memset)
{
	calls_writer_gpu(writer, &(struct trace_gpu){.work = TRACE_MEMSET,
						     .start_ns = memset->start,
						     .end_ns = memset->end,
						     .correlation = memset->correlationId,
						     .stream = memset->streamId,
						     .label = "memset"});
}

static void write_graph(struct calls_writer *writer, const CUpti_ActivityGraphTrace *graph)
{
	calls_writer_gpu(writer, &(struct trace_gpu){.work = TRACE_GRAPH,
						     .start_ns = graph->start,
						     .end_ns = graph->end,
						     .correlation = graph->correlationId,
						     .stream = graph->streamId,
						     .label = "graph"});
}

void activity_write(struct calls_writer *writer, const CUpti_Activity *record, uint32_t version)
{
	const void *whole = record;
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		write_kernel(writer, whole);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		write_copy(writer, whole);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		write_peer_copy(writer, whole);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		write_memset(writer, whole);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		write_graph(writer, whole);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		/* the layout of this record changes in the middle */
		if (version == CUPTI_API_VERSION)
			calls_writer_device(writer, ((const CUpti_ActivityDevice5 *)whole)->name);
		break;
	default:
		break;
	}
}
