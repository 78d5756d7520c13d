/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs' structs, declared from verbs.def. */
#pragma once

#include "sim/verb/verb.h"

#define VERB(name) extern const struct verb name;
#include "sim/verb/verbs.def"
#undef VERB
