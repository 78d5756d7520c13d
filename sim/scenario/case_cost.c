/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the prices and the power of the machines that a case uses. */
#include "sim/scenario/case.h"
#include "sim/scenario/cost.h"

static const struct param_row cost_rows[] = {
	PARAM_TEXT(struct cost_params, currency, "USD", "currency of all prices"),
	PARAM_NUMBER(struct cost_params, kwh_price_count, QUANTITY_COUNT, 0, 1e6, "0",
		     "price of a kWh of electricity; own machines without it have no known cost",
		     "no default: the answer names the missing price"),
	COST_SOURCED(struct cost_params, facility_ratio, QUANTITY_RATIO, 1, 10, "1.56",
		     "power of the whole building divided by that of its computers (PUE)",
		     "Uptime Institute, Global Data Center Survey 2024: 1.56 on average"),
	COST_ASSUMED(struct cost_params, years_count, QUANTITY_COUNT, 0.1, 100, "4",
		     "years after which an own machine is replaced",
		     "assumption: cloud providers write servers off in 4 to 6 years, and GPUs lose "
		     "their value sooner"),
	COST_ASSUMED(struct cost_params, used_ratio, QUANTITY_RATIO, 0.01, 1, "0.7",
		     "share of its years in which an own machine works",
		     "assumption: queues of shared clusters are empty at times, and repairs take "
		     "some"),
	PARAM_NUMBER(struct cost_params, port_price_count, QUANTITY_COUNT, 0, 1e9, "0",
		     "price of one end of a network cable: an adapter or a port of a switch, with "
		     "its transceiver",
		     "no default: the answer names the missing price"),
	COST_ASSUMED(struct cost_params, port_power_W, QUANTITY_POWER, 0, 1e4, "5 W",
		     "power of one end of a network cable at any rate",
		     "assumption: adapters of 10 Gb/s take 5 to 8 W for a port"),
	COST_ASSUMED(struct cost_params, port_rate_power_W, QUANTITY_POWER, 0, 1e4, "5 W",
		     "further power of one end of a network cable for each 100 Gb/s",
		     "assumption: 400 Gb/s take 9 W in a transceiver (NVIDIA MMS4X00-NS400), and "
		     "about 16 W in the adapter or in the switch's part"),
	PARAM_NUMBER(struct cost_params, further_hour_price_count, QUANTITY_COUNT, 0, 1e12, "0",
		     "what else an hour costs: storage, licences, staff"),
	PARAM_NUMBER(struct cost_params, further_power_W, QUANTITY_POWER, 0, 1e12, "0 W",
		     "power of what else belongs to the case, for example a storage server"),
};
const struct param_table cost_table = PARAM_TABLE("cost", struct cost_params, cost_rows);

static const struct param_row gpu_cost_rows[] = {
	PARAM_NUMBER(struct gpu_cost, hour_price_count, QUANTITY_COUNT, 0, 1e6, "0",
		     "rent of a GPU for an hour, with its part of the machine, network and "
		     "electricity",
		     "no default: the answer names the missing price"),
	PARAM_NUMBER(struct gpu_cost, price_count, QUANTITY_COUNT, 0, 1e9, "0",
		     "price of an own GPU; without it, that of the machine includes its GPUs",
		     "no default: the answer names the missing price"),
	COST_ASSUMED(struct gpu_cost, idle_ratio, QUANTITY_RATIO, 0, 1, "0.12",
		     "power of a GPU without kernels divided by that with kernels at full clock",
		     "assumption: data-centre GPUs show 50 to 90 W of 400 to 700 W; NVIDIA DPS "
		     "counts 200 of 1200 W for an idle GB200"),
	COST_ASSUMED(struct gpu_cost, busy_ratio, QUANTITY_RATIO, 0.01, 1, "0.8",
		     "mean power while kernels run divided by that with kernels at full clock",
		     "assumption: large products reach the power limit, and kernels that wait for "
		     "memory take about two thirds of it"),
};
const struct param_table gpu_cost_table = PARAM_TABLE("gpu_cost", struct gpu_cost, gpu_cost_rows);

