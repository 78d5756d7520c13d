/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/trace/cupti_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library_open(void)
{
	static const char *const names[] = {"libcupti.so",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
					    "/usr/local/cuda/lib64/libcupti.so"};
	const char *own = getenv("FARWIRE_CUPTI");
	char versioned[32];
	if (own && own[0])
		return dlopen(own, RTLD_NOW | RTLD_LOCAL);
	/* The version of the headers, which the program may have loaded already. */
	snprintf(versioned, sizeof versioned, "libcupti.so.%d", CUDA_VERSION / 1000);
	void *library = dlopen(versioned, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

const char *cupti_open(struct cupti *cupti)
{
	void *library = library_open();
	if (!library)
		return "CUPTI was not found (set FARWIRE_CUPTI to libcupti.so's path)";
	void *found;
	/* POSIX guarantees that the result of dlsym can be a function. */
#define CUPTI_FUNCTION(name, parameters)                                                           \
	found = dlsym(library, #name);                                                             \
	if (!found)                                                                                \
		return "this version of CUPTI is too old because it has no " #name;                \
	memcpy(&cupti->name, &found, sizeof found);
	CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
	return NULL;
}
