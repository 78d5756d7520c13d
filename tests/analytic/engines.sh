#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Exchanges of experts, sockets on all adapters, and links with a stated bandwidth, with the defaults.
set -u
cd "$(dirname "$0")/../.." || exit 2
farwire=${FARWIRE:-build/farwire}
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# time_of ARGUMENTS: seconds of a collective.
time_of() {
	"$farwire" run --set case.gpu_profiles=false --draws 0 --format csv --quiet "$@" |
		sed 's/"[^"]*"/text/g' | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
NR == 2 { print column ? $column : "none" }'
}
# near NAME TIME EXPECTED: an expression in seconds, within 1 %.
near() {
	if awk -v time="$2" "BEGIN { expected = $3; printf \"  %s s for %s s\n\", time, expected
		exit !(time > 0.99 * expected && time < 1.01 * expected) }"; then
		echo "ok engines.$1"
	else
		echo "FAIL engines.$1"
		failed=1
	fi
}

# Seven eighths of 80 MB leave each H800 over NVLink: 212.5 GB/s, 16/17 of them data, of which Hopper
# reaches 0.85 x 0.97.
experts() {
	time_of --topology hgx-h800 --collective all_to_all "$@"
}
near rows_go_directly_to_their_experts "$(experts --gpus 8 --exchange deepep-low-latency \
	--set 'case.collective_size=80 MB')" '20e-6 + 70e6 / (212.5e9 * 16 / 17 * 0.85 * 0.97)'

# Half of 800 MB goes to the other machine. A token with 8 experts meets 2 (1 - 2^-8) = 1.9922 machines,
# so once for each machine is 1.9922 / 8 of the bytes.
pair() {
	experts --gpus 2 --set case.gpus_per_machine=1 --set 'case.collective_size=800 MB' "$@"
}
direct=$(pair --exchange deepep-low-latency)
near tokens_cross_the_network_once_for_each_machine "$(pair --exchange deepep)" "$direct * 1.9922 / 8"
near a_token_with_one_expert_crosses_it_as_often "$(pair --exchange deepep --set library.experts_top=1)" "$direct"

# Mixtral has two experts of a token, which is neither the default of 8 nor 1.
mixtral() {
	time_of --topology hgx-h800 --model mixtral-8x7b --stack megatron-bf16 --gpus 8 --set plan.ep=8 \
		--set plan.anyway=true --set plan.global_batch=8 --set case.sequence=512 --exchange deepep "$@"
}
experts=$(mixtral)
near a_plan_takes_the_experts_of_a_token_from_its_network "$(mixtral --set library.experts_top=2)" "$experts"
if [ "$(mixtral --set library.experts_top=8)" = "$experts" ]; then
	echo "FAIL engines.the_number_of_experts_changes_a_plan"
	failed=1
else
	echo "ok engines.the_number_of_experts_changes_a_plan"
fi

# refused NAME TEXT ARGUMENTS: a run ends with exit code 2 and this text.
refused() {
	"$farwire" run --topology hgx-h800 --quiet $3 >"$scratch/out" 2>&1
	if [ $? -eq 2 ] && grep -qF "$2" "$scratch/out"; then
		echo "ok engines.$1"
	else
		echo "FAIL engines.$1"
		failed=1
	fi
}
refused experts_need_a_network_of_experts "case.expert: model 'llama3-8b': it has no experts (write case.expert=1)" \
	'--model llama3-8b --serve rate=1 --set case.expert=2'
refused experts_are_spread_in_model_servers_only 'case.tensor, case.pipeline, case.data and case.expert split model servers' \
	'--model qwen3-30b-a3b --set case.expert=2'
refused engines_serve_requests 'case.engine is a model server, but the case serves no requests' \
	'--model llama3-8b --engine vllm'
refused fixed_batches_need_as_many_clients 'serve.batching=fixed waits for 8 requests at each replica, more than 4' \
	'--model resnet50 --stack serving --serve batching=fixed,batch=8,concurrency=4'
refused parts_of_experts_divide_the_gpus_of_a_stage 'the 4 GPUs of a stage (case.tensor x case.data) are not divisible by case.expert=3' \
	'--model qwen3-30b-a3b --serve rate=1 --set case.tensor=2 --set case.data=2 --set case.expert=3'
refused groups_are_as_many_as_parts_need 'case.expert=8 parts of the experts need as many GPUs, which are not case.data=2 groups' \
	'--model qwen3-30b-a3b --serve rate=1 --set case.data=2 --set case.expert=8'
