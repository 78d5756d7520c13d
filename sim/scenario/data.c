/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds shipped files in the source tree or below an installed prefix. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/gpu/models.h"
#include "sim/scenario/scenario.h"

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_root(struct arena *arena, const char *path)
{
	return is_folder(arena_printf(arena, "%s/topologies", path)) &&
	       is_folder(arena_printf(arena, "%s/models", path));
}

const char *data_root_find(struct arena *arena)
{
	const char *given = getenv("FARWIRE_DATA");
	if (given && *given)
		return is_root(arena, given) ? given : NULL;
	char program[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		return is_root(arena, ".") ? "." : NULL;
	program[length] = '\0';
	/* The program is build/farwire, build/tests/unit/test_x or PREFIX/bin/farwire: search
	 * upwards. */
	for (char *slash = strrchr(program, '/'); slash && slash != program;
	     slash = strrchr(program, '/')) {
		*slash = '\0';
		const char *share = arena_printf(arena, "%s/share/farwire", program);
		if (is_root(arena, share))
			return share;
		if (is_root(arena, program))
			return arena_strdup(arena, program);
	}
	return NULL;
}

static bool ends_in_cfg(const char *name)
{
	size_t length = strlen(name);
	return length > 4 && strcmp(name + length - 4, ".cfg") == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t data_names(struct arena *arena, const char *root, const char *folder,
		  const char *const **names)
{
	VEC(const char *) found = {0};
	DIR *directory = opendir(arena_printf(arena, "%s/%s", root, folder));
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (ends_in_cfg(entry->d_name)) {
			char *name = arena_strdup(arena, entry->d_name);
			name[strlen(name) - 4] = '\0';
			*VEC_PUSH(arena, &found) = name;
		}
	if (directory)
		closedir(directory);
	if (found.count)
		qsort(found.items, found.count, sizeof *found.items, by_name);
	*names = found.items;
	return found.count;
}

static const char *own_file(struct arena *arena, const char *name, const char *beside)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	if (name[0] == '/' || !slash)
		return name;
	const char *path = arena_printf(arena, "%.*s/%s", (int)(slash - beside), beside, name);
	return access(path, R_OK) == 0 ? path : name;
}

/* Returns "did you mean 'h100-nvl', 'h100-pcie' or 'h100-sxm5'? The", or NULL. */
static const char *nearest_names(struct arena *arena, const char *name, const char *const *names,
				 size_t count)
{
	const char *near = diag_nearest(name, names, count), *listed = NULL, *last = NULL;
	size_t length = strlen(name), found = 0;
	for (size_t i = 0; i < count; i++) {
		if (length == 0 || strncmp(names[i], name, length) != 0 || names[i][length] != '-')
			continue;
		if (last)
			listed = arena_printf(arena, "%s%s'%s'", listed ? listed : "",
					      listed ? ", " : "", last);
		last = names[i];
		found++;
	}
	if (!near || found < 2 || found > 4)
		return near ? arena_printf(arena, "did you mean '%s'? The", near) : NULL;
	return arena_printf(arena, "did you mean %s or '%s'? The", listed, last);
}

const char *data_path(struct arena *arena, struct diag *diag, struct origin origin,
		      const char *root, const char *folder, const char *what, const char *name,
		      const char *beside)
{
	if (ends_in_cfg(name)) {
		const char *own = own_file(arena, name, beside);
		const char *shipped = arena_printf(arena, "%s/calib/measured/%s", root, name);
		return access(own, R_OK) != 0 && access(shipped, R_OK) == 0 ? shipped : own;
	}
	const char *path = arena_printf(arena, "%s/%s/%s.cfg", root, folder, name);
	if (name[0] && !strchr(name, '/') && access(path, R_OK) == 0)
		return path;
	if (strcmp(folder, "topologies/gpus") == 0 && strchr(name, ' ')) {
		const struct gpu_model *model = gpu_model_by_name(name);
		diag_error(diag, origin, "there is no %s '%s' (%s)", what, name,
			   model ? arena_printf(arena, "write %s, its profile", model->profile)
				 : gpu_model_refusal(arena, name));
		return NULL;
	}
	const char *const *names;
	size_t count = data_names(arena, root, folder, &names);
	const char *near = nearest_names(arena, name, names, count);
	bool calls = strcmp(folder, "models/programs") == 0;
	const char *list = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
	if (strncmp(folder, "calib/", 6) == 0 || strcmp(list, "networks") == 0)
		list = ""; /* `farwire list` has another word for these */
	if (!near)
		near = arena_printf(arena, "`farwire list%s%s` shows the shipped ones; the",
				    *list ? " " : "", list);
	diag_error(diag, origin, "there is no %s '%s' (%s name of your own file must end in %s)",
		   what, name, near, calls ? ".jsonl" : ".cfg");
	return NULL;
}
