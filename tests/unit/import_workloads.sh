#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs of the workloads of SimAI, ASTRA-sim and LogGOPSim take the times of their computations and
# collectives. import_facts.sh compares the numbers of the samples.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/workloads
cd "$scratch" || exit 2
job='--topology dgx-a100-40 --exchange nccl-2.18 --draws 0'

# has COUNT PATTERN: that many lines of the results match the pattern
has() {
	found=$(grep -c -e "$2" "$scratch.out")
	[ "$found" = "$1" ] || complain "$found lines with '$2', not $1"
}

# step_us ARGUMENT...: the step time of a run
step_us() {
	"$FARWIRE" run $job --format csv "$@" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { print $column * 1e6 }'
}

farwire import simai "$samples/G175B-M1-C03_GPT175B_megatron_tp8_pp1_mbs1_A100.txt"
has 1 '"ncclReduceScatter".*"size_B":11175321600,"group_first":0,"group_size":2,"group_stride":8'
has 1 '"ncclAllReduce".*"size_B":5587660800,"group_first":0,"group_size":8,"group_stride":1'
# 32 GPUs are 4 x 2 x 4: ranks with the same parameters of an expert are 8 apart.
sed 's/NPU_group: 8/NPU_group: 4/; s/ep: 1/ep: 2/; s/all_gpus: 8/all_gpus: 32/; 3s/ALLREDUCE/&_DP_EP/; 4s/ALLREDUCE/&_EP/' "$samples/microAllReduce.txt" >experts.txt
farwire import simai experts.txt
has 1 '"size_B":16777216,"group_first":0,"group_size":4,"group_stride":8'
has 1 '"size_B":67108864,"group_first":0,"group_size":2,"group_stride":4'
expect 0 '12 collectives of groups of one rank were left out' \
	import simai "$samples/L7B-D1-C02_Llama7B_deepspeed_zero3_A100.txt"
# 32 GPUs are 4 x 2 x 4 with a pipeline, too, whose stages do not add each other's gradients.
printf 'HYBRID_TRANSFORMER model_parallel_NPU_group: 4 pp: 2 all_gpus: 32\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 0\n' >stages.txt
farwire import simai stages.txt
has 1 '"size_B":4096,"group_first":0,"group_size":4,"group_stride":4'
# ASTRA-sim's all-gathers have the bytes of one rank: of 2 in a tensor group, and of 32 / 2 in a data group.
printf 'HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 32\n1\na -1 1 ALLGATHER 1000 1 NONE 0 1 ALLGATHER 1000 0\n' >gathers.txt
farwire import astrasim gathers.txt
has 1 '"size_B":2000,"group_first":0,"group_size":2,'
has 1 '"size_B":16000,"group_first":0,"group_size":16,'
verdict import_workloads.collectives_have_the_groups_of_their_parallelism

# The gradients of weights wait for the collective of the input's gradients in HYBRID_TRANSFORMER, not in MODEL.
for policy in 'HYBRID_TRANSFORMER model_parallel_NPU_group: 2' MODEL; do
	printf '%s all_gpus: 4\n1\na -1 1 NONE 0 1 ALLREDUCE 4096 1 NONE 0 0\n' "$policy" >one.txt
	farwire import simai one.txt
	grep -c cudaStreamWaitEvent "$scratch.out"
done | tr '\n' ' ' >waits
[ "$(cat waits)" = '2 1 ' ] || complain "a step has $(cat waits)waits, not 2 and 1"
verdict import_workloads.gradients_of_weights_wait_for_collectives_of_their_parallelism

