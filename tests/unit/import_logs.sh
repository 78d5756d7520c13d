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

for i in 1 2 3; do tr -d '\n' <"$samples/inspector-all_reduce.json"; echo; done >ranks.jsonl
echo '{"header":{"n_ranks":8},"p2p_perf":{"p2p":"Send"}}' >>ranks.jsonl
expect 0 '4 results read, 3 used, 1 skipped' import log ranks.jsonl
grep -q '\[0.061974, 0.061974, 0.061974\]' "$scratch.out" || complain 'ranks are not samples'
verdict import_logs.records_of_nccl_inspector_are_samples_of_one_point

expect 0 'skipped: run_start without run_stop' import log "$samples/mlperf-unfinished.txt"
grep -q '"run"' "$scratch.out" && complain 'a run without its end has a time'
shows '"epoch"'
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
