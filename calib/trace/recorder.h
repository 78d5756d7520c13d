/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of libfarwire-trace.so. */
#pragma once

#include <cupti.h>

#include "calib/trace/calls_writer.h"

/* CUDA's driver calls this function when it starts. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* Called by libfarwire-libraries.so when a call of a library has returned that began at start_ns,
 * and with NULL to learn the time. Returns the time, or 0 if nothing is recorded now. function must
 * live as long as the program. */
__attribute__((visibility("default"))) uint64_t farwire_library_called(const char *function,
								       uint64_t start_ns);

/* Writes the useful fields of one CUPTI activity record. version is that of CUPTI. */
void activity_write(struct calls_writer *writer, const CUpti_Activity *record, uint32_t version);
