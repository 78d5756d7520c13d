/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/fabric/link.h"

#include <string.h>

#include "sim/base/diag.h"
#include "sim/fabric/link_kinds.h"

static const struct link_kind *const kinds[] = {
#define LINK_KIND(name) &link_##name,
#include "sim/fabric/link_kinds.def"
#undef LINK_KIND
};

size_t link_kind_count(void)
{
	return sizeof kinds / sizeof kinds[0];
}

const struct link_kind *link_kind_at(size_t index)
{
	FW_ASSERT(index < link_kind_count());
	return kinds[index];
}

const struct link_kind *link_kind_find(const char *name)
{
	for (size_t i = 0; i < link_kind_count(); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}
