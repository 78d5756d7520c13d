/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/plan_meter.h"

void plan_meter_begin(struct plan_meter *m, size_t point_steps, size_t expected, size_t later)
{
	m->point_steps = point_steps;
	plan_meter_expect(m, expected, later);
}

void plan_meter_expect(struct plan_meter *m, size_t expected, size_t later)
{
	pthread_mutex_lock(&m->lock);
	m->total = (expected > m->done ? expected : m->done) + later;
	pthread_mutex_unlock(&m->lock);
}

void plan_meter_best(struct plan_meter *m, const char *name, double step_s)
{
	pthread_mutex_lock(&m->lock);
	if (m->tell_best)
		m->tell_best(m->watch.ctx, name, step_s);
	pthread_mutex_unlock(&m->lock);
}

static void add(struct plan_meter *m, size_t steps, bool earlier)
{
	pthread_mutex_lock(&m->lock);
	m->done += steps;
	m->before += earlier ? steps : 0;
	if (m->watch.tell)
		m->watch.tell(m->watch.ctx, m->before, m->done, m->total);
	pthread_mutex_unlock(&m->lock);
}

void plan_meter_point(void *ctx, size_t before, size_t done, size_t count)
{
	struct plan_meter *m = ctx;
	(void)count;
	add(m, m->point_steps, done <= before);
}

void plan_meter_draw(void *ctx, size_t before, size_t done, size_t count)
{
	(void)before, (void)done, (void)count;
	add(ctx, 1, false);
}

void plan_meter_end(struct plan_meter *m)
{
	if (m->done < m->total)
		add(m, m->total - m->done, false);
}
