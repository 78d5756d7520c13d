/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SimGrid for comparison with farwire (C++). Its flow model CM02 shares links fairly. The additions
 * for TCP are off: no cross traffic, and all factors are 1. */
#pragma once

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

/* Call it after creating the engine. */
inline void set_plain_sharing()
{
	for (const char *setting :
	     {"network/model:CM02", "network/crosstraffic:0", "network/bandwidth-factor:1",
	      "network/latency-factor:1", "network/weight-S:0"})
		sg4::Engine::set_config(setting);
}