# Data parallelism: the first layer needs no gradient of its input. The times are in ns.
printf 'DATA\n2\nfirst -1 11 NONE 0 12 NONE 0 13 ALLREDUCE 4096 0\nsecond -1 21 NONE 0 22 NONE 0 23 ALLREDUCE 4096 0\n' >data.txt
farwire import astrasim data.txt
sed -n 's/.*"kernel_s":0.0000000\([1-9][0-9]\),.*/\1/p' "$scratch.out" | tr '\n' ' ' >times
[ "$(cat times)" = '11 21 23 22 13 ' ] || complain "the computations take $(cat times)"
sed '1s/^/\xef\xbb\xbf/; s/$/\r/' data.txt >marked.txt # with a byte order mark and carriage returns
cp "$scratch.out" unmarked.jsonl
farwire import astrasim marked.txt
[ "$(grep -v '"tool"' "$scratch.out")" = "$(grep -v '"tool"' unmarked.jsonl)" ] ||
	complain "a byte order mark changes the job: $(head -n 3 "$scratch.err")"
verdict import_workloads.first_layer_has_no_gradient_of_its_input

# Line 2 says how many rows count, as in ASTRA-sim.
sed '2s/2/1/' data.txt >first.txt
expect 0 '; 2 events read, 1 used' import astrasim first.txt
has 0 'second'
verdict import_workloads.rows_after_the_declared_ones_are_skipped

# Rank 0 computes 556 us twice, and its all-reduces of 16 and 64 MiB are not hidden.
farwire import simai "$samples/microAllReduce.txt" -o micro.jsonl
awk -v step="$(step_us --calls micro.jsonl --gpus 8)" \
	-v small="$(step_us --gpus 8 --collective all_reduce --set 'case.collective_size=16 MiB')" \
	-v large="$(step_us --gpus 8 --collective all_reduce --set 'case.collective_size=64 MiB')" 'BEGIN {
	sum = 2 * 556 + small + large
	if (small <= 0 || step < sum - 10 || step > sum + 60) {
		print "the step takes " step " us, its parts " sum " us"; exit 1 } }' ||
	complain "the step is not the sum of its parts"
verdict import_workloads.a_job_takes_the_sum_of_its_computations_and_collectives

# Layers 2, 11 recompute for 19, 10: forward computations of 11..18 and 2..9 come twice.
expect 0 '; 21 events read, 21 used' import astrasim "$samples/Transformer_HybridParallel_Fwd_In_Bckwd.txt"
sed 's/checkpoint_initiates.*/checkpoint_initiates: 0/' "$samples/Transformer_HybridParallel_Fwd_In_Bckwd.txt" >kept.txt
kernels=$(grep -c cudaLaunchKernel "$scratch.out")
farwire import astrasim kept.txt
has $((kernels - 16)) cudaLaunchKernel
verdict import_workloads.layers_are_computed_again_from_their_checkpoint

expect 0 '^16 ranks: 128 collectives' import goal "$samples/dissemination_16.goal"
cp "$scratch.out" barrier.jsonl
farwire run --calls barrier.jsonl --gpus 16 $job
shows 'verdict  *ok'
# Rank 1 waits for rank 0's 300 us and its message, then computes 100 us and answers.
cat >chain.goal <<'END'
num_ranks 2
rank 0 {
 c: calc 300000 cpu 1
 s: send 8b to 1 tag 7
 s requires c
 e: recv 8b from 1 tag 8
}
rank 1{
 r: recv 8b from 0 tag 7
 c: calc 100000
 c requires r
 e: send 8b to 0 tag 8
 e requires c
}
END
farwire import goal chain.goal -o chain.jsonl
step_us --calls chain.jsonl --gpus 2 | awk '$1 > 400 && $1 < 460 { good = 1 } END { exit !good }' ||
	complain "the chain does not take 400 us and its messages"
# An operation that requires a send waits until the send begins, and for a receive until its end. "irequires"
# waits for what the other operation requires.
cat >order.goal <<'END'
num_ranks 2
rank 0 {
 s: send 8b to 1 tag 7
 r: recv 8b from 1 tag 8
 c: calc 100 cpu 1
 c requires s
 c requires r
 d: calc 100 cpu 2
 d irequires c
}
rank 1 {
 r: recv 8b from 0 tag 7
 s: send 8b to 0 tag 8
}
END
farwire import goal order.goal
grep -o '"rank":[01]\|"call":"[A-Za-z]*"\|"stream":[0-9]*' "$scratch.out" | sed '/"rank":1/,$d' | tr -d '"' | tr '\n' ' ' |
	grep -q 'cudaEventRecord stream:1028 call:ncclSend stream:1028 call:ncclRecv stream:1027 call:cudaEventRecord stream:1027 ' ||
	complain "sends and receives: $(grep -o '"call":"[A-Za-z]*"' "$scratch.out" | tr '\n' ' ')"
