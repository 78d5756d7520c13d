#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A step of 1,000 calls of one function, over a wire with a latency of 1 ms. If each call waits for an
# answer, the step takes at least 1,000 round trips of 2 ms. If calls are sent ahead or answered
# at the client, it takes less than 20 us a call, because no round trip is exposed.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# field NAME: the value of a column of numbers. Texts in quotes may have commas.
field() {
	sed 's/"[^"]*"/text/g' | awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
		NR == 2 && column { print $column }'
}
# step_s RUNTIME FUNCTION [KEYS]: the step's time. KEYS, from a comma on, are added to each call.
step_s() {
	awk -v function_name="$2" -v keys="${3:-}" 'BEGIN {
		print "{\"format\":\"farwire-calls\",\"version\":1,\"tool\":\"by hand\"}"
		print "{\"step\":1,\"t_s\":0,\"thread\":0}"
		for (i = 0; i < 1000; i++)
			printf "{\"call\":\"%s\",\"start_s\":%.7f,\"end_s\":%.7f%s}\n",
				function_name, i * 2e-6, i * 2e-6 + 1e-6, keys
		print "{\"step\":2,\"t_s\":0.002,\"thread\":0}"
		print "{\"end\":true}"
	}' >calls.jsonl
	farwire run --calls calls.jsonl --topology lan-pair --program client --server server --runtime "$1" \
		--set link.wire.latency='1 ms' --draws 0 --format csv --quiet
	field step_s <"$scratch.out"
}
waits() { # RUNTIME FUNCTION...
	runtime=$1
	shift
	for function; do
		took=$(step_s "$runtime" "$function")
		awk -v s="${took:-0}" 'BEGIN { exit !(s >= 2 && s < 2.1) }' ||
			complain "$runtime: 1,000 calls of $function take '$took' s, not 2 to 2.1 s"
	done
}
goes_ahead() { # RUNTIME FUNCTION...
	runtime=$1
	shift
	for function; do
		took=$(step_s "$runtime" "$function")
		awk -v s="${took:-9}" 'BEGIN { exit !(s > 0 && s < 0.02) }' ||
			complain "$runtime: 1,000 calls of $function take '$took' s, not less than 0.02 s"
	done
}

# AvA asks two questions before a product of cuBLAS and waits for it. It waits for norms, and batches convolutions.
for function in cublasSgemm_v2:6 cudnnBatchNormalizationForwardInference:2 cudnnConvolutionForward:0; do
	took=$(step_s ava "${function%:*}" ',"kernel_s":1e-6')
	awk -v s="${took:-0}" -v least="${function#*:}" 'BEGIN { exit !(s > least && s < 1.2 * least + 0.1) }' ||
		complain "ava: 1,000 calls of ${function%:*} take '$took' s, not ${function#*:} s and a little more"
done
verdict call_kinds.library_calls_of_a_recording_follow_their_rules
waits asynchronous cudaMemGetInfo cudaEventElapsedTime cudaPointerGetAttributes
verdict call_kinds.values_that_change_are_asked_again_each_time
goes_ahead asynchronous cudaDeviceGetAttribute cudaFuncGetAttributes
verdict call_kinds.constant_attributes_are_asked_once
goes_ahead asynchronous cudnnSetTensorNdDescriptor cublasSetStream_v2 cudnnCreateTensorDescriptor \
	cublasLtMatmulDescCreate cudaFuncSetAttribute
verdict call_kinds.setters_and_descriptors_are_sent_ahead
waits asynchronous cublasLtMatmulAlgoGetHeuristic cudnnGetConvolutionForwardWorkspaceSize cusparseSpMM_bufferSize
verdict call_kinds.getters_of_libraries_wait_for_their_answer
goes_ahead asynchronous cudaGetLastError cudaStreamIsCapturing
waits synchronous cudaGetLastError cudnnSetTensorNdDescriptor
verdict call_kinds.asynchronous_clients_know_their_last_error_and_synchronous_ones_ask

# A rank does not see whether other ranks exist, if all GPUs are in its own machine: each forwards
# its calls over shared memory, so the step takes as long on four GPUs as on one.
for gpus in 1 2 4; do
	farwire run --topology dgx-h100 --model gpt2 --stack pytorch-bf16-adamw --exchange ddp --gpus $gpus --batch 2 \
		--runtime synchronous --transport shm --draws 0 --format csv --quiet
	field step_s <"$scratch.out"
done | awk '{ s[NR] = $1 } END { exit !(NR == 3 && s[1] > 0.03 && s[2] >= s[1] && s[2] < 1.05 * s[1] &&
	s[3] >= s[1] && s[3] < 1.05 * s[1]) }' || complain "steps of 1, 2 and 4 ranks differ by more than 5 %"
verdict call_kinds.ranks_with_local_gpus_forward_their_calls_like_one_program
exit 0
