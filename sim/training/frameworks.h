/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares all frameworks that frameworks.def lists. */
#pragma once

#include "sim/training/framework.h"

#define FRAMEWORK(name) extern const struct framework name;
#include "sim/training/frameworks.def"
#undef FRAMEWORK
