#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# GPUs whose driver refuses peer access over PCIe exchange data in host memory, as NCCL's transport SHM
# does. NVLinks are not affected.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

bandwidth() { # OPTION...: bus bandwidth of an all-reduce in GB/s
	farwire run --collective all_reduce --exchange nccl-2.18 --set 'case.collective_size=1 GiB' --draws 0 "$@"
	sed -nE '1s/.*: ([0-9.]+) GB.s bus bandwidth/\1/p' "$scratch.out"
}

# Each of the 8 hops of a ring writes a byte to host memory and reads it, and NCCL reaches 83 % of a
# way over PCIe (library.pci_efficiency). With 100 GB/s of memory that is 0.83 x 100 / 16 = 5.19 GB/s.
machine='--topology workstation-8 --gpus 8 --set gpu.*.profile=rtx-5090'
slow=$(bandwidth $machine --set 'host.*.dram_bandwidth=100 GB/s')
echo "$slow" | awk '{ exit !($1 > 5.15 && $1 < 5.2) }' || complain "without peer access: $slow GB/s, not 5.2"
whole=$(bandwidth $machine)
level=$(bandwidth $machine --set 'gpu.*.peer_access=true' --set library.p2p_level=nvl)
[ "$whole" = "$level" ] || complain "GeForce: $whole GB/s, but $level with NCCL_P2P_LEVEL=NVL"
patched=$(bandwidth $machine --set 'gpu.*.peer_access=true')
pro=$(bandwidth --topology workstation-8 --gpus 8)
[ "$patched" = "$pro" ] || complain "GeForce with a patched driver: $patched GB/s, RTX PRO 6000 in its place: $pro"
echo "$slow $patched" | awk '{ exit !($1 < $2) }' || complain "peer access does not matter: $slow and $patched GB/s"
verdict peer_access.geforce_gpus_exchange_data_in_host_memory

nvlink=$(bandwidth --topology dgx1-v100 --gpus 8 --set 'gpu.*.peer_access=false')
[ "$nvlink" = "$(bandwidth --topology dgx1-v100 --gpus 8)" ] || complain "NVLinks: $nvlink GB/s without peer access over PCIe"
verdict peer_access.nvlinks_need_no_access_over_pcie

# A ring of four GPUs on two sockets crosses the link between them once in each direction, because the
# buffer is in the memory of the receiver's socket: 0.83 x 20 GB/s x 64 / 72 = 14.8 GB/s.
{
	printf '\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n'
	printf 'GPU0\t X \tNODE\tSYS\tSYS\t0-31\t0\nGPU1\tNODE\t X \tSYS\tSYS\t0-31\t0\n'
	printf 'GPU2\tSYS\tSYS\t X \tNODE\t32-63\t1\nGPU3\tSYS\tSYS\tNODE\t X \t32-63\t1\n\n'
	for gpu in 0 1 2 3; do echo "GPU $gpu: NVIDIA GeForce RTX 5090 (UUID: GPU-0000000$gpu)"; done
} >"$scratch/sockets.txt"
farwire import topology "$scratch/sockets.txt" -o "$scratch/sockets.cfg" -q
across=$(bandwidth --topology "$scratch/sockets.cfg" --gpus 4 --set 'link.cpu0-cpu1.bandwidth=20 GB/s')
echo "$across" | awk '{ exit !($1 > 14.2 && $1 < 14.9) }' || complain "across 20 GB/s between sockets: $across GB/s, not 14.8"
verdict peer_access.buffers_of_other_sockets_are_reached_over_their_link
