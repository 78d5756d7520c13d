#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs of recordings in which equal machines are simulated once take the same time, to
# the picosecond, as in the simulation of all machines.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples
cd "$scratch" || exit 2

# result SYMMETRY ARGUMENT...: prints step time and throughput, and events
result() {
	symmetry=$1
	shift
	farwire run "$@" --exchange nccl-2.18 --draws 0 -q --format csv --set case.symmetry="$symmetry"
	[ "$code" = 0 ] || complain "farwire run $*: $(head -n 2 "$scratch.err")"
	tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/x/g' | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		NR == 2 { print $column["step_s"], $column["throughput_steps_per_s"]
			print $column["events"] }'
}

# equal ARGUMENT...: the two simulations have the same times, and the folded one has fewer events
equal() {
	result off "$@" >all
	result on "$@" >folded
	[ -s all ] && [ "$(sed -n 1p all)" = "$(sed -n 1p folded)" ] ||
		complain "farwire run $*: $(sed -n 1p all) of all machines, but folded $(sed -n 1p folded)"
	[ "$(sed -n 2p folded)" -lt "$(sed -n 2p all)" ] || complain "farwire run $*: no machines were folded"
}

for calls in tensor hybrid dlrm barrier; do
	gunzip -c "$samples/calls/$calls.jsonl.gz" >$calls.jsonl
done
equal --calls tensor.jsonl --topology dgx-h100 --gpus 64
equal --calls tensor.jsonl --topology dgx-h100-fat-tree --gpus 64
equal --calls tensor.jsonl --topology dgx-a100-rails --gpus 32
ring='--set library.algorithm=ring'
# shellcheck disable=SC2086
{
	equal --calls hybrid.jsonl --topology dgx1-v100 --gpus 32 $ring
	equal --calls dlrm.jsonl --topology dgx-h100 --gpus 32 $ring
}
verdict recorded_symmetry.folded_workloads_take_the_time_of_all_machines

for rank in 0 7; do
	gunzip -c "$samples/traces/dlrm-rank$rank.json.gz" >rank$rank.json
done
gunzip -c "$samples/traces/ddp-rank0-of-2.json.gz" >ddp.json
farwire import kineto rank0.json rank7.json -o two.jsonl
farwire import kineto ddp.json -o ddp.jsonl
sed 's/"group_stride":1/"group_stride":4/;s/"ranks":2/"ranks":16/' ddp.jsonl >pairs.jsonl
# shellcheck disable=SC2086
{
	equal --calls two.jsonl --topology dgx1-v100 --gpus 32 $ring
	equal --calls pairs.jsonl --topology dgx-a100 --gpus 32 $ring
}
verdict recorded_symmetry.folded_recordings_take_the_time_of_all_machines

# Without a setting, jobs of 64 GPUs or more are folded if that is exact, and those of more than 32
# machines if it is nearly so.
result off --calls tensor.jsonl --topology dgx-h100 --gpus 264 >all
result auto --calls tensor.jsonl --topology dgx-h100 --gpus 264 >folded
cat all folded | awk 'NR == 1 { all = $1 } NR == 2 { events = $1 } NR == 3 { folded = $1 } NR == 4 { few = $1 }
	END { ratio = folded / all; exit !(ratio > 0.995 && ratio < 1.005 && few < events / 10) }' ||
	complain "$(cat all folded)"
farwire explain --calls barrier.jsonl --topology dgx-h100 --gpus 16 --exchange nccl-2.18 \
	--set case.symmetry=on
shows 'all machines are simulated: its recordings have messages between ranks'
verdict recorded_symmetry.large_jobs_are_folded_and_messages_are_not
