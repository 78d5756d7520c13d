/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices and power of the machines that a case uses (docs/models/money.md).
 *
 * A price that neither a file nor an option states is not known. It is NAN here and never 0. A case
 * without prices (case.prices) and without a setting of these groups has no costs at all. */
#pragma once

#include "sim/base/base.h"
#include "sim/base/param.h"

struct cost_params {
	const char *currency;
	double kwh_price_count, facility_ratio, years_count, used_ratio;
	double port_price_count, port_power_W, port_rate_power_W;
	double further_hour_price_count, further_power_W;
};
struct gpu_cost {
	double hour_price_count, price_count, idle_ratio, busy_ratio;
};
struct machine_cost {
	double hour_price_count, price_count, power_W;
};
extern const struct param_table cost_table, gpu_cost_table, machine_cost_table;

/* One kind of machine in use, with one kind of GPU. */
struct cost_item {
	const char *machine_name, *gpu_name; /* gpu_name NULL: none of its GPUs is in use */
	struct machine_cost machine;
	struct gpu_cost gpu;
	double machine_count; /* a machine counts by the share of its GPUs that are in use */
	double gpu_count;
	double idle_W, busy_W; /* of a GPU; NAN: its power limit is not known */
};

struct costs {
	struct cost_params params;
	const struct cost_item *items;
	size_t item_count;
	double port_count, ports_W; /* ends of network cables, and the power of all of them */
};
