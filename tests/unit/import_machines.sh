#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Whole machines that are imported from files written by hand. Each has two unequal sockets, GPUs, adapters and links, so
# that a value at the wrong device shows. import_facts.sh counts the devices of real files.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# machine FILES...: the imported machine is the text of the standard input, which begins at its network.
machine() {
	cat >wanted
	expect 0 'records read: ' import topology "$@"
	sed -n '/network = \|cluster = .*count/,$p' "$scratch.out" >got
	cmp -s got wanted || complain "the machine of $* differs: $(diff wanted got)"
	cp "$scratch.err" notes
}
says() {
	grep -q -e "$1" notes || complain "no '$1' in $(cat notes)"
}

# 16 + 8 threads are 12 cores. GPUs and adapters have the numbers of "dev". A link is listed at both ends, and another ends
# at a device that the file lacks. The adapter of 100 Gbit/s is the fastest.
cat >nccl.xml <<'END'
<system version="1">
<cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
<pci busid="0000:01:00.0" class="0x060400" link_speed="8.0 GT/s PCIe" link_width="16">
<pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8">
<gpu dev="1" sm="80"><nvlink target="0000:12:00.0" count="2" tclass="0x030200"/></gpu></pci>
<pci busid="0000:03:00.0" class="0x020700" vendor="0x15b3" device="0x101b" link_speed="8 GT/s" link_width="4">
<nic><net name="mlx5_0" dev="1" speed="100000"/></nic></pci>
</pci></cpu>
<cpu numaid="1" affinity="00ff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
<pci busid="0000:12:00.0" class="0x030200" link_speed="" link_width="40">
<gpu dev="0" sm="70"><nvlink target="0000:02:00.0" count="2"/><nvlink target="0000:77:00.0" count="1"/></gpu></pci>
<pci busid="0000:13:00.0" class="0x020000" vendor="0x15b3" link_speed="32 GT/s">
<nic><net name="mlx5_1" dev="0" speed="25000"/></nic><power/></pci>
<nic><net name="gpu1" dev="2" speed="10"/></nic>
</cpu>
</system>
END
machine nccl.xml <<'END'
		network = { kind = "fat_tree"; ports_per_leaf = 32; link = { kind = "infiniband"; bandwidth = "100 Gbit/s"; }; }; # nccl.xml:6: 0000:03:00.0; the network is assumed 1:1
	};
};
machine = {
	vendor = "any";
	host = {
		cores = 12; # two threads of a core, as assumed
		dram_bandwidth = "345.6 GB/s"; # data sheet of the processor
		clock = "2.4 GHz"; power_policy = "max_performance"; c_states = false; # assumed
	};
	gpus = (
		{ name = "gpu0"; profile = "v100-sxm2"; }, # nccl.xml:10: 0000:12:00.0
		{ name = "gpu1"; profile = "a100-sxm4-80"; } # nccl.xml:4: 0000:02:00.0
	);
	switches = ["cpu0", "sw0", "nic1", "cpu1", "nic0", "nic2"];
	links = (
		{ name = "memory-cpu0"; kind = "socket"; ends = ["host", "cpu0"]; bandwidth = "140.8 GB/s"; line_overhead = "0 B"; duplex = false; latency = "90 ns"; }, # nccl.xml:2: 0; data sheet
		{ name = "memory-cpu1"; kind = "socket"; ends = ["host", "cpu1"]; bandwidth = "204.8 GB/s"; line_overhead = "0 B"; duplex = false; latency = "90 ns"; }, # nccl.xml:9: 1; data sheet
		{ name = "cpu0-cpu1"; kind = "socket"; ends = ["cpu0", "cpu1"]; bandwidth = "62.4 GB/s"; latency = "60 ns"; }, # assumed: three UPI links of 10.4 GT/s
		{ name = "slot-sw0"; kind = "pcie"; ends = ["cpu0", "sw0"]; generation = 3; lanes = 16; }, # nccl.xml:3: 0000:01:00.0
		{ name = "slot-gpu1"; kind = "pcie"; ends = ["sw0", "gpu1"]; generation = 4; lanes = 8; latency = "150 ns"; }, # nccl.xml:4: 0000:02:00.0
		{ name = "slot-nic1"; kind = "pcie"; ends = ["sw0", "nic1"]; generation = 3; lanes = 4; latency = "150 ns"; }, # nccl.xml:6: 0000:03:00.0
		{ name = "slot-gpu0"; kind = "pcie"; ends = ["cpu1", "gpu0"]; generation = 3; lanes = 32; }, # nccl.xml:10: 0000:12:00.0; speed assumed
		{ name = "slot-nic0"; kind = "pcie"; ends = ["cpu1", "nic0"]; generation = 5; lanes = 16; }, # nccl.xml:12: 0000:13:00.0; lanes assumed
		{ name = "slot-nic2"; kind = "pcie"; ends = ["cpu1", "nic2"]; generation = 4; lanes = 16; }, # nccl.xml:14: nic; speed assumed
		{ name = "nv-gpu1-gpu0"; kind = "nvlink"; ends = ["gpu1", "gpu0"]; generation = 3; links = 2; } # nccl.xml:5
	);
	ports = ["nic1", "nic0", "nic2"];
	aliases = (
		{ name = "mlx5_0"; node = "nic1"; },
		{ name = "mlx5_1"; node = "nic0"; }
	);
};
END
says '^nccl.xml:13: element power was skipped$'
says '^nccl.xml:11: an NVLink of gpu0 was skipped, because no device has the bus id at its other end$'
says '^2 GPUs are assumed to be a100-sxm4-80 or v100-sxm2 (add the lines of nvidia-smi -L)$'
says '^20 records read: 18 used, 2 skipped$'
sed 's/speed="25000"/speed="400000"/' nccl.xml >fast.xml
expect 0 'read: ' import topology fast.xml
shows 'kind = "roce"; bandwidth = "400 Gbit/s"; }; }; # fast.xml:12: 0000:13:00.0; the network is assumed 1:1'
verdict import_machines.nccl_gives_sockets_slots_and_links

