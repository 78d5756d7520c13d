#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Impossible cases: jobs, placements and profiles that do not fit what they name. Each error
# gives the place and what to write instead.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# The GPUs of the first host are of two kinds. The second host has a GPU but no guest.
cat >own.cfg <<'END'
topology = {
	name = "own";
	hosts = ( { name = "near"; }, { name = "far"; } );
	guests = ( { name = "guest"; host = "near"; } );
	gpus = ( { name = "gpu0"; host = "near"; profile = "gtx-1080"; },
		{ name = "gpu1"; host = "near"; profile = "k80"; },
		{ name = "gpu2"; host = "far"; profile = "k80"; } );
	links = ( { name = "slot0"; kind = "pcie"; ends = ["near", "gpu0"]; },
		{ name = "slot1"; kind = "pcie"; ends = ["near", "gpu1"]; },
		{ name = "slot2"; kind = "pcie"; ends = ["far", "gpu2"]; } );
};
END
printf 'x = 1;\n' >none.cfg
printf '# none\nparameters = ( { path = "runtime.intercept"; } );\n' >unfit.cfg

# A row has a line of the case and the expected message.
while IFS='|' read -r text message; do
	printf 'case = {\n\t%s\n};\n' "$text" >case.cfg
	expect 2 "$message" run case.cfg --draws 0
