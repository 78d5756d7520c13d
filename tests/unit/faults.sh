#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --fail and --degrade change the rates of links, GPUs, adapters and machines. Names that the topology
# does not have are refused, and a job without a route or without its GPUs says so.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# slower LOW HIGH OPTION...: the time of an all-reduce is between LOW and HIGH times that without
# the fault.
all_reduce() {
	farwire run --exchange nccl-2.18 --collective all_reduce --set 'case.collective_size=1 GiB' \
		--draws 0 --format csv "$@"
	step=$(tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") at = i }
	NR == 2 { print $at }')
	: "${step:=0}"
}
slower() {
	low=$1 high=$2
	shift 2
	all_reduce $machine
	whole=$step
	all_reduce $machine "$@"
	awk -v a="$whole" -v b="$step" -v low="$low" -v high="$high" \
		'BEGIN { exit !(b >= low * a && b <= high * a) }' ||
		complain "$machine $*: $step s, and $whole s without the fault"
}
machine='--topology dgx-h100 --gpus 8'
slower 1 1 --degrade nv0=1
slower 1.85 2 --degrade n0.nv0=50%
slower 1.85 2 --degrade nv0=0.5,nv1=0.5
slower 1.85 2 --degrade n0.gpu3=0.5
slower 5 20 --fail link.n0.nv0
machine='--topology dgx-h100 --gpus 16'
slower 1.2 2.1 --fail n0.nic0
# Two adapters of eight lack in each machine, on other rails: six rings remain, 8/6 of the time.
machine='--topology dgx-h100 --gpus 16 --set library.algorithm=ring'
slower 1.2 1.45 --fail n0.nic0,n0.nic1,n1.nic4,n1.nic5
machine='--topology dgx-h100 --gpus 16'
slower 1.8 2.1 --degrade n1=0.5
machine='--topology dgx1-v100 --gpus 8'
slower 1.1 2 --fail n0.nv0-1
verdict unit.faults.collectives_become_slower

training='run --topology dgx-h100 --gpus 8 --model resnet50 --batch 64 --draws 0 --format csv'
throughput() {
	farwire $training "$@"
	tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/x/g' | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "throughput_samples_per_s") at = i }
	NR == 2 { print $at }'
}
whole=$(throughput)
half=$(throughput --degrade gpu5=0.5)
echo "$whole $half" | awk '{ exit !($2 < 0.6 * $1 && $2 > 0.45 * $1) }' ||
	complain "a GPU at half its rate: $half images/s instead of $whole"
verdict unit.faults.the_slowest_gpu_limits_training

case='run --topology dgx-h100 --gpus 8 --collective all_reduce --draws 0'
expect 2 "no link, GPU.* 'n0.nvv0' .did you mean 'n0.nv0'" $case --fail n0.nvv0
expect 2 'degrade: .nv0=1e-300. is not a name with a factor from 0.000001 to 1' $case --degrade nv0=1e-300
expect 2 "^--fail: topology 'lan-pair' has no GPU left after --fail gpu0 .leave one" run --topology lan-pair --fail gpu0
expect 2 "case.fail: 'nv0=0.5' is not a name" $case --fail nv0=0.5
expect 2 "case.degrade: 'nv0' is not a name with a factor" $case --degrade nv0
expect 2 "case.degrade: 'nv0=2' is not" $case --degrade nv0=2
expect 2 "needs 8 GPUs.* has 7 GPUs" $case --fail n0.gpu3
expect 0 '' run --topology pcie-8gpu --gpus 8 --collective all_reduce --draws 0 --fail up0
shows 'no route'
verdict unit.faults.impossible_faults_are_refused

cat >case.cfg <<'END'
case = { topology = "dgx-h100"; gpus = 8; collective = "all_reduce"; degrade = "nv0=0.5"; };
END
expect 0 '' run case.cfg --draws 0
shows 'GB/s'
expect 0 '' sweep case.cfg --draws 0 --format csv -q --vary case.degrade=nv0=0.5,nv0=0.25
shows 'nv0=0.25'
expect 0 '' scale case.cfg --draws 0 --gpus 4,8 -q --fail n0.nv7
verdict unit.faults.cases_and_sweeps_have_faults

# A DGX H100 has eight adapters. Gloo's TCP leaves by one of them, and so does a single GPU with RDMA.
run='run --topology dgx-h100 --collective all_reduce --draws 0 -q --exchange'
# shellcheck disable=SC2086
{
	expect 0 '' $run ddp-gloo --gpus 16 --transport tcp
	shows '^idle: 7 of 8 adapters of n0 carry nothing, because all connections of a machine use one adapter'
	expect 0 '' $run nccl-2.18 --gpus 2 --set case.gpus_per_machine=1
	shows '^idle: 7 of 8 adapters of n0 carry nothing, because each GPU uses the nearest one'
	for transport in rdma tcp; do
		expect 0 '' $run nccl-2.18 --gpus 16 --transport $transport
		grep -q '^idle:' "$scratch.out" && complain 'adapters that carry bytes are called idle'
	done
}
verdict unit.faults.a_result_says_which_adapters_carry_nothing
