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

# Waits last until the next call, here 40, 1,030, 90 and 15 us. Behind the first one, the kernel took 60 - 10 us. The second
# one has copied 12 MB at 12 GB/s in 1,000 us, so the kernel took 1,100 - 60 - 1,000 us. The third one copied for longer than
# the kernel lasted, and the last one is shorter than 20 us, so their kernels took no time.
cat >waits.log <<'END'
0.000000 step
0.000010 cudaLaunchKernel - 7
0.000020 cudaEventSynchronize
0.000060 cudaLaunchKernel - 7
0.000070 cuMemcpyHtoD_v2 12000000
0.001100 cudaMemsetAsync 5 7
0.001200 cudaLaunchKernel - 8
0.001210 cuMemcpyDtoH_v2 12000000
0.001300 step
0.001300 cudaLaunchKernel - 7
0.001310 cudaStreamSynchronize - 7
0.001320 printf
0.001322 puts
0.001325 cudaMalloc 8
END
expect 0 '^converted 10 calls of 1 threads with 2 step marks; 14 events read, 12 used, 2 skipped$' import api-log waits.log
grep -q '^2 lines of other functions were left out, the first of printf$' "$scratch.err" || complain "the lines left out: $(cat "$scratch.err")"
same() { # the calls without the names of most members are those of the standard input
	sed -n 's/^{"thread":\([0-9]*\),"call":/\1 /;s/"\(start\|end\|t\)_s":0\.00//g;s/_s":0\.00/":/g;s/[{}"]//g;/^format\|^end/!p' "$scratch.out" >got
	cat >wanted
	cmp -s got wanted || complain "the calls differ: $(diff got wanted)"
}
same <<'END'
step:1,0000000,thread:0
0 cudaLaunchKernel,0010000,0011000,stream:0,kernel:0050000
0 cudaEventSynchronize,0020000,0060000
0 cudaLaunchKernel,0060000,0061000,stream:0,kernel:0040000
0 cuMemcpyHtoD,0070000,1100000,copy:h2d,size_B:12000000
0 cudaMemsetAsync,1100000,1101000,stream:0,kernel:0000000,arguments_B:5
0 cudaLaunchKernel,1200000,1201000,stream:1,kernel:0000000
0 cuMemcpyDtoH,1210000,1300000,copy:d2h,size_B:12000000
step:2,1300000,thread:0
0 cudaLaunchKernel,1300000,1301000,stream:0,kernel:0000000
0 cudaStreamSynchronize,1310000,1325000,stream:0
0 cudaMalloc,1325000,1326000,size_B:8
END
verdict import_calls.kernels_end_when_the_next_wait_ends

# Each of two threads has its own waits and kernels. That of a lasts until 130 us, and two kernels share the time from 0 us on. That
# of b ends with the step at 200 us, and its kernel began at 10 us. The last kernel of a has no wait.
cat >threads.log <<'END'
time function bytes stream tid
0.000000 cudaLaunchKernel - 7 a
0.000010 cudaLaunchKernel - 8 b
0.000020 cudaLaunchKernel - 7 a
0.000030 cudaStreamSynchronize - 7 a
0.000040 cudaStreamSynchronize - 8 b
0.000130 cudaMalloc 8 - a
0.000140 cudaLaunchKernel - 7 a
0.000200 step 5
0.000210 cudaMalloc 9 - a
0.000250 cudaMalloc 10 - b
END
expect 0 '^converted 9 calls of 2 threads with 1 step marks' import api-log threads.log
same <<'END'
0 cudaLaunchKernel,0000000,0001000,stream:0,kernel:0065000
1 cudaLaunchKernel,0010000,0011000,stream:1,kernel:0190000
0 cudaLaunchKernel,0020000,0021000,stream:0,kernel:0065000
0 cudaStreamSynchronize,0030000,0130000,stream:0
1 cudaStreamSynchronize,0040000,0200000,stream:1
0 cudaMalloc,0130000,0131000,size_B:8
0 cudaLaunchKernel,0140000,0141000,stream:0,kernel:0000000
step:5,0200000,thread:0
0 cudaMalloc,0210000,0211000,size_B:9
1 cudaMalloc,0250000,0251000,size_B:10
END
verdict import_calls.threads_have_their_own_waits_and_kernels

