/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings that the page of `farwire explore` offers: CONTROLS, each with a list of values.
 *
 * They are derived from the case. Options of cases are controls if the case can be read with
 * another value. Numbers that the case states in its groups case, serve and plan are controls, and
 * so are the bandwidths and latencies of links between hosts. The option --for adds further
 * parameters. A request can choose only among the listed values. So no text of a request becomes a
 * setting or the name of a file. */
#pragma once

#include "sim/verb/verb.h"

struct control {
	const char *key;         /* "link.wire.latency", its name in links and requests */
	const char *label;       /* "one-way latency of wire" */
	const char *const *keys; /* parameters that get the value: key, and those of equal links */
	size_t key_count;
	const char *const *texts; /* values as users write them: "20 us" */
	size_t count, initial;    /* initial: index of the case's own value */
	bool number;
};
struct controls {
	const struct control *items;
	size_t count;
};

/* Returns the controls of the command's first case. Adds an error to diag if --for names no
 * number of the case. */
struct controls controls_of(const struct command *command, struct diag *diag,
			    const struct scenario *scenario);
/* Returns the control with this key, or NULL. */
const struct control *control_find(const struct controls *controls, const char *key);
/* Returns the index of the value with this text, or SIZE_MAX. */
size_t control_value(const struct control *control, const char *text);
/* Adds the settings that give the control its value with this index. */
struct setting_list {
	VEC(struct setting) list;
};
void control_set(struct arena *arena, const struct control *control, size_t value,
		 struct setting_list *settings);
