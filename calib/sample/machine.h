/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the machine on which measurements run: the processor, the kernel, a hypervisor, and the
 * kernel settings that change timings (frequency governor, huge pages, TCP buffers and congestion
 * control, interrupt balancing). The values are read from /proc and /sys, which are never changed.
 * Unreadable values are left out.
 */
#pragma once

#include <stddef.h>

struct json_writer;

/* Writes {"cpu", "cores", "kernel", "hypervisor", "settings": {...}} under `key`. */
void machine_write(struct json_writer *json, const char *key);
/* Returns the name of the processor, as in "cpu", or "unknown". */
void machine_cpu(char *name, size_t room);
