#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Logs of calls become call files. Stated rules give the times that they lack, and other formats are
# refused.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
root=$PWD
cd "$scratch" || exit 2

# has COUNT PATTERN: that many lines of the results match the pattern
has() {
	found=$(grep -c -e "$2" "$scratch.out")
	[ "$found" = "$1" ] || complain "$found lines with '$2', not $1"
}

# The wait lasts from 50 us to the next call at 250 us. Two kernels share the time from the first launch at 30 us to
# 250 us, so each takes 110 us. The copy to the host ends where step 2 begins. The copy has no end of its own.
cat >a.log <<'END'
# time function bytes stream
100.000000 step 1
100.000010 cudaMalloc 1048576
100.000020 cuMemcpyHtoDAsync_v2 602112 7
100.000030 cudaLaunchKernel 960 7
100.000040 cudaLaunchKernel - 7
100.000050 cudaStreamSynchronize - 7
100.000250 cuMemcpyDtoH_v2 4000
100.000300 step 2
100.000310 cudaLaunchKernel 960 7
100.000320 printf 3
END
expect 0 'kernels share the time until the next wait' import api-log a.log
grep -q '^converted 7 calls of 1 threads with 2 step marks; 10 events read, 9 used, 1 skipped$' "$scratch.err" ||
	complain "the summary is: $(cat "$scratch.err")"
grep -q '^1 lines of other functions were left out, the first of printf$' "$scratch.err" || complain 'no word about printf'
has 1 '^{"step":2,"t_s":0.000300000,'
has 1 '"cudaMalloc","start_s":0.000010000,"end_s":0.000011000,"size_B":1048576}'
has 1 '"cuMemcpyHtoDAsync",.*"copy":"h2d","size_B":602112}'
has 2 '"kernel_s":0.000110000'
has 1 '"kernel_s":0.000110000,"arguments_B":960}'
has 1 '"cudaStreamSynchronize","start_s":0.000050000,"end_s":0.000250000,"stream":0}'
has 1 '"cuMemcpyDtoH",.*"end_s":0.000300000,"copy":"d2h","size_B":4000}'
has 1 '"kernel_s":0.000000000,"arguments_B":960}'
cp "$scratch.out" a.jsonl
farwire run --calls a.jsonl --topology lan-pair --program client --server server --runtime asynchronous --draws 0 -q
[ "$code" = 0 ] || complain "the log cannot be played: $(cat "$scratch.err")"
verdict import_calls.plain_log_becomes_a_program_whose_waits_bound_its_kernels

# nsys stats -r cuda_api_trace has such columns, to which bytes and the kernel's time are added.
cat >table.csv <<'END'
"Start (ns)","Duration (ns)","Name","Bytes","Tid","Stream","kernel_us"
1000000000,5000,cudaMalloc,1048576,77,,
1000010000,1500,cublasCreate_v2,,77,,
1000020000,2000,cublasGemmEx,,77,0x5,12.5
1000020500,2000,cudaEventQuery,,78,,
1000030000,100000,cudaDeviceSynchronize,,77,,
END
expect 0 'converted 5 calls of 2 threads' import api-log table.csv
! grep -q 'kernels share' "$scratch.err" || complain 'the times of kernels are in the log'
has 1 '"thread":0,"call":"cublasGemmEx","start_s":0.000020000,"end_s":0.000022000,"stream":0,"kernel_s":0.000012500}'
has 1 '"thread":1,"call":"cudaEventQuery"'
cp "$scratch.out" table.jsonl
sed 's/"//g; s/,/;/g' table.csv | gzip >other.csv.gz
expect 0 '' import api-log other.csv.gz -q
cmp -s "$scratch.out" table.jsonl || complain 'semicolons and gzip change the result'
printf 'time function bytes\n10:00:00.5 cuMemAlloc_v2 8\n10:00:01.75 cuMemFree_v2 -\n' >day.log
expect 0 '' import api-log day.log -q
has 1 '"cuMemFree","start_s":1.250000000'
verdict import_calls.tables_name_their_columns