# The first leaf has three adapters and two cables up, the second two and one: 3 / 2 is less than 2 / 1. Ports of other
# switches and of the aggregation inside a switch are not adapters. 2 lanes of HDR are as fast as 4 of EDR.
cat >fabric.txt <<'END'
switchguid=0x1(1)
Switch	41 "S-01"		# "leaf 1" base port 0
[1]	"H-01"[1](1)		# "node1 mlx5_0" lid 1 4xEDR s=4
[2]	"H-02"[1](2)		# "node2 mlx5_0" lid 2 2xHDR s=4
[3]	"H-03"[1](3)		# "node3 mlx5_0" lid 3 4xHDR s=4
[4]	"S-03"[1]		# "spine" lid 9 4xNDR
[5]	"S-04"[1]		# "spine 2" lid 9 4xNDR
[41]	"H-09"[1](9)		# "Mellanox Technologies Aggregation Node" lid 7 4xHDR

switchguid=0x1(1)
Switch	41 "S-02"		# "leaf 2" base port 0
[1]	"H-04"[1](1)		# "node1 mlx5_1" lid 1 4xEDR s=4
[2]	"H-05"[1](2)		# "node2 mlx5_1" lid 2 4xEDR s=4
[4]	"S-03"[2]		# "spine" lid 9 4xNDR

switchguid=0x1(1)
Switch	41 "S-03"		# "spine" base port 0
[1]	"S-01"[4]		# "leaf 1" lid 9 4xNDR
[2]	"S-02"[4]		# "leaf 2" lid 9 4xNDR

Ca	1 "H-01"		# "node1 mlx5_0"
[1](1) 	"S-01"[1]		# lid 1 lmc 0 "leaf 1" lid 9 4xEDR
END
expect 0 'read: ' import topology nccl.xml fabric.txt
shows 'network = \{ kind = "rail_optimised"; ports_per_leaf = 3; oversubscription = 2; link = \{ kind = "infiniband"; bandwidth = "200 Gbit/s"; \}; \}; # fabric.txt$'
grep -q '^3 InfiniBand switches, 2 of them leaves, 5 adapters$' "$scratch.err" || complain "the note: $(cat "$scratch.err")"
# Without the second cable of the first leaf it is the most oversubscribed one: 3 to 1.
sed '/S-04/d; s/4xHDR/2xHDR/' fabric.txt >one.txt
expect 0 'read: ' import topology nccl.xml one.txt
shows 'ports_per_leaf = 3; oversubscription = 3; link = .*bandwidth = "100 Gbit/s"'
verdict import_machines.the_worst_leaf_gives_the_network