has 4 '"cudaStreamWaitEvent".*"stream":[23],' # c (stream 2) and d (3) wait for both
has 2 '"cudaLaunchKernel".*"kernel_s":0.0000001'
verdict import_workloads.goal_operations_wait_for_what_they_require

# A ring in MSCCL's form takes the time of the library's own ring on one channel. Both are LL128.
all_reduce_us() {
	step_us --gpus 8 --collective all_reduce --set "case.collective_size=$1" --set "$2" \
		--set library.algorithm=ring --set library.protocol=ll128
}
for size in 8KiB 1MiB 32MiB; do
	all_reduce_us $size library.msccl="$samples/msccl-ring-8.xml"
	all_reduce_us $size library.channels=1
done | awk '{ us[NR] = $1 } END {
	if (NR != 6) exit 1
	for (i = 1; i < 6; i += 2) {
		ratio = us[i] / us[i + 1]
		if (ratio < 0.999 || ratio > 1.001) exit 1 } }' ||
	complain "MSCCL's ring does not take the time of the library's ring"
# Above maxBytes the library takes its own algorithm.
farwire run $job --gpus 8 --collective all_gather --set library.msccl="$samples/msccl-allgather-8n.xml" \
	--set 'case.collective_size=8 KiB'
shows 'all_gather, 8 KiB: msccl, LL'
farwire run $job --gpus 8 --collective all_gather --set library.msccl="$samples/msccl-allgather-8n.xml" \
	--set 'case.collective_size=16 KiB'
shows 'all_gather, 16 KiB: all_gather, LL'
expect 2 'library.msccl: the file has an algorithm of all_gather' run $job --gpus 8 \
	--collective all_reduce --set library.msccl="$samples/msccl-allgather-8n.xml"
expect 2 "library.msccl: '.*msccl-allgather-8n.xml' has the steps of 8 GPUs, but the job has 4 .write case.gpus=8" \
	run $job --gpus 4 --collective all_gather --set 'case.collective_size=8 KiB' \
	--set library.msccl="$samples/msccl-allgather-8n.xml"
verdict import_workloads.algorithms_of_msccl_replace_those_of_the_library

refuse() { # PATTERN KIND, with the file bad on standard input
	cat >bad
	expect 2 "bad:$1" import "$2" bad
}
printf 'DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCES 5 1\n' | refuse '3: .*ALLREDUCES' simai
printf 'DATA\n1\na -1 1 NONE 0 1 NONE 0 x ALLREDUCE 5 1\n' | refuse "3: 'x' must be a number" simai
printf 'DATA\n2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 5 1\n' | refuse '3: line 2 declares 2' simai
printf 'DATA\n1\na -1 1 NONE 0\n' | refuse '3: a layer must have 12 columns, not 5' simai
printf 'HYBRID_TRANSFORMER\n1\n' | refuse '1: model_parallel_NPU_group is missing' simai
printf 'DATA checkpoints: 3 1\n1\n' | refuse '1: a number is missing' simai
printf 'num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\n}\nrank 1 {\nb: recv 8b from 0 tag 2\n}\n' |
	refuse '[36]: the message from rank 0 to rank 1' goal
printf 'num_ranks 2\nrank 0 {\na: send 8b to 2 tag 1\n}\n' | refuse "3: '2' must be a number from 0 to 1" goal
printf 'num_ranks 2\nrank 0 {\na requires b\n}\n' | refuse "3: .*no operation 'a'" goal
printf 'num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n' | refuse '7: some operations above' goal
printf 'rank 0 {\n' | refuse '1: num_ranks' goal
verdict import_workloads.wrong_workloads_are_refused_with_their_line
