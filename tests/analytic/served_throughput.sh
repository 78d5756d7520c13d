#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The throughput of a model server counts all requests that leave in its steady state. A server that is
# always full gives its capacity, whatever share of the requests is the warm-up and however fast
# they arrive. A server that keeps up gives the rate of arrivals. (Counting only the requests
# after the warm-up lost half of the throughput at a warm-up of 0.49.)
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# rate OPTIONS: requests/s of ResNet-50 in full batches of 64
rate() {
	farwire run --topology hgx-h100 --model resnet50 --stack serving --serve "batch=64,$1" --draws 0 -q
	sed -n 's/.* \([0-9.]*\) requests\/s$/\1/p;1q' "$scratch.out"
}
# near NAME A B TOLERANCE
near() {
	awk -v a="${2:-0}" -v b="${3:-0}" -v t="$4" 'BEGIN { exit !(a > 0 && b > 0 && a / b < 1 + t && b / a < 1 + t) }' ||
		complain "$1: '$2' and '$3' requests/s differ by more than $4"
}

full=$(rate rate=1e6,warmup=0)
for share in 0.1 0.3 0.49; do
	near "warm-up of $share" "$(rate rate=1e6,warmup=$share)" "$full" 0.01
done
verdict served_throughput.share_of_the_warm_up_does_not_change_the_capacity

for factor in 1.2 1.6 3; do
	offered=$(awk -v full="$full" -v factor=$factor 'BEGIN { print full * factor }')
	near "offered $factor times the capacity" "$(rate "rate=$offered")" "$full" 0.01
done
verdict served_throughput.overloaded_servers_work_at_their_capacity

# 20,000 arrivals of a Poisson process have a rate within 1.4 % (two standard deviations) of its own.
for factor in 0.1 0.5 0.9; do
	offered=$(awk -v full="$full" -v factor=$factor 'BEGIN { print full * factor }')
	near "offered $factor times the capacity" "$(rate "rate=$offered,requests=20000")" "$offered" 0.014
done
verdict served_throughput.servers_that_keep_up_work_at_the_rate_of_arrivals

# Prompts of 10,240 tokens in parts fill the KV cache from about 0.8 requests/s on. Reserved prompts are
# not processed in vain, so a higher rate of arrivals does not lower the throughput by more than its
# statistical error. (Without serve.reserve_prompt it falls from 0.71 to 0.68 requests/s.)
last=0
for rate in 0.5 0.7 0.9 1.2 3; do
	farwire run --topology hgx-h100 --model llama3-8b --set case.sequence=16384 --draws 0 -q \
		--serve "prompt=10240,output=1024,output_spread=0,rate=$rate,requests=1000,warmup=0.2"
	now=$(sed -n 's/.* \([0-9.]*\) requests\/s$/\1/p;1q' "$scratch.out")
	awk -v now="${now:-0}" -v last=$last 'BEGIN { exit !(now > 0.99 * last) }' ||
		complain "at $rate requests/s the throughput falls from $last to $now requests/s"
	last=$now
done
verdict served_throughput.parts_of_prompts_do_not_lower_the_throughput_under_overload

# A server that starts empty fills its batch of 256 at once, and processes these prompts first. With few
# requests there is no steady state after that, so the throughput is that of all requests. It cannot
# exceed the capacity, which 8,000 requests give. The result says how many are enough: five times the 256
# that can be in service. (The window of 300 requests gave 42 in place of 21.6 requests/s.)
served='--topology hgx-h100 --model llama3-8b --draws 0 --serve'
# shellcheck disable=SC2086 # a list of words
few() {
	farwire run $served "prompt=1024,rate=80,requests=$1"
	sed -n 's/.* \([0-9.]*\) requests\/s$/\1/p;1q' "$scratch.out"
}
full=$(few 8000)
grep -q '^few requests' "$scratch.out" && complain '8,000 requests are enough'
for count in 400 600; do
	now=$(few $count)
	awk -v now="${now:-0}" -v full="$full" 'BEGIN { exit !(now > 0.7 * full && now < full) }' ||
		complain "$count requests: $now requests/s, the capacity is $full"
	grep -q '^few requests: .*(write serve.requests=1280 or more)$' "$scratch.out" ||
		complain "$count requests: no line 'few requests'"
done
near '1,280 requests' "$(few 1280)" "$full" 0.1
verdict served_throughput.few_requests_do_not_exceed_the_capacity

# Keys and values of a prompt of 4,096 tokens have 4096 x 131,072 B = 0.537 GB. 10 Gb/s carry 2.33 of
# them a second, less the headers of TCP, and 4 requests/s arrive.
farwire run serve-disaggregated-100g --set link.network.bandwidth='10 Gbit/s' --draws 0
now=$(sed -n 's/.* \([0-9.]*\) requests\/s$/\1/p;1q' "$scratch.out")
awk -v now="${now:-0}" 'BEGIN { exit !(now > 0.94 * 2.328 && now < 2.328) }' || complain "$now requests/s"
for line in '^bottleneck: network-bound$' '^would help: .*nic.* carries \(99\|100\) % of its bandwidth' '^overload: '; do
	grep -q "$line" "$scratch.out" || complain "no line '$line'"
done
farwire run serve-disaggregated-100g --draws 0 -q
grep -q '^overload: ' "$scratch.out" && complain '100 Gb/s carry 4 requests/s'
verdict served_throughput.full_links_are_the_bottleneck_of_keys_and_values

# cache SHARE FREE: tokens of the KV cache of Llama 3 8B on a GPU with 20 GB, which a long request does not fit
cache() {
	farwire run --topology dgx-h100 --model llama3-8b --stack serving --set 'gpu.*.memory=20 GB' --set case.sequence=131072 \
		--serve "prompt=100000,output=10,memory=$1,memory_free=$2,block=1" --draws 0
	sed -n 's/.*KV cache of \([0-9]*\) tokens.*/\1/p;1q' "$scratch.out"
}
whole=$(cache 1 true) half=$(cache 0.5 true)
[ "${whole:-0}" -gt 1000 ] && [ "$(cache 1 false)" = "$whole" ] || complain "all of the rest is not all of the memory: $whole tokens"
[ "$half" = $((whole / 2)) ] || complain "half of the rest has $half tokens, not half of $whole"
verdict served_throughput.a_share_of_the_free_memory_counts_no_weights

# Prompts of 3,000 tokens and outputs of 500 on average have more than the 4,096 tokens of the training's
# sequences in 11 % of the requests. A cut at that length would leave 444 tokens of an output.
farwire run --topology dgx-h100 --model qwen3-32b --engine vllm --set case.tensor=2 --draws 0 --format csv \
	--serve concurrency=64,prompt=3000,output=500,weights=fp8
mean=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print 2 * $at["tokens_per_s_gpu"] / $at["throughput_samples_per_s"] }' "$scratch.out")
awk -v mean="${mean:-0}" 'BEGIN { exit !(mean > 470 && mean < 530) }' || complain "an output has $mean tokens, not 500"
verdict served_throughput.outputs_are_not_cut_at_the_length_of_the_training
exit 0
