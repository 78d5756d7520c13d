/* SPDX-License-Identifier: Apache-2.0 */
/* Calls forwarded to a server over TCP or a Unix socket: a request of a given size with a small
 * answer, or a small request with an answer of a given size. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/sample/sampler.h"

#define SMALL_B 64 /* a call's header and a few arguments, or its result */

struct rpc {
	int fd;
	size_t size_B, reply_B;
	unsigned char *bytes;
};

static void add_call(struct plan *plan, const char *transport, double size_B, double reply_B,
		     bool held_out)
{
	plan_add(plan, &(struct plan_point){
			       .is = {{"transport", transport}},
			       .x = {{"size_B", size_B}, {"reply_B", reply_B}},
			       .interval_ratio = SAMPLER_RATIO_LATENCY,
			       .held_out = held_out,
		       });
}

static void add(const struct host_bench *bench, struct plan *plan, struct plan_random *random)
{
	static const char *const transports[] = {"tcp", "unix"};
	bool full = bench->full;
	struct host_sizes sizes = host_sizes(SMALL_B, 4 << 20, full ? 2 : 4, full ? 8 : 4, random);
	struct host_sizes replies = host_sizes(1024, 4 << 20, full ? 4 : 16, full ? 4 : 2, random);
	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 0; i < sizes.count; i++)
			add_call(plan, transports[t], sizes.size_B[i], SMALL_B, sizes.held_out[i]);
		for (size_t i = 0; i < replies.count; i++)
			add_call(plan, transports[t], SMALL_B, replies.size_B[i],
				 replies.held_out[i]);
	}
}

static int begin(struct host_bench *bench, const struct plan_point *point)
{
	bool over_unix = strcmp(plan_point_word(point, "transport"), "unix") == 0;
	if (over_unix && bench->peer.child == 0)
		return host_fail(bench, HOST_WAIVED, "a Unix socket cannot reach another machine");
	struct rpc *rpc = bench->own;
	rpc->fd = -1;
	rpc->size_B = (size_t)plan_point_number(point, "size_B", SMALL_B);
	rpc->reply_B = (size_t)plan_point_number(point, "reply_B", SMALL_B);
	size_t room_B = rpc->size_B > rpc->reply_B ? rpc->size_B : rpc->reply_B;
	rpc->bytes = malloc(room_B);
	if (!rpc->bytes)
		return host_fail(bench, HOST_FAILED, "out of memory");
	memset(rpc->bytes, 1, room_B);
	const struct peer_order order = {
		.count = 1, .size_B = rpc->size_B, .reply_B = rpc->reply_B};
	peer_keep_apart(&bench->peer);
	rpc->fd = peer_open(&bench->peer, over_unix, &order, bench->why);
	if (rpc->fd < 0)
		return stop_asked() ? HOST_STOPPED : HOST_FAILED;
	return HOST_OK;
}

static int sample(struct host_bench *bench, const struct plan_point *point, double *value)
{
	struct rpc *rpc = bench->own;
	double start_s = clock_now_s();
	enum sock_code code = sock_send(rpc->fd, rpc->bytes, rpc->size_B, PEER_WAIT_S);
	if (code == SOCK_OK)
		code = sock_receive(rpc->fd, rpc->bytes, rpc->reply_B, PEER_WAIT_S);
	*value = clock_now_s() - start_s;
	return host_code_of(bench, code);
}

static void end(struct host_bench *bench)
{
	struct rpc *rpc = bench->own;
	peer_keep_no_more(&bench->peer);
	if (rpc->fd >= 0)
		close(rpc->fd);
	free(rpc->bytes);
}

const struct host_probe host_probe_rpc = {
	.test = "rpc",
	.help = "calls forwarded to a server, over TCP and a Unix socket",
	.network = true,
	.own_B = sizeof(struct rpc),
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
};
