#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A case that is a single kernel. Its step time is that of the kernel on the GPU, which follows from
# the constants by hand, without the host's time.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

kernel() {
	farwire run --topology dgx-a100 --draws 0 --quiet --format csv --set gpu.a100-sxm4-80.kernel_floor='3 us' "$@"
}
# takes SECONDS: the step time of the last prediction
takes() {
	sed 's/"[^"]*"/text/g' "$scratch.out" | awk -F, -v wanted="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { off = $column / wanted - 1; ok = (off < 1e-6 && off > -1e-6) }
		END { exit !ok }' ||
		complain "the kernel does not take $1 s: $(cat "$scratch.out" "$scratch.err")"
}

# A pass over 1.6312 GB at 0.8 of 2039 GB/s takes 1 ms, and 3 us of floor.
kernel --set kernel.form=pass --set kernel.size='1.6312 GB'
takes 1.003e-3
# 108 tiles of 128 x 128 with k = 4096 on 108 SMs, with loads that cost nothing: each does
# 2 x 128 x 128 x 4096 flop at half of 312 / 108 TFLOP/s, and fills in 2 us. Bytes cost nothing.
kernel --set kernel.m=1536 --set kernel.n=1152 --set kernel.k=4096 \
	--set kernels.ampere.product_half=0.5 --set kernels.ampere.load='10 TB/s' \
	--set kernels.ampere.fill='2 us' --set kernels.ampere.split='1 ms' \
	--set gpu.a100-sxm4-80.memory_bandwidth='100 TB/s'
takes "$(awk 'BEGIN { l = 256 * 2 / 10e12; r = 2 * 128 * 128 / (0.5 * 312e12 / 108)
	b = 4096 * (r ^ 4 + l ^ 4) ^ 0.25 + 2e-6 + 128 * 128 * 2 / 10e12
	m = 2 * (1536 * 4096 + 4096 * 1152 + 1536 * 1152) / 80e12 / '"$("$FARWIRE" explain --topology dgx-a100 --set kernel.m=1 kernels.ampere.operand 2>/dev/null | awk '$1 == "kernels.ampere.operand" { print $2 }')"'
	printf "%.9g", (b ^ 4 + m ^ 4) ^ 0.25 + 3e-6 }')"
verdict 'single_kernel.times_follow_from_the_constants'

# In a program, products run at a lower clock, but a single kernel does not.
kernel --set kernel.m=8192 --set kernels.ampere.sustained=0.3
cp "$scratch.out" "$scratch.low"
kernel --set kernel.m=8192 --set kernels.ampere.sustained=1
cmp -s "$scratch.low" "$scratch.out" || complain 'the clock of programs acts on a single kernel'
verdict 'single_kernel.runs_at_the_clock_of_a_short_load'

# One token of one expert without choice: tiles of 16 x 64, 64 and 16 of them on 108 SMs.
kernel --set kernel.form=experts --set kernel.tokens=1 --set kernel.top=1 --set kernel.experts=1 \
	--set kernel.hidden=1024 --set kernel.inner=2048 --set kernels.ampere.experts_half=0.5 \
	--set kernels.ampere.experts_operand=1 --set kernels.ampere.experts_pass=1 \
	--set kernels.ampere.experts_kernel='4 us' --set kernels.ampere.experts_step='0.1 us'
takes "$(awk 'function both(a, b) { return sqrt(a ^ 2 + b ^ 2) } BEGIN {
	r = 2 * 16 * 64 / (0.5 * 312e12 / 108); bw = 0.8 * 2039e9
	one = both(both(64 / 108 * (1024 * r + 3e-7), 8e-7), (4096 * 1024 + 1024 + 4096) * 2 / bw)
	two = both(both(16 / 108 * (2048 * r + 3e-7), 16e-7), (2048 * 1024 + 1024 + 2048) * 2 / bw)
	printf "%.9g", one + two + 2 * (3 * 2048 + 2 * 1024) / bw + 24e-6 + 3e-6 }')"
verdict 'single_kernel.experts_follow_from_the_constants'