# A bridge without a GPU or adapter is left out. 7.876923 GB/s are eight lanes of PCIe 3. Links of 25 GB/s to two NVSwitches
# add up: 3 + 2 of one GPU and 2 of the other. Six threads on three cores are two of each.
cat >hwloc.xml <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<topology version="2.0"><object type="Machine">
<object type="Package" gp_index="1"><object type="Core"><object type="PU"/><object type="PU"/></object><object type="Core"><object type="PU"/><object type="PU"/></object>
<object type="Bridge" bridge_type="0-1"><object type="Bridge" bridge_type="1-1" pci_busid="0000:01:00.0" pci_link_speed="15.753846">
<object type="PCIDev" gp_index="11" pci_busid="0000:02:00.0" pci_type="0302 [10de:1db8] [10de:1] a1" pci_link_speed="15.753846"><object type="OSDev" name="nvml1"/></object>
<object type="PCIDev" pci_busid="0000:03:00.0" pci_type="0207 [15b3:1017] [15b3:1] 00" pci_link_speed="7.876923"><object type="OSDev" name="ib0"/><object type="OSDev" name="mlx5_0"/></object>
</object><object type="Bridge" bridge_type="1-1" pci_busid="0000:05:00.0"><object type="PCIDev" pci_busid="0000:06:00.0" pci_type="0106 [8086:1]"/></object></object></object>
<object type="Package" gp_index="2"><object type="Core"><object type="PU"/><object type="PU"/></object>
<object type="Bridge" bridge_type="0-1"><object type="PCIDev" gp_index="12" pci_busid="0000:12:00.0" pci_type="0302 [10de:1db8] [10de:1] a1" pci_link_speed="63.015385"><object type="OSDev" name="nvml0"/></object>
<object type="PCIDev" gp_index="13" pci_busid="0000:13:00.0" pci_type="0680 [10de:1af1] [10de:1] a1" subtype="NVSwitch"/>
<object type="PCIDev" gp_index="14" pci_busid="0000:14:00.0" pci_type="0680 [10de:1af1] [10de:1] a1" subtype="NVSwitch"/>
<object type="PCIDev" pci_busid="0000:15:00.0" pci_type="0200 [1d0f:efa1] [1d0f:1] 00"/></object></object>
</object>
<distances2hetero nbobjs="4" kind="10" name="NVLinkBandwidth"><indexes length="1">PCIDev:11 PCIDev:12 PCIDev:13</indexes><indexes>PCIDev:14</indexes>
<u64values>1000000 25000 75000 50000</u64values><u64values>25000 1000000 50000 0 75000 50000 1 2 50000 0 2 1</u64values></distances2hetero>
</topology>
END
machine hwloc.xml <<'END'
		network = { kind = "fat_tree"; ports_per_leaf = 32; link = { kind = "infiniband"; bandwidth = "100 Gbit/s"; }; }; # hwloc.xml:6: 0000:03:00.0; speed assumed; the network is assumed 1:1
	};
};
machine = {
	vendor = "any";
	host = {
		cores = 3; # two threads of a core, as assumed
		dram_bandwidth = "409.6 GB/s"; # assumed: 8 channels of DDR4-3200 a socket
		clock = "2.4 GHz"; power_policy = "max_performance"; c_states = false; # assumed
	};
	gpus = (
		{ name = "gpu0"; profile = "v100-sxm3-32"; }, # hwloc.xml:9: 0000:12:00.0
		{ name = "gpu1"; profile = "v100-sxm3-32"; } # hwloc.xml:5: 0000:02:00.0
	);
	switches = ["nvswitch", "cpu0", "sw0", "nic0", "cpu1", "nic1"];
	links = (
		{ name = "memory-cpu0"; kind = "socket"; ends = ["host", "cpu0"]; bandwidth = "204.8 GB/s"; line_overhead = "0 B"; duplex = false; latency = "90 ns"; }, # hwloc.xml:3: Package; assumed
		{ name = "memory-cpu1"; kind = "socket"; ends = ["host", "cpu1"]; bandwidth = "204.8 GB/s"; line_overhead = "0 B"; duplex = false; latency = "90 ns"; }, # hwloc.xml:8: Package; assumed
		{ name = "cpu0-cpu1"; kind = "socket"; ends = ["cpu0", "cpu1"]; bandwidth = "62.4 GB/s"; latency = "60 ns"; }, # assumed: three UPI links of 10.4 GT/s
		{ name = "slot-sw0"; kind = "pcie"; ends = ["cpu0", "sw0"]; generation = 3; lanes = 16; }, # hwloc.xml:4: 0000:01:00.0
		{ name = "slot-gpu1"; kind = "pcie"; ends = ["sw0", "gpu1"]; generation = 3; lanes = 16; latency = "150 ns"; }, # hwloc.xml:5: 0000:02:00.0
		{ name = "slot-nic0"; kind = "pcie"; ends = ["sw0", "nic0"]; generation = 3; lanes = 8; latency = "150 ns"; }, # hwloc.xml:6: 0000:03:00.0
		{ name = "slot-gpu0"; kind = "pcie"; ends = ["cpu1", "gpu0"]; generation = 5; lanes = 16; }, # hwloc.xml:9: 0000:12:00.0
		{ name = "slot-nic1"; kind = "pcie"; ends = ["cpu1", "nic1"]; generation = 3; lanes = 16; }, # hwloc.xml:12: 0000:15:00.0; speed assumed
		{ name = "nv-gpu1-gpu0"; kind = "nvlink"; ends = ["gpu1", "gpu0"]; generation = 2; links = 1; }, # hwloc.xml:14
		{ name = "nv-gpu1-nvswitch"; kind = "nvlink"; ends = ["gpu1", "nvswitch"]; generation = 2; links = 5; }, # hwloc.xml:14
		{ name = "nv-gpu0-nvswitch"; kind = "nvlink"; ends = ["gpu0", "nvswitch"]; generation = 2; links = 2; } # hwloc.xml:14
	);
	ports = ["nic0", "nic1"];
	aliases = (
		{ name = "ib0"; node = "nic0"; },
		{ name = "mlx5_0"; node = "nic0"; }
	);
};
END
says '^2 GPUs, 2 adapters, 2 sockets, 1 PCIe switches, 3 NVLink pairs$'
verdict import_machines.hwloc_gives_sockets_slots_and_links