done <<'END'
topology = "dgx1-v100"; jobs = 4;|^case\.cfg:2: case: jobs must be a list of groups \(write jobs = \( \{ gpus = 4; \} \)\)
topology = "dgx1-v100"; jobs = ( );|^case\.cfg:2: case: jobs must be a list of groups
topology = "dgx1-v100"; jobs = ( { name = "a="; } );|^case\.cfg:2: job 'a=': a name must not be empty or contain
topology = "dgx1-v100"; jobs = ( { name = "a"; }, { name = "a"; } );|^case\.cfg:2: job 'a': another job has this name \(choose a unique name\)
topology = "dgx1-v100"; gpus = 2; guest = "nowhere";|^case\.cfg:2: job 'job0': machine '[a-z0-9.-]+' has no guest 'nowhere' \(write guest = "
topology = "dgx1-v100"; gpus = 2; settings = ["library.algorithm=broadcast"];|^case\.cfg:2: library\.algorithm: 'broadcast' cannot do the collective all.reduce \(`farwire list algorithms`
topology = "dgx1-v100"; gpus = 2; settings = ["library.algorithm=rong"];|^case\.cfg:2: library: no algorithm is called 'rong' \(did you mean 'ring'\?
topology = "dgx1-v100"; gpus = 2; settings = ["library.protocol=ll128", "library.ll128=false"];|^case\.cfg:2: library\.protocol is ll128, but library\.ll128 is false \(write library\.ll128=true, or
topology = "dgx1-v100"; gpus = 2; collective = "all_reduc";|^case\.cfg:2: case: no collective is called 'all_reduc' \(did you mean 'all_reduce'\?
topology = "dgx1-v100"; jobs = ( { gpus = 2; } ); clients = ( { } );|^case\.cfg:2: case: training jobs cannot be combined with clients \(write
topology = "dgx1-v100"; gpus = 8; jobs = ( { name = "a"; gpus = 2; } );|^case\.cfg:2: case\.gpus has no effect, because each job states its own number \(write --set job\.a\.gpus=8\)
topology = "t320-same-esxi"; straggler = 1.1;|^case\.cfg:2: case: case\.straggler has an effect only on jobs \(write case\.gpus
topology = "dgx1-v100"; gpus = 2; settings = ["case.collective_size=1 MiB"];|^case\.cfg:2: case: case\.collective_size has an effect only on a collective \(write case\.collective
topology = "dgx1-v100"; model = "gpt2"; settings = ["serve.rate=2", "case.batch=8"];|^case\.cfg:2: case: case\.batch has no effect on model servers \(use the keys of the group serve
topology = "dgx1-v100"; gpus = 8; fail = "gpu3";|^case\.cfg:1: job 'job0' needs 8 GPUs from index 0 on, but topology 'dgx1-v100' has 7 GPUs left after --fail gpu3, of which the job can use 7 \(write gpus=7\)
topology = "own.cfg"; gpus = 2;|^case\.cfg:[12]: job 'job0': its GPUs have two profiles, 'gtx-1080' and 'k80', but all must have the same \(choose another first_gpu
topology = "own.cfg"; gpu = "gpu2";|^case\.cfg:[12]: no guest runs on the host of GPU 'gpu2' \(write guests = \( \{ name = .*; host = "far"; \} \) into the topology
topology = "own.cfg"; jobs = ( { gpus = 1; first_gpu = 2; }, { gpus = 1; } );|^case\.cfg:[12]: job 'job0': machine 'far' has no guest \(write guests = \(
topology = "own.cfg"; program = "spread"; runtime = "synchronous";|^case\.cfg:2: program = "spread" needs a guest that serves no GPU, but every guest serves one \(write the name of a guest\)
topology = "dgx1-v100"; gpus = 2; settings = ["stack.fusion=inference"];|stack\.fusion is inference, which cannot train \(write all
topology = "t320-same-esxi"; settings = [1];|^case\.cfg:2: case: settings must hold texts \(write settings = \["host
topology = "t320-same-esxi"; profile = "none.cfg";|none\.cfg: profile 'none\.cfg': its file has no group `parameters = \.\.\.`
topology = "t320-same-esxi"; runtime = "none.cfg";|none\.cfg: runtime 'none\.cfg': its file has no group `runtime = \.\.\.`
topology = "t320-same-esxi"; profile = "unfit.cfg";|unfit\.cfg:2: profile 'unfit\.cfg': an entry needs path and fit \(write \{ path =
topology = "dgx1-v100"; gpus = 4; programs = 2;|^case\.cfg:2: case: case\.programs has no effect on collectives and jobs of fused steps
topology = "dgx1-v100"; gpus = 3; settings = ["plan.pp=2"];|^case\.cfg:2: plan: 3 groups of tp x cp GPUs are not divisible by pp \(2\)
topology = "dgx1-v100"; gpus = 2; exchange = "per_tensor";|^case\.cfg:2: 'per_tensor' is a policy of exchanges \(write --set exchange\.policy=per_tensor\)
topology = "dgx1-v100"; gpus = 2; settings = ["plan.pp=2"]; programs = 1;|^case\.cfg:2: case\.programs must equal case\.gpus with a plan
topology = "dgx1-v100"; model = "gpt2"; settings = ["plan.tp=2"];|^case\.cfg:2: plan: a plan splits a job over several GPUs
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.tp=3"];|^case\.cfg:2: plan: 8 GPUs are not divisible by tp \(3\): write plan\.tp=2
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.tp=8"];|^case\.cfg:2: plan: 12 heads are not divisible by tp \(8\): write plan\.tp=6
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.pp=8"];|^case\.cfg:2: plan: 12 blocks of the network are not divisible by pp \(8\): write plan\.pp=6
topology = "dgx1-v100"; gpus = 8; model = "mixtral-8x7b"; settings = ["plan.ep=3"];|^case\.cfg:2: plan: 8 GPUs of a stage are not divisible by ep \(3\): write plan\.ep=2
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.tp=8", "plan.pp=5"];|^case\.cfg:2: plan: .*5.*; 12 heads are not divisible by tp \(8\).*; 12 blocks .*; the nearest possible plan: --plan tp=[0-9]+,pp=[0-9]+$
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.global_batch=12"];|^case\.cfg:2: plan: a batch of 12 samples is not divisible by dp \(8\) x micro_batch \(1\): write plan\.global_batch=8
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.schedule=fast"];|^case\.cfg:2: plan: no pipeline schedule is called 'fast'
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; settings = ["plan.order=tp-pp"];|^case\.cfg:2: plan: plan\.order is 'tp-pp' \(write each of tp, cp, dp and pp once
topology = "dgx1-v100"; gpus = 8; model = "gpt2"; batch = 4; settings = ["plan.tp=2"];|^case\.cfg:2: case\.batch has no effect on a plan \(write plan\.micro_batch
topology = "dgx1-v100"; gpus = 8; model = "resnet50"; settings = ["plan.tp=2"];|^case\.cfg:2: plan: network 'resnet50' has no tokens to split
topology = "dgx1-v100"; gpus = 8; model = "alexnet"; settings = ["plan.pp=8", "stack.xla_clusters=2"];|^case\.cfg:2: stack\.xla_clusters has no effect on a plan
topology = "gpu-pool"; gpus = 4; programs = 3; runtime = "asynchronous";|^case\.cfg:2: case\.programs: 4 GPUs cannot be divided evenly into 3 parts \(write case\.programs=2\)
topology = "gpu-pool"; gpus = 8; runtime = "asynchronous";|^case\.cfg:2: case\.gpus is 8, but topology 'gpu-pool' has 4 GPUs \(write case\.gpus=4\)
topology = "gpu-pool"; gpus = 4; runtime = "asynchronous"; copies = 2;|^case\.cfg:2: case\.copies must be 1 with case\.gpus, because one job uses all the GPUs
topology = "gpu-pool"; gpus = 4; runtime = "asynchronous"; straggler = 2;|^case\.cfg:2: case\.straggler cannot be combined with a remoting runtime
topology = "gpu-pool"; gpus = 4; runtime = "asynchronous"; gpu = "gpu2";|^case\.cfg:2: case\.gpu cannot be combined with case\.gpus
topology = "gpu-pool"; gpus = 4; runtime = "asynchronous"; program = "client9";|^case\.cfg:2: there is no program's guest 'client9'
topology = "gpu-pool"; gpus = 4; runtime = "asynchronous"; exchange = "tf-parameter-server";|^case\.cfg:2: exchange 'tf-parameter-server' keeps variables on servers.*\(write case\.programs=1
topology = "dgx-h100"; model = "gpt2"; gpus = 8; exchange = "tf-distributed-replicated"; settings = ["plan.tp=2"];|^case\.cfg:2: exchange 'tf-distributed-replicated' keeps variables on servers, which a plan does not use \(write
topology = "gpu-pool"; gpus = 2; runtime = "asynchronous"; clients = ( { } );|^case\.cfg:2: case: clients cannot be combined with case\.gpus
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.rate=0"];|^case\.cfg:2: serve\.rate = "0" is out of range \(write a plain number from
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.spead=2"];|^case\.cfg:2: unknown parameter 'serve\.spead' \(did you mean 'serve\.spread'\?
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.batching=clever"];|^case\.cfg:2: serve\.batching = "clever" is not one of its choices \(write one of auto, fixed
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.router=random"];|^case\.cfg:2: serve\.router = "random" is not one of its choices
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.prompt=9000"];|^case\.cfg:2: serve: a request has 9128 tokens in its prompt and output, but sequences of llama3-8b have 8192
topology = "dgx-h100"; model = "llama3-8b"; tensor = 3; settings = ["serve.rate=2"];|^case\.cfg:2: case\.tensor: model 'llama3-8b': 32 heads are not divisible by case\.tensor \(3\): write case\.tensor=2
topology = "dgx-h100"; model = "llama3-8b"; tensor = 16; settings = ["serve.rate=2", "case.gpu=n0.gpu1"];|^case\.cfg:2: case\.tensor: 16 GPUs from 'n0\.gpu1' on are needed, but topology 'dgx-h100' has only [0-9]+ \(write a smaller number
topology = "dgx-h100"; model = "llama3-8b"; tensor = 2; fraction = 0.5; settings = ["serve.rate=2"];|^case\.cfg:1: client 'client': a replica with several GPUs needs whole ones of its own, but 'n0\.gpu0' is shared
topology = "dgx-h100"; model = "resnet50"; tensor = 2; settings = ["serve.rate=2"];|^case\.cfg:2: case\.tensor: model 'resnet50': only networks that generate tokens are split \(write case\.tensor=1
topology = "dgx-h100"; model = "llama3-8b"; tensor = 2;|^case\.cfg:2: case\.tensor, case\.pipeline, case\.data and case\.expert split model servers \(write a group serve
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.list=gone.tsv"];|^case\.cfg:2: the file '.*gone\.tsv' cannot be read: No such file
topology = "dgx-h100"; model = "llama3-8b"; gpus = 2; settings = ["serve.rate=2"];|^case\.cfg:2: serve: requests cannot be combined with case\.gpus
topology = "dgx-h100"; model = "llama3-8b"; clients = ( { role = "prefill"; } ); settings = ["serve.rate=2"];|^case\.cfg:2: the clients of model 'llama3-8b' have 1 times the role prefill, 0 times decode
topology = "dgx-h100"; model = "llama3-8b"; clients = ( { role = "cook"; } ); settings = ["serve.rate=2"];|^case\.cfg:2: client 'client': role = "cook" is not one of its choices
topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.batching=fixed", "serve.drafted=2"];|^case\.cfg:2: serve\.drafted: tokens are drafted only in continuous batching, .*\(write serve\.drafted=0\)
topology = "dgx-h100"; model = "resnet50"; settings = ["serve.batching=continuous"];|^case\.cfg:2: serve\.batching is continuous, but 'resnet50' generates no tokens \(write dynamic or fixed\)
topology = "dgx-h100"; model = "resnet50"; clients = ( { role = "prefill"; }, { role = "decode"; } ); settings = ["serve.rate=2"];|^case\.cfg:2: model 'resnet50' generates no tokens, so its clients have no role
END
verdict 'cases.impossible_cases_are_refused_with_their_line'

# A protocol that the library lacks is refused, no matter where its parameters are set.
printf 'case = { topology = "dgx1-v100"; gpus = 2; collective = "all_reduce"; };\n' >good.cfg
printf 'exchange = { policy = "ddp"; };\nlibrary = {\n\tprotocol = "ll128"; ll128 = false; };\n' >own.cfg
lacks='library\.protocol is ll128, but library\.ll128 is false'
set -- --set library.protocol=ll128 --set library.ll128=false
expect 2 "^--set: $lacks" run good.cfg "$@"
expect 2 "^--set: $lacks" explain good.cfg "$@"
expect 2 "$lacks" sweep good.cfg --vary library.protocol=ll128,simple --set library.ll128=false
expect 2 "^own\.cfg:3: $lacks" run good.cfg --exchange own.cfg
verdict 'cases.a_protocol_that_the_library_lacks_is_refused'

# The client of a runtime cannot launch kernels, set memory, or record events and wait for them.
for call in launch memset record wait_event; do
	expect 2 "runtime.${call}_call = .local. is not one of its choices .write one of policy, sent, answered" \
		run remote-2-gpus --set "runtime.${call}_call=local"
done
verdict 'cases.work_of_the_gpu_is_not_answered_by_the_client'
