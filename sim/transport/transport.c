/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/transport.h"

static const struct registry_row rows[] = {
#define TRANSPORT_KIND(name) REGISTRY_ROW(transport_##name),
#include "sim/transport/transport_kinds.def"
#undef TRANSPORT_KIND
};
const struct registry transport_kind_registry = REGISTRY("transport", "transports", rows);

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
	connection->counters.payload_sent_B[from] += message->size_B;
	connection->counters.messages_count[from]++;
	connection->kind->send(connection, from, message);
}

void connection_read(struct connection *connection, int end)
{
	struct message_reader *reader = &connection->readers[end];
	struct message_arrival *arrival = reader->head;
	reader->on_demand = true;
	reader->waiting = !arrival;
	if (!arrival)
		return;
	reader->head = arrival->next;
	__builtin_prefetch(arrival->next); /* the reader takes it next */
	connection->kind->receive(arrival->ctx, 1);
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
	return &connection->counters;
}