# A token of each of 64 sequences whose 16 heads share 8192 latent keys of 576 numbers; 512 of them are the value.
# Memory at 0.87 of 3.35 TB/s limits it. The cache is read once and each of 64 SMs has a sequence.
latent() {
	farwire run --topology dgx-h100 --draws 0 --quiet --format csv --set kernel.form=attention --set kernel.queries=1 \
		--set kernel.keys=8192 --set kernel.sequences=64 --set kernel.heads=16 --set kernel.kv_heads=1 \
		--set kernel.head_size=576 --set kernel.value_size=512 --set kernels.hopper.attention_forward=1 \
		--set kernels.hopper.token_load='1 TB/s' --set kernels.hopper.token_fill='0 us' \
		--set kernels.hopper.token_floor='5 us' --set kernels.hopper.split='1 ms' \
		--set kernels.hopper.attention_store='0 us' --set gpu.h100-sxm5.kernel_floor='3 us' "$@"
}
# cached NUMBERS: the time if a token has this number of them in the cache. The store reads and writes those of 64 tokens.
cached() {
	awk -v cached="$1" 'function both(a, b) { return (a ^ 4 + b ^ 4) ^ 0.25 } BEGIN {
		bw = 0.87 * 3.35e12; block = both(2 * 16 * 8192 * (576 + 512) / (989e12 / 132), 8192 * cached * 2 / 1e12)
		memory = 64 * 2 * (16 * (576 + 512) + 8192 * cached) / bw
		printf "%.9g", both(block, memory) + 64 * cached * 2 * 2 / bw + 8e-6 }'
}
latent --set kernel.latent=true
takes "$(cached 576)"
latent
takes "$(cached 1088)"
# That is its bytes divided by the bandwidth within 1 %: 207 us, and 8 us of floors.
awk -v time="$(cached 576)" 'BEGIN { exit !(time - 8e-6 > 207e-6 && time - 8e-6 < 209e-6) }' ||
	complain "$(cached 576) s is not 64 x 8192 x 576 x 2 B at 2.9145 TB/s"
# Values as wide as keys are what a case without the key has.
kernel --set kernel.form=attention --set kernel.head_size=192
cp "$scratch.out" "$scratch.equal"
kernel --set kernel.form=attention --set kernel.head_size=192 --set kernel.value_size=192
cmp -s "$scratch.equal" "$scratch.out" || complain 'values as wide as keys change the time'
kernel --set kernel.form=attention --set kernel.head_size=192 --set kernel.value_size=128
! cmp -s "$scratch.equal" "$scratch.out" || complain 'narrower values have no effect'
verdict 'single_kernel.latent_attention_reads_its_cache_once'

# Weights of 4 bits and FP4 need fewer bytes, and quantisation is a pass of its own.
same_time() {
	kernel "$@"
	mv "$scratch.out" "$scratch.one"
}
longer() {
	kernel "$@"
	! cmp -s "$scratch.one" "$scratch.out" || complain "$*: has no effect"
}
same_time --set kernel.m=16
longer --set kernel.m=16 --set kernel.weights=int4
longer --set kernel.m=16 --set kernel.type=int8
same_time --set kernel.m=16 --set gpu.a100-sxm4-80.cache='40 MiB'
longer --set kernel.m=16 --set gpu.a100-sxm4-80.cache='40 MiB' --set kernel.copies=99
same_time --set kernel.form=experts
longer --set kernel.form=experts --set kernel.tensor_parallel=2
longer --set kernel.form=experts --set kernel.expert_parallel=2
longer --set kernel.form=experts --set kernel.distribution=power
longer --set kernel.form=experts --set kernel.distribution=benchmark
longer --set kernel.form=experts --set kernel.library=vllm-0.14
longer --set kernel.form=experts --set kernel.weights=mxfp4
verdict 'single_kernel.keys_of_experts_have_an_effect'

# Weights of 32 MiB are in the L2 cache of an L40S (96 MiB) if the benchmark reads them again and
# again, but six copies of them are not.
farwire run --topology l40s-8gpu --draws 0 --quiet --set kernel.m=1
grep -q '100 % of its bytes from the L2 cache, see kernel.copies' "$scratch.out" ||
	complain 'the result does not say that the operands are in the L2 cache'
farwire run --topology l40s-8gpu --draws 0 --quiet --set kernel.m=1 --set kernel.copies=6
! grep -q 'L2 cache' "$scratch.out" || complain 'six copies are in the L2 cache'
verdict 'single_kernel.says_that_operands_are_in_the_cache'

# refused TEXT OPTIONS...
refused() {
	text=$1
	shift
	farwire run --topology dgx-a100 "$@"
	[ "$code" = 2 ] || complain "$*: ended with $code"
	grep -q -- "$text" "$scratch.err" || complain "$*: $(cat "$scratch.err")"
}
refused 'cannot share 3 heads' --set kernel.form=attention --set kernel.kv_heads=3
refused 'do not contain 1024 new ones' --set kernel.form=attention --set kernel.keys=5
refused 'kernel.value_size: 129 features of a value are not part of 128' --set kernel.form=attention \
	--set kernel.value_size=129 --set kernel.latent=true