# Columns have any order and their own units. A cell may have a unit of its own. A call does not end before it begins.
# The direction in the name of a copy counts before that of the column. Kernels wait for nothing, because their times are known.
cat >units.csv <<'END'
(x);Stream;Kernel (us);copy;Tid;Size [B];API;End [ms];Begin_ms
;a;;;x;8;cudaMalloc;1001.25;1000.5
;b;;h2d;y;9;cudaMemcpyAsync;1000.9;1001
;b;;h2d;y;10;cuMemcpyDtoHAsync_v2;1001.5;1001.2
;a;12.5;;x;7;cudaLaunchKernel;;1001.3ms
;;;;x;;printf;;1001.4
;a;;;x;0;cudaLaunchKernel;;1001.4
;;;;x;;cudaDeviceSynchronize;1002;1001.45
;;;;x;;step 4;;1002
END
expect 0 '^converted 6 calls of 2 threads with 1 step marks; 8 events read, 7 used, 1 skipped$' import api-log units.csv
[ "$(tail -n 1 "$scratch.err")" = '1 lines of other functions were left out, the first of printf' ] || complain "the notes: $(cat "$scratch.err")"
same <<'END'
0 cudaMalloc,0000000,0750000,stream:0,size_B:8
1 cudaMemcpyAsync,0500000,0500000,stream:1,copy:h2d,size_B:9
1 cuMemcpyDtoHAsync,0700000,1000000,stream:1,copy:d2h,size_B:10
0 cudaLaunchKernel,0800000,0801000,stream:0,kernel:0012500,arguments_B:7
0 cudaLaunchKernel,0900000,0901000,stream:0,kernel:0000000
0 cudaDeviceSynchronize,0950000,1500000
step:4,1500000,thread:0
END
verdict import_calls.columns_have_any_order_and_unit

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
refused "^bad.log:1: bytes is '-1', but must be a whole number" '0 cudaMalloc -1'
refused "^bad.log:1: bytes is '1.1e15', but must be a whole number" '0 cudaMalloc 1.1e15'
refused "^bad.log:1: bytes is 'many', but must be a whole number" '0 cudaMalloc many'
refused "^bad.log:1: 'bytes' is not a function of CUDA" 'name bytes'
table='time,end,duration,gpu,name'
refused "^bad.log:2: the time 'a' is not a time" $table '0,a,,,cudaMalloc'
refused "^bad.log:2: the time 'b' is not a time" $table '0,,b,,cudaMalloc'
refused "^bad.log:2: the time 'c' is not a time" $table '0,,,c,cudaMalloc'
refused '^bad.log:2: a time is larger than 30 years .name the unit in the heading, for example time_us' $table '0,1.1e9,,,cudaMalloc'
refused '^bad.log:2: a time is larger than 30 years' $table '0,,1.1e9,,cudaMalloc'
refused '^bad.log:2: a time is larger than 30 years' $table '0,,,1.1e9,cudaMalloc'
refused '^bad.log:2: the line has no time or no function' $table ',1,1,,cudaMalloc'
refused '^bad.log:2: the line has no time or no function' $table '0,1,1,,'
refused '^bad.log: the log has no call' '# nothing' 'time name'
printf '0 cudaMalloc 1\n\0\n' >bad.log
expect 2 '^bad.log:2: this is not a log of calls, because it contains a zero byte' import api-log bad.log
awk 'BEGIN { print "time,name,tid"; for (i = 0; i < 4097; i++) print i * 1e-6 ",cudaMalloc," i }' >threads.csv
expect 2 '^threads.csv:4098: the log has more than 4096 threads .divide it' import api-log threads.csv
head -n 4097 threads.csv >fewer.csv
expect 0 'converted 4096 calls of 4096 threads' import api-log fewer.csv
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
