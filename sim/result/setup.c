/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/result/result.h"

/* The parts of a setup in the order of its text. A part with the detail of another one follows it
 * in brackets. `none` replaces a missing value where another setup has one. */
static const struct {
	size_t value, detail;
	const char *label, *none;
} parts[] = {
#define PART(value, detail, label, none)                                                           \
	{                                                                                          \
		offsetof(struct setup, value), offsetof(struct setup, detail), label, none         \
	}
	PART(network, network, "network", "no network"),
	PART(stack, precision, "stack", "no stack"),
	PART(runtime, runtime, "runtime", "the local driver"),
	PART(exchange, library, "exchange", "no exchange"),
	PART(transport, transport, "transport", "nothing travels"),
	PART(devices, devices, "of each machine the GPUs", "all"),
	PART(adapters, adapters, "of each machine the adapters", "all"),
	PART(local, local, "compared with a local", "no comparison"),
#undef PART
};

static const char *member(const struct setup *setup, size_t offset)
{
	return *(const char *const *)((const char *)setup + offset);
}

/* Returns for example "pytorch-amp (fp16)", or NULL. */
static const char *value_of(struct arena *arena, const struct setup *setup, size_t part)
{
	const char *value = member(setup, parts[part].value);
	const char *detail = member(setup, parts[part].detail);
	if (!value || !detail || parts[part].detail == parts[part].value)
		return value;
	return arena_printf(arena, "%s (%s)", value, detail);
}

enum { DIFFERENT_MOST = 6 };

/* Returns the different values of a part, or NULL if no setup has one. */
static const char *values_of(struct arena *arena, const struct setup *const *setups, size_t count,
			     size_t part)
{
	const char *different[DIFFERENT_MOST], *text = NULL;
	size_t found = 0;
	bool any = false, more = false;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && memcmp(setups[i], setups[i - 1], sizeof *setups[i]) == 0)
			continue;
		const char *value = value_of(arena, setups[i], part);
		any |= value != NULL;
		value = value ? value : parts[part].none;
		size_t k = 0;
		while (k < found && strcmp(different[k], value) != 0)
			k++;
		if (k < found)
			continue;
		more = found == DIFFERENT_MOST;
		if (more)
			break;
		different[found++] = value;
		text = text ? arena_printf(arena, "%s / %s", text, value) : value;
	}
	return !any ? NULL : more ? arena_printf(arena, "%s / ...", text) : text;
}

const char *setups_text(struct arena *arena, const struct setup *const *setups, size_t count)
{
	const char *text = NULL;
	for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
		const char *values = values_of(arena, setups, count, part);
		if (values)
			text = arena_printf(arena, "%s%s%s %s", text ? text : "", text ? "; " : "",
					    parts[part].label, values);
	}
	return text;
}

const char *predictions_setup(struct arena *arena, const struct prediction *const *predictions,
			      size_t count)
{
	const struct setup **setups = ARENA_ARRAY(arena, count + 1, const struct setup *);
	for (size_t i = 0; i < count; i++)
		setups[i] = &predictions[i]->setup;
	return setups_text(arena, setups, count);
}
