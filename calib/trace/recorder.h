/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of libfarwire-trace.so. */
#pragma once

#include <cupti.h>

#include "calib/trace/calls_writer.h"

/* CUDA's driver calls this function when it starts. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* Writes the useful fields of one CUPTI activity record. version is that of CUPTI. */
void activity_write(struct calls_writer *writer, const CUpti_Activity *record, uint32_t version);
