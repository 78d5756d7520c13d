/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost and energy of a prediction (docs/models/money.md).
 *
 *   power of a GPU = idle + (busy - idle) x share of the time in which kernels run
 *   power          = (GPUs + machines + ports + further power) x PUE
 *   own machine    = price / (years x share of them in which it works)
 *                  + its power x price of a kWh
 *
 * A rent contains the electricity. */
#include "sim/predict/draws.h"
#include "sim/scenario/checkpoint.h"

static const double HOUR_S = 3600, YEAR_H = 8766, KILO = 1000;

enum basis { BASIS_UNKNOWN, BASIS_MACHINE_RENT, BASIS_GPU_RENT, BASIS_OWN };

static enum basis basis_of(const struct cost_item *item)
{
	if (!isnan(item->machine.price_count))
		return BASIS_OWN;
	if (!isnan(item->machine.hour_price_count))
		return BASIS_MACHINE_RENT;
	bool rented = item->gpu_name && !isnan(item->gpu.hour_price_count);
	return rented ? BASIS_GPU_RENT : BASIS_UNKNOWN;
}

static double item_W(const struct cost_item *item, double utilization)
{
	double gpu_W = item->idle_W + (item->busy_W - item->idle_W) * utilization;
	return item->machine_count * item->machine.power_W +
	       (item->gpu_count > 0 ? item->gpu_count * gpu_W : 0);
}

static double own_share(const struct costs *costs)
{
	double own = 0, all = 0;
	for (size_t i = 0; i < costs->item_count; i++) {
		all += costs->items[i].machine_count;
		own += basis_of(&costs->items[i]) == BASIS_OWN ? costs->items[i].machine_count : 0;
	}
	return own / all;
}

/* Returns the power of all that the case uses at that utilisation of its GPUs. NAN: the power limit
 * of a GPU is not known. */
static double all_power_W(const struct costs *costs, double utilization)
{
	double sum_W = costs->ports_W + costs->params.further_power_W;
	for (size_t i = 0; i < costs->item_count; i++)
		sum_W += item_W(&costs->items[i], utilization);
	return sum_W * costs->params.facility_ratio;
}

/* Returns the price of an own thing for each hour in which it works. */
static double hourly(const struct cost_params *params, double price)
{
	return price / (params->years_count * YEAR_H * params->used_ratio);
}

/* Returns what an hour of it costs. NAN: a price or the power limit of a GPU is not known. */
static double hour_cost(const struct costs *costs, double utilization)
{
	const struct cost_params *p = &costs->params;
	double sum = p->further_hour_price_count, own = own_share(costs), own_W = 0;
	for (size_t i = 0; i < costs->item_count; i++) {
		const struct cost_item *item = &costs->items[i];
		switch (basis_of(item)) {
		case BASIS_MACHINE_RENT:
			sum += item->machine_count * item->machine.hour_price_count;
			break;
		case BASIS_GPU_RENT:
			sum += item->gpu_count * item->gpu.hour_price_count;
			break;
		case BASIS_OWN:
			sum += hourly(p, item->machine_count * item->machine.price_count);
			if (item->gpu_name && !isnan(item->gpu.price_count))
				sum += hourly(p, item->gpu_count * item->gpu.price_count);
			own_W += item_W(item, utilization);
			break;
		default:
			return NAN;
		}
	}
	if (!(own > 0))
		return sum;
	if (costs->port_count > 0)
		sum += hourly(p, own * costs->port_count * p->port_price_count);
	own_W += own * (costs->ports_W + p->further_power_W);
	return sum + own_W / KILO * p->facility_ratio * p->kwh_price_count;
}

/* Returns which value is missing and how to write it; NULL: none. */
static const char *unknown(struct arena *arena, const struct costs *costs)
{
	const char *text = NULL;
	bool own = own_share(costs) > 0;
	for (size_t i = 0; i < costs->item_count && !text; i++) {
		const struct cost_item *item = &costs->items[i];
		if (basis_of(item) == BASIS_OWN && item->gpu_count > 0 && isnan(item->idle_W))
			text = arena_printf(arena,
					    "the power limit of %s is not known (write --set "
					    "gpu.%s.power='300 W')",
					    item->gpu_name, item->gpu_name);
		else if (basis_of(item) == BASIS_UNKNOWN)
			text = arena_printf(
				arena,
				"nothing states a price of %s%s%s (write --set %s.%s.hour_price=%s "
				"for a rent, or --set machine_cost.%s.price=%s for an own machine)",
				item->machine_name, item->gpu_name ? " with " : "",
				item->gpu_name ? item->gpu_name : "",
				item->gpu_name ? "gpu_cost" : "machine_cost",
				item->gpu_name ? item->gpu_name : item->machine_name,
				item->gpu_name ? "2.5" : "0.5", item->machine_name,
				item->gpu_name ? "50000" : "5000");
	}
	if (!text && own && isnan(costs->params.kwh_price_count))
		text = "nothing states the price of electricity (write --set cost.kwh_price=0.15)";
	if (!text && own && costs->port_count > 0 && isnan(costs->params.port_price_count))
		text = "nothing states the price of a network port (write --set "
		       "cost.port_price=300)";
	return text;
}

