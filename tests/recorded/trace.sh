#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recorder without a GPU: libfarwire-trace.so uses a CUPTI that plays a script
# (tests/fake_cupti.c). The test replays what it recorded.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

headers=
for place in "${CUDA_HOME:-/usr/local/cuda}/include" \
	"${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/include"; do
	[ -f "$place/cupti.h" ] && headers=$place
done
if [ -z "$headers" ]; then
	echo '  skipped: cupti.h is missing'
	exit 77
fi
build=$(dirname "$FARWIRE")
if [ ! -f "$build/libfarwire-trace.so" ]; then
	echo "  skipped: libfarwire-trace.so is missing (run make trace)"
	exit 77
fi
compile() {
	gcc -std=gnu17 -O1 -Wall -Wextra -Wno-unused-parameter -Werror -pthread -isystem "$headers" \
		-isystem "${CUDA_HOME:-/usr/local/cuda}/include" "$@" tests/fake_cupti.c -ldl \
		2>>"$scratch.cc" || complain "tests/fake_cupti.c does not compile: $(head -n 3 "$scratch.cc")"
}
compile -shared -fPIC -o "$scratch/libcupti.so"
compile -DPROGRAM -o "$scratch/program"
verdict trace.fake_cupti_compiles

FARWIRE_CUPTI=$scratch/libcupti.so
FAKE_CUPTI=$FARWIRE_CUPTI # the program needs it, also if the recorder has another one
export FARWIRE_CUPTI FAKE_CUPTI
traced() { # CODE FILE PROGRAM ARGS...
	wanted=$1
	file=$2
	shift 2
	code=0
	"$build/farwire-trace" -o "$file" -- "$@" 2>"$scratch.err" || code=$?
	[ "$code" = "$wanted" ] || complain "farwire-trace $*: ended with $code, not $wanted"
}
holds() { # FILE PATTERN LINES
	found=$(grep -cE -e "$2" "$1" 2>/dev/null)
	[ "$found" = "$3" ] || complain "$1: $found lines have $2, not $3"
}

traced 7 "$scratch/calls.jsonl" "$scratch/program" 4
holds "$scratch/calls.jsonl" '"call":"cudaLaunchKernel".*"kernel_s":0.000100000.*gemm' 16
holds "$scratch/calls.jsonl" '"stream":13,"copy":"h2d","size_B":1048576,"memory":"pinned"' 4
holds "$scratch/calls.jsonl" '"call":"cudaMemcpy".*"copy":"d2h",.*"memory":"pageable"' 4
holds "$scratch/calls.jsonl" '"call":"cudaEventQuery".*"event":0,"ready":false' 4
holds "$scratch/calls.jsonl" '"call":"cudaGraphLaunch".*"stream":14,"kernel_s":0.000050000' 4
holds "$scratch/calls.jsonl" '"call":"cudaStreamSynchronize".*"stream":13' 4
holds "$scratch/calls.jsonl" '^{"step":' 4
holds "$scratch/calls.jsonl" '"call":"cuInside"' 0
holds "$scratch/calls.jsonl" \
	'^{"end":true,"lines":58,"memory_B":67108864,"dropped":0,"orphans":0,"gpu":"Fake GPU"}$' 1
verdict trace.recording_has_each_call

# Four allocations of 20 MiB exceed the later one of 64 MiB only if each is counted. If one of the
# releases were not counted, more than 80 MiB would be held.
traced 7 "$scratch/kinds.jsonl" "$scratch/program" 3
holds "$scratch/kinds.jsonl" '"call":"(cudaMallocAsync|cuMemAllocAsync|cudaFreeAsync|cuMemFreeAsync)",.*"stream":13' 4
holds "$scratch/kinds.jsonl" '"call":"cudaEventRecordWithFlags".*"stream":13,"event":0' 1
holds "$scratch/kinds.jsonl" '"call":"cudaStreamQuery".*"stream":13,"ready":false' 1
holds "$scratch/kinds.jsonl" '"call":"cudaEventSynchronize".*"event":0}' 1
holds "$scratch/kinds.jsonl" '^{"step":70,' 1
holds "$scratch/kinds.jsonl" '^{"step":' 4
size=100
for kind in h2d d2h h2h p2p d2d; do
	holds "$scratch/kinds.jsonl" \
		"\"stream\":13,\"copy\":\"$kind\",\"size_B\":$size,\"memory\":\"pinned\",\"copy_s\":0.000002000" 1
	size=$((size + 1))
done
holds "$scratch/kinds.jsonl" '"stream":15,"copy":"p2p","size_B":200,"copy_s":0.000003000' 1
holds "$scratch/kinds.jsonl" '^{"end":true,"lines":62,"memory_B":83886080,"dropped":0,"orphans":0,' 1
verdict trace.each_kind_of_call_has_its_parameters

# A step of the script takes 1000 us: launches and a poll of the event (its second query finds
# it ready after the kernels, at about 470 us), the graph after the event, the pageable copy.
# Its host times are short compared with the GPU's 400 us of kernels. So the replay takes longer
# than the kernels and copies, and less than the script.
expect 0 '' run --calls "$scratch/calls.jsonl" --topology t320-same-esxi --draws 0 --quiet \
	--format csv
step=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^step_s/ && !at) at = i }
	NR == 2 { print $at * 1e6 }' "$scratch.out")
