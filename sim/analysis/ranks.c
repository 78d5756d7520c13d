/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/ranks.h"

#include <dlfcn.h>
#include <unistd.h>

static int number_of(const char *variable, int otherwise)
{
	const char *text = getenv(variable);
	char *end;
	long number = text ? strtol(text, &end, 10) : otherwise;
	return text && (end == text || number < 0 || number > 1000000) ? otherwise : (int)number;
}

int ranks_launched(int *rank)
{
	static const struct {
		const char *count, *rank;
	} launchers[] = {
		{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI's mpirun */
		{"PMI_SIZE", "PMI_RANK"},                         /* Slurm's and Hydra's PMI */
		{"SLURM_STEP_NUM_TASKS", "PMIX_RANK"},            /* srun --mpi=pmix */
	};
	for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
		*rank = number_of(launchers[i].rank, -1);
		int count = number_of(launchers[i].count, 0);
		if (*rank >= 0 && count > 0)
			return count;
	}
	*rank = 0;
	return 1;
}

/* Returns the path of the library: next to the program, or in an installation ../lib/farwire. */
static const char *library_path(struct arena *arena)
{
	const char *given = getenv("FARWIRE_MPI");
	if (given && *given)
		return given;
	char program[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		return "libfarwire-mpi.so";
	program[length] = '\0';
	char *slash = strrchr(program, '/');
	*slash = '\0';
	const char *beside = arena_printf(arena, "%s/libfarwire-mpi.so", program);
	if (access(beside, R_OK) == 0)
		return beside;
	return arena_printf(arena, "%s/../lib/farwire/libfarwire-mpi.so", program);
}

const struct ranks *ranks_open(struct arena *arena, const char **message)
{
	/* RTLD_GLOBAL, because Open MPI later opens parts of itself that need its symbols */
	void *library = dlopen(library_path(arena), RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		*message = arena_printf(
			arena, "%s (to build it, install libopenmpi-dev and run make)", dlerror());
		return NULL;
	}
	ranks_start_fn *start;
	*(void **)&start = dlsym(library, RANKS_START_NAME);
	struct ranks *ranks = ARENA_NEW(arena, struct ranks);
	*message = "MPI did not start";
	if (!start || start(ranks) != 0)
		return NULL;
	*message = "libfarwire-mpi.so belongs to another version of farwire";
	ranks->gone_count = ARENA_NEW(arena, int);
	return ranks->version == RANKS_VERSION ? ranks : NULL;
}
