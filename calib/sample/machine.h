/* SPDX-License-Identifier: Apache-2.0 */
/* What a measurement of this machine depends on: the processor, the kernel, a
 * hypervisor, and the kernel's settings that change timings (frequency governor,
 * huge pages, TCP's buffers and congestion control, interrupts' balance). Read
 * from /proc and /sys, never changed; what cannot be read is left out.
 */
#ifndef FARWIRE_CALIB_MACHINE_H
#define FARWIRE_CALIB_MACHINE_H

#include <stddef.h>

struct json_writer;

/* {"cpu", "cores", "kernel", "hypervisor", "settings": {...}} under `key`. */
void machine_write(struct json_writer *json, const char *key);
/* The processor's name, as "cpu" holds it; "unknown" where it cannot be read. */
void machine_cpu(char *name, size_t room);

#endif
