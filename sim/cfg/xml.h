/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads XML with expat, element by element. */
#pragma once

#include "sim/base/base.h"

struct xml_element {
	const char *name;
	const char *const *attributes; /* names and values in turn, then NULL */
	struct origin origin;
};

struct xml_reader {
	void (*open)(void *ctx, const struct xml_element *element);
	/* `text` is the text directly in the element. */
	void (*close)(void *ctx, const char *name, const char *text);
	void *ctx;
};

/* Returns false after errors, which are in diag: no XML, entities, more than 64 levels or 200,000
 * elements. Reading ends after the first error in diag. */
bool xml_read(struct arena *arena, struct diag *diag, const char *path, const char *text,
	      size_t size_B, const struct xml_reader *reader);
/* Returns "" if the attribute is missing. */
const char *xml_attribute(const struct xml_element *element, const char *name);
