#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire run` names only remedies that it has tried. The gain that it prints for a remedy must be
# that of a run with the same change, which the user makes.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

# advice ARGS...: the line of remedies
advice() {
	farwire run --draws 0 "$@"
	[ "$code" = 0 ] || complain "farwire run $*: ended with $code"
	sed -n 's/^would help: //p' "$scratch.out"
}
# number FIELD ARGS...: a number of a result
number() {
	field=$1
	shift
	"$FARWIRE" run --draws 0 --quiet --format csv "$@" | sed 's/"[^"]*"/text/g' | awk -F, -v name="$field" '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
NR == 2 { print $column }'
}
# gives WORDS CHANGE ARGS...: the remedy WORDS has the gain of CHANGE in the field $rate
rate=throughput_samples_per_s
gives() {
	words=$1 change=$2
	shift 2
	found=$(advice "$@" | tr ';' '\n' | sed -n "s/^ *$words (//p")
	before=$(number $rate "$@")
	# shellcheck disable=SC2086 # a list of words
	after=$(number $rate "$@" $change)
	wanted=$(awk "BEGIN { printf \"%+.0f %%\", 100 * ($after / $before - 1) }")
	case $found in "$wanted"*) ;; *) complain "$*: '$words' gives '$found', not '$wanted'" ;; esac
}

remote='--topology vm-p100-vmxnet3 --program client --model resnet50 --stack pytorch-amp --batch 64'
# shellcheck disable=SC2086 # a list of words
{
	gives 'a runtime that batches calls' '--runtime batched' $remote --runtime synchronous
	gives 'twice the batch' '--batch 128' $remote --runtime synchronous
	gives 'gradients of 2 bytes' '--set exchange.gradient_element=2B' \
		--topology dgx1-v100-ethernet --model vgg16 --stack pytorch --exchange ddp --gpus 16 --batch 16
	gives 'a GPU of twice the memory bandwidth' '--set gpu.p100-sxm2.memory_bandwidth=1464GB/s' $remote --runtime batched
	ratio=$(number ratio $remote --runtime batched)
	advice $remote --runtime synchronous | tr ';' '\n' |
		grep -q "a runtime that batches calls (+[0-9]* %, ratio $(printf '%.3f' "$ratio"))" ||
		complain "no ratio $ratio"
}
verdict remedies.gains_are_those_of_runs_with_the_change

# The generation of NVLinks and of PCIe has the bandwidth, so the number of links or lanes is doubled. xGMI states both
# a bandwidth and a number of links, of which only one is doubled.
rate=bus_bandwidth_Bps
gives 'twice the bandwidth of all links' '--set link.nv0-1.links=2' --topology dgx1-v100 --collective all_reduce --gpus 2
gives 'twice the bandwidth of all links' '--set link.xgmi0-1.bandwidth=128GB/s' \
	--topology mi300x-8gpu --collective all_reduce --gpus 2
rate=throughput_samples_per_s
verdict remedies.bandwidth_of_bundles_is_doubled_once

# Each of these changes of a runtime is tried. On a network of 1 ms each of them gains, because every call waits.
far="--topology lan-pair --program client --server server --model resnet50 --stack pytorch-amp --batch 64 --set link.wire.latency=1ms"
# shellcheck disable=SC2086
{
	gives 'a client that answers all calls about its own state' '--set runtime.get_last_error_call=local
		--set runtime.get_device_call=local --set runtime.set_device_call=local --set runtime.is_capturing_call=local' \
		$far --runtime synchronous
	gives 'batches that are sent when the program waits' '--set runtime.policy=batched --set runtime.batch=0
		--set runtime.batch_wait=0s' $far --runtime synchronous
	gives 'launches that are sent without waiting' '--set runtime.launch_call=sent' $far --runtime synchronous \
		--set runtime.get_last_error_call=local --set runtime.get_device_call=local --set runtime.set_device_call=local
	advice --topology dgx1-v100 --model resnet50 --stack pytorch --gpus 1 --batch 1 | grep -q 'runtime\|wait' &&
		complain 'a local program gets advice on forwarding'
}
verdict remedies.changes_of_a_runtime_are_tried_for_forwarded_programs

# shellcheck disable=SC2086
{
	advice $remote --runtime batched | grep -q 'runtime' && complain "a kernel-bound run gets advice on runtimes"
	farwire run dgx1-two-jobs --draws 0
	shows '^would help: nothing that was tried gains 2 % \(storage of twice the bandwidth, a GPU'
}
farwire run recorded-ranks --draws 0
grep '^would help' "$scratch.out" | grep -q 'twice the batch' && complain 'the batch of a recording is a remedy'
verdict remedies.remedies_without_gain_are_not_named

# A full batch of a GPU that is always busy needs a faster GPU.
advice --topology l40s-8gpu --model llama3-8b --serve rate=20 |
	grep -q 'a GPU of twice the arithmetic rate (-[0-9]* % latency)' || complain 'a full batch has no advice on its GPU'
grep -q '^bottleneck: batch limit' "$scratch.out" || complain 'the server has another bottleneck'
# The advice has the mean latency of a run with the change.
cp "$scratch.out" "$scratch/advised"
before=$(number step_s --topology l40s-8gpu --model llama3-8b --serve rate=20)
for change in 'twice the replicas=case.copies=2' 'a GPU of twice the memory bandwidth=gpu.*.memory_bandwidth=1728 GB/s'; do
	after=$(number step_s --topology l40s-8gpu --model llama3-8b --serve rate=20 --set "${change#*=}")
	percent=$(awk "BEGIN { printf \"%+.0f\", 100 * ($after / $before - 1) }")
	grep -qF "${change%%=*} ($percent % latency)" "$scratch/advised" || complain "${change%%=*} gives $percent %: $(grep 'would help' "$scratch/advised")"
done
verdict remedies.busy_gpus_are_named_if_remedies_of_the_bottleneck_do_not_help

# shellcheck disable=SC2086
[ -z "$(advice $remote --runtime synchronous --quiet)" ] || complain "--quiet tries remedies"
verdict remedies.quiet_runs_try_nothing
