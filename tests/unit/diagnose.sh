#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire diagnose` names the fault of a simulated log and no fault of a healthy one. It refuses logs
# that the topology cannot explain.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/logs
cd "$scratch" || exit 2

case='--topology dgx-h100 --exchange nccl-2.18 --draws 2 -q'
grep -vE '^ +(16384|262144|4194304|268435456|1073741824) ' "$samples/simulated-half-nvlink.log" >five.log # of ten sizes
# shellcheck disable=SC2086
{
	expect 0 '' diagnose "$samples/simulated-half-nvlink.log" $case --format csv --plot x.svg
	sed -n 2p "$scratch.out" >first
	grep -q '^"link n0.nv0 (nvlink, one of 8 alike) at half its rate",0\.[89][0-9]*,suspect,.*case.degrade=n0.nv0=0.5' first ||
		complain "the first suspect is $(cat first)"
	grep -q 'measured' x.svg || complain 'the plot has no measured curve'
	expect 0 '' diagnose "$samples/simulated-half-nvlink.log" $case
	shows '^all_reduce of 1 GiB on 8 GPUs: expected [0-9.]* GB/s bus bandwidth .*, measured 226.8 GB/s .-51 %.'
	shows 'noise of each number: 10 %, because GPU, network and library of this machine were measured'
	shows '^LL forced .*ruled out .*tried: it predicts [0-9.]* [MG]B/s for all_reduce of .*, and [0-9.]* [MG]B/s were measured'
	shows '^small sizes .4 KiB to 1 MiB.: as expected; '
	shows '^large sizes .64 MiB to 1 GiB.: slower than expected; 1\.[89]'
	shows '^first suspect: link n0.nv0'
	expect 0 '' diagnose five.log $case --degrade nv3=0.5 --format csv
	sed -n 2p "$scratch.out" >first
	grep -q '^no fault,' first || complain "with the fault, the first suspect is $(cat first)"
}
verdict unit.diagnose.the_fault_of_a_log_is_the_first_suspect

# Killed after three predictions with faults, the command continues.
log=five.log
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
expect 0 '' diagnose five.log --topology dgx1-v100 --exchange nccl-2.18 --draws 2 -q
shows '^no suspect: the log is faster than predicted by [0-9]* %, and no fault makes it faster'
grep -q ' suspect  ' "$scratch.out" && complain 'a fault is a suspect of a faster log'
verdict unit.diagnose.a_log_that_is_faster_than_predicted_has_no_suspect

# Logs of eight GPUs on PCIe whose times are the predicted ones times a factor. With 5/6 of the times the
# log is 20 % faster. With 1.7 each size is above its interval, which ends at about 1.4, but no fault has
# this curve. Then the verdict must not say that the log agrees.
machine='--topology pcie-8gpu --exchange nccl-2.8'
log_of() { # FACTOR FILE
	# shellcheck disable=SC2086
	expect 0 '' sweep $machine --gpus 8 --collective all_reduce --draws 0 -q --format csv \
		--vary case.collective_size=4KiB,1MiB,16MiB,256MiB,1GiB
	tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/x/g' | awk -F, -v factor="$1" '
	BEGIN {
		print "{\"format\": \"farwire-samples\", \"version\": 1, \"tool\": \"nccl-tests\", \"date\": \"x\", \"seed\": 0, \"mode\": \"import\", \"passes\": 1, \"host\": {\"cpu\": \"x\", \"kernel\": \"x\", \"hypervisor\": \"x\"}}"
		split("4096 1048576 16777216 268435456 1073741824", size_B, " ")
	}
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_s") at = i; next }
	{ printf "{\"test\": \"collective\", \"is\": {\"collective\": \"all_reduce\", \"library\": \"nccl\"}, \"x\": {\"size_B\": %d, \"ranks\": 8}, \"pass\": 0, \"unit\": \"s\", \"samples\": [%.9g], \"stop\": \"count\", \"held_out\": false}\n", size_B[NR - 1], factor * $at }
	END { printf "{\"end\":true,\"lines\":%d,\"elapsed_s\":0,\"drift\":{}}\n", NR + 1 }' >"$2"
}
# shellcheck disable=SC2086
{
	log_of 0.83333 fast.jsonl
	expect 0 '' diagnose fast.jsonl $machine --draws 8 -q
	shows '^no suspect: the log is faster than predicted by 20 %'
	shows '^noise of each number: 12 %'
	grep -q ' suspect  ' "$scratch.out" && complain 'a fault is a suspect of a healthy, faster log'
	expect 0 '' diagnose fast.jsonl $machine --draws 2 -q --noise 3%
	shows '^noise of each number: 3 %, from --noise'
	log_of 1.7 slow.jsonl
	expect 0 '' diagnose slow.jsonl $machine --draws 8 -q
	shows '([1-3]) of \1 outside the interval'
	grep -q 'agrees with the prediction' "$scratch.out" && complain 'the log agrees, but it is outside'
	shows 'slower than predicted by 70 %|^first suspect'
	expect 0 '' diagnose slow.jsonl $machine --draws 2 -q --profile nccl-v100 --format json
	shows '"name": "diagnosis"'
	shows 'noise of each number: 12 %'
	log_of 1 right.jsonl
	expect 0 '' diagnose right.jsonl $machine --draws 8 -q
	shows '^no suspect: the log agrees with the prediction'
	grep -vE '^ +(65536|16777216|67108864) ' five.log >two.log
	expect 0 '' diagnose two.log --topology dgx1-v100 --exchange nccl-2.8 --profile nccl-v100 --draws 2 -q
	shows '^noise of each number: 5 %, because the profile was fitted to this machine'
}
verdict unit.diagnose.verdict_agrees_with_the_intervals_and_the_noise_with_the_distance

echo '64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.213 ms' >ping.log
# shellcheck disable=SC2086
{
	expect 2 'has 8 ranks, but topology .dgx-h100. has 16 GPUs .write --set case.gpus_per_machine=N' \
		diagnose "$samples/simulated-half-nvlink.log" $case --set cluster.count=2
	expect 2 'needs 8 GPUs.* has 4 GPUs' diagnose "$samples/simulated-half-nvlink.log" \
		--topology workstation-4 --set cluster.count=1 --draws 4 -q
	expect 2 'rank' diagnose "$samples/supermicro-1xB200.txt" --topology dgx-b200 --draws 4 -q
	expect 2 'no times of collectives' diagnose ping.log $case
	expect 2 'is not of the same benchmark' diagnose "$samples/nvbandwidth.log" "$samples/simulated-half-nvlink.log" $case
	expect 2 "cannot run 'messages of 8 MiB over RDMA'" diagnose "$samples/perftest-8M.log" --topology workstation-4 --draws 4 -q
	expect 2 'needs a LOG, or --step TIME and a CASE' diagnose $case
	expect 2 "'x' is not a time above 0" diagnose --step x $case
	expect 2 'one step time gives no curve' diagnose --step 1s $case --plot x.svg
	expect 2 'no link, GPU' diagnose "$samples/simulated-half-nvlink.log" $case --fail nvv9
	expect 2 'cannot be read' diagnose missing.log $case
	expect 2 'noise must be above 0' diagnose x.log $case --noise 0
}
verdict unit.diagnose.logs_of_other_systems_are_refused