/* Adds cost and energy of a whole long run. Its GPUs are idle outside of steps, and those of its
 * spare machines all the time. */
static void add_run(const struct scenario *scenario, struct point *point)
{
	const struct costs *costs = scenario->costs;
	struct costs spare = *costs;
	spare.params.further_hour_price_count = spare.params.further_power_W = 0;
	double worked_s =
		point->phases[LONGRUN_STEPS].seconds + point->phases[LONGRUN_LOST].seconds;
	double idle_s = point->elapsed_s - worked_s;
	double spare_s = point->elapsed_s * (double)checkpoint_spares(scenario) /
			 (double)checkpoint_machines(scenario);
	point->run_J = point->power_W * worked_s + all_power_W(costs, 0) * idle_s +
		       all_power_W(&spare, 0) * spare_s;
	point->run_cost = (point->hour_cost * worked_s + hour_cost(costs, 0) * idle_s +
			   hour_cost(&spare, 0) * spare_s) /
			  HOUR_S;
}

/* Returns samples in a second. The throughput of a collective counts bytes. */
static double samples_Hz(const struct scenario *scenario, const struct point *point)
{
	return scenario->style == JOBS_COLLECTIVE ? 1 / point->step_s : point->throughput;
}

void costs_add(const struct scenario *scenario, struct point *point)
{
	const struct costs *costs = scenario->costs;
	if (!costs)
		return;
	double rate = samples_Hz(scenario, point);
	point->power_W = all_power_W(costs, point->gpu_utilization);
	point->hour_cost = hour_cost(costs, point->gpu_utilization);
	point->energy_J = point->power_W / rate;
	point->sample_cost = point->hour_cost / HOUR_S / rate;
	if (scenario->run)
		add_run(scenario, point);
}

/* The estimate of a number of the point. */
#define INTERVAL(field)                                                                            \
	draws_interval(arena, draws, point->field, -1, offsetof(struct job_point, field))

void costs_summarize(struct arena *arena, const struct scenario *scenario,
		     const struct point *point, const struct draws *draws, struct prediction *p)
{
	struct estimate *const estimates[] = {
		&p->cost_hour, &p->cost_year,    &p->cost_sample,     &p->cost_step,
		&p->cost_run,  &p->cost_token,   &p->energy_sample_J, &p->energy_step_J,
		&p->power_W,   &p->energy_run_J, &p->energy_token_J,  &p->energy_year_J};
	for (size_t i = 0; i < sizeof estimates / sizeof estimates[0]; i++)
		*estimates[i] = ESTIMATE_NONE;
	if (!scenario->costs || point->failed)
		return;
	p->currency = scenario->costs->params.currency;
	p->cost_unknown = unknown(arena, scenario->costs);
	p->power_W = INTERVAL(power_W);
	p->cost_hour = INTERVAL(hour_cost);
	p->energy_sample_J = INTERVAL(energy_J);
	p->cost_sample = INTERVAL(sample_cost);
	struct breakdown_part *drawn = ARENA_ARRAY(arena, draws->count + 1, struct breakdown_part);
	for (size_t i = 0; i < draws->count && !p->cost_unknown; i++) {
		const struct job_point *drawn_point = &draws->answers[i].all;
		double cost = scenario->run ? drawn_point->run_cost : drawn_point->sample_cost;
		drawn[p->drawn_cost_count++] = (struct breakdown_part){
			p->drawn[i].name, draws->answers[i].failed ? 0 : cost};
	}
	p->drawn_costs = drawn;
	p->cost_year = estimate_scaled(p->cost_hour, YEAR_H);
	p->energy_year_J = estimate_scaled(p->power_W, YEAR_H * HOUR_S);
	double rate = samples_Hz(scenario, point);
	double step = scenario->style == JOBS_SERVING ? NAN : rate * point->step_s;
	double run =
		rate * (isfinite(p->training_s.value) ? p->training_s.value : point->elapsed_s);
	double token = rate / p->token_throughput.value;
	p->cost_step = estimate_scaled(p->cost_sample, step);
	p->energy_step_J = estimate_scaled(p->energy_sample_J, step);
	p->cost_run = scenario->run ? INTERVAL(run_cost) : estimate_scaled(p->cost_sample, run);
	p->energy_run_J =
		scenario->run ? INTERVAL(run_J) : estimate_scaled(p->energy_sample_J, run);
	p->cost_token = estimate_scaled(p->cost_sample, token);
	p->energy_token_J = estimate_scaled(p->energy_sample_J, token);
}
