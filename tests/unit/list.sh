#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire list` on a data folder of its own, whose machines have unequal GPUs and links, so that each number of a
# line comes from one place of a file.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
mkdir -p data/topologies/machines data/topologies/networks data/topologies/gpus data/models/exchanges data/models/stacks
in=data/topologies

cat >$in/machines/box.cfg <<'END2'
machine = { vendor = "acme"; host = { cores = 12; };
	gpus = ( { name = "g0"; profile = "p"; }, { name = "g1"; profile = "q"; }, { name = "g2"; profile = "p"; } );
	links = ( { kind = "nvlink"; ends = ["g0", "g1"]; links = 2; generation = 3; },
		{ kind = "nvlink"; ends = ["g2", "g0"]; links = 5; generation = 3; },
		{ kind = "nvlink"; ends = ["g1", "g2"]; links = 6; generation = 4; },
		{ kind = "pcie"; ends = ["c0", "g0"]; generation = 4; lanes = 16; },
		{ kind = "pcie"; ends = ["c0", "g1"]; generation = 5; lanes = 8; } );
	ports = ( { name = "a"; }, { name = "b"; } ); };
END2
cat >$in/machines/apu.cfg <<'END2'
machine = { vendor = "acme"; host = { cores = { value = 24; note = "a test"; }; }; gpus = ( { name = "g"; profile = "q"; } );
	links = ( { kind = "xgmi"; ends = ["g", "h"]; links = 3; bandwidth = "50 GB/s"; },
		{ kind = "c2c"; ends = ["c0", "g"]; bandwidth = "75 GB/s"; }, { kind = "c2c"; ends = ["c0", "c1"]; bandwidth = "9 GB/s"; } );
	ports = ( { name = "a"; } ); };
END2
echo 'machine = { vendor = "zeta"; host = { cores = 1; }; };' >$in/machines/aaa.cfg
printf '# SPDX-License-Identifier: GPL-3.0-or-later\n# Settings of\n# both. And more.\nx = 1;\n' >$in/machines/common.cfg
network() { # NAME KIND BANDWIDTH SETTINGS
	echo "wiring = { kind = \"$4\"; $5 link = { kind = \"$2\"; bandwidth = \"$3\"; latency = \"700 ns\"; }; };" >"$in/networks/$1.cfg"
}
network fast ethernet '100 Gbit/s' leaf_spine 'ports_per_leaf = 8; oversubscription = 3;'
network slow ethernet '25 Gbit/s' dragonfly 'groups = 5; routers_per_group = 6; machines_per_router = 7;'
network torus infiniband '200 Gbit/s' torus 'x = 2; y = 3; z = 4;'
gpu() { # NAME GENERATION REST
	echo "gpu = { generation = \"$2\"; $3 };" >"$in/gpus/$1.cfg"
}
gpu z volta 'multiprocessors = 80; boost_clock = "1530 MHz"; fp32 = "15 TFLOPS"; tf32 = "16 TFLOPS"; fp16 = "125 TFLOPS"; fp8 = "17 TFLOPS"; memory = "16 GiB"; memory_bandwidth = "898 GB/s";'
gpu b volta 'multiprocessors = 40;'
gpu a hopper 'memory = "80 GB"; memory_bandwidth = "3 TB/s";'
gpu c pascal 'fp16 = "20 TFLOPS";'
echo 'topology = { help = "Two hosts"; hosts = ( { name = "x"; }, { name = "y"; } );
	gpus = ( { name = "g"; profile = "q"; }, { name = "h"; profile = "q"; }, { name = "i"; profile = "p"; } ); };' >$in/pair.cfg
echo 'topology = { hosts = ( { name = "x"; } ); gpus = ( { name = "g"; profile = "q"; } ); };' >$in/one.cfg
echo 'topology = { cluster = { machine = "box"; network = "slow"; }; };' >$in/cluster.cfg
printf '# The first\n# sentence goes on. The second does not count.\nexchange = { };\n' >data/models/exchanges/b.cfg
printf '# Only one sentence.\n\n# Another comment.\nexchange = { };\n' >data/models/exchanges/a.cfg
echo 'stack = { title = "A title"; source = "A source"; };' >data/models/stacks/s.cfg
echo 'stack = { help = "A help"; title = "A title"; };' >data/models/stacks/r.cfg

FARWIRE_DATA=$PWD/data
expect 0 '' list machines networks gpus topologies exchanges stacks
sed 's/  */ /g; s/ $//' "$scratch.out" | grep -v '^---\|^what' >got
cat >wanted <<'END2'
topologies acme cluster 2 x p, 1 x q a machine; 2 x ethernet 25 Gbit/s a port, dragonfly, 5 groups, 6 routers a group, 7 machines a router, latency 700 ns
topologies listed hosts one 1 host, 1 x q
topologies listed hosts pair Two hosts: 2 hosts, 2 x q, 1 x p
machines acme apu 1 x q, 3 links of 50 GB/s, processor link of 75 GB/s, 24 cores, 1 network port
machines acme box 2 x p, 1 x q, 7 NVLinks of generation 3, pcie 4 x16, 12 cores, 2 network ports
machines settings to include common Settings of both
machines zeta aaa 1 cores, 0 network ports
networks ethernet slow 25 Gbit/s a port, dragonfly, 5 groups, 6 routers a group, 7 machines a router, latency 700 ns
networks ethernet fast 100 Gbit/s a port, leaf_spine, 8 ports a leaf, 3:1 oversubscribed, latency 700 ns
networks infiniband torus 200 Gbit/s a port, torus, x 2, y 3, z 4, latency 700 ns
gpus pascal c fp16 20 TFLOPS
gpus volta b 40 SMs
gpus volta z 80 SMs, 1530 MHz, fp32 15 TFLOPS, tf32 16 TFLOPS, fp16 125 TFLOPS, fp8 17 TFLOPS, 16 GiB at 898 GB/s
gpus hopper a 80 GB at 3 TB/s
stacks r A help
stacks s A title
exchanges a Only one sentence
exchanges b The first sentence goes on
END2
diff wanted got || complain 'the lines differ (< wanted, > printed)'
expect 0 '' list gpus --plain
[ "$(tr '\n' ' ' <"$scratch.out")" = 'a b c z ' ] || complain "plain names: $(cat "$scratch.out")"
expect 2 "^farwire: list: 'gpu' is not a list \(did you mean 'gpus'\?\)$" list machines gpu
expect 2 "'qqqqqqq' is not a list \(there are parameters, topologies, machines, networks, .*, verbs\)$" list qqqqqqq
verdict list.facts_come_from_the_first_gpu_and_all_hosts_of_a_file

expect 0 '' list parameters
tr '\n' ' ' <"$scratch.out" | sed 's/  */ /g' >got # each parameter takes several lines
for line in 'gpu fp32 peak single-precision rate (must be given)' 'tcp streams number of parallel TCP streams of a connection[^()]*(default 1)' \
	'case topology machines and their network: [^()]*(must be given)' 'serve stages [^()]*(empty by default)'; do
	grep -q "$line" got || complain "no $line"
done
expect 0 '' list parameters --plain
grep -qx 'case.gpus' "$scratch.out" && grep -qx 'tcp.streams' "$scratch.out" && grep -qx 'ethernet.bandwidth' "$scratch.out" ||
	complain "plain keys: $(head -n 3 "$scratch.out")"
verdict list.parameters_have_their_defaults
