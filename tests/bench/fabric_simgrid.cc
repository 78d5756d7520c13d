/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring and the all-to-all of fabric_farwire.c with SimGrid's public S4U interface. */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "tests/bench/clock.h"
#include "tests/bench/jitter.h"
#include "tests/bench/simgrid.h"

namespace {

std::vector<sg4::Host *> hosts;
std::vector<sg4::Mailbox *> mailboxes;
uint64_t messages;

void build_star(size_t count)
{
	auto *zone = sg4::create_star_zone("star");
	for (size_t i = 0; i < count; i++) {
		std::string number = std::to_string(i);
		auto *host = zone->create_host("h" + number, 1e9);
		auto *link = zone->create_split_duplex_link("l" + number, 1.25e9);
		link->set_latency(0)->seal();
		sg4::LinkInRoute up(link, sg4::LinkInRoute::Direction::UP);
		zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {up}, true);
		host->seal();
		hosts.push_back(host);
	}
	zone->seal();
}

/* Sends a chunk, and sends again after each received one, until all steps are done. With jitter,
 * receives are posted in advance, so that a message is on its way immediately. */
void rank_main(size_t rank, size_t steps, uint64_t size_B, bool jitter)
{
	const size_t ahead = jitter ? 32 : 1;
	static int payload;
	static int *received;
	sg4::Mailbox *next = mailboxes[rank + 1 == mailboxes.size() ? 0 : rank + 1];
	std::deque<sg4::CommPtr> posted;
	for (size_t step = 0; step < steps; step++) {
		if (step > 0 && jitter)
			sg4::this_actor::sleep_for(1e-12 * (double)jitter_ps(rank, step));
		next->put_init(&payload, size_B)->detach();
		messages++;
		for (size_t i = step + posted.size(); i < steps && posted.size() < ahead; i++)
			posted.push_back(mailboxes[rank]->get_async<int>(&received));
		posted.front()->wait();
		posted.pop_front();
	}
}

void all_to_all_main(uint64_t size_B)
{
	std::vector<sg4::CommPtr> comms;
	for (auto *from : hosts)
		for (auto *to : hosts)
			if (from != to)
				comms.push_back(sg4::Comm::sendto_async(from, to, size_B));
	messages = comms.size();
	sg4::Comm::wait_all(comms);
}

} // namespace

int main(int argc, char **argv)
{
	int engine_argc = 1;
	sg4::Engine engine(&engine_argc, argv);
	set_plain_sharing();
	size_t count = argc > 2 ? strtoull(argv[2], nullptr, 10) : 0;
	if (count < 2)
		return 2;
	double start_s = clock_s();
	build_star(count);
	if (strcmp(argv[1], "ring") == 0) {
		bool jitter = argc > 3 && strcmp(argv[3], "0") != 0;
		for (size_t i = 0; i < count; i++)
			mailboxes.push_back(sg4::Mailbox::by_name(std::to_string(i)));
		for (size_t i = 0; i < count; i++)
			sg4::Actor::create("rank", hosts[i], rank_main, i, 2 * (count - 1),
					   uint64_t(100e6 / double(count) + 0.5), jitter);
	} else {
		sg4::Actor::create("all", hosts[0], all_to_all_main, uint64_t(1000000));
	}
	engine.run();
	std::printf("%.6f %" PRIu64 " %.12f %.0f\n", clock_s() - start_s, messages,
		    sg4::Engine::get_clock(), clock_peak_B());
	return 0;
}
