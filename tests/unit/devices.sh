#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --devices and --adapters choose the GPUs and adapters of each machine, like CUDA_VISIBLE_DEVICES and
# NCCL_IB_HCA, and refuse names that no machine has.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# Two sockets of four GPUs, and an adapter of 400 Gb/s at the PCIe switch of each second GPU.
{
	printf '\t'
	for k in 0 1 2 3 4 5 6 7; do printf 'GPU%s\t' $k; done
	printf 'NIC0\tNIC1\tNIC2\tNIC3\tCPU Affinity\n'
	for i in 0 1 2 3 4 5 6 7; do
		printf 'GPU%s' $i
		for k in 0 1 2 3 4 5 6 7; do [ $i = $k ] && printf '\t X' || printf '\tNV18'; done
		for k in 0 2 4 6; do
			if [ $i = $k ]; then printf '\tPIX'; elif [ $((i / 4)) = $((k / 4)) ]; then printf '\tNODE'; else printf '\tSYS'; fi
		done
		printf '\t%s\n' $((i / 4))
	done
	for i in 0 2 4 6; do
		printf 'NIC%s' $((i / 2))
		for k in 0 1 2 3 4 5 6 7; do
			if [ $i = $k ]; then printf '\tPIX'; elif [ $((i / 4)) = $((k / 4)) ]; then printf '\tNODE'; else printf '\tSYS'; fi
		done
		for k in 0 2 4 6; do
			if [ $i = $k ]; then printf '\t X'; elif [ $((i / 4)) = $((k / 4)) ]; then printf '\tNODE'; else printf '\tSYS'; fi
		done
		echo
	done
	for k in 0 1 2 3; do echo "  NIC$k: mlx5_$k"; done
	for k in 0 1 2 3 4 5 6 7; do echo "GPU $k: NVIDIA H100 80GB HBM3 (UUID: $k)"; done
} >topo.txt
farwire import topology topo.txt -o machine.cfg

ring='run --topology machine.cfg --gpus 8 --collective all_reduce --exchange nccl-2.18 --draws 0'
bandwidth() { # OPTION...: bus bandwidth in GB/s
	farwire $ring --set library.algorithm=ring --set 'case.collective_size=1 GiB' "$@"
	sed -nE '1s/.*: ([0-9.]+) GB.s bus bandwidth/\1/p' "$scratch.out"
}
# Each of the four GPUs has its own adapter, of which NCCL's flows reach 47.5 GB/s: 4 x 47.5 = 190.
four=$(bandwidth --devices 0,2,4,6)
echo "$four" | awk '{ exit !($1 > 187 && $1 < 193) }' || complain "four GPUs with four adapters: $four GB/s, not 190"
failed=$(bandwidth --set case.gpus_per_machine=4 --fail gpu1,gpu3,gpu5,gpu7)
[ "$failed" = "$four" ] || complain "four GPUs chosen: $four GB/s, the other four failed: $failed"
verdict unit.devices.each_gpu_with_its_adapter_reaches_190_GBps

# Two adapters carry half; the names of the operating system, numbers and exclusion are the same.
two=$(bandwidth --devices 0,2 --adapters mlx5_0,mlx5_1)
for choice in nic0,nic1 0,1 =mlx5_0,mlx5_1 ^mlx5_2,mlx5_3 ^=nic2,nic3; do
	other=$(bandwidth --devices 0,2 --adapters "$choice")
	[ "$other" = "$two" ] || complain "--adapters $choice: $other GB/s, not $two"
done
one=$(bandwidth --devices 0,2 --adapters mlx5_0)
echo "$one $two" | awk '{ exit !($1 < 0.6 * $2) }' || complain "one adapter: $one GB/s, two: $two"
verdict unit.devices.adapters_have_several_names

farwire $ring --devices 0,2 --adapters ^mlx5_1
shows '^setup: .*; of each machine the GPUs 0,2; of each machine the adapters \^mlx5_1$'
farwire $ring --devices 0,2 --format json
shows '"devices": "0,2"'
farwire report --topology machine.cfg --gpus 8 --collective all_reduce --draws 0 --devices 0,2 -q -o page.html
grep -q 'of each machine the GPUs 0,2' page.html || complain 'the report does not name the GPUs that were chosen'
verdict unit.devices.results_and_reports_name_the_choice

expect 2 "^--devices: no machine of topology 'imported' has a GPU '9' .they have: gpu0, gpu1," $ring --devices 0,9
expect 2 "has a GPU 'n0.gpu1'" $ring --devices n0.gpu1
expect 2 "^--adapters: no machine of topology 'imported' has an adapter 'mlx5_7' .they have: nic0, mlx5_0, nic1, mlx5_1" $ring --adapters mlx5_7
expect 2 'case.adapters hides all 4 adapters' $ring --adapters ^mlx5
expect 2 "names GPU 'gpu1' twice" $ring --devices 1,gpu1
expect 2 'case.devices has an empty name .write 0,1' $ring --devices 0,,1
expect 2 "case.gpu.* no GPU 'n0.gpu1'|there is no GPU 'n0.gpu1'" run --topology dgx1-v100 --devices 0 --gpu n0.gpu1 --draws 0
expect 2 "has 2 GPUs with --devices 0, of which" run --topology gpu-pool --gpus 8 --devices 0 --collective all_reduce --draws 0
verdict unit.devices.unknown_names_are_refused_with_those_that_exist
