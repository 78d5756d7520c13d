#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Imported topologies keep the names of the user's GPUs and adapters. They have the GPUs, kinds of
# adapters and sockets that the file states, and a message names what is assumed.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# imports PATTERN FILE...: an import to machine.cfg, with that pattern in its messages
imports() {
	pattern=$1
	shift
	farwire import topology "$@" -o machine.cfg
	[ "$code" = 0 ] || complain "import $*: $(cat "$scratch.err")"
	grep -qE "$pattern" "$scratch.err" || complain "import $*: no '$pattern' in $(cat "$scratch.err")"
}

# matrix NAME: two GPUs and two adapters, NIC1 and NIC3, with their names in the legend
matrix() {
	printf '\tGPU0\tGPU1\tNIC1\tNIC3\tCPU Affinity\tNUMA Affinity\n'
	printf 'GPU0\t X\tSYS\tPIX\tSYS\t0-7\t0\nGPU1\tSYS\t X\tSYS\tPIX\t8-15\t1\n'
	printf 'NIC1\tPIX\tSYS\t X\tSYS\nNIC3\tSYS\tPIX\tSYS\t X\n\nNIC Legend:\n\n'
	printf '  NIC1: %s1\n  NIC3: %s3\n' "$1" "$1"
	printf 'GPU 1: NVIDIA A40 (UUID: GPU-1)\nGPU 0: NVIDIA A40 (UUID: GPU-0)\n'
}
matrix mlx5_ >topo.txt
imports 'the adapters are assumed to be InfiniBand.*kind = "roce"' topo.txt
for node in nic1 nic3; do
	grep -q "{ name = \"mlx5_${node#nic}\"; node = \"$node\"; }" machine.cfg || complain "$node is not mlx5_${node#nic}"
done
grep -q 'ends = \["cpu1", "sw1"\]' machine.cfg || complain 'NIC3 is not below the second socket'
collective='run --topology machine.cfg --gpus 4 --collective all_reduce --exchange nccl-2.18 --draws 0'
farwire $collective --fail nic3 && cp "$scratch.out" index
farwire $collective --fail mlx5_3 && cmp -s index "$scratch.out" || complain '--fail mlx5_3 and nic3 differ'
farwire $collective && ! cmp -s index "$scratch.out" || complain '--fail nic3 changes nothing'
expect 2 "no link, GPU, adapter, switch or host 'mlx5_4' .did you mean 'mlx5_1'" $collective --fail mlx5_4
verdict import_names.adapters_have_their_number_and_their_device_name

# kind NAME WANTED: the kind of link that the names of adapters say
kind() {
	matrix "$1" >topo.txt
	imports '' topo.txt
	! grep -q 'assumed to be InfiniBand' "$scratch.err" || complain "$1: $(cat "$scratch.err")"
	grep -q "link = { kind = \"$2\"" machine.cfg || complain "$1: $(grep 'kind = "fat_tree"' machine.cfg)"
}
kind rocep12s roce
kind ibp12s infiniband
kind mlx5_bond_ roce
verdict import_names.names_of_the_kernel_say_the_kind_of_network

