/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/transport.h"

#include <string.h>

#include "sim/base/diag.h"
#include "sim/transport/kinds.h"

static const struct transport_kind *const kinds[] = {
#define TRANSPORT_KIND(name) &transport_##name,
#include "sim/transport/transport_kinds.def"
#undef TRANSPORT_KIND
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

size_t transport_kind_count(void)
{
	return KIND_COUNT;
}

const struct transport_kind *transport_kind_at(size_t index)
{
	FW_ASSERT(index < KIND_COUNT);
	return kinds[index];
}

const struct transport_kind *transport_kind_find(const char *name)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	}
	return NULL;
}

struct connection *connection_new(const struct transport_kind *kind,
				  const struct connection_spec *spec)
{
	FW_ASSERT(kind->table->size <= TRANSPORT_PARAMS_SIZE_MAX);
	struct connection *connection = kind->new (spec);
	if (connection)
		connection->kind = kind;
	return connection;
}

void connection_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg)
{
	connection->kind->open(connection, fn, ctx, arg);
}

void connection_send(struct connection *connection, int from, const struct message *message)
{
	FW_ASSERT((from == 0 || from == 1) && message->size_B >= 0);
	connection->kind->send(connection, from, message);
}

void connection_account(const struct connection *connection, struct fabric *fabric)
{
	const struct connection_counters *counters = connection_counters(connection);
	for (int i = 0; i < 2; i++)
		if (connection->routes[i])
			fabric_delivered(fabric, connection->routes[i],
					 counters->payload_delivered_B[i], NULL);
}

const struct connection_counters *connection_counters(const struct connection *connection)
{
	return connection->kind->counters(connection);
}
