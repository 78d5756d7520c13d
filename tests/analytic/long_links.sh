#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Bytes in flight, latencies of stages, rails without a common spine and ports of two cables.
# shellcheck source=tests/check.sh
. tests/check.sh

# rate TEXT: bus bandwidth of the result in GB/s
rate() {
	sed -n 's/.*: \([0-9.]*\) \([GM]\)B\/s bus bandwidth$/\1 \2/p;1q' "$scratch.out" |
		awk '{ print $2 == "M" ? $1 / 1000 : $1 }'
}
# between LOW HIGH WHAT
between() {
	awk -v now="$(rate)" -v low="$1" -v high="$2" 'BEGIN { exit !(now >= low && now <= high) }' ||
		complain "$3: $(rate) GB/s is not in $1 to $2"
}
pair() {
	farwire run --topology dgx1-v100 --gpus 2 --set case.gpus_per_machine=1 --collective all_reduce \
		--exchange nccl-2.18 --set library.algorithm=ring --set library.channels=1 --draws 0 -q \
		--set 'case.collective_size=1 GiB' --set library.protocol=simple "$@"
}

# The ends of two cables of 10 ms are 20 ms apart. One channel has 4 MiB in a round trip of 40 ms:
# 0.1049 GB/s. The 1 GiB that each rank sends take 10.24 s, and 0.2 s are left for latencies.
pair --set 'link.network.latency=10 ms'
between 0.102 0.105 'buffer of 4 MiB'
pair --set 'link.network.latency=10 ms' --set 'library.buffer=16 MiB'
between 0.38 0.42 'buffer of 16 MiB'
pair --set 'link.network.latency=10 ms' --set 'library.buffer=0 B'
between 2 12.5 'no bound'
verdict long_links.a_channel_sends_its_buffer_in_each_round_trip

# Leaves of one machine, and leaf and spine 10 ms apart: the same distance by the stage.
pair --set wiring.ports_per_leaf=4 --set 'wiring.spine_latency=10 ms'
between 0.102 0.105 'latency of the spine'
pair --set wiring.ports_per_leaf=4 --set wiring.leaves_per_pod=1 --set 'wiring.core_latency=10 ms'
between 0.102 0.105 'latency of the core'
verdict long_links.stages_have_latencies_of_their_own

# Rail k of the two units of machines meets at spine k, and no link joins spine k to another rail.
rails() {
	farwire run --topology dgx-h100 --set cluster.network=rails-ndr --set wiring.ports_per_leaf=2 --gpus 32 \
		--collective all_to_all --exchange nccl-2.18 --set 'case.collective_size=64 MiB' --draws 0 --links --set wiring.oversubscription=2 "$@"
}
rails
common=$(rate)
rails --set wiring.rail_only=true
between "$(awk -v c="$common" 'BEGIN { print 0.9 * c }')" "$(awk -v c="$common" 'BEGIN { print 1.1 * c }')" 'rail-only with PXN'
shows 'fabric.rail3.1-spine3 '
grep -q -e '-spine ' "$scratch.out" && complain 'there is a common spine'
rails --set wiring.rail_only=true --set library.pxn=false
shows "FAIL: no route from .* because no switch joins their adapters 'n0.nic[0-9]' and 'n[0-9].nic[0-9]'"
# Rings reach the rail of the next machine over PCIe: first and last GPU are next to one adapter.
rails --set wiring.rail_only=true --set library.pxn=false --set library.algorithm=ring --collective all_reduce
shows 'GB/s bus bandwidth'
grep -q 'FAIL' "$scratch.out" && complain 'a ring on one rail needs no PXN'
# Channel k joins the k-th adapter that each machine has left, so nic1 meets nic0 of another rail.
rails --set wiring.rail_only=true --fail n0.nic0 --set library.algorithm=ring --collective all_reduce
shows "no switch joins their adapters 'n0.nic1' and"
verdict long_links.rail_only_networks_depend_on_pxn

# A V100 behind one port of 12.5 GB/s, or of two such cables; the adapter's PCIe has 14.4 GB/s.
pair --set library.channels=4
between 8 12.5 'one cable'
one=$(rate)
pair --set library.channels=4 --set fabric.port_cables=2
between "$(awk -v c="$one" 'BEGIN { print 1.05 * c }')" 14.4 'two cables'
verdict long_links.a_port_of_two_cables_is_limited_by_pcie
exit 0
