#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The number types of GPUs: types that a GPU lacks are refused in each style of job, and the default stack takes one
# that the GPUs have tensor cores for. NVIDIA's white papers: Volta and Turing have fp16, Ampere adds TF32 and bf16, Ada
# and Hopper add FP8; Pascal has no tensor cores.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

refused() { # MESSAGE OPTIONS...
	message=$1
	shift
	expect 2 "$message" run -q --draws 0 "$@"
}
only="computes in bf16, but GPU 'v100-sxm2' \(volta\) has only fp32, fp16 \(write stack.precision=fp16, or another"
refused "^--stack: stack 'pytorch-bf16-adamw' $only" --topology dgx1-v100 --model gpt2 --stack pytorch-bf16-adamw
refused "^--set: stack 'pytorch' $only" --topology dgx1-v100 --model gpt2 --stack pytorch --set stack.precision=bf16
refused "^--stack: stack 'megatron-bf16' $only" --topology dgx1-v100 --model gpt2 --stack megatron-bf16 --gpus 8 \
	--plan tp=2,global_batch=8
refused "^--stack: stack 'serving' $only" --topology dgx1-v100 --model gpt2 --stack serving --serve rate=1
refused "^--stack: stack 'nemo-fp8' computes in fp8, but GPU 'a100-sxm4-80' \(ampere\) has only fp32, tf32, fp16, bf16" \
	--topology dgx-a100 --model gpt2 --stack nemo-fp8
refused "^--stack: stack 'pytorch-amp' computes in fp16, but GPU 'k80' \(kepler\) has only fp32" --topology gce-8xk80 \
	--stack pytorch-amp
expect 0 '' run -q --draws 0 --topology dgx-h100 --model gpt2 --stack nemo-fp8
images="'resnet50' has no linear layers in repeated blocks.*\\(write stack.precision=fp16 or bf16"
refused "^--set: .*$images" --topology dgx-h100 --model resnet50 --set stack.precision=fp8
refused "^--stack: stack 'nemo-fp8' computes in fp8, but network $images" --topology dgx-h100 --model resnet50 --stack nemo-fp8
expect 0 '' run -q --draws 0 --topology dgx-h100 --model vit-b-16 --set stack.precision=fp8
verdict number_types.stacks_that_need_a_type_the_gpu_lacks_are_refused

default() { # STACK OPTIONS...
	stack=$1
	shift
	expect 0 '' run -q --draws 0 "$@"
	grep -qF "stack $stack" "$scratch.out" || complain "$*: not $stack: $(sed -n 2p "$scratch.out")"
}
default 'pytorch-amp (fp16); exchange ddp (NCCL)' --topology dgx-h100 --batch 8 --gpus 2
default 'pytorch-bf16-adamw (bf16)' --topology dgx-h100 --model gpt2 --batch 2
default 'pytorch-fp16-adamw (fp16)' --topology dgx1-v100 --model gpt2 --batch 2
default 'pytorch-adamw (fp32)' --topology dgx1-p100 --model gpt2 --batch 2
default 'pytorch (fp32)' --topology dgx1-p100 --batch 8
default 'serving (bf16)' --topology dgx-h100 --model gpt2 --serve rate=1,requests=20
default 'serving-fp16 (fp16)' --topology dgx1-v100 --model gpt2 --serve rate=1,requests=20
farwire explain --topology dgx1-p100 case.stack
shows '^case\.stack +pytorch .*chosen by auto'
farwire run --topology dgx1-p100 --draws 0 --format json
shows '"case.stack".*"pytorch".*chosen by auto'
verdict number_types.the_default_stack_has_a_type_of_the_gpus

# FP8 with scales for blocks has the same bytes, so only prompts, which arithmetic limits, take longer.
served() { # WEIGHTS PROMPT
	expect 0 '' run -q --draws 0 --format csv --topology dgx-h100 --model llama3-8b --serve \
		"concurrency=1,requests=2,output=2,output_spread=0,prompt_spread=0,prompt=$2,weights=$1"
	sed 's/"[^"]*"/text/g' "$scratch.out" | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == "first_token_mean_s") column = i }