static const struct param_row machine_cost_rows[] = {
	PARAM_NUMBER(struct machine_cost, hour_price_count, QUANTITY_COUNT, 0, 1e6, "0",
		     "rent of the machine for an hour, with its GPUs, network and electricity",
		     "no default: the answer names the missing price"),
	PARAM_NUMBER(struct machine_cost, price_count, QUANTITY_COUNT, 0, 1e9, "0",
		     "price of the own machine, with the GPUs that have no price of their own",
		     "no default: the answer names the missing price"),
	COST_ASSUMED(struct machine_cost, power_W, QUANTITY_POWER, 0, 1e6, "400 W",
		     "power of the machine without GPUs and network ports while it works",
		     "assumption: two processors at half load with memory, fans and losses"),
};
const struct param_table machine_cost_table =
	PARAM_TABLE("machine_cost", struct machine_cost, machine_cost_rows);

enum { ITEM_PATH_MAX = 256 };

/* Returns the table of prices to which a path belongs; NULL: it is of another group, such as gpu.
 */
static const struct param_table *table_of(const char *path)
{
	static const struct param_table *const tables[] = {&cost_table, &gpu_cost_table,
							   &machine_cost_table};
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		size_t length = strlen(tables[i]->name);
		if (strncmp(path, tables[i]->name, length) == 0 && path[length] == '.')
			return tables[i];
	}
	return NULL;
}

void case_check_prices(struct reader *c, const struct cfg_node *file)
{
	const struct cfg_node *list = cfg_child(file, "parameters");
	for (size_t i = 0; i < cfg_count(list); i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *path = cfg_text(cfg_child(group, "path"));
		const struct param_table *table = path ? table_of(path) : NULL;
		if (table && !param_find(table, strrchr(path, '.') + 1))
			diag_error(c->diag, cfg_origin(group),
				   "unknown parameter '%s' (`farwire list parameters` shows those "
				   "of %s)",
				   path, table->name);
		for (size_t k = 0; path && k < i; k++) {
			const char *other = cfg_text(cfg_child(cfg_at(list, k), "path"));
			if (other && strcmp(other, path) == 0)
				diag_error(
					c->diag, cfg_origin(group),
					"'%s' is set twice, first at line %d (remove one of them)",
					path, cfg_origin(cfg_at(list, k)).line);
		}
	}
}

/* Returns true if a setting is the price of one kind of GPU or machine, "gpu_cost.t4.price=900",
 * and copies its path. */
static bool is_item_price(const struct setting *setting, char path[ITEM_PATH_MAX])
{
	const struct param_table *table = table_of(setting->text);
	size_t length = strcspn(setting->text, "=");
	if (!table || table == &cost_table || length >= ITEM_PATH_MAX ||
	    memchr(setting->text, '*', length))
		return false;
	memcpy(path, setting->text, length);
	path[length] = '\0';
	return param_find(table, strrchr(path, '.') + 1) != NULL;
}

void case_allow_prices(struct reader *c)
{
	char path[ITEM_PATH_MAX];
	for (size_t i = 0; c->request->beside && i < c->request->setting_count; i++)
		if (is_item_price(&c->request->settings[i], path))
			cfg_override_text(c->resolution, path);
}

void scenario_note_prices(const struct case_request *request, const struct scenario *scenario,
			  bool *known)
{
	char path[ITEM_PATH_MAX];
	for (size_t i = 0; i < request->setting_count; i++)
		known[i] |= !is_item_price(&request->settings[i], path) ||
			    (scenario && cfg_param_find(scenario->resolution, path));
}

bool scenario_check_prices(struct diag *diag, const struct case_request *request, const bool *known)
{
	bool all = true;
	for (size_t i = 0; request->beside && i < request->setting_count; i++)
		all &= known[i] ||
		       diag_error(diag, request->settings[i].origin,
				  "no case has the GPU or machine of '%s' (`farwire list gpus` and "
				  "`farwire list machines` show names)",
				  request->settings[i].text);
	return all;
}