refused() { # PATTERN LINE...
	pattern=$1
	shift
	printf '%s\n' "$@" >bad.log
	expect 2 "$pattern" import api-log bad.log
}
refused '^bad.log:1: this is not a log of calls, because it begins with .\{.' '{"call":"cudaMalloc"}'
refused "^bad.log:1: 'world' is not a function of CUDA" '0 world 1'
refused "^bad.log:1: 'is' is not a function of CUDA" 'This is prose.'
refused '^bad.log:2: the line has no time or no function' '0 cudaMalloc 1' 'cudaMalloc'
refused "^bad.log:2: the time 'soon' is not a time" '0 cudaMalloc 1' 'soon cudaMalloc 1'
refused "^bad.log:1: bytes is '1.5', but must be a whole number" '0 cudaMalloc 1.5'
refused '^bad.log:1: the copy has no direction' '0 cudaMemcpy 8'
refused '^bad.log:1: the copy has no bytes' '0 cuMemcpyHtoD'
refused '^bad.log:2: the time is -1 s after the first one' '1 cudaMalloc 1' '0 cudaMalloc 1'
refused '^bad.log:2: the time is 1e\+10 s after the first one' '0 cudaMalloc 1' '1e10 cudaMalloc 1'
refused '^bad.log: the log has no call' '# nothing' 'time name'
printf '0 cudaMalloc 1\n\0\n' >bad.log
expect 2 '^bad.log:2: this is not a log of calls, because it contains a zero byte' import api-log bad.log
verdict import_calls.other_files_and_lines_are_refused_with_their_line

# The command of docs/import.md, on statistics of Lupine: number, calls and nanoseconds of each function.
printf '#define RPC_%s %s\n' cuInit 1 cuMemcpyHtoDAsync_v2 2 cuLaunchKernel 3 cuStreamSynchronize 4 >gen_rpc_ids.h
printf '%s\t%s\t%s\n' 4 2 9000000 3 8 0 2 2 0 1 1 400000 >stats.tsv
sed -n '\%^    awk ./#define RPC_%,\%>calls.log$%s/^    //p' "$root/docs/import.md" >command
sh ./command || complain "the command ends with $?"
expect 0 'converted 13 calls' import api-log calls.log
[ "$(grep -c cuLaunchKernel "$scratch.out")" = 8 ] || complain 'there are not 8 kernels'
[ "$(sed -n 's/.*"call":"\([^"]*\)".*/\1/p' "$scratch.out" | sed -n 7p)" = cuInit ] || complain 'the one call is not in the middle'
cp "$scratch.out" stats.jsonl
gzip -c stats.jsonl >stats.jsonl.gz
for file in stats.jsonl stats.jsonl.gz; do
	farwire check $file
	shows 'recording: 13 calls by 1 threads'
	farwire run --calls $file --topology lan-pair --program client --server server --runtime asynchronous --draws 0 -q \
		--format csv
	sed 's/stats.jsonl.gz/stats.jsonl/g' "$scratch.out" >$file.csv
done
cmp -s stats.jsonl.csv stats.jsonl.gz.csv || complain 'a compressed call file gives other numbers'
verdict import_calls.statistics_of_lupine_become_a_log_of_calls

# A file may unpack to 1 GiB and 64 times its size. A cut or changed file is refused.
head -c 60 stats.jsonl.gz >cut.jsonl.gz
expect 2 '^cut.jsonl.gz: the compressed file cannot be unpacked: it ends too early' check cut.jsonl.gz
{ head -c 60 stats.jsonl.gz && printf 'xxxxxxxx' && tail -c +69 stats.jsonl.gz; } >bad.jsonl.gz
expect 2 '^bad.jsonl.gz: the compressed file cannot be unpacked: it is damaged' check bad.jsonl.gz
cat stats.jsonl.gz >two.jsonl.gz
head -n 1 stats.jsonl | gzip >head.gz
tail -n +2 stats.jsonl | gzip | cat head.gz - >two.jsonl.gz
expect 0 '' check two.jsonl.gz
verdict import_calls.damaged_compressed_files_are_refused
exit 0
