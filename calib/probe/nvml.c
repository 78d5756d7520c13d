/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/gpu.h"

#include <dlfcn.h>

#define CLOCK_SM 1

typedef int plain_function(void);
typedef int text_function(char *text, unsigned room);
typedef int find_function(const char *pci_bus, void **device);
typedef int number_function(void *device, unsigned *number);
typedef int clock_function(void *device, int which, unsigned *clock_MHz);
typedef int reasons_function(void *device, unsigned long long *reasons);

static void *symbol(void *library, const char *name, void *function, size_t size)
{
	void *found = dlsym(library, name);
	memcpy(function, &found, size);
	return found;
}
#define FIND(library, name, function) symbol((library), (name), &(function), sizeof(function))

static void put_throttle(unsigned long long reasons, struct gpu_facts *facts)
{
	static const struct {
		unsigned long long bit;
		const char *name;
	} names[] = {{0x1, "idle"},          {0x2, "set clocks"},   {0x4, "power cap"},
		     {0x8, "hardware"},      {0x10, "sync boost"},  {0x20, "temperature"},
		     {0x40, "hot hardware"}, {0x80, "power brake"}, {0x100, "display clocks"}};
	facts->throttle[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (reasons & names[i].bit) {
			size_t used = strlen(facts->throttle);
			snprintf(facts->throttle + used, sizeof(facts->throttle) - used, "%s%s",
				 used ? ", " : "", names[i].name);
		}
	if (!facts->throttle[0])
		snprintf(facts->throttle, sizeof(facts->throttle), "none");
}

static void describe(void *library, const char *pci_bus, struct gpu_facts *facts)
{
	text_function *driver;
	find_function *find;
	number_function *generation, *width;
	clock_function *clock;
	reasons_function *reasons;
	void *device = NULL;
	unsigned number;
	unsigned long long bits;
	if (FIND(library, "nvmlSystemGetDriverVersion", driver))
		driver(facts->driver, sizeof(facts->driver));
	if (!FIND(library, "nvmlDeviceGetHandleByPciBusId_v2", find) || find(pci_bus, &device) != 0)
		return;
	/* Reads the maximum generation, because idle links fall back to generation 1. */
	if (FIND(library, "nvmlDeviceGetMaxPcieLinkGeneration", generation) &&
	    generation(device, &number) == 0)
		facts->pcie_generation = number;
	if (FIND(library, "nvmlDeviceGetCurrPcieLinkWidth", width) && width(device, &number) == 0)
		facts->pcie_width = number;
	if (FIND(library, "nvmlDeviceGetClockInfo", clock) && clock(device, CLOCK_SM, &number) == 0)
		facts->clock_Hz = 1e6 * number;
	if (FIND(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons) &&
	    reasons(device, &bits) == 0)
		put_throttle(bits, facts);
}

void nvml_describe(const char *pci_bus, struct gpu_facts *facts)
{
	plain_function *start, *stop;
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	if (FIND(library, "nvmlInit_v2", start) && FIND(library, "nvmlShutdown", stop) &&
	    start() == 0) {
		describe(library, pci_bus, facts);
		stop();
	}
	dlclose(library);
}
