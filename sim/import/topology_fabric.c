/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads `ibnetdiscover`: switches with their ports.
 *
 *   Switch  41 "S-0ff08c43215bae48"   # "leaf 1" ...
 *   [1]   "H-0ff08c4321664e96"[1](...)   # "node1 mlx5_0" lid 1181 4xHDR s=4 w=2 v=4 e=4
 *   [25]  "S-0ff08c432172aa1a"[1]        # "spine" lid 226 4xHDR s=4 w=2 v=4 e=4
 *
 * A switch with adapters is a leaf. Its ports to adapters and to switches give the network: a fat
 * tree if a leaf has several adapters of one host ("node1"), otherwise rails. */
#include "sim/import/topology.h"

struct fabric_reader {
	struct machine_read *machine;
	struct origin origin;
	size_t switch_count, leaf_count, host_count;
	double hosts, uplinks;   /* ports of the present switch */
	VEC(const char *) names; /* of the hosts of the present switch */
	bool shared;             /* a leaf has several adapters of one host */
	double hosts_most, up_ratio;
	double speed_Gbps;
};

static void end_switch(struct fabric_reader *f)
{
	if (f->hosts > 0) {
		f->leaf_count++;
		f->hosts_most = fmax(f->hosts_most, f->hosts);
		f->up_ratio = fmax(f->up_ratio, f->hosts / fmax(f->uplinks, 1));
	}
	f->hosts = f->uplinks = 0;
	f->names.count = 0;
}

/* Takes the name of an adapter's host, the first word of the comment. */
static void take_host(struct fabric_reader *f, const char *line)
{
	const char *comment = strchr(line, '#'), *name = comment ? strchr(comment, '"') : NULL;
	if (!name)
		return;
	struct arena *arena = f->machine->reading->arena;
	name = arena_printf(arena, "%.*s", (int)strcspn(name + 1, " \""), name + 1);
	for (size_t i = 0; i < f->names.count; i++)
		f->shared |= strcmp(f->names.items[i], name) == 0;
	*VEC_PUSH(arena, &f->names) = name;
}

/* Returns the rate of "4xHDR" in Gbit/s; 0: the line has none. */
static double speed_of(const char *line)
{
	static const struct {
		const char *name;
		double lane_Gbps;
	} rates[] = {{"xSDR", 2.5}, {"xDDR", 5},  {"xQDR", 10},  {"xFDR", 14},
		     {"xEDR", 25},  {"xHDR", 50}, {"xNDR", 100}, {"xXDR", 200}};
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		const char *at = strstr(line, rates[i].name);
		if (at && at > line && at[-1] >= '1' && at[-1] <= '9')
			return rates[i].lane_Gbps * (at[-1] - '0');
	}
	return 0;
}

static void take_port(struct fabric_reader *f, const char *line)
{
	const char *quote = strchr(line, '"');
	bool host = quote && quote[1] == 'H', leaf_up = quote && quote[1] == 'S';
	double speed = speed_of(line);
	if ((!host && !leaf_up) || speed <= 0) {
		diag_error(f->machine->reading->diag, f->origin,
			   "this port has no neighbour \"H-...\" or \"S-...\" with a rate such as "
			   "4xHDR (import the unchanged output of ibnetdiscover)");
		return;
	}
	f->machine->reading->used_count++;
	if (strstr(line, "Aggregation Node")) /* SHARP, inside the switch */
		return;
	f->hosts += host;
	f->host_count += host;
	f->uplinks += leaf_up;
	if (host) {
		f->speed_Gbps = fmax(f->speed_Gbps, speed);
		take_host(f, line);
	}
}

static void take_line(struct fabric_reader *f, const char *line, bool *in_switch)
{
	bool starts = strncmp(line, "Switch", 6) == 0;
	if (starts || strncmp(line, "Ca", 2) == 0 || strncmp(line, "Rt", 2) == 0) {
		end_switch(f);
		*in_switch = starts;
		f->switch_count += starts;
		f->machine->reading->used_count++;
	} else if (line[0] == '[' && *in_switch) {
		take_port(f, line);
	} else if (line[0]) {
		f->machine->reading->skipped_count++;
	}
}

void topology_read_fabric(struct machine_read *machine, const char *path, const char *text)
{
	struct fabric_reader f = {.machine = machine, .origin = {path, 0}};
	bool in_switch = false;
	struct lines *lines = reading_lines(machine->reading, path, text);
	const char *line;
	while (diag_count(machine->reading->diag) == 0 && (line = lines_next(lines))) {
		f.origin = lines->origin;
		take_line(&f, line, &in_switch);
	}
	end_switch(&f);
	if (diag_count(machine->reading->diag))
		return;
	if (f.leaf_count == 0) {
		diag_error(machine->reading->diag, (struct origin){path, 0},
			   "no switch has an adapter (import the whole output of ibnetdiscover)");
		return;
	}
	machine->network_path = path;
	machine->network = arena_printf(
		machine->reading->arena,
		"{ kind = \"%s\"; ports_per_leaf = %.15g; oversubscription = %.6g; link = { "
		"kind = \"infiniband\"; bandwidth = \"%.15g Gbit/s\"; }; }",
		f.shared ? "fat_tree" : "rail_optimised", f.hosts_most, fmax(f.up_ratio, 0.01),
		f.speed_Gbps);
	reading_note(machine->reading, "%zu InfiniBand switches, %zu of them leaves, %zu adapters",
		     f.switch_count, f.leaf_count, f.host_count);
}
