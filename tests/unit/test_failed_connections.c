/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The failure of a connection is reported once. Afterwards the program gets nothing more, and no
 * further byte travels. Receivers work for long, and many packets are lost, so that at each failure
 * messages of both directions are in every state. */
#include "sim/transport/rdma.h"
#include "sim/transport/tcp.h"
#include "tests/net.h"

struct watched {
	struct net *net;
	size_t failures_count, late_count, message_count;
	double carried_B[2]; /* by the link, until the failure */
};

static double carried_B(const struct watched *w, int direction)
{
	return fabric_carried(w->net->fabric, fabric_link_resource(w->net->fabric, 0, direction));
}

static void failed(void *ctx, const char *reason)
{
	struct watched *w = ctx;
	w->failures_count++;
	for (int i = 0; i < 2; i++)
		w->carried_B[i] = carried_B(w, i);
}

static void called_back(void *ctx, uint64_t arg)
{
	struct watched *w = ctx;
	w->late_count += w->failures_count;
}

/* Each end sends a message; the second one sends only short ones. */
static void send_both(void *ctx, uint64_t arg)
{
	struct watched *w = ctx;
	for (int end = 0; end < 2; end++)
		connection_send(w->net->connection, end,
				&(struct message){.size_B = end ? 100 : (double)arg,
						  .accepted = called_back,
						  .delivered = called_back,
						  .ctx = w});
}

/* Sends messages every 30 ms, of which every 20th is long. */
static void opened(void *ctx, uint64_t arg)
{
	struct watched *w = ctx;
	called_back(ctx, arg);
	for (size_t i = 0; i < w->message_count; i++)
		engine_after(w->net->engine, ps_from_s(0.03 * (double)i), send_both, w,
			     i % 20 == 19 ? 200000
			     : i % 2      ? 100
					  : 6000);
}

/* Returns true if the connection has failed. */
static bool fails(const char *kind, const void *params, double loss_ratio, uint64_t seed)
{
	struct net *net = net_new();
	struct watched w = {.net = net, .message_count = 60};
	bool rdma = strcmp(kind, "rdma") == 0;
	net->link_kind = rdma ? "infiniband" : "ethernet";
	net->link.packet_payload_B = 1500;
	net->link.latency_s = 20e-3;
	net->link.loss_ratio[0] = net->link.loss_ratio[1] = loss_ratio;
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].receive_s = 20e-3;
		net->guest_params[i].send_s = 5e-3;
	}
	net_build(net);
	const struct connection_spec spec = {
		.engine = net->engine,
		.fabric = net->fabric,
		.arena = net->arena,
		.name = "a>b",
		.params = params,
		.ends = {{.guest = net->guest[0], .core = net->core[0]},
			 {.guest = net->guest[1], .core = net->core[1]}},
		.seed = seed,
		.failed = failed,
		.failed_ctx = &w,
	};
	net->connection = connection_new(transport_kind_find(kind), &spec);
	connection_open(net->connection, opened, &w, 0);
	net_run(net);
	CHECK(w.failures_count <= 1);
	CHECK(w.late_count == 0);
	for (int i = 0; w.failures_count > 0 && i < 2; i++)
		CHECK(carried_B(&w, i) == w.carried_B[i]);
	net_free(net);
	return w.failures_count > 0;
}

static void nothing_follows_the_failure_of_a_tcp_connection(void)
{
	struct net *net = net_new();
	struct tcp_params params;
	size_t failed_count = 0;
	net_presets(net->arena, transport_kind_find("tcp")->table, &params);
	params.rto_min_s = 50e-3;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		params.retries_count = (double)(seed % 2);
		failed_count += fails("tcp", &params, seed % 3 ? 0.03 : 0.1, seed);
	}
	CHECK(failed_count > 100);
	/* The SYN takes 5 ms of work, 20 ms on the wire and 20 ms of work, the answer 20 ms each.
	 * Further SYNs leave at 7, 21 and 49 ms. */
	params.syn_rto_s = 7e-3;
	for (int i = 1; i <= 12; i++) {
		params.connect_timeout_s = 10e-3 * i;
		CHECK(fails("tcp", &params, 0, 1) == (i <= 8));
	}
	net_free(net);
}

static void nothing_follows_the_failure_of_an_rdma_connection(void)
{
	struct net *net = net_new();
	struct rdma_params params;
	size_t failed_count = 0;
	net_presets(net->arena, transport_kind_find("rdma")->table, &params);
	params.retries_count = 1;
	params.connect_retries_count = 3;
	params.connect_retry_s = 60e-3;
	params.timeout_s = 30e-3;
	params.completion_s = 50e-3;
	params.post_s = 20e-3;
	for (int interrupts = 0; interrupts < 2; interrupts++) {
		params.interrupts = interrupts;
		for (uint64_t seed = 1; seed <= 40; seed++)
			failed_count += fails("rdma", &params, 0.3, seed);
	}
	CHECK(failed_count > 60);
	net_free(net);
}

static const struct test tests[] = {
	TEST(nothing_follows_the_failure_of_a_tcp_connection),
	TEST(nothing_follows_the_failure_of_an_rdma_connection),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
