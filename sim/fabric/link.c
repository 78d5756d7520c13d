/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/fabric/link_kinds.h"

static const struct registry_row rows[] = {
#define LINK_KIND(name) REGISTRY_ROW(link_##name),
#include "sim/fabric/link_kinds.def"
#undef LINK_KIND
};
const struct registry link_kind_registry = REGISTRY("kind of link", "links", rows);
