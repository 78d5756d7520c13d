/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registries of kinds, for example of the transports.
 *
 * Each kind is a const struct in its own file, and one line of a .def file. The struct has `name`
 * and `help`. Its other fields contain everything that the rest of the program needs to distinguish
 * kinds, so no other code compares names.
 *
 * A .def file ends by including a file of the same name from kinds/, if the compiler finds one:
 * `make KINDS=folder` adds the kinds of folder/kinds/ without a change of sim/.
 */
#pragma once

#include <stddef.h>

struct arena;

struct registry_row {
	const char *const *name, *const *help;
	const void *kind;
};

struct registry {
	const char *what;   /* "transport", for errors */
	const char *listed; /* "transports": `farwire list transports` shows the kinds */
	const struct registry_row *rows;
	size_t count;
};

#define REGISTRY_ROW(kind_)                                                                        \
	{                                                                                          \
		.name = &(kind_).name, .help = &(kind_).help, .kind = &(kind_)                     \
	}
#define REGISTRY(what_, listed_, rows_)                                                            \
	{                                                                                          \
		.what = what_, .listed = listed_, .rows = rows_,                                   \
		.count = sizeof(rows_) / sizeof((rows_)[0])                                        \
	}

/* Declares the registry thing_registry and the functions thing_count, thing_at and thing_find. */
#define REGISTRY_OF(type, thing)                                                                   \
	extern const struct registry thing##_registry;                                             \
	static inline size_t thing##_count(void)                                                   \
	{                                                                                          \
		return thing##_registry.count;                                                     \
	}                                                                                          \
	static inline const type *thing##_at(size_t index)                                         \
	{                                                                                          \
		return registry_at(&thing##_registry, index);                                      \
	}                                                                                          \
	static inline const type *thing##_find(const char *name)                                   \
	{                                                                                          \
		return registry_find(&thing##_registry, name);                                     \
	}                                                                                          \
	extern const struct registry thing##_registry

const void *registry_at(const struct registry *registry, size_t index);
/* Returns NULL if not found */
const void *registry_find(const struct registry *registry, const char *name);
/* Returns all names, then `also` if it is not NULL, then NULL. */
const char *const *registry_names(struct arena *arena, const struct registry *registry,
				  const char *also);
/* Returns "no transport is called 'tpc' (did you mean 'tcp'? ...)". `also` is another allowed name,
 * or NULL. */
const char *registry_unknown(struct arena *arena, const struct registry *registry, const char *name,
			     const char *also);
