/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares all frameworks that frameworks.def lists. */
#ifndef FARWIRE_TRAINING_FRAMEWORKS_H
#define FARWIRE_TRAINING_FRAMEWORKS_H

#include "sim/training/framework.h"

#define FRAMEWORK(name) extern const struct framework name;
#include "sim/training/frameworks.def"
#undef FRAMEWORK

#endif