# GPU 0 shares a switch with NIC0; GPU 2 is at the second socket. 16 threads are 8 cores, and 4 more threads 2.
tr ' ' '\t' >m.txt <<'END'
 GPU0 GPU1 GPU2 NIC0 NIC1 CPU
GPU0 X NV1 NV2 PIX SYS 0-7,32-39
GPU1 NV1 X SYS NODE SYS 0-7,32-39
GPU2 NV2 SYS X SYS PHB 8-11
NIC0 PIX NODE SYS X SYS
NIC1 SYS SYS PHB SYS X

 NIC0: mlx5_bond_0
 NIC1: eth0

END
echo 'GPU 1: Tesla V100-SXM2-32GB (UUID: GPU-1)' >>m.txt
machine m.txt <<'END'
		network = { kind = "fat_tree"; ports_per_leaf = 32; link = { kind = "roce"; bandwidth = "100 Gbit/s"; }; }; # m.txt:5: NIC0; speed assumed; the network is assumed 1:1
	};
};
machine = {
	vendor = "any";
	host = {
		cores = 10; # two threads of a core, as assumed
		dram_bandwidth = "409.6 GB/s"; # assumed: 8 channels of DDR4-3200 a socket
		clock = "2.4 GHz"; power_policy = "max_performance"; c_states = false; # assumed
	};
	gpus = (
		{ name = "gpu0"; profile = "p100-sxm2"; }, # m.txt:2: GPU0
		{ name = "gpu1"; profile = "v100-sxm2-32"; }, # m.txt:3: GPU1
		{ name = "gpu2"; profile = "p100-sxm2"; } # m.txt:4: GPU2
	);
	switches = ["cpu0", "sw0", "cpu1", "nic0", "nic1"];
	links = (
		{ name = "memory-cpu0"; kind = "socket"; ends = ["host", "cpu0"]; bandwidth = "204.8 GB/s"; line_overhead = "0 B"; duplex = false; latency = "90 ns"; }, # m.txt:2: 0-7,32-39; assumed
		{ name = "memory-cpu1"; kind = "socket"; ends = ["host", "cpu1"]; bandwidth = "204.8 GB/s"; line_overhead = "0 B"; duplex = false; latency = "90 ns"; }, # m.txt:4: 8-11; assumed
		{ name = "cpu0-cpu1"; kind = "socket"; ends = ["cpu0", "cpu1"]; bandwidth = "62.4 GB/s"; latency = "60 ns"; }, # assumed: three UPI links of 10.4 GT/s
		{ name = "slot-sw0"; kind = "pcie"; ends = ["cpu0", "sw0"]; generation = 3; lanes = 16; }, # m.txt:2: PIX or PXB; speed assumed
		{ name = "slot-gpu0"; kind = "pcie"; ends = ["sw0", "gpu0"]; generation = 3; lanes = 16; latency = "150 ns"; }, # m.txt:2: GPU0; speed assumed
		{ name = "slot-gpu1"; kind = "pcie"; ends = ["cpu0", "gpu1"]; generation = 3; lanes = 16; }, # m.txt:3: GPU1; speed assumed
		{ name = "slot-gpu2"; kind = "pcie"; ends = ["cpu1", "gpu2"]; generation = 3; lanes = 16; }, # m.txt:4: GPU2; speed assumed
		{ name = "slot-nic0"; kind = "pcie"; ends = ["sw0", "nic0"]; generation = 3; lanes = 16; latency = "150 ns"; }, # m.txt:5: NIC0; speed assumed
		{ name = "slot-nic1"; kind = "pcie"; ends = ["cpu1", "nic1"]; generation = 3; lanes = 16; }, # m.txt:6: NIC1; speed assumed
		{ name = "nv-gpu0-gpu1"; kind = "nvlink"; ends = ["gpu0", "gpu1"]; generation = 1; links = 1; }, # m.txt:3
		{ name = "nv-gpu0-gpu2"; kind = "nvlink"; ends = ["gpu0", "gpu2"]; generation = 1; links = 2; } # m.txt:4
	);
	ports = ["nic0", "nic1"];
	aliases = (
		{ name = "mlx5_bond_0"; node = "nic0"; },
		{ name = "eth0"; node = "nic1"; }
	);
};
END
says '^2 GPUs are assumed to be p100-sxm2 '
says '^9 records read: 9 used, 0 skipped$'
verdict import_machines.a_matrix_gives_sockets_slots_and_links