/* Returns the price, or NAN if nothing states it. */
static double stated(const struct reader *c, const char *group, const char *name, const char *key,
		     double value)
{
	const char *path = name ? arena_printf(c->arena, "%s.%s.%s", group, name, key)
				: arena_printf(c->arena, "%s.%s", group, key);
	const struct cfg_param *param = cfg_param_find(c->resolution, path);
	return strcmp(param->status, "default") != 0 ? value : NAN;
}

static void read_gpu(struct reader *c, const struct gpu_entry *gpu, struct cost_item *item)
{
	const char *name = item->gpu_name = gpu->profile;
	reader_item(c, NULL, "gpu_cost", name, name, &gpu_cost_table, NULL, 0, &item->gpu);
	item->gpu.hour_price_count =
		stated(c, "gpu_cost", name, "hour_price", item->gpu.hour_price_count);
	item->gpu.price_count = stated(c, "gpu_cost", name, "price", item->gpu.price_count);
	const struct stack_params *stack = c->scenario->jobs[0].stack;
	double full_W = gpu_full_power_W(
		&gpu->params, stack ? stack_product_type(stack, &gpu->params, true) : NUMBER_FP32);
	full_W = full_W > 0 ? full_W : NAN;
	item->idle_W = full_W * item->gpu.idle_ratio;
	item->busy_W = full_W * fmax(item->gpu.busy_ratio, item->gpu.idle_ratio);
}

static void read_machine(struct reader *c, const struct host_entry *host, struct cost_item *item)
{
	const char *name = item->machine_name = host->machine;
	struct machine_cost *machine = &item->machine;
	reader_item(c, NULL, "machine_cost", name, name, &machine_cost_table, NULL, 0, machine);
	machine->hour_price_count =
		stated(c, "machine_cost", name, "hour_price", machine->hour_price_count);
	machine->price_count = stated(c, "machine_cost", name, "price", machine->price_count);
}

/* Returns the item of a machine and a GPU, which may be NULL, in a list of `count`. The parameters
 * of a machine or GPU are read once. */
static struct cost_item *item_of(struct reader *c, struct cost_item *items, size_t *count,
				 const struct host_entry *host, const struct gpu_entry *gpu)
{
	struct cost_item item = {0};
	for (size_t i = 0; i < *count; i++) {
		const struct cost_item *other = &items[i];
		bool machine = strcmp(other->machine_name, host->machine) == 0;
		bool same = gpu && other->gpu_name && strcmp(other->gpu_name, gpu->profile) == 0;
		if (machine && (same || (!gpu && !other->gpu_name)))
			return &items[i];
		if (machine) {
			item.machine_name = other->machine_name;
			item.machine = other->machine;
		}
		if (same) {
			item.gpu_name = other->gpu_name;
			item.gpu = other->gpu;
			item.idle_W = other->idle_W;
			item.busy_W = other->busy_W;
		}
	}
	if (!item.machine_name)
		read_machine(c, host, &item);
	if (gpu && !item.gpu_name)
		read_gpu(c, gpu, &item);
	items[*count] = item;
	return &items[(*count)++];
}

/* Sets used[] to the number of GPUs that each GPU in use represents, and machines[] to the number
 * of machines in use that each host represents. A host counts by the share of its GPUs that are in
 * use, because others can use the rest. A host without such a GPU counts as one if a program runs
 * on it. Returns the share of all machines that are in use. */