refused rows_are_sent_to_whole_experts_only 'serve.dispatch=all-to-all sends rows to whole experts, but 2 GPUs have 1 parts' \
	'--model qwen3-30b-a3b --serve rate=1,dispatch=all-to-all --set case.data=2'
refused rpc_servers_have_whole_layers 'RPC servers have whole layers of all requests (write case.tensor=1' \
	'--model llama3-8b --serve rate=1,pipeline=rpc --set case.tensor=2 --set case.pipeline=2'
refused stores_are_in_the_topology "no host or guest of topology 'hgx-h800' is called 'nowhere'" \
	'--model llama3-8b --serve rate=1,host_cache=1GB,cache_host=nowhere'
refused stores_need_memory "serve.cache_host: 'n0' has no memory for keys and values (write serve.host_cache" \
	'--model llama3-8b --serve rate=1,cache_host=n0'

# Sixteen H100 on two machines over 10 Gb/s: with eight adapters eight rings carry an eighth each.
sockets() {
	time_of --topology dgx-h100 --collective all_reduce --exchange nccl-2.18 --transport tcp --gpus 16 \
		--set library.algorithm=ring --set 'case.collective_size=1 GB' "$@"
}
one=$(sockets --set cluster.network=ethernet-10 --set cluster.ports=1)
near nccl_opens_sockets_on_all_adapters "$(sockets --set cluster.network=ethernet-10)" "$one / 8"

# The ring sends 2 x 15/16 of 1 GB through one stream of 5 Gbit/s, of which NCCL reaches 0.97. Four sockets carry four times as much,
# and NCCL opens 2 x 8 on the adapters of AWS, which fill the 25 Gbit/s of the link.
flow() {
	sockets --set cluster.network=ena-25 --set cluster.ports=1 --set link.network.flow=5Gbit/s "$@"
}
near a_cloud_limits_each_stream "$(flow --set library.socket_threads=1 --set library.socket_sockets=1)" '1.875e9 / 0.625e9 / 0.97'
near several_sockets_carry_several_times_as_much \
	"$(flow --set library.socket_threads=4 --set library.socket_sockets=1)" '1.875e9 / 2.5e9 / 0.97'
near nccl_opens_sixteen_sockets_on_aws "$(flow)" \
	"$(sockets --set cluster.network=ena-25 --set cluster.ports=1 --set link.network.flow=0bit/s)"

# Eight MI300X have seven xGMI links of 64 GB/s. Rings reach 16/17 x 0.85 x 0.97 of all, two GPUs of one.
xgmi() {
	time_of --topology mi300x-8gpu --collective all_reduce --exchange rccl --gpus "$1" \
		--set 'case.collective_size=4 GB'
}
near rings_use_all_links_of_a_full_mesh "$(xgmi 8)" '1.75 * 4e9 / (7 * 64e9 * 16 / 17 * 0.85 * 0.97)'
near two_gpus_use_the_link_between_them "$(xgmi 2)" '4e9 / (64e9 * 16 / 17 * 0.85 * 0.97)'

# Four GPUs of an imported host of PCIe 5 exchange data in the memory of one socket: each byte is written
# and read there, and 0.83 of 8 x 38.4 GB/s carry them.
cat >"$scratch/topo.txt" <<'TOPO'
	GPU0	GPU1	GPU2	GPU3	CPU Affinity	NUMA Affinity
GPU0	 X 	NODE	NODE	NODE	0-31	0
GPU1	NODE	 X 	NODE	NODE	0-31	0
GPU2	NODE	NODE	 X 	NODE	0-31	0
GPU3	NODE	NODE	NODE	 X 	0-31	0

GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-00000000)
GPU 1: NVIDIA GeForce RTX 5090 (UUID: GPU-00000001)
GPU 2: NVIDIA GeForce RTX 5090 (UUID: GPU-00000002)
GPU 3: NVIDIA GeForce RTX 5090 (UUID: GPU-00000003)
TOPO
"$farwire" import topology "$scratch/topo.txt" -o "$scratch/own.cfg" -q
near memory_of_a_socket_carries_writes_and_reads "$(time_of --topology "$scratch/own.cfg" --gpus 4 \
	--collective all_reduce --exchange nccl-2.18 --set 'case.collective_size=4 GB')" \
	'1.5 * 4e9 / (0.83 * 307.2e9 / 8)'
exit $failed
