#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Replays of imported traces take the recorded time on the recorded wires, and longer on slower ones.
# import_facts.sh compares the numbers of the samples.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/traces
cd "$scratch" || exit 2
for trace in ddp-rank0-of-2 dlrm-rank0 dlrm-rank7; do
	gunzip -c "$samples/$trace.json.gz" >$trace.json || complain "no sample $trace"
done

# has COUNT PATTERN: that many lines of the results match the pattern
has() {
	found=$(grep -c -e "$2" "$scratch.out")
	[ "$found" = "$1" ] || complain "$found lines with '$2', not $1"
}

# The sizes are elements times 4 bytes; a DLRM all-to-all of 6144 floats has no argument of NCCL.
expect 0 '^rank 0 of 2: 9 collectives with bytes and group; 0 without' import kineto ddp-rank0-of-2.json
has 5 '"call":"ncclAllReduce".*"group_first":0,"group_size":2,"group_stride":1'
has 1 '"ncclAllReduce".*"size_B":31502336,'
has 2 '"ncclBroadcast".*"size_B":424,.*"kernel_s":0.000007'
cp "$scratch.out" ddp.jsonl
expect 0 '^rank 7 of 8: 8 collectives' import kineto dlrm-rank0.json dlrm-rank7.json
has 4 '"ncclAlltoAll".*"size_B":24576,'
has 1 '"rank":7,"ranks":8'
cp "$scratch.out" dlrm.jsonl
expect 0 '' check dlrm.jsonl
shows 'recording of 2 ranks, the first: 514 calls by 2 threads on Tesla V100'
verdict import_traces.pytorch_traces_have_the_listed_collectives

# Messages name a rank by its place in the group: the third of ranks 1, 5 and 9. Sizes are those of the
# larger buffer. Work on the same stream of another GPU is on another stream.
event() { # CATEGORY NAME ts dur ARGS
	printf '{"ph":"X","cat":"%s","name":"%s","ts":%s,"dur":%s,"tid":1,"args":{%s}},\n' "$@"
}
group='"Process Group Ranks":"[1, 5, 9]","Group size":3,"dtype":"Half"'
{
	echo '{"distributedInfo":{"rank":1,"world_size":12},"traceEvents":['
	event cuda_runtime cudaLaunchKernel 1 1 '"correlation":1'
	event cuda_runtime cudaLaunchKernel 3 1 '"correlation":2'
	event cuda_runtime cudaLaunchKernel 5 1 '"correlation":3'
	event cuda_runtime cudaLaunchKernel 7 1 '"correlation":4'
	event kernel ncclDevKernel_SendRecv 2 1 "\"correlation\":1,\"stream\":20,\"Collective name\":\"send\",\"In msg nelems\":100,\"Dst Rank\":2,$group"
	event kernel ncclDevKernel_AllGather 4 1 "\"correlation\":2,\"stream\":20,\"Collective name\":\"_allgather_base\",\"In msg nelems\":100,\"Out msg nelems\":300,$group"
	event kernel ncclDevKernel_ReduceScatter 6 1 "\"correlation\":3,\"stream\":20,\"Collective name\":\"_reduce_scatter_base\",\"In msg nelems\":600,\"Out msg nelems\":200,$group"
	event kernel gemm 8 2.5 '"correlation":4,"stream":20,"device":1'
	event cuda_runtime cudaLaunchKernel 11 1 '"correlation":5'
	event cuda_runtime cudaLaunchKernel 13 1 '"correlation":6'
	event kernel last 12 0.5 '"correlation":5,"stream":1048575'
	event kernel beyond 14 0.5 '"correlation":6,"stream":1048576'
	echo '{"ph":"M"}]}'
} >group.json
farwire import kineto group.json
has 1 '"ncclSend".*"stream":20,.*"size_B":200,"group_first":1,"group_size":3,"group_stride":4,"peer":9,'
has 1 '"ncclAllGather".*"size_B":600,"group_first":1,"group_size":3,"group_stride":4'
has 1 '"ncclReduceScatter".*"size_B":1200,"group_first":1,"group_size":3,"group_stride":4'
has 1 '"cudaLaunchKernel".*"stream":1048596,.*"kernel_s":0.000002500,.*"gemm"' # 2^20 + 20
has 1 '"stream":1048575,.*"last"'
has 1 '"beyond"'
has 0 '"stream".*"beyond"'
verdict import_traces.messages_have_the_rank_and_bytes_of_their_group

head -c 3000 "$samples/nsys-ai-healthy_1pct.sqlite" >cut.sqlite
expect 2 'cut.sqlite: .*(cannot be read|no usable row)' import nsys cut.sqlite
verdict import_traces.cut_database_of_nsight_systems_is_refused

