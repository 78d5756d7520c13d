/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/gpu/models.h"

#include <strings.h>

#include "sim/base/base.h"

static const struct gpu_model models[] = {
#define GPU_MODEL(name, profile, pcie, lanes, nvlink, device)                                      \
	{name, profile, pcie, lanes, nvlink, device},
#include "sim/gpu/gpu_models.def"
#undef GPU_MODEL
};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

/* Drivers and CUDA print different ones of these words before the same name. */
static const char *without_vendor(const char *name)
{
	static const char *const words[] = {"NVIDIA ", "Tesla ", "GeForce ", "Quadro "};
	name += strspn(name, " \t");
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strncasecmp(name, words[i], strlen(words[i])) == 0)
			name += strlen(words[i]);
	return name;
}

/* Returns the length of the name without blanks at its end. */
static size_t length_of(const char *name)
{
	size_t length = strlen(name);
	while (length > 0 && strchr(" \t\r\n", name[length - 1]))
		length--;
	return length;
}

const struct gpu_model *gpu_model_by_name(const char *name)
{
	const char *own = without_vendor(name);
	size_t length = length_of(own);
	for (size_t i = 0; i < MODEL_COUNT; i++)
		if (strlen(models[i].name) == length &&
		    strncasecmp(models[i].name, own, length) == 0)
			return &models[i];
	return gpu_model_by_profile(own);
}

const struct gpu_model *gpu_model_by_device(unsigned long device)
{
	for (size_t i = 0; i < MODEL_COUNT; i++)
		if (device && models[i].device == device)
			return &models[i];
	return NULL;
}

const struct gpu_model *gpu_model_by_profile(const char *profile)
{
	for (size_t i = 0; i < MODEL_COUNT; i++)
		if (strcmp(models[i].profile, profile) == 0)
			return &models[i];
	return NULL;
}

struct likeness {
	size_t words; /* length of the words at their begin that two names share */
	bool whole;   /* these are all words of the GPU in the table */
	size_t characters;
};

static bool ends_word(char c)
{
	return c == '\0' || c == ' ' || c == '-';
}

static struct likeness likeness_of(const char *known, const char *name)
{
	struct likeness like = {0};
	size_t count = 0;
	for (;; count++) {
		if (ends_word(known[count]) && ends_word(name[count]))
			like.words = count;
		if (!known[count] || strncasecmp(known + count, name + count, 1) != 0)
			break;
	}
	like.characters = count;
	like.whole = like.words > 0 && !known[like.words];
	return like;
}

static bool is_nearer(struct likeness a, struct likeness b)
{
	if (a.words != b.words)
		return a.words > b.words;
	return a.whole != b.whole ? a.whole : a.characters > b.characters;
}

const char *gpu_model_nearest(const char *name)
{
	const struct gpu_model *best = &models[0];
	struct likeness most = {0};
	name = without_vendor(name);
	if (strncasecmp(name, "GRID ", 5) == 0)
		name += 5;
	for (size_t i = 0; i < MODEL_COUNT; i++) {
		struct likeness like = likeness_of(models[i].name, name);
		if (is_nearer(like, most)) {
			best = &models[i];
			most = like;
		}
	}
	return best->profile;
}

const char *gpu_model_refusal(struct arena *arena, const char *name)
{
	static const struct {
		const char *part, *why;
	} sorts[] = {
		{"MIG ",
		 "a MIG slice has a part of a GPU's SMs, memory and bandwidth, which no profile "
		 "describes. Programs on it are near those on the whole GPU with case.fraction = "
		 "its part of the SMs, for 3g of an A100 42 of 108 = 0.39"},
		{"Laptop",
		 "a laptop GPU has a lower clock, and often fewer SMs, than the desktop GPU "
		 "of its name"},
		{"Max-Q", "a Max-Q GPU has a lower clock than the GPU of its name"},
		{"GRID", "a virtual GPU has a part of a GPU, which no profile describes"},
	};
	const char *why = "no file of topologies/gpus describes it";
	for (size_t i = sizeof sorts / sizeof sorts[0]; i-- > 0;)
		if (strstr(name, sorts[i].part))
			why = sorts[i].why;
	return arena_printf(arena, "%s; the nearest profile is %s", why, gpu_model_nearest(name));
}
