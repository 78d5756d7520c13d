/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flows_simgrid SEED: prints the end time of each flow of the set of this seed, by SimGrid
 * (simgrid.h) without latencies, one on each line. */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/flow_set.h"
#include "tests/bench/simgrid.h"

namespace
{

struct flow_set set;
double end_s[SET_FLOWS];
std::vector<sg4::Host *> hosts;

void build()
{
	auto *zone = sg4::create_full_zone("set");
	std::vector<const sg4::Link *> links;
	for (size_t i = 0; i < 2 * SET_ENDS; i++) {
		auto *link = zone->create_link("link" + std::to_string(i), set.capacity_Bps[i]);
		link->set_latency(0)->seal();
		links.push_back(link);
	}
	for (size_t i = 0; i < SET_HOSTS; i++) {
		hosts.push_back(zone->create_host("host" + std::to_string(i), 1e9));
		hosts.back()->seal();
	}
	for (size_t from = 0; from < SET_HOSTS; from++)
		for (size_t to = 0; to < SET_HOSTS; to++) {
			struct set_flow flow = {};
			flow.from = from;
			flow.to = to;
			set_route(&flow);
			std::vector<sg4::LinkInRoute> route;
			for (size_t i = 0; i < flow.link_count; i++)
				route.emplace_back(links[flow.links[i]]);
			if (from != to)
				zone->add_route(hosts[from]->get_netpoint(),
						hosts[to]->get_netpoint(), nullptr, nullptr, route,
						false);
		}
	zone->seal();
}

void flow_main(size_t index)
{
	const struct set_flow &flow = set.flows[index];
	sg4::this_actor::sleep_until(flow.start_s);
	static int payload;
	auto comm = sg4::Mailbox::by_name(std::to_string(index))
			    ->put_init(&payload, (uint64_t)flow.size_B);
	if (flow.cap_Bps > 0) /* communications without a mailbox would ignore this limit */
		comm->set_rate(flow.cap_Bps);
	comm->wait();
	end_s[index] = sg4::Engine::get_clock();
}

void take_main(size_t index)
{
	sg4::Mailbox::by_name(std::to_string(index))->get<int>();
}

} // namespace

int main(int argc, char **argv)
{
	int engine_argc = 1;
	sg4::Engine engine(&engine_argc, argv);
	set_plain_sharing();
	set_draw(&set, argc > 1 ? strtoull(argv[1], nullptr, 10) : 1);
	build();
	for (size_t i = 0; i < SET_FLOWS; i++) {
		sg4::Actor::create("take", hosts[set.flows[i].to], take_main, i);
		sg4::Actor::create("flow", hosts[set.flows[i].from], flow_main, i);
	}
	engine.run();
	for (double s : end_s)
		std::printf("%.12f\n", s);
	return 0;
}