static double find_used(struct reader *c, double *used, double *machines)
{
	const struct scenario *scenario = c->scenario;
	const struct topology *topology = &scenario->topology;
	double *gpus = ARENA_ARRAY(c->arena, topology->host_count + 1, double), sum = 0, all = 0;
	for (size_t j = 0; j < scenario->job_count; j++)
		for (size_t i = 0; i < scenario->jobs[j].simulated_count; i++)
			used[scenario->jobs[j].gpus[i]] =
				topology->fold ? fold_count(topology->fold, i) : 1;
	for (size_t i = 0; i < topology->gpu_count; i++)
		gpus[topology->gpus[i].host]++;
	for (size_t i = 0; i < topology->gpu_count; i++)
		machines[topology->gpus[i].host] += used[i] / gpus[topology->gpus[i].host];
	for (size_t j = 0; j < scenario->job_count; j++)
		for (size_t i = 0; i < scenario->jobs[j].simulated_count; i++) {
			double *host =
				&machines[topology->guests[scenario->jobs[j].guests[i]].host];
			*host = *host > 0 ? *host : 1;
		}
	for (size_t i = 0; i < topology->host_count; i++) {
		sum += machines[i];
		all += fmax(machines[i], 1);
	}
	return sum / all;
}

/* Counts the ends of the network's cables, by the share of all machines that the case uses. Links
 * between two guests of one host are not cables. */
static void count_ports(const struct topology *topology, double share, struct costs *costs)
{
	const double HUNDRED_GBIT_BPS = 12.5e9;
	for (size_t i = 0; i < topology->link_count; i++) {
		const struct link_entry *link = &topology->links[i];
		size_t hosts[2] = {SIZE_MAX, SIZE_MAX - 1};
		for (size_t k = 0; k < topology->guest_count; k++)
			for (int end = 0; end < 2 && !link->kind->inside_host; end++)
				if (strcmp(topology->guests[k].name, link->ends[end]) == 0)
					hosts[end] = topology->guests[k].host;
		if (link->kind->inside_host || hosts[0] == hosts[1])
			continue;
		double ends = 2 * share * fmax(link->copies_count, 1);
		double rate = fmax(link->traits.capacity_Bps[0], link->traits.capacity_Bps[1]);
		costs->port_count += ends;
		costs->ports_W +=
			ends * (costs->params.port_power_W +
				costs->params.port_rate_power_W * rate / HUNDRED_GBIT_BPS);
	}
}

static bool wants_costs(const struct reader *c)
{
	return c->params->prices[0] || case_find_keys(c, "cost", NULL) ||
	       case_find_keys(c, "gpu_cost", NULL) || case_find_keys(c, "machine_cost", NULL);
}

void case_read_costs(struct reader *c)
{
	struct scenario *scenario = c->scenario;
	const struct topology *t = &scenario->topology;
	if (diag_count(c->diag) > 0 || !wants_costs(c))
		return;
	struct costs *costs = ARENA_NEW(c->arena, struct costs);
	reader_params(c, cfg_child(c->file, "cost"), "cost", "cost", &cost_table, &costs->params);
	struct cost_params *params = &costs->params;
	params->kwh_price_count = stated(c, "cost", NULL, "kwh_price", params->kwh_price_count);
	params->port_price_count = stated(c, "cost", NULL, "port_price", params->port_price_count);
	double *used = ARENA_ARRAY(c->arena, t->gpu_count + 1, double);
	double *machines = ARENA_ARRAY(c->arena, t->host_count + 1, double);
	double share = find_used(c, used, machines);
	struct cost_item *items =
		ARENA_ARRAY(c->arena, t->gpu_count + t->host_count + 1, struct cost_item);
	for (size_t h = 0; h < t->host_count; h++) {
		const struct gpu_entry *gpu = NULL; /* the first one in use; hosts have one kind */
		double gpus = 0;
		for (size_t i = 0; i < t->gpu_count; i++)
			if (t->gpus[i].host == h && used[i] > 0) {
				gpu = gpu ? gpu : &t->gpus[i];
				gpus += used[i];
			}
		if (!(machines[h] > 0))
			continue;
		struct cost_item *item = item_of(c, items, &costs->item_count, &t->hosts[h], gpu);
		item->gpu_count += gpus;
		item->machine_count += machines[h];
	}
	costs->items = items;
	count_ports(t, share, costs);
	scenario->costs = costs;
}
