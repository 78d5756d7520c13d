#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorder on a real GPU: a small program (tests/traced_program.cu) recorded, and
# its median step replayed within 5 %. Skipped without nvcc or a GPU.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
build=$(dirname "$FARWIRE")
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -e /dev/nvidiactl ] || [ ! -x "$nvcc" ] || [ ! -f "$build/libfarwire-trace.so" ]; then
	echo '  the recorder on a GPU: no GPU, nvcc or recorder'
	exit 77
fi
"$nvcc" -std=c++17 -arch=native -o "$scratch/program" tests/traced_program.cu -ldl \
	2>"$scratch.err" || complain "not compiled: $(head -n 3 "$scratch.err")"
code=0
timeout 40 "$build/farwire-trace" -o "$scratch/calls.jsonl" -- "$scratch/program" 2>"$scratch.err" ||
	code=$?
[ $code != 77 ] || exit 77
[ $code = 0 ] || complain "ended with $code: $(head -n 3 "$scratch.err")"
kernels=$(grep -c '"call":"cudaLaunchKernel.*"kernel_s":0\.0002' "$scratch/calls.jsonl")
[ "$kernels" = 480 ] || complain "$kernels launches with kernels of 200 us, not 480"
grep -q '"copy":"h2d","size_B":1048576,"memory":"pinned"' "$scratch/calls.jsonl" ||
	complain 'no copy of the input'
grep -q '"event":0' "$scratch/calls.jsonl" || complain 'no event'
farwire check "$scratch/calls.jsonl"
grep -q '11 marked steps' "$scratch.out" || complain "no steps: $(cat "$scratch.out" "$scratch.err")"
# quantities as farwire prints them: "8.1 ms"
recorded=$(sed -nE 's/.*the median one ([0-9.]+) ms$/\1/p' "$scratch.out")
farwire run --calls "$scratch/calls.jsonl" --topology dgx-h100 --draws 0 --format csv
replayed=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^step_s/ && !at) at = i }
	NR == 2 { print $at * 1e3 }' "$scratch.out")
awk -v a="$replayed" -v b="$recorded" 'BEGIN { exit !(b > 0 && a > 0.95 * b && a < 1.05 * b) }' ||
	complain "a step of $recorded ms replayed: $replayed ms"
verdict trace_gpu.replay
