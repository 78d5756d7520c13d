/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One switch of any size connects all ports. */
#include "sim/scenario/wiring.h"

struct toy_params {
	double unused_count;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct toy_params, unused_count, 0, 1, "0", "nothing", "a toy"),
};
static const struct param_table table = PARAM_TABLE("toy", struct toy_params, rows);

static const char *join(struct cabling *cabling, const void *params)
{
	const char *crossbar = cabling_switch(cabling, "toy");
	for (size_t i = 0; i < cabling->place_count; i++)
		cabling_ports(cabling, i, crossbar);
	return NULL;
}

const struct wiring_kind wiring_toy = {
	.name = "toy", .help = "a wiring of tests/toys", .table = &table, .join = join};
