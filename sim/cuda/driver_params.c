/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of the CUDA driver. */
#include "sim/cuda/cuda.h"

#define DRIVER_ROW(field_, preset_, help_, source_)                                                \
	COST_ASSUMED(struct driver_params, field_, QUANTITY_TIME, 0, 1, preset_, help_, source_)

static const struct param_row driver_rows[] = {
	COST_SOURCED(struct driver_params, launch_s, QUANTITY_TIME, 0, 1, "4.5 us",
		     "time to launch a kernel",
		     "stackoverflow.com/questions/53970187: 4 to 5 us per launch"),
	DRIVER_ROW(copy_s, "6 us", "time to start a copy",
		   "assumption: a launch plus looking up the registration of the host memory"),
	DRIVER_ROW(memset_s, "4.5 us", "time to start a memset", "assumption: as for a launch"),
	DRIVER_ROW(record_s, "1.5 us", "time to record an event",
		   "assumption: a third of a launch, because there are no parameters to copy"),
	DRIVER_ROW(wait_event_s, "1.5 us", "time to make a stream wait for an event",
		   "assumption: as for recording an event"),
	DRIVER_ROW(query_s, "1 us", "time to query an event or a stream",
		   "assumption: a lock and a read of host memory that the GPU writes"),
	DRIVER_ROW(synchronize_s, "1.5 us", "time of a synchronise call without its waiting",
		   "assumption: a query and the preparation of the wait"),
	DRIVER_ROW(malloc_s, "50 us", "time to allocate GPU memory",
		   "assumption: a call into the kernel driver and page-table work"),
	DRIVER_ROW(free_s, "50 us", "time to free GPU memory, without the synchronisation",
		   "assumption: as for allocating"),
	DRIVER_ROW(get_s, "0.1 us", "time to get or set the device or to read attributes",
		   "assumption: answered from the process's own memory"),
	DRIVER_ROW(create_s, "2 us", "time to create a stream, event or descriptor",
		   "assumption: an event from the driver's pool; streams cost more, but only once"),
	DRIVER_ROW(context_s, "0.2 s", "time to make the context of a process on a GPU",
		   "assumption: 150 to 200 ms in published starts, and 6.5 ms for the first "
		   "allocation"),
	DRIVER_ROW(library_s, "0.3 us", "time of a library call without GPU work",
		   "assumption: filling in a descriptor"),
	COST_SOURCED(struct driver_params, graph_s, QUANTITY_TIME, 0, 1, "15 us",
		     "time to launch a CUDA graph, without its nodes",
		     "github.com/ahrefs/ocannl, issue 488: 15 us and 0.58 us for each node"),
	COST_SOURCED(struct driver_params, graph_node_s, QUANTITY_TIME, 0, 1, "0.58 us",
		     "time for each kernel of a CUDA graph when the graph is launched",
		     "the same issue; 0.91 and 0.98 us in vLLM and SGLang with two GPUs "
		     "(github.com/sgl-project/sglang, issue 29960)"),
	DRIVER_ROW(sync_wake_s, "1.5 us",
		   "wake-up time of a synchronise call: from the end of GPU work to the return of "
		   "the waiting thread",
		   "assumption: the GPU writes over PCIe and a spinning thread (CUDA's default) "
		   "reads it; blocking waits need an interrupt and cost more"),
};
const struct param_table driver_table = PARAM_TABLE("driver", struct driver_params, driver_rows);
