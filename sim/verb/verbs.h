/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs' structs, declared from verbs.def. */
#ifndef FARWIRE_VERB_VERBS_H
#define FARWIRE_VERB_VERBS_H

#include "sim/verb/verb.h"

#define VERB(name) extern const struct verb name;
#include "sim/verb/verbs.def"
#undef VERB

#endif
