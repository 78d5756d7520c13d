/* SPDX-License-Identifier: Apache-2.0 */
/* farwire-probe-fake is farwire-probe with a fake device in place of a GPU, and two more options:
 *
 *   --plant FILE    planted parameters, one `key = value` a line (planted.def has the keys)
 *   --device NAME   fake: has its own clock (default); spin: kernels are waits on the real clock
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/probe/probe.h"
#include "tests/fake_gpu/fake.h"
#include "tests/forwarding/forward.h"

static const struct {
	const char *name;
	const struct gpu_api *api;
} devices[] = {{"fake", &gpu_fake}, {"spin", &gpu_spin}};

static const struct gpu_api *device_of(const char *name)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (strcmp(devices[i].name, name) == 0)
			return devices[i].api;
	fprintf(stderr, "farwire-probe-fake: --device must be fake or spin, not '%s'\n", name);
	return NULL;
}

int main(int count, char **words)
{
	const struct gpu_api *device = devices[0].api;
	int kept = 1;
	for (int i = 1; i < count; i++) {
		if (i + 1 < count && strcmp(words[i], "--plant") == 0)
			setenv(FAKE_PLANT, words[++i], 1);
		else if (i + 1 < count && strcmp(words[i], "--device") == 0)
			device = device_of(words[++i]);
		else
			words[kept++] = words[i];
		if (!device)
			return 2;
	}
	forward_within = device == &gpu_fake ? fake_forward_open : NULL;
	return probe_command(device, kept, words);
}
