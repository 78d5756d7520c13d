/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the kinds of transport_kinds.def. */
#pragma once

#include "sim/transport/transport.h"

#define TRANSPORT_KIND(name) extern const struct transport_kind transport_##name;
#include "sim/transport/transport_kinds.def"
#undef TRANSPORT_KIND
