/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A torus of two or three dimensions. All ports of a machine are connected to its own router. A
 * router has as many cables to each neighbour as a machine has ports. The first and last routers
 * of a dimension are connected. If a dimension has two routers, they have only one trunk between
 * them. Routes are the shortest ones, in the order of the dimensions (sim/fabric/route.c). */
#include "sim/scenario/wiring.h"

struct torus_params {
	double x_count, y_count, z_count;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct torus_params, x_count, 1, 1e4, "4",
		    "number of machines in the first dimension of the torus",
		    "assumption: a small torus"),
	PARAM_WHOLE(struct torus_params, y_count, 1, 1e4, "4",
		    "number of machines in the second dimension of the torus",
		    "assumption: a small torus"),
	PARAM_WHOLE(struct torus_params, z_count, 1, 1e4, "1",
		    "number of machines in the third dimension of the torus",
		    "assumption: two dimensions"),
};

static const char *router(struct cabling *cabling, const size_t at[3])
{
	return WIRING_TEXT(cabling, "router%zu.%zu.%zu", at[0], at[1], at[2]);
}

static const char *join(struct cabling *cabling, const void *params)
{
	const struct torus_params *wiring = params;
	const size_t sizes[3] = {(size_t)wiring->x_count, (size_t)wiring->y_count,
				 (size_t)wiring->z_count};
	double places = wiring->x_count * wiring->y_count * wiring->z_count;
	if (places < (double)cabling->place_count || places > 1e6)
		return WIRING_TEXT(cabling,
				   "a torus of %zu x %zu x %zu has %.0f places, but there are %zu "
				   "machines and servers (write %s counts)",
				   sizes[0], sizes[1], sizes[2], places, cabling->place_count,
				   places > 1e6 ? "smaller" : "larger");
	for (size_t i = 0; i < (size_t)places; i++) {
		const size_t at[3] = {i % sizes[0], i / sizes[0] % sizes[1],
				      i / sizes[0] / sizes[1]};
		const char *name = cabling_switch(cabling, router(cabling, at));
		if (i < cabling->place_count)
			cabling_ports(cabling, i, name);
	}
	for (size_t i = 0; i < (size_t)places; i++) {
		const size_t at[3] = {i % sizes[0], i / sizes[0] % sizes[1],
				      i / sizes[0] / sizes[1]};
		for (size_t d = 0; d < 3; d++) {
			size_t next[3] = {at[0], at[1], at[2]};
			next[d] = (at[d] + 1) % sizes[d];
			bool again = sizes[d] == 2 && at[d] == 1;
			if (sizes[d] <= 1 || again)
				continue;
			cabling_trunk(cabling, router(cabling, at), router(cabling, next),
				      (double)cabling->port_most, 0, 1);
			cabling_trunk_of_torus(cabling, at, next);
		}
	}
	return NULL;
}

const struct wiring_kind wiring_torus = {
	"torus", "one router for each machine, connected to its neighbours",
	PARAM_TABLE_OF("torus", struct torus_params, rows), join, NULL};
