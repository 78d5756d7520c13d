/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of each kind, for tests of configurations. */
#pragma once

#include "sim/base/param.h"
#include "sim/cfg/cfg.h"

struct wire {
	double bandwidth_Bps, latency_s, streams_count, loss_ratio;
	bool full_duplex;
	const char *name;
	int kind;
};

static const char *const kinds[] = {"copper", "fibre", NULL};
static const struct param_row rows[] = {
	PARAM_NUMBER(struct wire, bandwidth_Bps, QUANTITY_RATE, 1, 1e15, NULL, "", "given"),
	PARAM_NUMBER(struct wire, latency_s, QUANTITY_TIME, 0, INFINITY, "5 us", "",
		     "assumption: x"),
	PARAM_NUMBER(struct wire, streams_count, QUANTITY_COUNT, 1, 64, "4", "", "RFC 1"),
	PARAM_NUMBER(struct wire, loss_ratio, QUANTITY_RATIO, 0, 1, "0", "", "none"),
	PARAM_BOOL(struct wire, full_duplex, "true", "", "IEEE 802.3"),
	PARAM_TEXT(struct wire, name, "", ""),
	PARAM_CHOICE(struct wire, kind, kinds, "fibre", ""),
};
static const struct param_table table = PARAM_TABLE("wire", struct wire, rows);
