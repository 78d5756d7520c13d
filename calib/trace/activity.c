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

/* The fields that the records of all kinds of work have. */
#define GPU_WORK(kind, record)                                                                     \
	.work = (kind), .start_ns = (record)->start, .end_ns = (record)->end,                      \
	.correlation = (record)->correlationId, .stream = (record)->streamId

void activity_write(struct calls_writer *writer, const CUpti_Activity *record, uint32_t version)
{
	const void *whole = record;
	const CUpti_ActivityKernel4 *kernel = whole;
	const CUpti_ActivityMemcpy *copy = whole;
	/* begins like other copies, but its stream field is at another place */
	const CUpti_ActivityMemcpyPtoP *peer = whole;
	const CUpti_ActivityMemset *set = whole;
	const CUpti_ActivityGraphTrace *graph = whole;
	struct trace_gpu gpu;
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		gpu = (struct trace_gpu){GPU_WORK(TRACE_KERNEL, kernel), .label = kernel->name};
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		gpu = (struct trace_gpu){GPU_WORK(TRACE_COPY, copy), .size_B = copy->bytes,
					 .copy = copy_name(copy->copyKind),
					 .memory = memory_name(copy->srcKind, copy->dstKind)};
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		gpu = (struct trace_gpu){GPU_WORK(TRACE_COPY, peer), .size_B = peer->bytes,
					 .copy = "p2p"};
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		gpu = (struct trace_gpu){GPU_WORK(TRACE_MEMSET, set), .label = "memset"};
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		gpu = (struct trace_gpu){GPU_WORK(TRACE_GRAPH, graph), .label = "graph"};
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		/* the layout of this record changes in the middle */
		if (version == CUPTI_API_VERSION)
			calls_writer_device(writer, ((const CUpti_ActivityDevice5 *)whole)->name);
		return;
	default:
		return;
	}
	calls_writer_gpu(writer, &gpu);
}