NR == 2 { print $column }'
}
echo "$(served fp8 2048) $(served fp8_block 2048) $(served fp8 1) $(served fp8_block 1)" |
	awk '{ exit !($2 > 1.1 * $1 && $4 < 1.02 * $3 && $4 >= $3) }' ||
	complain "first token: $(served fp8 2048) s with fp8, $(served fp8_block 2048) s with fp8_block"
verdict number_types.scales_for_blocks_slow_down_prompts

# The tensor cores of a GeForce have fp32's rate in TF32 (82.6 TFLOPS), so TF32 gains hardly anything, and no kernel is
# slower with it. Only the smallest times of the two transposes of a convolution may remain.
images() {
	expect 0 '' run -q --draws 0 --topology workstation-2 --stack pytorch --batch 64 --set "stack.tf32=$1"
	sed -n '1s/.*: \([0-9.]*\) images.*/\1/p' "$scratch.out"
}
echo "$(images none) $(images convolutions)" | awk '{ exit !($2 > 0.97 * $1 && $2 <= 1.03 * $1) }' ||
	complain "TF32 on a GeForce: $(images none) images/s without, $(images convolutions) with it"
verdict number_types.tf32_does_not_slow_down_a_geforce

# ---- recordings ----

# A step with 1 ms each of a product in fp16 or bf16, of an element-wise kernel, and of an unknown one.
record() { # GPU PRODUCT
	printf '%s\n' "{\"format\":\"farwire-calls\",\"version\":1,\"tool\":\"by hand\",\"gpu\":\"$1\"}"
	at=1
	for kernel in "$2" 'at::native::vectorized_elementwise_kernel' 'my_kernel'; do
		printf '%s\n' "{\"call\":\"cudaLaunchKernel\",\"start_s\":0.00${at},\"end_s\":0.00${at}01,\"stream\":7,\"kernel_s\":0.001,\"label\":\"$kernel\"}"
		at=$((at + 1))
	done
	printf '%s\n' '{"call":"cudaDeviceSynchronize","start_s":0.005,"end_s":0.0063}' '{"end":true}'
}
kernels_ms() { # EXPECTED OPTIONS...
	milliseconds=$1
	shift
	expect 0 '' run -q --draws 0 --format json "$@"
	sed -n 's/.*"kernel": \([0-9.e-]*\).*/\1/p' "$scratch.out" | awk -v wanted="$milliseconds" '
		{ found = $1 * 1e3 > wanted * 0.999 && $1 * 1e3 < wanted * 1.001 }
		END { exit !found }' || complain "$*: not $milliseconds ms of kernels: $(grep breakdown "$scratch.out")"
}
record 'NVIDIA A100-SXM4-80GB' ampere_fp16_s16816gemm_fp16_128x64 >a100.jsonl
# The data sheets of A100 80 GB and V100: fp16 312 and 125 TFLOPS, 2039 and 898 GB/s, fp32 19.5 and 15.7 TFLOPS.
# The bandwidths that are reached have a ratio of 2039 x 0.8 / (898 x 0.9) = 2.0183. Each kernel has 2 us that do not change.
# 2.496^0.9 x 2.0183^0.1 + 1.242^0.05 x 2.0183^0.95 + (1.242 x 2.0183)^0.5 = 2.4434 + 1.9700 + 1.5833 = 5.9967, so it is
# 3 x 0.002 + 0.998 x 5.9967 = 5.9907 ms.
kernels_ms 5.9907 --topology dgx1-v100 --calls a100.jsonl
grep -q 'from a100-sxm4-80 to v100-sxm2, kernel times are scaled by 2 in all .*: element-wise 33 % by 1.97, product 33 % by 2.44, other 33 % by 1.58' \
	"$scratch.out" ||
	complain "the evidence does not say how: $(grep evidence "$scratch.out")"
record a100-sxm4-80 ampere_fp16_s16816gemm_fp16_128x64 >profile.jsonl
kernels_ms 5.9907 --topology dgx1-v100 --calls profile.jsonl
kernels_ms 3 --topology dgx-a100 --set 'gpu.*.profile=a100-sxm4-80' --calls a100.jsonl
record '' ampere_fp16_s16816gemm_fp16_128x64 >unknown.jsonl
kernels_ms 3 --topology dgx1-v100 --calls unknown.jsonl
grep -q 'the recording does not name, so they are not scaled to v100-sxm2 (write its profile' "$scratch.out" ||
	complain "no warning about an unknown GPU: $(grep evidence "$scratch.out")"
