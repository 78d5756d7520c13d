#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire import log` finds what a log does not say, joins logs, and its samples are compared with a
# shipped machine. import_facts.sh compares the numbers.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/logs
cd "$scratch" || exit 2

# Without a check an alltoall and an all_gather look the same; with one in place it is an all_gather.
sed -E '1d; /#|out/! { s,(0\.[0-9]+ +0\.[0-9]+ +)0 ,\1N/A,; }' "$samples/supermicro-alltoall.txt" >both
expect 2 'both:.*does not name the collective' import log both
sed -E '1d; s,N/A,  0,' "$samples/supermicro-alltoall.txt" >gather
expect 0 '6 used' import log gather
grep -q '"all_gather"' "$scratch.out" || complain 'the log is not that of an all_gather'
sed -E 's/ +float +sum +0 /  float 0 /' "$samples/superbench-nccl_reduce.log" >broadcast
expect 0 '64 used' import log broadcast
grep -q '"broadcast"' "$scratch.out" || complain 'the log is not that of a broadcast'
# The largest bandwidths have the most digits. In falling order, the last ones are 0.11 and 0.20 GB/s.
# No collective of 8 ranks has their ratio.
{ sed '/(us)/q' "$samples/superbench-nccl_allreduce.log"; sed '1,/(us)/d' "$samples/superbench-nccl_allreduce.log" | sort -rn; } >falling
expect 0 '64 used' import log falling
grep -q '"all_reduce"' "$scratch.out" || complain 'the log is not that of an all-reduce'
verdict import_logs.collective_of_a_log_without_its_name_follows_from_its_columns

expect 2 '^\.: the file cannot be read: Is a directory' import log .
expect 2 '^\.: the file cannot be read: Is a directory' diagnose . --topology dgx-h100 --exchange nccl-2.18
expect 2 '^\.: the file cannot be read' import chakra .
verdict import_logs.folder_instead_of_a_log_is_reported

# Units: decimal bits, but bytes of 2^10 and so on in iperf3 and in perftest.
one() { # SAMPLES SIZE: the log on standard input has one point with these
	cat >one.log
	expect 0 '' import log one.log -q
	grep -q "\"size_B\": $2[,}].*\"samples\": \[$1\]" "$scratch.out" || complain "$(cat one.log): $(grep '"test"' "$scratch.out")"
}
iperf() {
	printf 'Connecting to host 10.0.0.2, port 5201\n[ ID] Interval Transfer Bitrate\n'
	printf '[  5]   0.00-1.00   sec  1 GBytes  %s    0   1 MBytes\n' "$1"
}
iperf '8.00 Gbits/sec' | one 1000000000 131072
iperf '8.00 Mbits/sec' | one 1000000 131072
iperf '8.00 Kbits/sec' | one 1000 131072
iperf '2.00 KBytes/sec' | one 2048 131072
iperf '2.00 MBytes/sec' | one 2097152 131072
iperf '2.00 GBytes/sec' | one 2147483648 131072
perftest() { # TITLE UNIT VALUE
	printf '                    %s\n#bytes #iterations BW peak[%s] BW average[%s] MsgRate[Mpps]\n' "$1" "$2" "$2"
	printf ' 65536 5000 99.0 %s 0.1\n' "$3"
}
perftest 'RDMA_Write BW Test' MB/sec 2.00 | one 2097152 65536
perftest 'RDMA_Write BW Test' MiB/sec 2.00 | one 2097152 65536
perftest 'RDMA_Read BW Test' Gb/sec 8.00 | one 1000000000 65536
verdict import_logs.units_of_each_tool_become_bytes_and_seconds

# fio: clones of a job in one group add up, and an asynchronous engine reads iodepth blocks at a time. 4 KiB at 8,192,000 B/s
# take 0.5 ms, eight of 64 KiB at 6.25 MiB/s 80 ms, and two of 1 MiB at 100 MiB/s 20 ms.
fio() { # JOBS
	echo "{\"fio version\": \"fio-3.28\", \"global options\": {\"direct\": \"1\", \"rw\": \"randread\", \"bs\": \"4k\"}, \"jobs\": [$1]}" >fio.json
}
job() { # NAME GROUP OPTIONS BYTES/S
	printf '{"jobname": "%s", "groupid": %s, "job options": {%s}, "read": {"bw_bytes": %s}}' "$@"
}
fio "$(job a 0 '"ioengine": "mmap", "iodepth": "8"' 4096000), $(job a 0 '' 4096000),
	$(job a 1 '"ioengine": "libaio", "iodepth": "8", "bs": "64Ki"' 6553600),
	$(job b 1 '"rw": "read", "bs": "1M", "numjobs": "2"' 104857600), $(job c 2 '"rw": "write"' 1)"
expect 0 '^3 points of fio: 4 results read, 3 used, 1 skipped' import fio fio.json
sed -n 's/.*"what": *"\([a-z]*\)".*"size_B": *\([0-9]*\), "parallel": *\([0-9]*\).*"samples": \[\([^]]*\)\].*/\1 \2 \3 \4/p' "$scratch.out" >got
printf '%s\n' 'random 4096 1 0.0005' 'random 65536 8 0.08' 'sequential 1048576 2 0.02' >wanted
cmp -s got wanted || complain "the jobs of fio are $(cat got)"
for options in '"bs": "4k,8k"' '"bs": "4x"' '"numjobs": "0"'; do
	fio "$(job a 0 "$options" 5)"
	expect 2 'a job lacks its bandwidth, or has no single size of a block' import fio fio.json
done
fio "$(job a 0 '' 0)"
expect 2 'a job lacks its bandwidth' import fio fio.json
fio "$(job a 0 '"direct": "0"' 5)"
expect 2 "a job reads through the kernel's cache" import fio fio.json
verdict import_logs.jobs_of_fio_have_their_blocks_and_readers

cat >stream.json <<'END'
{"event":"start","data":{"test_start":{"protocol":"TCP","num_streams":1,"blksize":131072}}}
{"event":"interval","data":{"streams":[],"sum":{"bits_per_second":8e9,"omitted":false}}}
{"event":"interval","data":{"streams":[],"sum":{"bits_per_second":9e9,"omitted":true}}}
{"event":"end","data":{"sum_received":{"bits_per_second":8e9}}}
END
expect 0 '2 results read, 1 used, 1 skipped' import log stream.json
grep -q '"samples": \[1000000000\]' "$scratch.out" || complain 'the interval is not 1 GB/s'
expect 0 '^64 points of nccl-tests' import nccl-tests "$samples/superbench-nccl_allreduce.log"
expect 0 '^65 points of log: 70 results read, 65 used, 5 skipped' import log "$samples/superbench-nccl_allreduce.log" stream.json
verdict import_logs.kinds_are_recognised_and_joined

# The commands of docs/import.md.
expect 0 '' import log "$samples/superbench-nccl_allreduce.log" -q
cp "$scratch.out" nccl.jsonl
expect 0 '' validate nccl.jsonl --topology dgx-a100-40 --exchange nccl-2.8 --draws 0 -q
shows '^all_reduce 8 bytes=8589934592 .* 63.9. ms '
grep -q 'test rows: 32' "$scratch.out" || complain 'the passes of a size are not one row'
expect 0 'sets no parameter' fit nccl.jsonl
verdict import_logs.imported_log_is_compared_with_a_shipped_machine_and_fitted
