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
# switches and of the aggregation inside a switch are no adapters. 2 lanes of HDR are as fast as 4 of EDR.
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