# has FILES -- LINES...: each line occurs once in the machine
has() {
	files=$1
	shift
	# shellcheck disable=SC2086
	expect 0 'records read: ' import topology $files
	cp "$scratch.err" notes
	for line; do
		[ "$(grep -cF -e "$line" "$scratch.out")" = 1 ] || complain "not once '$line' in $(cat "$scratch.out")"
	done
}
refused() { # MESSAGE FILES...
	message=$1
	shift
	expect 2 "$message" import topology "$@"
}
gpu() { # BUS SPEED ATTRIBUTES LINKS: a PCI device with a GPU
	printf '<pci busid="%s" class="0x030000" link_speed="%s"><gpu %s>%s</gpu></pci>\n' "$@"
}
link() { # BUS COUNT
	printf '<nvlink target="%s" count="%s"/>' "$@"
}
nic() { # VENDOR NAME ATTRIBUTES
	printf '<pci busid="n" class="0x020000" vendor="%s"><nic><net name="%s" %s/></nic></pci>\n' "$@"
}
system() { # ELEMENTS...
	{ echo '<system>' && printf '%s\n' "$@" && echo '</system>'; } >s.xml
}
# Without a kind of GPU, the speed of its slot tells the profile, or its NVLinks. Devices outside of a processor are at the host.
system "$(gpu a '32 GT/s' dev=\"0\" "$(link b 3)$(link b 3)$(link a 1)")" "$(gpu b '16 GT/s' dev=\"1\" "$(link a 3)")" \
	"$(gpu c '8 GT/s' dev=\"2\" "$(link a 2)")" "$(gpu d '' dev=\"3\" "$(link c 1)")" "$(gpu e '' 'dev="4" sm="50"' '')" "$(gpu f '' 'dev="5" sm="60"' '')"
