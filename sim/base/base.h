/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the C library and of this folder that almost every file needs: memory, errors,
 * arrays, numbers and units. A file includes this header unless one of its other headers does. */
#pragma once

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/base/units.h"
#include "sim/base/vec.h"