# The same report as three tables in one file, as nsys stats --format csv --output - writes them.
# The calls of these two kernels are not in the sample, which has only the table of kernels.
gpu=$samples/gprofiler-cuda_gpu_trace.csv
{
	printf 'Generating SQLite file report.sqlite from report.nsys-rep\n'
	printf 'Processing [report.sqlite] with [cuda_api_trace.py]... \n'
	printf 'Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n'
	printf '500,200,cudaLaunchKernel,0,101,7,8,20,"a, ""b"""\n800,100,cudaLaunchKernel,0,102,7,8,20,a\n'
	printf '13500,300,cudaMemcpyAsync,0,103,7,8,20,a\n'
	printf '\nProcessing [report.sqlite] with [cuda_gpu_trace.py]... \n'
	cat "$gpu"
	printf '14000,700,103,,,,,,,,,,0.004,5.7,Pageable,Device,NVIDIA A10G (0),1,7,[CUDA memcpy Host-to-Device]\n'
	printf '\nStart (us),End (us),Duration (us),Name,PID,TID\n0.1,15,14.9,step 3,7,8\n'
} >stats.csv
expect 0 'converted 3 calls of 1 threads with 2 step marks; 7 events read, 7 used, 0 skipped' \
	import nsys stats.csv
cp "$scratch.out" stats.jsonl
has 1 '"cudaLaunchKernel","start_s":0.000000400,.*"kernel_s":0.000005000,.*"burn(float \*, int, int)"'
has 1 '"cudaMemcpyAsync","start_s":0.000013400,.*"copy":"h2d","memory":"pageable","size_B":4000'
has 1 '"gpu":"NVIDIA A10G"'
has 1 '"step":3,"t_s":0.000000000'
"$FARWIRE" import nsys - <stats.csv >"$scratch.out" 2>"$scratch.err"
cmp -s "$scratch.out" stats.jsonl || complain "a pipe gives another result than the file"
sed 's/,102,160/,102/' stats.csv >short.csv
expect 2 'short.csv:11: the line has 19 cells, and the titles of its table 20' import nsys short.csv
sed 's/^800,100/8oo,100/' stats.csv >letters.csv
expect 2 "letters.csv:5: '8oo' must be a number .Start." import nsys letters.csv
sed 's/,102,7,8/,102,9,8/' stats.csv >two.csv
expect 2 'two.csv:5: the calls are of several processes' import nsys two.csv
# The mark behind a step is its end: 15 us after 0.1 us. Streams of another device have numbers of
# their own. Times in ms and sizes in KB are the same as times in ns and sizes in MB.
cp stats.jsonl "$scratch.out"
has 1 '"step":4,"t_s":0.000014900'
sed 's/(0),1,7,\[CUDA/(1),1,7,[CUDA/' stats.csv >devices.csv
farwire import nsys devices.csv
has 2 '"stream":7,'
has 1 '"stream":1048583,' # 2^20 + 7
{
	sed -n 1,2p stats.csv
	printf 'Start (ms),Duration (ms),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n'
	printf '0.0005,0.0002,cudaLaunchKernel,0,101,7,8,20,a\n0.0008,0.0001,cudaLaunchKernel,0,102,7,8,20,a\n'
	printf '0.0135,0.0003,cudaMemcpyAsync,0,103,7,8,20,a\n'
	sed '1,6d; s/Bytes (MB)/Bytes (KB)/; s/,0.004,5.7,/,4,5.7,/' stats.csv
} >units.csv
farwire import nsys units.csv
cmp -s "$scratch.out" stats.jsonl || complain "other units give another result: $(diff "$scratch.out" stats.jsonl | head -n 4)"
# An empty cell may be quoted, marks have an end without a duration, and copies between GPUs have their own kind.
sed 's/^Start (us),End (us),Duration (us)/Start (us),End (us)/; s/^0.1,15,14.9/0.1,15/' stats.csv |
	awk -F, -v OFS=, 'NF >= 20 && $13 == "" { $13 = "\"\"" } { print }' >quoted.csv
grep -q ',"",' quoted.csv || complain 'no cell is quoted'
farwire import nsys quoted.csv
cmp -s "$scratch.out" stats.jsonl || complain "quotes or the missing duration give another result: $(diff "$scratch.out" stats.jsonl | head -n 4)"
sed 's/Pageable,Device,\(.*\)Host-to-Device/Device,Device,\1Peer-to-Peer/' stats.csv >peers.csv
farwire import nsys peers.csv
has 1 '"copy":"p2p"'
# Kernels are joined to their calls in groups of 65536.
{
	sed -n 3p stats.csv
	awk 'BEGIN { for (i = 1; i <= 66000; i++) printf "%d,200,cudaLaunchKernel,0,%d,7,8,20,a\n", i * 1000, i }'
	sed -n 1p "$gpu"
	awk -v row="$(sed -n 2p "$gpu")" 'BEGIN {
		match(row, /^[0-9]+,[0-9]+,[0-9]+/)
		for (i = 66000; i > 0; i--) printf "%d,5000,%d%s\n", i * 1000 + 500, i, substr(row, RLENGTH + 1) }'
} >many.csv
expect 0 '132000 events read, 132000 used' import nsys many.csv
has 66000 '"kernel_s":0.000005000'
verdict import_traces.tables_of_nsys_stats_give_the_calls_and_their_work

