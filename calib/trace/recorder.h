/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of libfarwire-trace.so. */
#ifndef FARWIRE_TRACE_RECORDER_H
#define FARWIRE_TRACE_RECORDER_H

#include <cupti.h>

#include "calib/trace/calls_writer.h"

/* Called by CUDA's driver as it starts. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* One of CUPTI's activity records, as far as it is of use. version: of CUPTI. */
void activity_write(struct calls_writer *writer, const CUpti_Activity *record, uint32_t version);

#endif