kernels_ms 5.9907 --topology dgx1-v100 --calls unknown.jsonl --set calls.gpu=a100-sxm4-80
verdict recordings.kernels_are_scaled_by_their_class_to_another_gpu

# Odds that are 1.7 times as high turn shares of 0.9, 0.05 and 0.5 into 0.9387, 0.0821 and 0.6296: the sum is 5.8840 ms.
kernels_ms 5.8840 --topology dgx1-v100 --calls a100.jsonl --set calls.arithmetic=1.7
kernels_ms 6.0822 --topology dgx1-v100 --calls a100.jsonl --set calls.arithmetic=0.588235
farwire explain --topology dgx1-v100 --calls a100.jsonl calls.arithmetic
shows 'calls.arithmetic .*1 .*0.5882.*1.7'
verdict recordings.calls_arithmetic_moves_the_shares_of_all_classes_and_has_an_interval

record 'NVIDIA A100-SXM4-80GB' ampere_bf16_s16816gemm_bf16_128x64 >bf16.jsonl
refused "case.calls: the kernel 'ampere_bf16_s16816gemm_bf16_128x64' multiplies bf16, which GPU 'v100-sxm2' does not have" \
	--topology dgx1-v100 --calls bf16.jsonl
verdict recordings.number_types_that_the_gpu_lacks_are_refused

expect 0 '' run -q --draws 0 --topology dgx1-v100 --calls a100.jsonl
grep -q ' steps/s$' "$scratch.out" || complain "run: $(head -1 "$scratch.out")"
farwire run -q --draws 0 --topology dgx1-v100 --calls a100.jsonl --format json
grep -q '"throughput": {.*"unit": "steps/s"}' "$scratch.out" || complain 'JSON does not count steps'
farwire sweep -q --draws 0 --topology dgx1-v100 --calls a100.jsonl --vary calls.kernel=1,2 --format csv
grep -q '^calls.kernel,steps_per_s,' "$scratch.out" || complain "CSV: $(head -1 "$scratch.out")"
# The shortest step is three kernels of 1 ms, so no parameter of the host gives 1000 steps/s.
expect 0 '' solve -q --draws 0 --topology dgx1-v100 --calls a100.jsonl --target 'throughput>=1000' --for driver.launch
shows 'target throughput >= 1000 steps/s .*the best value is [0-9.]* steps/s'
shows '^target .* steps/s  '
expect 2 "unknown unit 'images/s' .*; this case counts steps/s" solve -q --topology dgx1-v100 --calls a100.jsonl --target 'throughput>=3 images/s' --for driver.launch
farwire sensitivity -q --draws 0 --topology dgx1-v100 --calls a100.jsonl --of throughput --format csv
shows 'at_low_steps_per_s'
farwire run -q --draws 0 --topology dgx1-v100 --calls a100.jsonl --batch 8
grep -q ' images/s$' "$scratch.out" || complain 'a recording with a batch does not count images'
verdict recordings.throughput_counts_steps_unless_a_batch_is_given

# The profile of the V100 has the share of the fp32 peak that ResNet-50 reaches. It acts on fp32, and
# the law gives the time of tensor cores.
images() { # ARGUMENT...: images/s
	farwire run --topology dgx1-v100 --model resnet50 --batch 128 --draws 0 -q "$@"
	sed -n 's/.*: \([0-9.]*\) images\/s$/\1/p;1q' "$scratch.out"
}
without='--set case.gpu_profiles_without=v100-sxm2'
# shellcheck disable=SC2086 # a list of words
{
	[ "$(images --stack pytorch)" != "$(images --stack pytorch $without)" ] ||
		complain 'the profile of the V100 does not act on fp32'
	[ "$(images --stack pytorch-amp)" = "$(images --stack pytorch-amp $without)" ] ||
		complain 'a fit of fp32 acts on fp16'
}
verdict number_types.fits_of_another_number_type_do_not_act
