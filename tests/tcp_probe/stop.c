/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tcp_probe/stop.h"

#include <signal.h>
#include <stddef.h>

static void mask(int how)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(how, &set, NULL);
}

void stop_catch(void)
{
	mask(SIG_BLOCK);
	struct sigaction action = {.sa_handler = SIG_IGN};
	sigaction(SIGPIPE, &action, NULL);
}

bool stop_asked(void)
{
	sigset_t set;
	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1);
}

void stop_release(void)
{
	mask(SIG_UNBLOCK);
}
