/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the kinds, for the registry in link.c. */
#pragma once

#include "sim/fabric/link.h"

#define LINK_KIND(name) extern const struct link_kind link_##name;
#include "sim/fabric/link_kinds.def"
#undef LINK_KIND
