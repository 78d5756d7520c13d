/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of queue_work.h with a simple std::priority_queue. Time and sequence number order the
 * events. A cancelled event is marked and skipped at its time. Without cancelling it keeps no
 * marks. */
#include <cstdint>
#include <queue>
#include <unordered_set>
#include <vector>

typedef void work_fn(void *ctx, uint64_t arg);

namespace {

struct event {
	int64_t time_ps;
	uint64_t sequence;
	work_fn *fn;
	void *ctx;
	uint64_t arg;
};

struct later {
	bool operator()(const event &a, const event &b) const
	{
		return a.time_ps > b.time_ps || (a.time_ps == b.time_ps && a.sequence > b.sequence);
	}
};

std::priority_queue<event, std::vector<event>, later> queue;
std::unordered_set<uint64_t> cancelled;
uint64_t sequence;
int64_t now_ps;

} // namespace

static uint64_t pending_add(int64_t time_ps, work_fn *fn, void *ctx, uint64_t arg)
{
	queue.push(event{time_ps, ++sequence, fn, ctx, arg});
	return sequence;
}

static void pending_cancel(uint64_t id)
{
	cancelled.insert(id);
}

static void pending_step()
{
	for (;;) {
		event first = queue.top();
		queue.pop();
		if (!cancelled.empty() && cancelled.erase(first.sequence) > 0)
			continue;
		now_ps = first.time_ps;
		first.fn(first.ctx, first.arg);
		return;
	}
}

static int64_t pending_now_ps()
{
	return now_ps;
}

#include "tests/bench/queue_work.h"

int main(int argc, char **argv)
{
	return work_main(argc, argv);
}
