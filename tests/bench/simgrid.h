/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of SimGrid for comparison with farwire (C++): its flow model CM02, which shares
 * links fairly, without its additions for TCP: no cross traffic, and all factors 1. */
#ifndef FARWIRE_TESTS_BENCH_SIMGRID_H
#define FARWIRE_TESTS_BENCH_SIMGRID_H

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

/* Once there is an engine. */
inline void set_plain_sharing()
{
	for (const char *setting :
	     {"network/model:CM02", "network/crosstraffic:0", "network/bandwidth-factor:1",
	      "network/latency-factor:1", "network/weight-S:0"})
		sg4::Engine::set_config(setting);
}

#endif
