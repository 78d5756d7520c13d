/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/plan_keys.h"

const char *plan_key_powers(struct arena *arena, size_t most)
{
	const char *text = "1";
	for (size_t n = 2; n <= most; n *= 2)
		text = arena_printf(arena, "%s,%zu", text, n);
	return text;
}

const char *plan_key_divisors(struct arena *arena, size_t number, size_t most)
{
	const char *text = "1";
	for (size_t n = 2; n <= most && n <= number; n++)
		if (number % n == 0)
			text = arena_printf(arena, "%s,%zu", text, n);
	return text;
}

bool plan_key_set(const struct param_row *row, struct plan_params *params, const char *text)
{
	void *field = (char *)params + row->offset;
	char *end = NULL;
	switch (row->kind) {
	case PARAM_KIND_NUMBER:
		*(double *)field = strtod(text, &end);
		return *end == '\0' && *(double *)field >= row->min &&
		       *(double *)field <= row->max && *(double *)field == floor(*(double *)field);
	case PARAM_KIND_BOOL:
		*(bool *)field = strcmp(text, "true") == 0;
		return *(bool *)field || strcmp(text, "false") == 0;
	case PARAM_KIND_TEXT:
		*(const char **)field = text;
		return true;
	default:
		for (int i = 0; row->choices && row->choices[i]; i++)
			if (strcmp(row->choices[i], text) == 0) {
				*(int *)field = i;
				return true;
			}
		return false;
	}
}

const struct param_row *plan_key_row(const char *text)
{
	const char *name = text + strlen("plan.");
	for (size_t i = 0; i < plan_table.count; i++) {
		char key[64];
		param_key(&plan_table.rows[i], key, sizeof key);
		if (strlen(key) == strcspn(name, "=") && strncmp(name, key, strlen(key)) == 0)
			return &plan_table.rows[i];
	}
	return NULL;
}

bool plan_key_is_idle(const struct training_plan *plan, const char *key)
{
	if (strcmp(key, "plan.schedule") == 0)
		return plan->sizes[AXIS_PIPELINE] == 1 || plan->chunk_count > 1;
	if (strcmp(key, "plan.chunks") == 0)
		return plan->sizes[AXIS_PIPELINE] == 1;
	if (strcmp(key, "plan.sharding") == 0)
		return plan->sizes[AXIS_DATA] * plan->sizes[AXIS_CONTEXT] == 1;
	return strcmp(key, "plan.sequence_parallel") == 0 && plan->sizes[AXIS_TENSOR] == 1;
}