awk -v step="$step" 'BEGIN { exit !(step > 600 && step < 1500) }' ||
	complain "a replayed step takes $step us, not 600 to 1500"
verdict trace.replay_takes_as_long_as_the_script

# A program calls a cuBLAS that makes all calls of a step, once with fifteen arguments. The recording has the call around
# them, and farwire gives it their work on the GPU: 4 kernels of 100 us, a graph of 50 us and a memset of 5 us.
if [ -f "$build/libfarwire-libraries.so" ]; then
	cat >"$scratch/blas.c" <<'END'
int cublasSgemm_v2(void (*play)(int), int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l,
		   int m, double n);
int cublasSgemm_v2(void (*play)(int), int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l,
		   int m, double n)
{
	play(1);
	return a + b + c + d + e + f + g + h + i + j + k + l + m + (int)n;
}
END
	cat >"$scratch/uses_blas.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int cublasSgemm_v2(void (*play)(int), int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l,
		   int m, double n);
int main(void)
{
	void *recorder = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
	void *cupti = dlopen(getenv("FAKE_CUPTI"), RTLD_NOW);
	int (*begin)(void);
	void (*play)(int);
	void *found = dlsym(recorder, "InitializeInjection");
	memcpy(&begin, &found, sizeof found);
	found = dlsym(cupti, "fake_play");
	memcpy(&play, &found, sizeof found);
	if (!begin())
		return 1;
	return cublasSgemm_v2(play, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14.5);
}
END
	gcc -O1 -shared -fPIC -o "$scratch/libcublas.so.12" "$scratch/blas.c" &&
		gcc -O1 -o "$scratch/uses_blas" "$scratch/uses_blas.c" "$scratch/libcublas.so.12" -Wl,-rpath,"$scratch" -ldl ||
		complain 'the program with libcublas.so.12 does not compile'
	"$build/farwire-trace" -l -o "$scratch/blas.jsonl" -- "$scratch/uses_blas" 2>"$scratch.err"
	code=$?
	[ "$code" = 105 ] || complain "the program ended with $code, not the sum 105: $(cat "$scratch.err")"
	holds "$scratch/blas.jsonl" '"call":"cublasSgemm"' 1
	holds "$scratch/blas.jsonl" '"call":"cudaLaunchKernel"' 4
	sed '/^{"step"/d; s/"lines":[0-9]*,//' "$scratch/blas.jsonl" >"$scratch/whole.jsonl" # the only step has no end
	expect 0 '' run --calls "$scratch/whole.jsonl" --topology t320-same-esxi --draws 0 -q --format json
	shows '"calls": 1,'
	shows '"breakdown": \{"kernel": 0\.000455,'
	traced 105 "$scratch/plain.jsonl" "$scratch/uses_blas"
	holds "$scratch/plain.jsonl" 'cublas' 0
	verdict trace.calls_of_libraries_contain_the_calls_that_they_make
fi

traced 7 "$scratch/two.jsonl" "$scratch/program" 3 threads
holds "$scratch/two.jsonl" '^{"thread":[01],' 86
holds "$scratch/two.jsonl" '"dropped":0' 1
FARWIRE_TRACE_BUFFERS=1
export FARWIRE_TRACE_BUFFERS
traced 7 "$scratch/few.jsonl" "$scratch/program" 900
expect 2 'the recorder lost [0-9]+ records' run --calls "$scratch/few.jsonl" --topology \
	t320-same-esxi
grep -q '"dropped":0,' "$scratch/few.jsonl" && complain 'one buffer lost no records'
unset FARWIRE_TRACE_BUFFERS
FAKE_DROPPED=5 traced 7 "$scratch/lost.jsonl" "$scratch/program" 4 # by CUPTI
holds "$scratch/lost.jsonl" '"dropped":5,' 1
verdict trace.lost_records_are_counted

traced 134 "$scratch/crash.jsonl" "$scratch/program" 1001
grep -q 'cut off' "$scratch.err" || complain "after a crash the error is $(cat "$scratch.err")"
expect 2 'cut off' run --calls "$scratch/crash.jsonl" --topology t320-same-esxi
traced 1 "$scratch/none.jsonl" "$scratch/program" 0
grep -q 'no CUDA call' "$scratch.err" || complain "without calls the error is $(cat "$scratch.err")"
traced 2 "$scratch/none.jsonl" "$scratch/nosuch"
traced 2 "$scratch/nosuch/x.jsonl" "$scratch/program" 1
FARWIRE_CUPTI=/nosuch.so traced 1 "$scratch/none.jsonl" "$scratch/program" 1
grep -q 'nothing is recorded: CUPTI was not found' "$scratch.err" ||
	complain "without CUPTI the error is $(cat "$scratch.err")"
for buffers in 0 65537; do
	FARWIRE_TRACE_BUFFERS=$buffers traced 1 "$scratch/none.jsonl" "$scratch/program" 1
	grep -q 'FARWIRE_TRACE_BUFFERS is not a number from 1 to 65536' "$scratch.err" ||
		complain "with $buffers buffers the error is $(cat "$scratch.err")"
done
cp "$build/farwire-trace" "$scratch/lonely"
"$scratch/lonely" -o "$scratch/none.jsonl" true 2>"$scratch.err"
[ $? = 2 ] && grep -q 'libfarwire-trace.so is missing' "$scratch.err" ||
	complain "without its library farwire-trace printed $(cat "$scratch.err")"
verdict trace.failures_are_reported
