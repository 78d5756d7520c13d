#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A system that cannot run gives a verdict: a normal result with a reason, without numbers, and
# exit code 0.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# fails REASON ARGS...: checks the verdict as table, CSV and JSON.
fails() {
	reason=$1
	shift
	expect 0 '' run "$@" -q
	shows "FAIL: $reason"
	expect 0 '' run "$@" -q --format csv
	shows ",fail,\"?$reason"
	expect 0 '' run "$@" -q --format json
	shows '"verdict": "fail"'
	shows "\"reason\": \"$reason"
	shows '"throughput": \{"value": null, "low": null, "high": null'
	shows '"bottleneck": null'
}

# The GTX 1050 Ti has 4.3 GB. At batch 32 the published runs filled 94 % of it.
fails 'out of GPU memory: resnet50 at batch 64 needs' --topology t320-same-esxi --batch 64
# A program on half a GPU has half its memory.
fails "out of GPU memory: resnet50 at batch 64 needs [0-9.]* GB, GPU '[a-z0-9-]*' has 2.1[0-9] GB" \
	--topology t320-same-esxi --batch 64 --set case.fraction=0.5
expect 0 '' run --topology t320-same-esxi --batch 32 -q --draws 0
shows ' ok$'
fails 'out of GPU memory: resnet50 at batch 100000' --topology vm-p100-roce --batch 1e5
fails 'out of GPU memory: llama3-70b needs [0-9.]* GB for weights and activations, but a replica' \
	--topology dgx-h100 --model llama3-70b --serve rate=1
verdict 'verdicts.model_that_exceeds_gpu_memory_fails'

# All requests arrive within 20 us. The first one is processed, the second one waits, and both belong to
# the warm-up.
fails 'all measured requests were refused' --topology dgx-h100 --model llama3-8b \
	--serve rate=1e6,requests=20,queue=1,batch=1 --set serve.spread=0
verdict 'verdicts.service_that_refuses_all_requests_fails'