# gpus NAME PATTERN: an import with that GPU is refused
gpus() {
	matrix mlx5_ | sed "s/NVIDIA A40/$1/" >topo.txt
	expect 2 "$2" import topology topo.txt
}
gpus 'NVIDIA GeForce RTX 4090 Laptop GPU' "the GPU 'NVIDIA GeForce RTX 4090 Laptop GPU' has no profile: a laptop GPU .*nearest profile is rtx-4090 .*'GPU 0: rtx-4090'"
gpus 'NVIDIA GH200 999GB' 'nearest profile is gh200-96'
{
	matrix mlx5_
	echo '  MIG 1g.10gb     Device  0: (UUID: MIG-1)'
} >topo.txt
expect 2 "the GPU 'NVIDIA A40 MIG 1g.10gb' has no profile: a MIG slice .*case.fraction = .*nearest profile is a40" import topology topo.txt
# The same names in a topology lead to the profile, or to what comes near it.
profile() { # NAME PATTERN
	echo "topology = { name = \"t\"; hosts = ( { name = \"h\"; } ); gpus = ( { name = \"g\"; host = \"h\"; profile = \"$1\"; } ); };" >named.cfg
	expect 2 "^named.cfg:1: there is no GPU profile '$1' .$2" check named.cfg
}
profile 'NVIDIA A100-SXM4-40GB' 'write a100-sxm4-40, its profile.$'
profile 'NVIDIA A100-SXM4-40GB MIG 3g.20gb' 'a MIG slice .* case.fraction = .* 42 of 108 = 0.39; the nearest profile is a100-sxm4-40.$'
profile 'NVIDIA GeForce RTX 4090 Laptop GPU' 'a laptop GPU .*; the nearest profile is rtx-4090.$'
matrix mlx5_ | sed 's/GPU 0: .*/GPU 0: h20/; s/GPU 1: .*/GPU 1: my.own.cfg/' >topo.txt
imports '' topo.txt
grep -q 'name = "gpu0"; profile = "h20"' machine.cfg && grep -q 'name = "gpu1"; profile = "my.own.cfg"' machine.cfg ||
	complain 'profiles in place of names are not taken'
verdict import_names.unknown_gpus_are_refused_unless_a_profile_is_chosen

# GH200 has its own device number; 2717 is a laptop's 4090. Neither becomes an H100 by sm="90".
xml() {
	echo "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x030200\" device=\"$1\"><gpu dev=\"0\" sm=\"90\"/></pci>"
	echo '<pci busid="2" class="0x020000" vendor="0x15b3"><nic><net name="mlx5_7" dev="5" speed="100000"/></nic></pci></cpu></system>'
}
xml 0x2342 >topo.xml
imports '' topo.xml
grep -q 'profile = "gh200-96"' machine.cfg || complain "GH200: $(grep profile machine.cfg)"
grep -q '{ name = "mlx5_7"; node = "nic5"; }' machine.cfg || complain 'the adapter is not nic5 and mlx5_7'
xml 0x2342 | sed 's/mlx5_7/gpu0/' >topo.xml
imports '' topo.xml
farwire check machine.cfg
[ "$code" = 0 ] || complain "an adapter is called like a GPU: $(cat "$scratch.err")"
for gpu in '0x25b6 a2 8' '0x2203 rtx-3090-ti 16'; do # a link without a speed has the GPU's lanes
	# shellcheck disable=SC2086
	set -- $gpu
	xml "$1" >topo.xml
	imports '' topo.xml
	grep -q "profile = \"$2\"" machine.cfg && grep -q "\"slot-gpu0\".* generation = 4; lanes = $3;" machine.cfg ||
		complain "$1: $(grep gpu0 machine.cfg)"
done
xml 0x2717 >topo.xml
expect 2 "^topo.xml:1: no file of topologies/gpus describes the GPU '10de:2717' .*'GPU 0: PROFILE'" import topology topo.xml
echo 'GPU 0: rtx-4090' >names.txt
imports '' topo.xml names.txt
verdict import_names.device_numbers_lead_to_the_gpu_and_its_lanes_or_are_refused

# Four NUMA nodes with a GPU each, and two adapters that are far from all GPUs and from each other.
{
	printf '\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n'
	for i in 0 1 2 3; do
		printf 'GPU%s' $i
		for k in 0 1 2 3 4 5; do [ $i = $k ] && printf '\t X' || printf '\tSYS'; done
		printf '\t%s-%s\t%s\n' $((4 * i)) $((4 * i + 3)) $i
	done
	printf 'NIC0\tSYS\tSYS\tSYS\tSYS\t X\tSYS\nNIC1\tSYS\tSYS\tSYS\tSYS\tSYS\t X\n'
} >topo.txt
imports '4 GPUs, 2 adapters, 4 sockets' topo.txt
grep -q 'NIC1 is assumed at the socket of GPU0' "$scratch.err" || complain 'the place of NIC1 is not said to be assumed'
verdict import_names.far_adapters_make_no_sockets
