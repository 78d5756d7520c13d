#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire import log` recognises the tool of each sample, and its numbers are those of the sample.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/logs
cd "$scratch" || exit 2

# reads FILE COUNTS PATTERN...: imports a sample; the message has the counts, the result each pattern
reads() {
	expect 0 "^[0-9]* points of [a-z0-9-]*: $2\$" import log "$samples/$1"
	shift 2
	for pattern; do
		grep -q "$pattern" "$scratch.out" || complain "no '$pattern' in the recording"
	done
}
all() { # "results read, used, skipped", then one point: COLLECTIVE RANKS SIZE SAMPLE
	reads "$1" "$2 results read, $3 used, $4 skipped" \
		"\"collective\": \"$5\".*\"size_B\": $7, \"ranks\": $6}.*\"samples\": \[$8\]"
}
all superbench-nccl_allreduce.log 68 64 4 all_reduce 8 8589934592 0.063896
all superbench-nccl_allgather.log 68 58 10 all_gather 8 8589934592 '.*'
all superbench-nccl_alltoall.log 68 58 10 alltoall 8 8589934592 0.033508
all superbench-nccl_reduce.log 68 64 4 reduce 8 8589934592 0.037613
all superbench-nccl_reducescatter.log 68 58 10 reduce_scatter 8 8589934592 0.032464
all cscs-nccl-2.txt 50 50 0 all_reduce 8 134217728 '.*'
all awsome-tagged.txt 14 12 2 all_reduce 16 2147483648 0.0091975
all oracle-pmix.log 2 2 0 all_reduce 8 53687090 0.000287
all pkb-k80.txt 22 22 0 all_reduce 2 1073741824 1.763386
all supermicro-alltoall.txt 6 6 0 alltoall 8 8192 1.241e-05
# Without a check an alltoall and an all_gather look the same; with one in place it is an all_gather.
sed -E '1d; /#|out/! { s,(0\.[0-9]+ +0\.[0-9]+ +)0 ,\1N/A,; }' "$samples/supermicro-alltoall.txt" >both
expect 2 'both:.*does not name the collective' import log both
sed -E '1d; s,N/A,  0,' "$samples/supermicro-alltoall.txt" >gather
expect 0 '6 used' import log gather
grep -q '"all_gather"' "$scratch.out" || complain 'the log is not that of an all_gather'
sed -E 's/ +float +sum +0 /  float 0 /' "$samples/superbench-nccl_reduce.log" >broadcast
expect 0 '64 used' import log broadcast
grep -q '"broadcast"' "$scratch.out" || complain 'the log is not that of a broadcast'
expect 2 'supermicro-1xB200.txt:15: there is one rank' import log "$samples/supermicro-1xB200.txt"
verdict import_logs.nccl_tests_of_all_layouts_have_the_listed_numbers

reads osu-bw.txt '23 results read, 23 used, 0 skipped' \
	'"what": "rate", "library": "mpi".*4194304}.*"B/s", "samples": \[23982180000\]'
reads osu-alltoall.txt '21 results read, 21 used, 0 skipped' \
	'"alltoall".*"size_B": 8388608, "ranks": 8}.*\[0.00051985\]'
reads osu-pkb-bw.txt '2 results read, 2 used, 0 skipped' '"size_B": 8}.*\[1190000\]'
reads osu-pkb-alltoall.txt '2 results read, 2 used, 0 skipped' '"alltoall".*"size_B": 32, "ranks": 8'
reads osu-pkb-barrier.txt '1 results read, 1 used, 0 skipped' '"barrier".*\[4.114e-05\]'
reads osu-pkb-iallreduce.txt '2 results read, 2 used, 0 skipped' \
	'"library": "mpi-nonblocking".*"size_B": 4, "ranks": 8}.*\[5.052'
reads osu-pkb-mbw_mr.txt '2 results read, 2 used, 0 skipped' '"rate_of_pairs".*\[126430000\]'
expect 2 'osu-crashed.txt:5: no results of osu .*crashed' import log "$samples/osu-crashed.txt"
sed 1d "$samples/osu-alltoall.txt" >unknown
expect 2 'unknown:4: .*number of ranks' import log unknown
sed 's/Pass$/Fail/' "$samples/osu-bw.txt" >failed
expect 2 'failed:5: no results .*validation' import log failed
printf '# OSU MPI Barrier Latency Test v7.5\n# MB/s\n 55.00\n' >rates
expect 2 "rates:2: the table needs 'Size' as the first column" import log rates
verdict import_logs.osu_benchmarks_have_the_listed_numbers

expect 2 '^\.: cannot read the file: Is a directory' import log .
expect 2 '^\.: cannot read the file: Is a directory' diagnose . --topology dgx-h100 --exchange nccl-2.18
expect 2 '^\.: message 0 .*: the file cannot be read' import chakra .
verdict import_logs.folder_instead_of_a_log_is_reported

one='1 results read, 1 used, 0 skipped'
reads inspector-all_reduce.json "$one" '"all_reduce".*"ranks": 8, "size_B": 17179869184}.*\[0.061974\]'
reads inspector-reduce_scatter.json "$one" '"ranks": 32, "size_B": 2097152}.*\[0.00011\]'
reads inspector-verbose.json "$one" '"ranks": 8, "size_B": 17179869184}.*\[0.041057\]'
for i in 1 2 3; do tr -d '\n' <"$samples/inspector-all_reduce.json"; echo; done >ranks.jsonl
echo '{"header":{"n_ranks":8},"p2p_perf":{"p2p":"Send"}}' >>ranks.jsonl
expect 0 '4 results read, 3 used, 1 skipped' import log ranks.jsonl
grep -q '\[0.061974, 0.061974, 0.061974\]' "$scratch.out" || complain 'ranks are not samples'
expect 2 'inspector-prometheus.txt:1: ' import log "$samples/inspector-prometheus.txt"
verdict import_logs.records_of_nccl_inspector_are_samples_of_one_point

reads mlperf-gpt3.txt '78 results read, 54 used, 24 skipped' \
	'"what": "run", "benchmark": "gpt3"}, "x": {"global_batch": 2304}.*\[3147.895\]'
reads mlperf-unfinished.txt '60 results read, 30 used, 30 skipped' '"epoch".*"global_batch": 1536'
grep -q '"run"' "$scratch.out" && complain 'a run without its end has a time'
expect 0 'skipped: run_start without run_stop' import log "$samples/mlperf-unfinished.txt"
verdict import_logs.unfinished_mlperf_run_has_epochs_but_no_run_time

reads perftest-all_sizes.log '24 results read, 24 used, 0 skipped' '"size_B": 8388608}, "pass": 1'
reads nvbandwidth.log '21 results read, 8 used, 13 skipped' '"h2d"'
reads nvbandwidth-warnings.json '31 results read, 2 used, 29 skipped' '"h2d".*\[1239' '"d2h".*\[1320'
expect 2 'nvbandwidth-invalid.json:8: ' import log "$samples/nvbandwidth-invalid.json"
expect 2 'iperf3-udp.json:6: this is a UDP test' import log "$samples/iperf3-udp.json"
reads iperf3-no-intervals.json "$one" '"streams": 8}.*\[1171871875\]'
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
