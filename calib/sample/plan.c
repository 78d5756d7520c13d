/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/plan.h"

#include <fnmatch.h>
#include <stdio.h>

#define SHARE_PARTS 2

static void append(char *text, size_t room, const char *word)
{
	size_t used = strlen(text);
	snprintf(text + used, room - used, "%s%s", used ? " " : "", word);
}

void plan_point_name(const struct plan_point *point, char *text, size_t room)
{
	char number[80];
	text[0] = '\0';
	append(text, room, point->test);
	for (size_t i = 0; i < PLAN_WORDS && point->is[i].key; i++)
		append(text, room, point->is[i].value);
	for (size_t i = 0; i < PLAN_NUMBERS && point->x[i].key; i++) {
		snprintf(number, sizeof(number), "%s=%.12g", point->x[i].key, point->x[i].value);
		append(text, room, number);
	}
}

void plan_point_variant(const struct plan_point *point, char *text, size_t room)
{
	snprintf(text, room, "%s", point->test);
	for (size_t i = 0; i < PLAN_WORDS && point->is[i].key; i++) {
		size_t used = strlen(text);
		snprintf(text + used, room - used, ".%s", point->is[i].value);
	}
}

const char *plan_point_word(const struct plan_point *point, const char *key)
{
	for (size_t i = 0; i < PLAN_WORDS && point->is[i].key; i++)
		if (strcmp(point->is[i].key, key) == 0)
			return point->is[i].value;
	return NULL;
}

double plan_point_number(const struct plan_point *point, const char *key, double fallback)
{
	for (size_t i = 0; i < PLAN_NUMBERS && point->x[i].key; i++)
		if (strcmp(point->x[i].key, key) == 0)
			return point->x[i].value;
	return fallback;
}

uint64_t plan_random_next(struct plan_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double plan_random_part(struct plan_random *random)
{
	return (double)(plan_random_next(random) >> 11) * 0x1p-53;
}

static size_t plan_random_below(struct plan_random *random, size_t bound)
{
	return (size_t)(plan_random_part(random) * (double)bound);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same(const struct plan_point *a, const struct plan_point *b)
{
	for (size_t i = 0; i < PLAN_NUMBERS; i++)
		if (a->x[i].value < b->x[i].value || a->x[i].value > b->x[i].value ||
		    !same_text(a->x[i].key, b->x[i].key))
			return false;
	for (size_t i = 0; i < PLAN_WORDS; i++)
		if (!same_text(a->is[i].key, b->is[i].key) ||
		    !same_text(a->is[i].value, b->is[i].value))
			return false;
	return same_text(a->test, b->test);
}

void plan_add(struct plan *plan, const struct plan_point *point)
{
	struct plan_point added = *point;
	if (!added.test) {
		added.test = plan->test;
		added.owner = plan->owner;
	}
	for (size_t i = 0; i < plan->count; i++)
		if (same(&plan->points[i], &added))
			return;
	if (plan->count == plan->room) {
		size_t room = 2 * plan->room + 64;
		struct plan_point *points = realloc(plan->points, room * sizeof(*points));
		if (!points) {
			plan->failed = true;
			return;
		}
		plan->points = points;
		plan->room = room;
	}
	plan->points[plan->count++] = added;
}

void plan_shuffle(const struct plan *plan, size_t pass, size_t *order)
{
	struct plan_random random = {plan->seed ^ (0xd1b54a32d192ed03u * (pass + 1))};
	for (size_t i = 0; i < plan->count; i++) {
		size_t j = plan_random_below(&random, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

double plan_share_s(double left_s, size_t left)
{
	double share_s = SHARE_PARTS * left_s / (double)(left + SHARE_PARTS - 1);
	return share_s > PLAN_SHARE_LEAST_S ? share_s : PLAN_SHARE_LEAST_S;
}

void plan_free(struct plan *plan)
{
	free(plan->points);
	plan->points = NULL;
	plan->count = plan->room = 0;
}

bool plan_matches(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}
