#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire diagnose` names the fault of a simulated log and no fault of a healthy one. It refuses logs
# that the topology cannot explain.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/logs
cd "$scratch" || exit 2

case='--topology dgx-h100 --exchange nccl-2.18 --draws 4 -q'
# shellcheck disable=SC2086
{
	expect 0 '' diagnose "$samples/simulated-half-nvlink.log" $case --format csv --plot x.svg
	sed -n 2p "$scratch.out" >first
	grep -q '^"link n0.nv0 (nvlink, one of 8 alike) at half its rate",1,.*case.degrade=n0.nv0=0.5' first ||
		complain "the first suspect is $(cat first)"
	grep -q 'measured' x.svg || complain 'the plot has no measured curve'
	expect 0 '' diagnose "$samples/simulated-half-nvlink.log" $case
	shows '^small sizes .4 KiB to 1 MiB.: as expected; '
	shows '^large sizes .64 MiB to 1 GiB.: slower than expected; 1\.[89]'
	shows '^first suspect: link n0.nv0'
	expect 0 '' diagnose "$samples/simulated-half-nvlink.log" $case --degrade nv3=0.5 --format csv
	sed -n 2p "$scratch.out" >first
	grep -q '^no fault,' first || complain "with the fault, the first suspect is $(cat first)"
	expect 0 '' diagnose "$samples/simulated-half-nvlink.log" $case --format json
	shows '"name": "diagnosis"'
}
verdict unit.diagnose.the_fault_of_a_log_is_the_first_suspect

# Killed after three predictions with faults, the command continues.
log=$samples/simulated-half-nvlink.log
# shellcheck disable=SC2086
{
	expect 0 '' diagnose "$log" $case --format csv
	mv "$scratch.out" whole.csv
	"$FARWIRE" diagnose "$log" $case --format csv --jobs 1 -o found.csv &
	while kill -0 $! 2>/dev/null && [ "$( (wc -l <found.csv.journal) 2>/dev/null || echo 0)" -le 3 ]; do
		sleep 0.01
	done
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	[ -e found.csv.journal ] || complain 'diagnose was not killed'
	"$FARWIRE" diagnose "$log" --topology dgx1-v100 -q --draws 4 -o found.csv 2>message
	grep -q 'found.csv.journal' message || complain 'the journal of another command was not refused'
	[ -e found.csv.journal ] || complain 'the journal of another command was removed'
	"$FARWIRE" diagnose "$log" $case --format csv --jobs 2 -o found.csv || complain 'it does not continue'
}
cmp -s found.csv whole.csv || complain 'the continued result differs'
[ ! -e found.csv.journal ] || complain 'the journal remains'
verdict unit.diagnose.killed_diagnosis_continues_to_the_same_result

# The log is of eight H100, which are faster than eight V100.
expect 0 '' diagnose "$samples/simulated-half-nvlink.log" --topology dgx1-v100 --exchange nccl-2.18 --draws 4 -q
shows '^no suspect: a fault cannot make a collective faster'
grep -q 'library.latency_scale' "$scratch.out" && complain 'a fault is a suspect of a faster log'
verdict unit.diagnose.a_log_that_is_faster_than_predicted_has_no_suspect

# shellcheck disable=SC2086
{
	expect 2 'has 8 ranks, but topology .dgx-h100. has 16 GPUs .write --set case.gpus_per_machine=N' \
		diagnose "$samples/simulated-half-nvlink.log" $case --set cluster.count=2
	expect 2 'needs 8 GPUs.* has 4 GPUs' diagnose "$samples/simulated-half-nvlink.log" \
		--topology workstation-4 --set cluster.count=1 --draws 4 -q
	expect 2 'rank' diagnose "$samples/supermicro-1xB200.txt" --topology dgx-b200 --draws 4 -q
	expect 2 'no times of collectives' diagnose "$samples/nvbandwidth.log" $case
	expect 2 'no link, GPU' diagnose "$samples/simulated-half-nvlink.log" $case --fail nvv9
	expect 2 'cannot read' diagnose missing.log $case
	expect 2 'noise must be above 0' diagnose x.log $case --noise 0
}
verdict unit.diagnose.logs_of_other_systems_are_refused