# error ARGS...: the difference from the recorded step, in units of 0.1 %
error() {
	farwire run "$@" --draws 0 --set calls.host=recorded
	sed -n 's/.*simulated one differs by \([-+]\)\([0-9]*\)\.\([0-9]\) %.*/\1\2\3/p' "$scratch.out" |
		sed 's/\([-+]\)0*\([0-9]\)/\1\2/'
}
# within WHAT ERROR: the error is below 5 %
within() {
	[ -n "$2" ] && [ "$2" -gt -50 ] && [ "$2" -lt 50 ] || complain "$1 differs by '$2' / 10 %"
}
within 'the computation of one rank' "$(error --calls ddp.jsonl --topology dgx-a100-40)"
grep -q 'only the computation is simulated' "$scratch.out" || complain 'the wires are simulated'
within 'the job of two ranks' \
	"$(error --calls ddp.jsonl --topology dgx-a100-40 --gpus 2 --exchange nccl-2.18)"
slow=$(error --calls ddp.jsonl --topology closer2018-gtx1080 --gpus 4 --exchange nccl-2.18)
[ "${slow:-0}" -gt 1000 ] || complain "1 Gbit/s between four ranks differs only by $slow / 10 %"
farwire run --calls dlrm.jsonl --topology dgx1-v100 --gpus 8 --exchange nccl-2.18 --draws 0
shows 'exposed communication'
verdict import_traces.replay_takes_the_recorded_time_and_depends_on_the_wires

# Work of the CPU: 50 us, then 30 us after a kernel (100 us), both collectives and a kernel (70 us); a
# kernel of 20 us follows. On one GPU the collectives take no time: 270 us, and the calls.
expect 0 '^one rank of several: 2 collectives with bytes and group; 0 without' import chakra "$samples/mixed.et"
cp "$scratch.out" mixed.jsonl
farwire run --calls mixed.jsonl --topology dgx-a100-40 --draws 0
shows 'step time  *(2[789][0-9]|30[0-9])(\.[0-9]*)? us'
head -c 100 "$samples/mixed.et" >cut.et
expect 2 'cut.et: message 3 .*ends in it' import chakra cut.et
verdict import_traces.chakra_nodes_keep_their_order

# Ring of 8 ranks: each sends 14 parts of 128 KiB to the next rank and waits for the one before.
ring() {
	for rank in 0 1 2 3 4 5 6 7; do
		echo "{\"format\":\"farwire-calls\",\"version\":1,\"rank\":$rank,\"ranks\":8}"
		for part in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
			echo "{\"call\":\"ncclSend\",\"start_s\":0,\"end_s\":0,\"stream\":5,\"size_B\":131072,\"peer\":$(((rank + 1) % 8))}"
			echo "{\"call\":\"ncclRecv\",\"start_s\":0,\"end_s\":0,\"stream\":6,\"size_B\":131072,\"peer\":$(((rank + 7) % 8))}"
		done
		echo '{"call":"cudaDeviceSynchronize","start_s":0.000001,"end_s":0.000002}'
		echo '{"end":true}'
	done
}
ring >ring.jsonl
job='--topology dgx-a100-40 --exchange nccl-2.18 --draws 0'
farwire run --calls ring.jsonl --gpus 8 $job
shows 'verdict  *ok'
expect 2 'messages between ranks, so it needs the recording of each rank .it has 8 of 4' \
	run --calls ring.jsonl --gpus 4 $job
# Groups of two ranks with a distance of four, of which 16 ranks have eight.
sed 's/"group_stride":1/"group_stride":4/;s/"ranks":2/"ranks":16/' ddp.jsonl >pairs.jsonl
expect 0 '' run --calls pairs.jsonl --gpus 16 $job
expect 2 'write a multiple of 8 in case.gpus' run --calls pairs.jsonl --gpus 12 $job
verdict import_traces.jobs_have_messages_and_groups_of_some_ranks

cat dlrm.jsonl dlrm.jsonl >twice.jsonl
expect 2 'twice.jsonl:[0-9]*: rank 0 occurs twice' check twice.jsonl
sed 's/"rank":7,"ranks":8/"rank":7,"ranks":9/' dlrm.jsonl >worlds.jsonl
expect 2 'worlds.jsonl:[0-9]*: this rank is of a job of 9 ranks, but the first one of 8' check worlds.jsonl
sed 's/"rank":7,"ranks":8/"rank":8,"ranks":8/' dlrm.jsonl >beyond.jsonl
expect 2 'beyond.jsonl:[0-9]*: rank 8 must be less than the number of ranks, 8' check beyond.jsonl
sed 's/ProfilerStep#[0-9]*/ProfilerStep#99/' dlrm-rank7.json >late.json
farwire import kineto dlrm-rank0.json late.json -o late.jsonl
expect 2 'the recording of rank 7 has no step [0-9]*, which another rank has' run --calls late.jsonl --topology dgx1-v100 --gpus 8 --exchange nccl-2.18
verdict import_traces.recordings_of_different_jobs_or_steps_are_refused
