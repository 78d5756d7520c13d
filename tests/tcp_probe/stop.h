/* SPDX-License-Identifier: Apache-2.0 */
/* Handles Ctrl-C without a signal handler, which would need a global variable. The signals are
 * blocked and stay pending, and loops check for them from time to time. */
#pragma once

#include <stdbool.h>

/* Blocks SIGINT and SIGTERM, and makes a write to a closed socket return an error. Applies to
 * threads and processes created later, too. */
void stop_catch(void);
bool stop_asked(void);
/* Unblocks the signals for this thread. A pending signal acts at once, which usually ends the
 * program. */
void stop_release(void);
