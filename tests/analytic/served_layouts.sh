#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Layouts of model servers: experts that groups of GPUs share, layers over RPC, and keys and values on
# another host. The expected times follow from bytes and bandwidths, and from single collectives.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

# field CSV NAME: the value of a column of numbers. Texts in quotes may have commas.
field() {
	printf '%s\n' "$1" | sed 's/"[^"]*"/text/g' | awk -F, -v name="$2" '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
NR == 2 { print column ? $column : "none" }'
}
# collective NAME BYTES GPUS: its time on H100 of a DGX.
collective() {
	field "$("$FARWIRE" run --topology dgx-h100 --gpus "$3" --exchange nccl-2.18 --collective "$1" \
		--set library.custom_all_reduce=on --set "case.collective_size=$2 B" --draws 0 --format csv --quiet)" step_s
}
# serve NETWORK ARGUMENTS: the time of the exchanges of a token, for single requests of 100 tokens.
serve() {
	network=$1
	shift
	field "$("$FARWIRE" run --topology dgx-h100 --model "$network" --exchange nccl-2.18 --draws 0 --format csv --quiet \
		--serve rate=0.001,prompt=1,output=100,output_spread=0,requests=4 "$@")" tensor_exposed_s
}
# near X Y: X is Y within 2 %
near() {
	awk -v x="$1" -v y="$2" 'BEGIN { printf "  %s for %s\n", x, y; exit !(x > 0.98 * y && x < 1.02 * y) }' ||
		complain "$1 is not $2"
}

# Whole experts on each GPU of a tensor group are summed up as split ones.
near "$(serve mixtral-8x7b --set case.tensor=2 --set case.expert=2)" "$(serve mixtral-8x7b --set case.tensor=2)"
verdict served_layouts.whole_experts_of_a_group_are_summed_once_a_layer

# Two groups of one GPU gather 2 x 4,096 features of 2 B in each of 32 layers, and scatter the sums.
gather=$(collective all_gather 16384 2)
scatter=$(collective reduce_scatter 16384 2)
near "$(serve mixtral-8x7b --set case.data=2)" "$(awk "BEGIN { print 3200 * ($gather + $scatter) }")"
near "$(serve mixtral-8x7b --set case.expert=2)" "$(awk "BEGIN { print 3200 * ($gather + $scatter) }")"
verdict served_layouts.groups_gather_rows_and_scatter_sums

# Two groups of two: sums behind the embedding and 32 attentions, a gather of all and of a group, a scatter, logits.
sum=$(collective all_reduce 8192 2)
four=$(awk "BEGIN { print $(collective all_gather 16384 4) + $(collective reduce_scatter 16384 4) }")
two=$(collective all_gather 8192 2)
logits=$(collective all_gather 64000 2)
near "$(serve mixtral-8x7b --set case.tensor=2 --set case.data=2)" "$(awk "BEGIN { print 100 * (33 * $sum + 32 * ($four + $two) + $logits) }")"
verdict served_layouts.groups_of_several_gpus_also_gather_within

# rpc BANDWIDTH ARGUMENTS: the time of messages of 100 tokens between a client and a server
rpc() {
	bandwidth=$1
	shift
	field "$("$FARWIRE" run --topology gpu-pool --model llama2-7b --engine llama-cpp-rpc --set case.gpu=gpu2 \
		--set case.pipeline=2 --serve rate=0.01,prompt=1,output=100,output_spread=0,requests=4 \
		--set "link.*.bandwidth=$bandwidth" --draws 0 --format csv --quiet "$@")" tensor_exposed_s
}
# Features of 4,096 x 4 B travel to the server and back. With them go 7 commands of 305 B, 20 B of a row, and a mask of
# 4 B for each of 50 earlier tokens on average. Halving the bandwidth costs the time of these bytes and of their headers,
# 78 B in each packet of 1,538 B.
one=$(rpc '1 Gbit/s')
half=$(rpc '0.5 Gbit/s')
near "$(awk "BEGIN { print $half - $one }")" "$(awk 'BEGIN { print 100 * (2 * 16384 + 7 * 305 + 20 + 4 * 50.5) * 8 / 1e9 * 1538 / 1460 }')"
verdict served_layouts.activations_pass_the_client_in_each_iteration
# A graph of 10 kB a layer, of the 16 layers of the other machine.
near "$(awk "BEGIN { print $(rpc '1 Gbit/s' --set 'serve.rpc_graph=10 kB') - $one }")" "$(awk 'BEGIN { print 100 * 16 * 10000 * 8 / 1e9 * 1538 / 1460 }')"
verdict served_layouts.graphs_are_sent_if_servers_do_not_keep_them
# Both GPUs of one machine exchange nothing.
[ "$(rpc '1 Gbit/s' --set case.gpu=gpu1)" = 0 ] || complain 'stages of one machine send messages'
verdict served_layouts.stages_of_one_machine_send_no_messages

