/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of a plan as texts, for the search of plans. */
#pragma once

#include "sim/base/param.h"
#include "sim/training/plan.h"

/* Returns "1,2,4,..." up to most. */
const char *plan_key_powers(struct arena *arena, size_t most);
/* Returns the divisors of the number up to most. */
const char *plan_key_divisors(struct arena *arena, size_t number, size_t most);
/* Sets the field of the row from its text. Returns false if the text is not a value. */
bool plan_key_set(const struct param_row *row, struct plan_params *params, const char *text);
/* Returns the row of "plan.tp" or "plan.tp=8"; NULL: there is none. */
const struct param_row *plan_key_row(const char *text);
/* Returns true if the key has no effect on the plan, so that one of its values is enough. */
bool plan_key_is_idle(const struct training_plan *plan, const char *key);
