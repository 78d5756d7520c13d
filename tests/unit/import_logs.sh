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
verdict import_logs.collective_of_a_log_without_its_name_follows_from_its_columns

sed 1d "$samples/osu-alltoall.txt" >unknown
expect 2 'unknown:4: .*number of ranks' import log unknown
sed 's/Pass$/Fail/' "$samples/osu-bw.txt" >failed
expect 2 'failed:5: no results .*validation' import log failed
expect 0 '' import log "$samples/osu-pkb-iallreduce.txt" -q
shows '"library": "mpi-nonblocking"'
printf '# OSU MPI Barrier Latency Test v7.5\n# MB/s\n 55.00\n' >rates
expect 2 "rates:2: the table needs 'Size' as the first column" import log rates
verdict import_logs.osu_logs_without_ranks_or_with_failed_validation_are_refused

expect 2 '^\.: cannot read the file: Is a directory' import log .
expect 2 '^\.: cannot read the file: Is a directory' diagnose . --topology dgx-h100 --exchange nccl-2.18
expect 2 '^\.: message 0 .*: the file cannot be read' import chakra .
verdict import_logs.folder_instead_of_a_log_is_reported

# Units: decimal bits, but bytes of 2^10 and so on in iperf3 and in perftest; OSU's MB are 10^6.
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
osu() { # TITLE HEADING VALUE
	printf '# OSU MPI %s Test v7.5\n# Size      %s\n1024   %s\n' "$1" "$2" "$3"
}
osu Bandwidth 'Bandwidth (MB/s)' 2.00 | one 2000000 1024
osu Latency 'Latency (us)' 2.00 | one 2e-06 1024
# Ranks of a launcher: nodes times tasks, or all; of Intel MPI: the largest number and one. The size
# of an all-gather is that of the buffer of all ranks.
for command in 'srun -N2 --ntasks-per-node=4 osu_allgather' 'mpirun -np 8 osu_allgather' 'srun --nodes=4 --ntasks-per-node 2 osu_allgather'; do
	{ echo "$command"; osu Allgather 'Avg Latency(us)' 2.00; } | one 2e-06 8192
	grep -q '"ranks": 8' "$scratch.out" || complain "$command: $(grep -o '"ranks": [0-9]*' "$scratch.out")"
done
{ echo 'mpirun -np 8 osu_alltoall'; osu Alltoall 'Avg Latency(us)' 2.00; } | one 2e-06 8192
{
	for rank in 0 1 2 3; do echo "[0] MPI startup(): $rank 1 node {0}"; done
	osu Allreduce 'Avg Latency(us)' 2.00
} | one 2e-06 1024
grep -q '"ranks": 4' "$scratch.out" || complain "Intel MPI: $(grep -o '"ranks": [0-9]*' "$scratch.out")"
# An Inspector's size is that of one rank; here it is that of the larger buffer.
inspector() {
	echo "{\"header\":{\"rank\":0,\"n_ranks\":4},\"coll_perf\":{\"coll\":\"$1\",\"coll_msg_size_bytes\":1024,\"coll_exec_time_us\":2}}"
}
inspector AllReduce | one 2e-06 1024
inspector AllGather | one 2e-06 4096
inspector ReduceScatter | one 2e-06 4096
inspector Broadcast | one 2e-06 1024
verdict import_logs.units_of_each_tool_become_bytes_and_seconds

for i in 1 2 3; do tr -d '\n' <"$samples/inspector-all_reduce.json"; echo; done >ranks.jsonl
echo '{"header":{"n_ranks":8},"p2p_perf":{"p2p":"Send"}}' >>ranks.jsonl
expect 0 '4 results read, 3 used, 1 skipped' import log ranks.jsonl
grep -q '\[0.061974, 0.061974, 0.061974\]' "$scratch.out" || complain 'ranks are not samples'
verdict import_logs.records_of_nccl_inspector_are_samples_of_one_point

expect 0 'skipped: run_start without run_stop' import log "$samples/mlperf-unfinished.txt"
grep -q '"run"' "$scratch.out" && complain 'a run without its end has a time'
shows '"epoch"'
{
	cat "$samples/mlperf-unfinished.txt"
	echo ':::MLLOG {"time_ms": 1715318457308, "key": "run_stop", "value": null, "metadata": {"status": "success"}}' # when it starts
} >backwards
expect 0 'skipped: an end without a start' import log backwards
grep -q '"run"' "$scratch.out" && complain 'a run that takes no time has a time'
verdict import_logs.unfinished_mlperf_run_has_epochs_but_no_run_time

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