# GPUs of 16 and 32 GB have a third and two thirds of the layers, so they hold what 3 x 16 GB hold.
sed 's/name = "gpu3"; host = "rack2"; profile = "v100-sxm2"/name = "gpu3"; host = "rack2"; profile = "v100-sxm2-32"/
	s/@include "/&'"$(pwd | sed 's|/|\\/|g')"'\/topologies\//' topologies/gpu-pool.cfg >"$scratch/mixed.cfg"
mixed() {
	"$FARWIRE" run --topology "$scratch/mixed.cfg" --model llama2-7b --engine llama-cpp-rpc --set case.gpu=gpu2 --draws 0 \
		--set case.pipeline=2 --format csv --quiet --serve rate=0.01,prompt=1,output=100,output_spread=0,requests=4 "$@"
}
mixed --set serve.pipeline=groups >"$scratch/out" 2>&1
grep -q "the GPUs of a replica must be equal, but 'gpu2' is v100-sxm2 and 'gpu3' is v100-sxm2-32" "$scratch/out" ||
	complain 'different GPUs of a replica are not refused'
near "$(field "$(mixed)" kernel_s)" "$(field "$(mixed --set case.gpu=gpu1)" kernel_s)"
verdict served_layouts.stages_over_rpc_may_have_different_gpus

# All stages compute in a number type that their GPUs have. A V100 has no bf16, an H100 has.
stages() {
	"$FARWIRE" run --topology gpu-pool --model llama2-7b --engine llama-cpp-rpc --set case.gpu=gpu2 --set case.pipeline=2 \
		--set gpu.gpu2.profile=h100-pcie --draws 0 --quiet --serve rate=0.01,prompt=1,output=4,requests=4 "$@" 2>&1
}
stages | grep -q 'stack serving-fp16' || complain 'auto selects a stack that the second stage cannot compute'
stages --stack serving | grep -q "computes in bf16, but GPU 'v100-sxm2'" || complain 'the second stage computes in bf16'
stages --model llama2-70b | grep -q 'write a larger case.pipeline' || complain 'another advice than more stages'
verdict served_layouts.all_stages_have_the_number_type

# Three parts of the experts do not need whole groups of two GPUs.
"$FARWIRE" run --topology hgx-h800 --model qwen3-30b-a3b --engine vllm --set case.tensor=2 --set case.expert=3 \
	--serve rate=1,requests=4 2>&1 | grep -q 'write case.expert=4' || complain 'wrong advice for parts of the experts'
verdict served_layouts.parts_of_experts_need_whole_groups

# Requests of one group alternate between two replicas with one GPU each. Prompts of 4,096 common tokens.
printf '0\t4100\t8\t1\t4096\n10\t4100\t8\t1\t4096\n' >"$scratch/two.tsv"
printf '0\t4100\t8\t1\t4096\n10\t4100\t8\t2\t4096\n20\t4100\t8\t1\t4096\n' >"$scratch/evicted.tsv"
# kept LIST ARGUMENTS: the transfer of the last request
kept() {
	list=$1
	shift
	field "$("$FARWIRE" run --topology l40s-8gpu --model llama3-8b --engine vllm --set "serve.list=$scratch/$list.tsv" \
		--set cluster.count=2 --set 'serve.host_cache=10 GB' --set serve.warmup=0.7 --draws 0 --format csv --quiet "$@")" transfer_s
}
own=$(kept two --copies 2 --set serve.router=round-robin --set serve.warmup=0.5)
shared=$(kept two --copies 2 --set serve.router=round-robin --set serve.warmup=0.5 --set serve.cache_host=n1)
awk -v own="$own" -v shared="$shared" 'BEGIN { exit !(own == 0 && shared > 0) }' ||
	complain "a replica loads $own s from its own host and $shared s from the host of all"
verdict served_layouts.a_store_has_the_prefixes_of_all_replicas

# The cache holds one of two prefixes. 4,096 tokens have 2 x 32 x 8 x 128 x 2 B each. They come over 200 Gbit/s and then
# over PCIe, or only over PCIe.
near "$(awk "BEGIN { print $(kept evicted --set serve.cache_blocks=300 --set serve.cache_host=n1.os) - $(kept evicted --set serve.cache_blocks=300) }")" \
	"$(awk 'BEGIN { print 4096 * 131072 * 8 / 200e9 * 1.02 }')"
verdict served_layouts.keys_and_values_come_over_the_network_and_then_over_pcie