# Both ranks receive before they send.
rank() { # RANK PEER
	echo "{\"format\":\"farwire-calls\",\"version\":1,\"rank\":$1,\"ranks\":2}
{\"call\":\"ncclRecv\",\"start_s\":1,\"end_s\":1.1,\"stream\":7,\"size_B\":1000,\"peer\":$2}
{\"call\":\"ncclSend\",\"start_s\":2,\"end_s\":2.1,\"stream\":7,\"size_B\":1000,\"peer\":$2}
{\"call\":\"cudaDeviceSynchronize\",\"start_s\":3,\"end_s\":4}
{\"end\":true}"
}
(rank 0 1 && rank 1 0) >apart.jsonl
fails 'the recorded ranks wait for each other forever: rank 0, step 0' --topology dgx1-v100 --gpus 2 \
	--exchange nccl-2.18 --calls apart.jsonl
verdict 'verdicts.recorded_ranks_that_wait_for_each_other_fail'

# The program never waits for its GPU, and its only call takes no time.
for rank in 0 1; do
	echo "{\"format\":\"farwire-calls\",\"version\":1,\"rank\":$rank,\"ranks\":2}
{\"call\":\"ncclAllReduce\",\"start_s\":1,\"end_s\":1.1,\"stream\":7,\"size_B\":1000,\"kernel_s\":1e-5}
{\"end\":true}"
done >instant.jsonl
fails 'its steps take no time' --topology dgx1-v100 --gpus 2 --exchange nccl-2.18 --calls instant.jsonl \
	--set 'driver.launch=0 s'
verdict 'verdicts.steps_without_time_fail'

# Rank 0 receives and sends one message in a step, but rank 1 waits for a second one before its step
# ends.
message() { # CALL NUMBER PEER
	echo "{\"call\":\"$1\",\"start_s\":$2,\"end_s\":$2.1,\"stream\":7,\"size_B\":1000,\"peer\":$3}"
}
ahead() { # RANK CALLS
	echo "{\"format\":\"farwire-calls\",\"version\":1,\"rank\":$1,\"ranks\":2}"
	number=0
	for call in $2; do
		number=$((number + 1))
		message "$call" $number $((1 - $1))
	done
	echo '{"call":"cudaDeviceSynchronize","start_s":8,"end_s":9}'
	echo '{"end":true}'
}
(ahead 0 'ncclRecv ncclSend' && ahead 1 'ncclSend ncclRecv ncclRecv') >apart.jsonl
fails 'the recorded ranks wait for each other forever: rank 1, step 0' --topology dgx1-v100 --gpus 2 \
	--exchange nccl-2.18 --calls apart.jsonl
verdict 'verdicts.the_rank_with_the_fewest_steps_is_named'

fails "every packet is lost on the route from 'n0.gpu[0-9]' to 'n1.gpu[0-9]' over rdma" \
	--topology dgx1-v100 --collective all_reduce --gpus 16 --set link.network.loss=1
fails "every packet is lost on the route" --topology dgx1-v100 --gpus 16 --set link.network.loss=1
verdict 'verdicts.link_that_loses_all_packets_fails'

cat >apart.cfg <<'END'
topology = {
	name = "apart";
	hosts = ( { name = "near"; }, { name = "far"; } );
	guests = ( { name = "client"; host = "near"; }, { name = "server"; host = "far"; } );
	gpus = ( { name = "gpu0"; host = "far"; profile = "gtx-1050ti"; } );
	links = ( { name = "slot"; kind = "pcie"; ends = ["far", "gpu0"]; } );
};
END
fails "no route from 'client' to 'server' for tcp .no link ends at guest 'client'; connect the network to guests" \
	--topology apart.cfg --program client --runtime asynchronous --batch 8
sed '/links/d' apart.cfg >bare.cfg
fails "no route from host 'far' to GPU 'gpu0'" --topology bare.cfg --batch 8
fails "no route from 'client' to 'server' for rdma" \
	--topology t320-same-lan --program client --runtime asynchronous --transport rdma --batch 8
verdict 'verdicts.missing_route_fails'

fails 'connection timeout: no connection to server within 10 s' \
	--topology t320-different-lan --program client --runtime flexdirect-1.11
fails 'connection timeout: no connection to server within 5 s' \
	--topology t320-same-lan --program client --runtime flexdirect-1.11 \
	--set 'link.*.loss=1' --set 'runtime.connect_timeout=5 s'
verdict 'verdicts.connection_without_packets_times_out'

fails '[0-9]+ calls wait forever in a batch that is not full .set runtime.batch_wait above 0' \
	--topology t320-same-lan --program client --runtime asynchronous --stack pytorch --batch 8 \
	--set runtime.batch=4096 --set 'runtime.batch_wait=0 s' --set stack.poller=false \
	--set stack.real_input=true --set runtime.outstanding=0 --set stack.get_last_error_per_launch=0
verdict 'verdicts.batch_that_never_fills_fails'

# Six steps take longer than the 23 days that the simulator covers.
fails 'the run stopped at its limit after .*the limit is a simulated time of 2e6 s: choose' --topology vm-p100-vmxnet3 --stack pytorch --model vgg16 --batch 64 \
	--set 'gpu.*.fp32=1 MFLOP/s'
fails 'the run stopped at its limit after .*job .job0. waits' --topology dgx1-v100 --gpus 16 --model alexnet \
	--set 'link.network.bandwidth=1 B/s'
verdict 'verdicts.step_without_end_fails'

# Machine `one` has no route to the file server of its job. The two machines have no route to
# each other.
cat >alone.cfg <<'END'
topology = {
	name = "alone";
	hosts = ( { name = "a"; }, { name = "b"; } );
	guests = ( { name = "one"; host = "a"; }, { name = "two"; host = "b"; } );
	gpus = ( { name = "gpu0"; host = "a"; profile = "gtx-1080"; },
		{ name = "gpu1"; host = "b"; profile = "gtx-1080"; } );
	switches = ["file-server"];
	links = ( { name = "slot0"; kind = "pcie"; ends = ["a", "gpu0"]; },
		{ name = "slot1"; kind = "pcie"; ends = ["b", "gpu1"]; } );
};
END
fails "no route from 'one' to storage 'nfs' at file-server" --topology alone.cfg --model alexnet \
	--set case.gpus=1 --set input.source=nfs
fails "no route from 'gpu0' to 'gpu1' over tcp" --topology alone.cfg --model alexnet --gpus 2 --transport tcp
verdict 'verdicts.job_without_a_route_fails'

# Two hosts with a GPU each and without a network: a replica over both GPUs, its keys and values, and its calls have no route.
cat >apart.cfg <<'END'
topology = { name = "apart"; hosts = ( { name = "near"; }, { name = "far"; } );
	guests = ( { name = "here"; host = "near"; }, { name = "there"; host = "far"; } );
	gpus = ( { name = "gpu0"; host = "near"; profile = "h100-sxm5"; }, { name = "gpu1"; host = "far"; profile = "h100-sxm5"; } );
	links = ( { name = "slot0"; kind = "pcie"; ends = ["near", "gpu0"]; }, { name = "slot1"; kind = "pcie"; ends = ["far", "gpu1"]; } ); };
END
served() { # REASON SETTING...
	reason=$1
	shift
	expect 0 '' run --topology apart.cfg --model llama3-8b -q --draws 0 --serve rate=1,requests=100 "$@"
	shows "^llama3-8b served on apart.cfg: FAIL: $reason\$"
}
group="a collective of the GPUs of 'client' failed: no route from 'gpu0' to 'gpu1' over tcp"
served "$group" --set case.tensor=2
served "$group" --set case.pipeline=2
served "no message from 'here' arrives at the stage on GPU 'gpu1' over tcp" --set case.pipeline=2 --set serve.pipeline=rpc
served "job 'client0': no route from 'gpu0' to 'gpu1' over tcp" --set case.copies=2 --set case.prefill=1
served 'no route connects the replicas between which keys and values travel' --set serve.cache_host=there --set serve.host_cache=10GB
calls="no route from 'there' to 'here' for tcp .no link ends at guest 'there'; connect the network to guests, not to their hosts."
served "$calls" --program there --runtime asynchronous
served "$calls" --program there --runtime asynchronous --set serve.drafted=2 --set serve.draft=llama3-8b
# A store in the replica's own machine needs no network.
expect 0 '' run --topology apart.cfg --model llama3-8b -q --draws 0 --serve rate=1,requests=100 --set serve.cache_host=here \
	--set serve.host_cache=10GB
shows ' requests/s$'
# Fewer requests than events have ended.
expect 0 '' run --topology dgx-h100 --model resnet50 -q --draws 0 --serve rate=1,requests=2000 --events 50
shows "after 50 events and .* job 'client' waits: (19[5-9].|2000) requests have not ended"
verdict 'verdicts.replica_without_a_route_fails'

# The verdict of one case does not hide the numbers of another.
printf 'case = { topology = "t320-same-esxi"; batch = 64; };\n' >large.cfg
printf 'case = { topology = "t320-same-esxi"; batch = 16; };\n' >small.cfg
expect 0 '' compare small.cfg large.cfg -q --draws 0 --format csv
[ "$(grep -c ',ok' "$scratch.out")" = 1 ] || complain "compare: $(cat "$scratch.out")"
shows 'out of GPU memory'
expect 0 '' sweep small.cfg -q --vary case.batch=16,64 --format csv
shows '^16,[0-9.]+,.*,ok'
shows '^64,,,,.*out of GPU memory'
verdict 'verdicts.verdict_of_one_case_keeps_the_numbers_of_others'

# A broadcast only sends from the first GPU. The virtual adapter of the second one must carry RDMA, too.
cat >between.cfg <<'END'
topology = {
	hosts = ( { name = "a"; cores = 8; }, { name = "b"; cores = 8; } );
	guests = ( { name = "va"; host = "a"; kind = "vm"; vnic = "passthrough"; }, { name = "vb"; host = "b"; kind = "vm"; vnic = "passthrough"; } );
	gpus = ( { name = "ga"; host = "a"; profile = "v100-pcie"; }, { name = "gb"; host = "b"; profile = "v100-pcie"; } );
	switches = ["switch"];
	links = ( { name = "sa"; kind = "pcie"; ends = ["a", "ga"]; generation = 3; lanes = 16; },
		{ name = "sb"; kind = "pcie"; ends = ["b", "gb"]; generation = 3; lanes = 16; },
		{ name = "pa"; kind = "roce"; ends = ["va", "switch"]; bandwidth = "100 Gbit/s"; },
		{ name = "pb"; kind = "roce"; ends = ["switch", "vb"]; bandwidth = "100 Gbit/s"; } );
};
END
broadcast='run --gpus 2 --collective broadcast --transport rdma --draws 0 -q'
# shellcheck disable=SC2086
expect 0 '' $broadcast --topology between.cfg
shows 'GB/s bus bandwidth$'
sed 's/name = "vb"; host = "b"; kind = "vm"; vnic = "passthrough"/name = "vb"; host = "b"; kind = "vm"; vnic = "vmxnet3"/' between.cfg >socket.cfg
# shellcheck disable=SC2086
expect 0 '' $broadcast --topology socket.cfg
shows "FAIL: no route from 'ga' to 'gb' over rdma"
verdict 'verdicts.rdma_needs_adapters_that_carry_it_at_both_ends'
