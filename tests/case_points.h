/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts variants of a published case inside the test program.
 *
 * The settings are those of calib/measured/flexdirect_1050ti.cfg: ResNet-50 on a GTX 1050 Ti with
 * FlexDirect 1.11, untuned hosts and the fitted profile. A test adds further settings, of which the
 * last one wins:
 *
 *   STEP_S(same_esxi, "case.batch=16", "link.vswitch.loss=0.01")
 */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

#define RESNET50_1050TI                                                                            \
	"case.model=resnet50", "case.stack=tf-1.12", "case.profile=flexdirect-1050ti",             \
		"case.server=server"
#define FLEXDIRECT "case.runtime=flexdirect-1.11", "case.transport=tcp", "case.program=client"
#define BATCH_16   "case.batch=16"
#define BATCH_32   "case.batch=32"
#define TUNED                                                                                      \
	"host.*.power_policy=max_performance", "host.*.turbo=true", "host.*.c_states=false",       \
		"host.*.nic_moderation=false", "guest.*.coalescing=false",                         \
		"guest.*.latency_sensitivity=high", "guest.*.firewall=false",                      \
		"guest.*.selinux=false"

struct settings {
	const char *texts[24]; /* ends with NULL */
};

__attribute__((unused)) static const struct settings beside_gpu = {
	{RESNET50_1050TI, "case.topology=t320-same-esxi", "case.runtime=none"}};
__attribute__((unused)) static const struct settings same_esxi = {
	{RESNET50_1050TI, "case.topology=t320-same-esxi", FLEXDIRECT}};
__attribute__((unused)) static const struct settings same_lan = {
	{RESNET50_1050TI, "case.topology=t320-same-lan", FLEXDIRECT}};
__attribute__((unused)) static const struct settings different_lan = {
	{RESNET50_1050TI, "case.topology=t320-different-lan", FLEXDIRECT}};

/* Reads the case with the settings of `base` and `more` (terminated by NULL). After errors it
 * prints them, fails the test and returns NULL. */
static inline const struct scenario *scenario_of(struct arena *arena, const struct settings *base,
						 const char *const *more)
{
	enum { SETTINGS_MAX = 64 };
	struct setting *settings = ARENA_ARRAY(arena, SETTINGS_MAX, struct setting);
	size_t count = 0;
	num_init();
	for (size_t i = 0; base->texts[i]; i++)
		settings[count++].text = base->texts[i];
	for (; *more; more++)
		settings[count++].text = *more;
	struct diag *diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}

static inline struct point point_of(struct arena *arena, const struct settings *base,
				    const char *const *more)
{
	const struct scenario *scenario = scenario_of(arena, base, more);
	struct point point = {.failed = true};
	if (scenario)
		point = predict_point(arena, scenario, 1, false, NULL, NULL);
	if (!CHECK(point.broken == NULL))
		printf("  %s\n", point.broken);
	return point;
}
#define POINT(arena, base, ...) point_of((arena), &(base), (const char *const[]){__VA_ARGS__, NULL})

static inline double step_of(const struct settings *base, const char *const *more)
{
	struct arena *arena = arena_new();
	struct point point = point_of(arena, base, more);
	double step_s = point.failed ? NAN : point.step_s;
	arena_free(arena);
	return step_s;
}
#define STEP_S(base, ...) step_of(&(base), (const char *const[]){__VA_ARGS__, NULL})