refused 'kernel.latent has no effect on kernel.form=product' --set kernel.latent=true
refused 'cannot choose 9 of 8 experts' --set kernel.form=experts --set kernel.top=9
refused 'cannot hold equal parts of 8 experts' --set kernel.form=experts --set kernel.expert_parallel=3
refused 'cannot hold equal parts of 14336 features' --set kernel.form=experts --set kernel.tensor_parallel=5
refused 'must not be 1' --set kernel.form=experts --set kernel.exponent=1
refused 'are expanded to 16 bits' --set kernel.weights=int4 --set kernel.type=int8
refused 'have scales in FP8' --set kernel.form=experts --set kernel.blocks=true
refused "does not have fp4 (write one of fp32, tf32, fp16, bf16, int8)" --set kernel.type=fp4
refused 'kernel.cache_type: GPU .* does not have fp4' --set kernel.form=attention --set kernel.cache_type=fp4
refused 'kernel.queries has no effect on kernel.form=product (leave it out, or write a kernel that has it: attention)' --set kernel.queries=5
refused 'kernel.m has no effect on kernel.form=pass' --set kernel.form=pass --set kernel.m=5
refused 'have scales in FP8' --set kernel.blocks=true
refused 'kernel.blocks has no effect on kernel.form=attention' --set kernel.form=attention --set kernel.blocks=true
refused 'a product in bf16 has no quantised matrix' --set kernel.quantise=true
refused "topology 'cpu-ethernet' have no GPU (write a topology" --topology cpu-ethernet --set kernel.m=5
refused 'one kernel may take 100000 s' --set kernel.form=attention --set kernel.queries=1e9
refused 'does not have fp8' --set kernel.type=fp8
refused 'states no rate of int8 (write one of fp32, tf32, fp16, bf16, or set gpu.a100-sxm4-80.int8 to its peak)' \
	--set kernel.type=int8 --set 'gpu.a100-sxm4-80.int8=0 TFLOPS'
refused 'case.model has no effect on a single kernel' --set kernel.m=5 --model vgg16
refused 'runs on one GPU' --set kernel.m=5 --gpus 4
verdict 'single_kernel.refuses_what_it_cannot_be'

# The parts of the step time add up to the kernel's time, which leaves launches out, also if they
# take longer.
kernel --set kernel.m=16 --set kernel.n=16 --set kernel.k=16 --format json
tr -d ' \n' <"$scratch.out" | grep -q '"bottleneck":"kernel-bound"' || complain "$(cat "$scratch.out")"
farwire run --topology dgx-a100 --draws 0 --quiet --set kernel.m=16
[ "$(awk '/^step time/ { print $3 } /^kernels/ { print $2 }' "$scratch.out" | sort -u | wc -l)" = 1 ] ||
	complain "the parts do not add up: $(cat "$scratch.out")"
! grep -q 'host launch' "$scratch.out" || complain 'launches are a part of a kernel'
verdict 'single_kernel.parts_add_up_to_its_time'

# Each key has its own words in tables, and its time is what parameters change.
farwire sweep --topology dgx-a100 --draws 0 -q --vary kernel.m=16,32 --vary kernel.n=16,32
grep -q '^ *m  *n  *steps/s' "$scratch.out" || complain "$(cat "$scratch.out")"
farwire sensitivity --topology dgx-a100 -q --set kernel.m=8192 --for product_half
grep -q '^The step time of product 8192' "$scratch.out" || complain "$(cat "$scratch.out")"
farwire run --topology dgx-a100 --draws 0 -q --set kernel.products=1e8
grep -q ' [1-9.]*e-05 steps/s' "$scratch.out" || complain "$(cat "$scratch.out")"
verdict 'single_kernel.tables_name_its_keys'

# The run without a key, which finds keys without effect, gives each of 8 experts all tokens.
farwire run --topology dgx-h100 --set kernel.form=experts --set kernel.tokens=256 --set kernel.hidden=7168 \
	--set kernel.inner=2048 --set kernel.experts=256 --set kernel.top=8 --set kernel.distribution=power
[ "$code" = 0 ] || complain "ended with $code: $(cat "$scratch.err")"
farwire run --topology dgx-h100 --draws 0 --set kernel.form=experts --set kernel.tokens=1e6 --set kernel.experts=1024 \
	--set kernel.top=64 --set kernel.distribution=benchmark
[ "$code" = 0 ] || complain "ended with $code: $(cat "$scratch.err")"
verdict 'single_kernel.many_experts_take_no_time_to_draw'
