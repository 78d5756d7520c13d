/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the kinds of wirings for wiring.c. */
#pragma once

#include "sim/base/arena.h"
#include "sim/scenario/wiring.h"

#define WIRING(name) extern const struct wiring_kind wiring_##name;
#include "sim/scenario/wirings.def"
#undef WIRING