has s.xml 'name = "gpu0"; profile = "h100-sxm5"' 'name = "gpu1"; profile = "a100-sxm4-80"' 'name = "gpu2"; profile = "v100-sxm2"' \
	'name = "gpu3"; profile = "a100-sxm4-80"' 'name = "gpu4"; profile = "a100-pcie-80"' 'name = "gpu5"; profile = "p100-sxm2"' \
	'ends = ["host", "gpu0"]; generation = 5; lanes = 16; }' 'ends = ["gpu0", "gpu1"]; generation = 4; links = 3; }' \
	'ends = ["gpu2", "gpu0"]; generation = 2; links = 2; }' 'ends = ["gpu3", "gpu2"]; generation = 3; links = 1; }' \
	'count = 1; }; # no adapter was read'
cp "$scratch.out" own.cfg
expect 0 '' check own.cfg
says '^s.xml:2: an NVLink of gpu0 was skipped, because its other end is the same GPU$'
says ', 3 NVLink pairs$'
for count in 0 37; do
	system "$(gpu a '' dev=\"0\" "$(link b $count)")" "$(gpu b '' dev=\"1\" '')"
	refused "^s.xml:2: gpu0 has $count NVLinks to gpu1, but a GPU has at most 36" s.xml
done
# Numbers that come twice, or are too large, are not kept.
for dev in 1 1024; do
	system "$(gpu a '' dev=\"1\" '')" "$(gpu b '' "dev=\"$dev\"" '')"
	has s.xml 'name = "gpu0"; profile = "a100-pcie-80"; }, # s.xml:2: a' 'name = "gpu1"; profile = "a100-pcie-80"; } # s.xml:3: b'
done
system "$(gpu a '' dev=\"1\" '')" "$(gpu b '' dev=\"1023\" '')"
has s.xml 'name = "gpu1023"; profile = "a100-pcie-80"; } # s.xml:3: b'
# Adapters: EFA of two generations, drivers of Mellanox at a device of another vendor, and names that cannot be used.
system "$(gpu a '32 GT/s' 'dev="0" sm="90"' '')" "$(nic 0x1d0f rdmap1 '')"
has s.xml 'network = "efa-v2"; # s.xml:3: n; speed assumed; the network is assumed 1:1' \
	'dram_bandwidth = "307.2 GB/s"; # assumed: 8 channels of DDR5-4800 a socket'
system "$(gpu a '' 'dev="0" sm="80"' '')" "$(nic 0x1414 mlx5_3 'speed="50000"')" "$(nic 0x1414 host '')" "$(nic 0x1414 os '')" "$(nic 0x1414 'a*' '')" "$(nic 0x1414 mlx5_3 '')"
has s.xml 'link = { kind = "roce"; bandwidth = "50 Gbit/s"; }' 'aliases = (' '{ name = "mlx5_3"; node = "nic0"; }' 'ports = ["nic0", "nic1", "nic2", "nic3", "nic4"];'
[ "$(grep -c 'node = "nic' "$scratch.out")" = 1 ] || complain "other names are aliases: $(cat "$scratch.out")"
system "$(gpu a '' 'dev="0" sm="80"' '')" '<nic><net name="eth0" speed="1000"/></nic>'
has s.xml 'ends = ["host", "nic0"]; generation = 4; lanes = 16; }' 'bandwidth = "1 Gbit/s"'
for element in 'gpu:a gpu must be in a pci element' 'net:a net must be in a nic element' 'nvlink:an nvlink must be in a gpu element'; do
	system "<${element%%:*}/>"
	refused "^s.xml:2: ${element#*:}" s.xml
done
verdict import_machines.what_a_dump_of_nccl_lacks_is_derived

# The transfers per second of a lane give the generation of PCIe; the compute capability gives a GPU, up to the next one.
generation=0
for speed in 2.5 5 8.0 16 32.0 64; do
	generation=$((generation + 1))
	system "$(gpu a "$speed GT/s PCIe" 'dev="0" sm="80"' '')"
	has s.xml "ends = [\"host\", \"gpu0\"]; generation = $generation; lanes = 16; }"
done
for row in 120:rtx-pro-6000-server 119:b200 100:b200 99:h100-sxm5 90:h100-sxm5 89:l40s 88:a10 86:a10 85:a100-sxm4-80 80:a100-sxm4-80 79:t4 75:t4 \
	74:v100-sxm2 70:v100-sxm2 69:p100-sxm2; do
	system "$(gpu a '' "dev=\"0\" sm=\"${row%:*}\"" '')"
	has s.xml "name = \"gpu0\"; profile = \"${row#*:}\"; }"
