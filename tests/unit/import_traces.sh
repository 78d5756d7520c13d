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
	event cuda_runtime cudaLaunchKernel 15 1 '"correlation":7'
	event kernel ncclDevKernel_AllGather 16 1 "\"correlation\":7,\"stream\":20,\"Collective name\":\"_allgather_base\",\"Input Dims\":[[2, 3], [[4], [5]]],$group"
	event cuda_runtime cudaLaunchKernel 17 1 '"correlation":8'
	event kernel ncclDevKernel_AllReduce 18 1 "\"correlation\":8,\"stream\":20,\"Collective name\":\"allreduce\",\"Input Dims\":[[2, 3], [7]],$group"
	event cuda_runtime cudaLaunchKernel 11 1 '"correlation":5'
	event cuda_runtime cudaLaunchKernel 13 1 '"correlation":6'
	event kernel last 12 0.5 '"correlation":5,"stream":1048575'
	event kernel beyond 14 0.5 '"correlation":6,"stream":1048576'
	echo '{"ph":"M"}]}'
} >group.json
farwire import kineto group.json
has 1 '"ncclSend".*"stream":20,.*"size_B":200,"group_first":1,"group_size":3,"group_stride":4,"peer":9,'
has 1 '"ncclAllGather".*"size_B":600,"group_first":1,"group_size":3,"group_stride":4'
# Without numbers of elements, shapes of the inputs state them: 6 + 4 + 5 on each of three ranks, or 6 + 7.
has 1 '"ncclAllGather".*"size_B":90,"group_first":1,"group_size":3,"group_stride":4'
has 1 '"ncclAllReduce".*"size_B":26,"group_first":1,"group_size":3,"group_stride":4'
has 1 '"ncclReduceScatter".*"size_B":1200,"group_first":1,"group_size":3,"group_stride":4'
has 1 '"cudaLaunchKernel".*"stream":1048596,.*"kernel_s":0.000002500,.*"gemm"' # 2^20 + 20
has 1 '"stream":1048575,.*"last"'
has 1 '"beyond"'
has 0 '"stream".*"beyond"'
verdict import_traces.messages_have_the_rank_and_bytes_of_their_group

head -c 3000 "$samples/nsys-ai-healthy_1pct.sqlite" >cut.sqlite
expect 2 'cut.sqlite: .*(cannot be read|no usable row)' import nsys cut.sqlite
verdict import_traces.cut_database_of_nsight_systems_is_refused

# A report with --trace=cuda,cublas,cudnn: the launches inside cublasGemmEx belong to it, and cudnnCreate has none.
if command -v python3 >/dev/null; then
	python3 - <<'END' || complain 'python3 cannot write the database'
import sqlite3

db = sqlite3.connect("libraries.sqlite")
db.executescript("""
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cublasGemmEx'), (3, 'cudnnCreate'), (4, 'gemm');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, nameId INT, globalTid INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000, 3000, 1, 5, 1), (4000, 5000, 1, 5, 2), (9000, 9500, 1, 5, 3);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT, streamId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3000, 3500, 4, 7, 1), (5000, 5250, 4, 7, 2), (9500, 9600, 4, 7, 3);
CREATE TABLE CUBLAS_EVENTS (start INT, end INT, eventClass INT, globalTid INT, nameId INT);
INSERT INTO CUBLAS_EVENTS VALUES (1500, 6000, 1, 5, 2);
CREATE TABLE CUDNN_EVENTS (start INT, end INT, eventClass INT, globalTid INT, nameId INT);
INSERT INTO CUDNN_EVENTS VALUES (1000, 1400, 1, 5, 3);
""")
db.commit()
END
	expect 0 'converted 3 calls of 1 threads' import nsys libraries.sqlite
	has 1 '"cudnnCreate","start_s":0.000000000,"end_s":0.000000400}'
	has 1 '"cublasGemmEx",.*"stream":7,"kernel_s":0.000000750,'
	has 1 '"cudaLaunchKernel",.*"kernel_s":0.000000100,'
	verdict import_traces.calls_of_libraries_have_the_kernels_that_they_launch
fi

for stats in gprofiler-cuda_gpu_trace pipit-nbody-nvtx-trace; do
	expect 2 "$stats.csv: this is not a database of SQLite .*nsys export --type sqlite" \
		import nsys "$samples/$stats.csv"
done
verdict import_traces.text_of_nsys_stats_is_refused_with_the_command_that_exports_a_database

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
head -c 2 /dev/zero >zeros.et # two messages without bytes
expect 2 'zeros.et: message 1 .*it is not a node' import chakra zeros.et
# A kernel of 50 us has two dependents: an all-reduce of 100 B, which waits for its event on another stream, and a
# kernel of 20 us on its own stream, which waits for nothing.
{
	printf '\007\012\0050.0.4'
	printf '\011\010\001\022\001a\030\004\070\062'
	printf '\050\010\002\022\001b\030\007\052\001\001R\015\012\011comm_typeH\000R\015\012\011comm_sizeHd'
	printf '\014\010\003\022\001c\030\004\052\001\001\070\024'
} >two.et
farwire import chakra two.et
sed -n 's/^{"thread":0,"call":"\([a-zA-Z]*\)".*"stream":\([0-9]*\).*/\1 \2/p' "$scratch.out" >got
printf '%s\n' 'cudaLaunchKernel 4' 'cudaEventRecord 4' 'cudaStreamWaitEvent 7' 'ncclAllReduce 7' 'cudaLaunchKernel 4' >wanted
cmp -s got wanted || complain "calls of Chakra's nodes: $(cat got)"
has 1 '"ncclAllReduce".*"size_B":100'
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
