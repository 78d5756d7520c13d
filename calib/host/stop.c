/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/host/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

void stop_catch(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	struct sigaction action = {.sa_handler = SIG_IGN};
	sigaction(SIGPIPE, &action, NULL);
}

bool stop_asked(void)
{
	sigset_t set;
	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1);
}