done
# The bandwidth of a processor is channels x rate x 8 B. Broadwell has 4 x 2400 MT/s, Skylake 6 x 2933 and Ice Lake 8 x 3200.
# Sapphire Rapids has 8 x 4800, Emerald Rapids 8 x 5600. Rome and Milan have 8 x 3200, Genoa 12 x 4800. Others have the usual one.
while read -r vendor family model memory; do
	system "<cpu numaid=\"0\" affinity=\"f\" vendor=\"$vendor\" familyid=\"$family\" modelid=\"$model\">$(gpu a '' 'dev="0" sm="80"' '')</cpu>"
	has s.xml "dram_bandwidth = \"$memory GB/s\"; # "
done <<'END'
GenuineIntel 6 79 76.8
GenuineIntel 6 85 140.8
GenuineIntel 6 106 204.8
GenuineIntel 6 143 307.2
GenuineIntel 6 207 358.4
AuthenticAMD 143 49 204.8
AuthenticAMD 175 1 204.8
AuthenticAMD 175 17 460.8
AuthenticAMD 6 79 204.8
GenuineIntel 143 79 204.8
GenuineIntel 6 1 204.8
END
for class in 0x038000 0x120000; do
	system "<pci busid=\"a\" class=\"$class\"/>"
	refused '^s.xml:2: this is a GPU of AMD' s.xml
done
verdict import_machines.numbers_of_devices_give_their_parts

# A matrix beside a dump has the same GPUs, by their numbers. The NVLinks of the first file that has any count.
matrix() { # ROWS...: with blanks as tabs
	printf '%s\n' "$@" | tr ' ' '\t' >m.txt
}
matrix ' GPU0 GPU1' 'GPU0 X NV4' 'GPU1 NV4 X'
has 'nccl.xml m.txt' 'ends = ["gpu1", "gpu0"]; generation = 3; links = 2; }'
says '^the NVLinks of m.txt were skipped, because another file has NVLinks$'
matrix ' GPU0 GPU2' 'GPU0 X NV4' 'GPU2 NV4 X'
refused '^m.txt:2: the matrix has 2 GPUs, but another file has 2 ' nccl.xml m.txt
# One GPU has a matrix of one cell. A second matrix, and lines of the list for GPUs that no machine has, are skipped.
matrix ' GPU0' 'GPU0 X'
has m.txt 'name = "gpu0"; profile = "a100-pcie-80"; }'
matrix ' GPU0 GPU1' 'GPU0 X NV4' 'GPU1 NV4 X' ' GPU0 GPU1' 'GPU0 X NV5' 'GPU1 NV5 X'
printf '%s\n' 'GPU 64: NVIDIA A40 (UUID: GPU-64)' '  MIG 1g.5gb     Device  0: (UUID: MIG-1)' 'GPU -1: NVIDIA A40' '  MIG 1g.5gb     Device  0: (UUID: MIG-1)' \
	'GPU 1: NVIDIA A40' '  MIG mode is enabled' >>m.txt
