#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Shipped programs, and the programs that stacks of PyTorch write for inference.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

# remote OPTIONS...: the JSON of a program on a remote GPU
remote() {
	farwire run --topology lan-pair --program client --runtime synchronous --draws 0 --quiet --format json "$@"
}
# has TEXT: the result contains it
has() {
	grep -qF -- "$1" "$scratch.out" || complain "no $1 in: $(cat "$scratch.out" "$scratch.err")"
}
step() {
	sed -n 's/.*"step": {"value": \([0-9.e-]*\),.*/\1/p' "$scratch.out"
}

farwire list programs
for program in null-call copy-up copy-down launches; do
	has "$program"
done
remote --calls null-call
has '"calls_by_kind": {"cudaMemGetInfo": 1}'
remote --calls launches
has '"calls_by_kind": {"cudaLaunchKernel": 100, "cudaStreamSynchronize": 1}'
verdict 'programs.shipped_programs_make_the_calls_of_their_descriptions'

# 63 MiB more take at least as long as on the wire of 10 Gb/s, 52.8 ms.
remote --calls copy-up
short=$(step)
remote --calls copy-up --set 'calls.copy=64 MiB'
awk -v a="$short" -v b="$(step)" 'BEGIN { exit !(b - a > 0.0528 && b - a < 0.2) }' ||
	complain "1 MiB takes $short s, 64 MiB $(step) s"
verdict 'programs.calls_copy_sets_the_size_of_copies'

remote --model alexnet --stack pytorch-inference --batch 1
has '"cudaMemcpyAsyncHostToDevice": 1, "cudaMemcpyAsyncDeviceToHost": 1'
has '"cudaStreamSynchronize": 2'
has '"by libraries": 11'
remote --model alexnet --stack pytorch-inference --batch 1 --set stack.cold=true
has '"cuDevicePrimaryCtxRetain": 1'
remote --model gpt2 --stack pytorch-decode-graph --batch 1 --set case.sequence=1
has '"cudaLaunchKernel": 1,'
verdict 'programs.results_count_the_calls_of_a_step_by_kind'

# A process that starts with a context in waiting waits for its session of 0.3 s only. Without one the driver makes a
# context, which takes 0.2 s at a clock of 2.4 GHz, 0.1 s at 4.8 GHz. A step that makes no context has no such part.
part_s() {
	sed -n 's/.*"session": \([0-9.e-]*\), "copy".*/\1/p' "$scratch.out"
}
for setting in warm_context=true:0.3 warm_context=false:0.4; do
	remote --model alexnet --stack pytorch-inference --batch 1 --set stack.cold=true --set runtime.session=0.3s \
		--set "runtime.${setting%:*}" --set 'host.*.clock=4.8 GHz' --set 'host.*.turbo_clock=4.8 GHz' --set driver.context=0.2s
	awk -v s="$(part_s)" -v wanted="${setting#*:}" 'BEGIN { exit !(s >= wanted && s < wanted + 0.005) }' ||
		complain "$setting: the part of the session is '$(part_s)' s"
done
remote --model alexnet --stack pytorch-inference --batch 1 --set runtime.session=0.3s
[ -z "$(part_s)" ] || complain "a warm step has a session of $(part_s) s"
verdict 'programs.sessions_and_contexts_are_a_part_of_a_process'

# refused TEXT OPTIONS...
refused() {
	text=$1
	shift
	remote "$@"
	[ "$code" = 2 ] || complain "$*: ended with $code"
	grep -q -- "$text" "$scratch.err" || complain "$*: $(cat "$scratch.err")"
}
refused "there is no program 'null-cal' (did you mean 'null-call'" --calls null-cal
refused 'stack.cold is known for PyTorch only' --model alexnet --stack tf-1.12 --set stack.cold=true
refused 'stack.context is the cache of one forward pass' --model gpt2 --stack pytorch-adamw --set stack.context=8
verdict 'programs.wrong_names_and_combinations_are_refused'
