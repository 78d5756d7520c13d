/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C without a signal handler, which would need a variable of the whole
 * program: the signals are blocked, so they wait, and whoever is in a loop asks
 * from time to time whether one does. */
#ifndef FARWIRE_CALIB_HOST_STOP_H
#define FARWIRE_CALIB_HOST_STOP_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM wait, and writing to a closed socket is an error
 * of the write alone; in threads and processes begun later, too. */
void stop_catch(void);
bool stop_asked(void);
/* As before, for this thread: a signal that waits takes effect now, as a rule the
 * program's end. */
void stop_release(void);

#endif