has m.txt 'name = "gpu0"; profile = "p100-sxm2"; }' 'name = "gpu1"; profile = "a40"; }' 'ends = ["gpu0", "gpu1"]; generation = 1; links = 4; }'
matrix 'GPU0 X NV4' 'GPU1 NV4 X'
refused '^m.txt: no matrix of nvidia-smi topo -m' m.txt
# An adapter between two GPUs is at the second one's switch, whose processors are others than those of the first.
matrix ' GPU0 NIC0 GPU1 CPU' 'GPU0 X SYS SYS 0-7' 'NIC0 SYS X PIX' 'GPU1 SYS PIX X 8-15'
has m.txt 'ends = ["cpu0", "gpu0"]' 'ends = ["cpu1", "sw0"]' 'ends = ["sw0", "nic0"]' 'ends = ["sw0", "gpu1"]'
verdict import_machines.matrices_and_lists_of_other_machines_are_refused_or_skipped

device() { # BUS TYPE MORE
	printf '<object type="PCIDev" pci_busid="%s" pci_type="%s" %s/>\n' "$@"
}
topology() { # LINES...
	{ echo '<topology version="2.0"><object type="Machine">' && printf '%s\n' "$@" && echo '</topology>'; } >h.xml
}
# Without packages all devices are at one socket. A device with NVIDIA's subsystem is not a GPU of NVIDIA. Network devices other
# than those of Mellanox and of AWS are left out.
topology "$(device a '0302 [10de:1db8] [10de:1] a1' '')" "$(device b '0300 [1a03:2000] [10de:1] a1' '')" "$(device c '0200 [8086:1]' '')" \
	"$(device d '0200 [15b3:1017]' '')" '</object>'
has h.xml 'ends = ["cpu0", "gpu0"]' 'ends = ["cpu0", "nic0"]' 'kind = "roce"' 'name = "memory-cpu0"' 'ports = ["nic0"];'
# "Socket" is the name of packages in old files, and indexes of distances have no type there. Unknown indexes have no links.
links() { # INDEXES VALUES
	echo "<distances2 name=\"NVLinkBandwidth\"><indexes>$1</indexes><u64values>$2</u64values></distances2>"
}
gpus="$(device a '0302 [10de:1db8]' 'gp_index="7"')$(device b '0302 [10de:1db8]' 'gp_index="8"')"
topology '<object type="Socket">' "$gpus" '</object></object>' "$(links '7 8 99' '0 50000 25000 50000 0 25000 25000 25000 0')"
has h.xml 'ends = ["gpu0", "gpu1"]; generation = 2; links = 2; }'
says '1 sockets, 0 PCIe switches, 1 NVLink pairs$'
topology "$gpus" '</object>' "$(links '7 8' '0 50000 50000')"
refused '^h.xml:4: NVLinkBandwidth has 3 values for 2 objects, not their square' h.xml
sed 's/NVLinkBandwidth/OtherBandwidth/' h.xml >o.xml
has o.xml 'name = "gpu1"; profile = "v100-sxm3-32"; }'
says '^no NVLinks were read'
verdict import_machines.hwloc_without_packages_or_types_is_read

for port in '"H-01"[1]	# "node1" lid 1' '"X-01"[1]	# "node1" lid 1 4xEDR' 'nothing'; do
	sed "s/^\[1\].*H-01.*/[1]	$port/" fabric.txt >port.txt
	refused '^port.txt:3: this port has no neighbour "H-..." or "S-..." with a rate such as' nccl.xml port.txt
done
sed '/"H-/d' fabric.txt >spines.txt
refused '^spines.txt: no switch has an adapter' nccl.xml spines.txt
# The ports of a router are not ports of the switch before it. An adapter needs no name.
printf '%s\n' '' 'Rt	1 "R-01"	# "router"' '[1](1)	"H-01"[1]	# "node1" lid 1 4xNDR' | cat fabric.txt - | sed 's/# "node1 mlx5_1"/# lid/' >router.txt
expect 0 'read: ' import topology nccl.xml router.txt
shows 'ports_per_leaf = 3; oversubscription = 2; link = .*bandwidth = "200 Gbit/s"'
verdict import_machines.ports_of_other_devices_are_refused_or_skipped
