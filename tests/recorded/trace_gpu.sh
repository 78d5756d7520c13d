#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorder on a real GPU: it records a small program (tests/traced_program.cu), whose
# replayed median step must be within 5 %. Skipped without nvcc or a GPU.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
build=$(dirname "$FARWIRE")
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -e /dev/nvidiactl ] || [ ! -x "$nvcc" ] || [ ! -f "$build/libfarwire-trace.so" ]; then
	echo '  skipped: the GPU, nvcc or libfarwire-trace.so is missing'
	exit 77
fi
"$nvcc" -std=c++17 -arch=native -o "$scratch/program" tests/traced_program.cu -ldl \
	2>"$scratch.err" || complain "tests/traced_program.cu does not compile: $(head -n 3 "$scratch.err")"
code=0
timeout 40 "$build/farwire-trace" -o "$scratch/calls.jsonl" -- "$scratch/program" 2>"$scratch.err" ||
	code=$?
[ $code != 77 ] || exit 77
[ $code = 0 ] || complain "ended with $code: $(head -n 3 "$scratch.err")"
kernels=$(grep -c '"call":"cudaLaunchKernel.*"kernel_s":0\.0002' "$scratch/calls.jsonl")
[ "$kernels" = 480 ] || complain "$kernels launches with kernels of 200 us, not 480"
grep -q '"copy":"h2d","size_B":1048576,"memory":"pinned"' "$scratch/calls.jsonl" ||
	complain 'the copy of the input is missing'
grep -q '"event":0' "$scratch/calls.jsonl" || complain 'the event is missing'
farwire check "$scratch/calls.jsonl"
grep -q '11 marked steps' "$scratch.out" || complain "there are no 11 marked steps: $(cat "$scratch.out" "$scratch.err")"
# The quantity is in the form that farwire prints: "8.1 ms".
recorded=$(sed -nE 's/.*the median one ([0-9.]+) ms$/\1/p' "$scratch.out")
farwire run --calls "$scratch/calls.jsonl" --topology dgx-h100 --draws 0 --format csv
replayed=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^step_s/ && !at) at = i }
	NR == 2 { print $at * 1e3 }' "$scratch.out")
awk -v a="$replayed" -v b="$recorded" 'BEGIN { exit !(b > 0 && a > 0.95 * b && a < 1.05 * b) }' ||
	complain "the replayed step takes $replayed ms, the recorded one $recorded ms"
verdict trace_gpu.replayed_step_takes_as_long_as_recorded
