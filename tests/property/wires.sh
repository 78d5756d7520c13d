#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A program whose calls are forwarded is not slower on a wire with more bandwidth or less latency:
# random programs, each with one runtime, on bare machines without C-states and interrupt moderation
# (which are mechanisms by which a faster wire can cost time). 0.1 % are left for rounding.
# A loop of queries is another such mechanism: an answer that comes earlier can say "not ready", and
# the next query ends one round trip later. So the programs ask once, and loops have a test below.
set -u
cd "$(dirname "$0")/../.." || exit 2
farwire=${FARWIRE:-build/farwire}
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
failed=0

# program SEED [loops]: a call file of random calls. loops: queries may follow each other.
program() {
	awk -v seed="$1" -v loops="${2-}" '
function call(name, more) {
	printf "{\"call\":\"%s\",\"start_s\":%.7f,\"end_s\":%.7f%s}\n", name, t, t + 5e-6, more
	t += 5.1e-6
}
function copy(name, way, bytes, memory) {
	call(name, ",\"stream\":7,\"copy\":\"" way "\",\"size_B\":" bytes ",\"memory\":\"" memory "\",\"copy_s\":1e-5")
}
BEGIN {
	srand(seed)
	t = 0.001
	print "{\"format\":\"farwire-calls\",\"version\":1,\"tool\":\"random\"}"
	mix_count = split("L LLLc LCg LLqhd Lsh LLLLLLLLe LLep LeLepcs LLLLepq LCdep", mixes, " ")
	mix = loops ? "LLep" : mixes[1 + int(rand() * mix_count)]
	count = 30 + int(rand() * 300)
	for (i = 0; i < count; i++) {
		kind = substr(mix, 1 + int(rand() * length(mix)), 1)
		bytes = int(exp(rand() * 14))
		if (kind == "L") call("cudaLaunchKernel", sprintf(",\"stream\":7,\"kernel_s\":%.8f", exp(rand() * 5) * 1e-6))
		if (kind == "c") copy("cudaMemcpyAsync", "h2d", bytes, "pinned")
		if (kind == "C") copy("cudaMemcpy", "h2d", bytes, "pageable")
		if (kind == "h") copy("cudaMemcpyAsync", "d2h", bytes, "pinned")
		if (kind == "d") copy("cudaMemcpy", "d2h", bytes, "pageable")
		if (kind == "g") call("cudaGetDevice", "")
		if (kind == "q") call("cudaGetLastError", "")
		if (kind == "s") call("cudaStreamSynchronize", ",\"stream\":7")
		if (kind == "e") call("cudaEventRecord", ",\"stream\":7,\"event\":3")
		if (kind == "p" && (loops || before != "p")) call("cudaEventQuery", ",\"event\":3")
		before = kind
	}
	call("cudaDeviceSynchronize", "")
	print "{\"end\":true}"
}'
}

# faster SEED RUNTIME OUTSTANDING AXIS: the step time must not rise along the axis.
faster() {
	"$farwire" sweep --topology lan-pair --set case.program=client --set case.server=server --set case.transport=tcp \
		--set "case.runtime=$2" --set "runtime.outstanding=$3" --set "case.calls=$scratch/$1.jsonl" \
		--set 'host.*.c_states=false' --set 'host.*.nic_moderation=false' \
		--vary "$4" --draws 0 --format csv --quiet >"$scratch/out" || return 1
	awk -F, -v what="program $1, $2, $3 outstanding, $4" '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
NR > 2 && $column > 1.001 * before {
	printf "  %s: %s s at %s, %s s at %s\n", what, before, at, $column, $1
	bad = 1
}
{ before = $column; at = $1 }
END { exit bad || !column || NR < 5 }' "$scratch/out"
}

seed=0
for runtime in synchronous asynchronous batched lupine cricket rcuda; do
	for outstanding in 0 16 1024; do
		seed=$((seed + 1))
		program $seed >"$scratch/$seed.jsonl"
		for axis in 'link.wire.bandwidth=0.1 Gbit/s,0.3 Gbit/s,1 Gbit/s,10 Gbit/s,200 Gbit/s' \
			'link.wire.latency=500 us,100 us,20 us,5 us,1 us'; do
			faster $seed $runtime $outstanding "$axis" || failed=1
		done
	done
done

# 4,000 kernels of 80 us, sent ahead: the server executes the first call while it receives others, so
# the step takes the kernels and their gaps, 4,000 x 81 us, and less than 1 ms more on each wire.
awk 'BEGIN {
	print "{\"format\":\"farwire-calls\",\"version\":1,\"tool\":\"flood\"}"
	for (t = 0.001; i++ < 4000; t += 5.1e-6)
		printf "{\"call\":\"cudaLaunchKernel\",\"stream\":7,\"kernel_s\":8e-5,\"start_s\":%.7f,\"end_s\":%.7f}\n", t, t + 5e-6
	printf "{\"call\":\"cudaDeviceSynchronize\",\"start_s\":%.7f,\"end_s\":%.7f}\n{\"end\":true}\n", t, t + 1e-5
}' >"$scratch/flood.jsonl"
for outstanding in 0 64 1024; do
	faster flood asynchronous $outstanding 'link.wire.bandwidth=0.1 Gbit/s,1 Gbit/s,10 Gbit/s,100 Gbit/s' || failed=1
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
	NR > 1 && ($column < 0.324 || $column > 0.325) { printf "  flood: %s s\n", $column; bad = 1 }
	END { exit bad }' "$scratch/out" || failed=1
done
# Each further query of a loop costs less than 50 us, a round trip and its sleep.
# loop SEED GBIT/S: calls and seconds of a step of a program with loops of queries.
loop() {
	set -- "$1" --topology lan-pair --runtime asynchronous --set case.program=client --set case.server=server \
		--set case.transport=tcp --set 'host.*.c_states=false' --set 'host.*.nic_moderation=false' \
		--set "link.wire.bandwidth=$2 Gbit/s" --set "case.calls=$scratch/loop$1.jsonl" --draws 0 --quiet
	shift
	"$farwire" run "$@" | awk '/ calls and / { print $1 }'
	"$farwire" run "$@" --format json | sed -n '/^ *"step": {"value": /{s/.*"value": \([^,]*\),.*/\1/p;q;}'
}
monotone=$failed
loops_bad=0
seed=3200
while [ $seed -lt 3212 ]; do
	seed=$((seed + 1))
	program $seed loops >"$scratch/loop$seed.jsonl"
	# shellcheck disable=SC2046 # two numbers each
	set -- $(loop $seed 1) $(loop $seed 10)
	awk -v seed=$seed -v calls="${1-}" -v step="${2-}" -v fast_calls="${3-}" -v fast="${4-}" 'BEGIN {
		if (step > 0 && fast > 0 && fast <= 1.001 * step + 50e-6 * (fast_calls > calls ? fast_calls - calls : 0))
			exit 0
		printf "  loops %s: %s s, %s calls at 1 Gbit/s; %s s, %s calls at 10 Gbit/s\n", seed, step, calls, fast, fast_calls
		exit 1 }' || loops_bad=1
done
if [ $loops_bad = 0 ]; then
	echo 'ok wires.loops_of_queries_are_slower_only_with_more_queries'
else
	echo 'FAIL wires.loops_of_queries_are_slower_only_with_more_queries'
	failed=1
fi
if [ $monotone = 0 ]; then
	echo 'ok wires.a_faster_wire_makes_no_program_slower'
else
	echo 'FAIL wires.a_faster_wire_makes_no_program_slower'
fi
exit $failed
