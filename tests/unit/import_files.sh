#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Configurations and topologies of other tools are imported and run at once.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples
cd "$scratch" || exit 2

# bandwidth TOPOLOGY GPUS: bus bandwidth of an all-reduce, in GB/s
bandwidth() {
	expect 0 '' run --topology "$1" --gpus "$2" --collective all_reduce --exchange nccl-2.8 \
		--draws 0 --quiet --set case.collective_size='256 MiB'
	sed -n '1s/.*: \([0-9.]*\) GB\/s bus bandwidth$/\1/p' "$scratch.out"
}

# The matrix of a DGX-1 has the NVLinks of the shipped machine.
expect 0 '^21 records read: 13 used, 8 skipped' \
	import topology "$samples/topologies/dgx1-v100-4nic.txt"
cp "$scratch.out" dgx1.cfg
[ "$(bandwidth ./dgx1.cfg 8)" = "$(bandwidth dgx1-v100 8)" ] ||
	complain "$(bandwidth ./dgx1.cfg 8) GB/s, not $(bandwidth dgx1-v100 8)"
expect 0 '' check dgx1.cfg
[ -n "$(bandwidth ./dgx1.cfg 16)" ] || complain 'two imported machines have no network'
{
	printf '\357\273\277'
	sed 's/$/\r/' "$samples/topologies/dgx1-v100-4nic.txt"
} >marked.txt # with a byte order mark and carriage returns
farwire import topology marked.txt
# Comments have the name of the file.
[ "$(sed 's/#.*//' "$scratch.out")" = "$(sed 's/#.*//' dgx1.cfg)" ] || complain 'a byte order mark changes the machine'
verdict import_files.matrix_of_a_dgx1_runs_as_the_shipped_machine

expect 0 'read: ' import topology "$samples/topologies/oci-H100-topology.xml"
cp "$scratch.out" oci.cfg
[ "$(bandwidth ./oci.cfg 8)" = "$(bandwidth dgx-h100 8)" ] ||
	complain "$(bandwidth ./oci.cfg 8) GB/s, not $(bandwidth dgx-h100 8)"
verdict import_files.nccl_dump_of_eight_h100_runs_as_a_dgx_h100

# Each leaf of the network has adapters of two hosts. Two adapters of one host make a fat tree.
fabric=$samples/topologies/superbench-ibnetdiscover.txt
expect 0 'are assumed to be v100-sxm2 ' import topology "$samples/topologies/dgx1-v100-4nic.txt" "$fabric"
shows 'rail_optimised"; ports_per_leaf = 2;'
cp "$scratch.out" rails.cfg
[ -n "$(bandwidth ./rails.cfg 32)" ] || complain 'machines on rails have no network'
sed 's/# "[^ "]*/# "node1/' "$fabric" >shared.txt
for gpu in 0 1 2 3 4 5 6 7; do echo "GPU $gpu: Tesla V100-SXM2-32GB (UUID: GPU-$gpu)"; done >names.txt
expect 0 'read: ' import topology "$samples/topologies/dgx1-v100-4nic.txt" shared.txt names.txt
shows 'fat_tree"; ports_per_leaf = 2;'
shows 'name = "gpu0"; profile = "v100-sxm2-32";'
! grep -q assumed "$scratch.err" || complain "the names of the GPUs were not used: $(cat "$scratch.err")"
# A lane of HDR has 50 Gbit/s.
sed 's/4xHDR/2xHDR/' "$fabric" >lanes.txt
expect 0 'read: ' import topology "$samples/topologies/dgx1-v100-4nic.txt" lanes.txt names.txt
shows 'bandwidth = "100 Gbit/s"'
verdict import_files.rails_follow_from_the_hosts_of_a_leaf

# The sample, the file and an impossible option leave nothing behind.
expect 2 'no class' import topology "$samples/topologies/aws-g5.48xl-topo.xml" -o g5.cfg
[ ! -e g5.cfg ] || complain 'a refused file was written'
cp "$samples/configs/neuronx-llama3-8B-config.json" config.json
expect 2 'overwrite|input' import model config.json -o config.json
cmp -s config.json "$samples/configs/neuronx-llama3-8B-config.json" || complain 'the input was changed'
verdict import_files.refused_files_write_nothing

expect 0 'read: ' import model config.json
cp "$scratch.out" net.cfg
expect 0 'read: ' import plan "$samples/configs/nemo-llama.yaml"
cp "$scratch.out" case.cfg
expect 0 '' run case.cfg --topology dgx-h100 --model ./net.cfg --draws 0 --quiet
shows '^imported plan: '
shows '^GPUs  *16$'
verdict import_files.imported_plan_and_network_run

# TorchTitan: two copies of parameters that 8 GPUs share out.
cat >hybrid.yaml <<'END'
parallelism:
  data_parallel_replicate_degree: 2
  data_parallel_shard_degree: 8
END
expect 0 '2 settings read' import plan hybrid.yaml
shows 'replicas = 2;.*data_parallel_replicate_degree'
shows 'dp = 16;'
! grep -q batch "$scratch.out" "$scratch.err" || complain 'a batch was made up'
verdict import_files.hybrid_sharding_is_imported

# Megatron-LM: 61 blocks in 32 parts on 16 stages, two parts each; m predicts a further token.
cat >layout.sh <<'END'
torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py --pipeline-model-parallel-size 16 \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-layout 'Et*3|(tt|)*27(t|)*3tmL'
END
expect 0 'left out' import plan layout.sh
shows 'layout = "Et\*3\|\(tt\|\)\*27\(t\|\)\*3tL"; # layout.sh:'
shows 'chunks = 2;'
sed "s/'Et.*'/'Et|tL|'/" layout.sh >wrong.sh
expect 2 "is not a layout: .* L, logits and loss, must come last" import plan wrong.sh
sed "s/'Et.*'/'Et|tL'/" layout.sh >wrong.sh
expect 2 'it has 2 parts, which 16 stages do not divide' import plan wrong.sh
verdict import_files.layouts_of_megatron_become_layouts_with_their_chunks

# Accelerate: 8 processes are 2 copies of parameters that 2 ranks share out, on groups of 2 for tensors.
cat >accelerate.yaml <<'END'
distributed_type: FSDP
fsdp_config:
  fsdp_activation_checkpointing: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
mixed_precision: fp16
num_machines: 1
num_processes: 8
parallelism_config:
  parallelism_config_dp_replicate_size: 2
  parallelism_config_dp_shard_size: 2
  parallelism_config_tp_size: 2
END
expect 0 'read: ' import plan accelerate.yaml
for line in 'gpus = 8; # accelerate.yaml:8: num_processes' 'tp = 2;' 'dp = 4;' 'replicas = 2;' \
	'sharding = "parameters";' 'recompute = "full";' 'settings = \["stack.precision=fp16"\];'; do
	shows "$line"
done
cp "$scratch.out" accelerate.cfg
expect 0 '' run accelerate.cfg --topology dgx-h100 --model llama3-8b --draws 0 --quiet
shows '\(fp16\)'
sed 's/reshard_after_forward: true/reshard_after_forward: false/' accelerate.yaml >gradients.yaml
expect 0 'read: ' import plan gradients.yaml
shows 'sharding = "gradients";'
# Accelerate's part for Megatron-LM: 16 GPUs are 2 copies of 4 x 2, with 4 micro-batches each.
cat >megatron.yaml <<'END'
num_processes: 16
megatron_lm_config:
  megatron_lm_num_micro_batches: 4
  megatron_lm_pp_degree: 2
  megatron_lm_tp_degree: 4
END
expect 0 'read: ' import plan megatron.yaml
shows 'global_batch = 8;'
shows 'stack = "megatron-bf16"'
# Trainer: hybrid sharding has a copy on each of two machines.
echo 'torchrun --nproc_per_node 8 --nnodes 2 t.py --per_device_train_batch_size 1 --fsdp "hybrid_shard auto_wrap"' >trainer.sh
expect 0 'read: ' import plan trainer.sh
shows 'replicas = 2;'
shows 'sharding = "parameters";'
verdict import_files.plans_of_accelerate_and_trainer_keep_their_settings

# TorchTitan: tensor groups split norms, and looped schedules have two stages on each rank.
cat >titan.toml <<'END'
[model]
converters = "float8"
[training]
batch_size = 2
mixed_precision_reduce = "bfloat16"
[parallelism]
tensor_parallel_degree = 8
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "Interleaved1F1B"
enable_async_tensor_parallel = true
END
expect 0 'read: ' import plan titan.toml
for line in 'sequence_parallel = true;' 'chunks = 2;' 'overlap_tensor = "all";' 'gradient_element = "2 B";' \
	'"stack.precision=fp8"'; do
	shows "$line"
done
verdict import_files.defaults_of_torchtitan_are_kept

printf 'recompute_granularity: selective\nrecompute_modules: [layernorm, moe_act]\nmicro_batch_size: 1\n' >modules.yaml
expect 0 'read: ' import plan modules.yaml
shows 'recompute_modules = "layernorm.moe_act";'
printf '%s' '--micro-batch-size 1 --recompute-granularity selective --recompute-modules moe_act' >modules.sh
expect 0 'read: ' import plan modules.sh
shows 'recompute_modules = "moe_act";'
verdict import_files.modules_that_are_computed_again_keep_their_names

# what no plan simulates is refused with the reason
while IFS='|' read -r setting why; do
	printf '{ "micro_batch_size": 1, %s }' "$setting" >refused.json
	expect 2 "$why" import plan refused.json
done <<'END'
"offload_optimizer_device": "cpu"|in the host's memory, and no plan simulates
"fsdp_offload_params": true|in the host's memory, and no plan simulates
"expert_tensor_parallel_size": 2|splits each expert over GPUs, and no plan does
"recompute_modules": ["layernorm", "mlp"]|is computed again by no plan
"recompute_method": "block"|only some blocks of a stage again
"fsdp": "hybrid_shard"|whose number is missing
"mixed_precision": "int7"|is not a precision
END
verdict import_files.settings_without_a_mechanism_are_refused

# GPT-NeoX writes 0 stages if it has no pipeline, whose schedule then does not matter.
cat >stages.json <<'END'
{ "pipe_parallel_size": 0, "pipeline_parallel_schedule": "GPipe", "model_parallel_size": 2,
  "accumulate_allreduce_grads_in_fp32": true }
END
expect 0 'read: ' import plan stages.json
shows 'pp = 1;'
shows 'gradient_element = "4 B";'
! grep -q schedule "$scratch.out" || complain 'a plan without a pipeline has a schedule'
verdict import_files.plans_without_a_pipeline_have_one_stage

# MPT: biases of attention replace positions, and neither layers nor norms have biases.
cat >mpt.json <<'END'
{ "model_type": "mpt", "n_layers": 2, "d_model": 64, "n_heads": 2, "vocab_size": 100, "max_seq_len": 32,
  "no_bias": true, "attn_config": { "alibi": true } }
END
expect 0 'read: ' import model mpt.json
shows '#   no positions'
shows '"norm1"; op = "layer_norm"; bias = false;'
# GPT-2: a sequence has as many learned positions as tokens, also if the file says fewer.
cat >gpt2.json <<'END'
{ "model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 100, "n_positions": 32, "seq_length": 64 }
END
expect 0 'read: ' import model gpt2.json
shows 'op = "embedding"; out = 64; positions = 64;'
# Qwen: the window is off.
cat >qwen.json <<'END'
{ "model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 128,
  "vocab_size": 100, "max_position_embeddings": 32, "sliding_window": 16, "use_sliding_window": false }
END
expect 0 'read: ' import model qwen.json
! grep -q window "$scratch.out" || complain 'a window that is off has an effect'
# Megatron-LM: a vocabulary that is already padded keeps its size.
cat >megatron.json <<'END'
{ "num_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "padded_vocab_size": 101,
  "max_position_embeddings": 32, "tensor_model_parallel_size": 2 }
END
expect 0 'read: ' import model megatron.json
shows 'vocabulary = 101;'
verdict import_files.choices_of_a_family_are_imported

# Only stage 3 of DeepSpeed shards the parameters, for which another stack is assumed.
while read -r stage sharding stack; do
	sed "s/\"stage\": 1,/\"stage\": $stage,/" "$samples/configs/gpt-neox-20B.yml" >neox.yml
	expect 0 'read: ' import plan neox.yml
	shows "sharding = \"$sharding\"; .*zero_optimization.stage"
	shows "stack = \"$stack\"; # assumed"
done <<'END'
0 none pytorch-bf16-adamw
2 gradients pytorch-bf16-adamw
3 parameters pytorch-fsdp-bf16
END
verdict import_files.stages_of_deepspeed_are_shardings

answer() {
	expect 0 '' run --topology dgx-h100 --model llama3-8b --gpus 8 --draws 0 --quiet --plan "$1"
	sed -n 1p "$scratch.out"
}
[ "$(answer tensor_model_parallel_size=4,global_batch_size=8)" = "$(answer tp=4,global_batch=8)" ] ||
	complain 'names of Megatron-LM give another plan'
verdict import_files.plan_accepts_names_of_megatron

# one expert is a usual MLP
sed 's/"num_local_experts": 8/"num_local_experts": 1/' \
	"$samples/configs/neuronx-mixtral-8x7b-config.json" >one.json
expect 0 'read: ' import model one.json
shows 'op = "gated_mlp"; hidden = 14336;'
! grep -q 'op = "experts"' "$scratch.out" || complain 'one expert is a group of experts'
# a family in which every second layer has a window: 25 layers are 12 pairs and one more with a window
for layers in 24 25; do
	sed -e "s/\"num_hidden_layers\": 32/\"num_hidden_layers\": $layers/" \
		-e 's/"mixtral"/"gpt_oss"/' -e 's/"sliding_window": null/"sliding_window": 128/' \
		"$samples/configs/neuronx-mixtral-8x7b-config.json" >$layers.json
done
expect 0 'read: ' import model 25.json
[ "$(grep -c 'window = 128;' "$scratch.out")" = 2 ] || complain 'the last of 25 layers has no window'
expect 0 'read: ' import model 24.json
shows 'repeat = 12;'
verdict import_files.experts_and_windows_of_a_family_become_layers

# imported KIND PATTERN LINES: the lines of a YAML file (with \n) give a result or a message that matches.
imported() {
	printf '%b' "$3" >settings.yaml
	farwire import "$1" settings.yaml
	[ "$code" = 0 ] && cat "$scratch.out" "$scratch.err" | tr '\n' ' ' | grep -qE -e "$2" ||
		complain "$3: no '$2' in $(cat "$scratch.out" "$scratch.err")"
}
# Replicas without shards are copies. Without a micro-batch, each step of an accumulation has one sample.
imported plan 'plan = \{[^;]*dp = 2;[^;]* data_parallel_replicate_degree[^;]*sequence_parallel' 'data_parallel_replicate_degree: 2\ndata_parallel_shard_degree: 1\n'
imported plan 'micro_batch = 1;.*global_batch = 32;' 'pipeline_parallel_degree: 2\nlocal_batch_size: 8\nworld_size: 8\n'
imported plan 'micro_batch = 8;.*global_batch = 64;' 'local_batch_size: 8\nworld_size: 8\n'
imported plan 'gpus = 16;' 'global_batch_size: 32\ngradient_accumulation_steps: 4\nmicro_batch_size: 2\ntensor_model_parallel_size: 2\ncontext_parallel_size: 2\n'
imported plan 'global_batch = 32;' 'gradient_accumulation_steps: 4\nworld_size: 8\n'
imported plan 'global_batch = 2000000000;' 'global_batch_size: 2000000000\nmicro_batch_size: 1\n'
imported plan '2 settings read: 1 used, 1 skipped' 'tensor_model_parallel_size: 2\nnum_layers: 4\n'
# A name with a dot is the end of a path, but not of a word. The last variable is named.
imported plan 'sharding = "parameters"; # settings.yaml:3: ds.zero_optimization.stage' 'ds:\n  zero_optimization:\n    stage: 3\n'
imported plan 'settings.yaml:3: ds.my_zero_optimization.stage = 3 was skipped, but may matter' 'ds:\n  my_zero_optimization:\n    stage: 3\ntensor_model_parallel_size: 2\n'
imported plan 'settings.yaml:4: \$x is not a value' 'a:\n  micro_batch_size: auto\nb:\n  micro_batch_size: $x\ntensor_model_parallel_size: 2\n'
verdict import_files.batches_and_names_of_plans_are_read_as_their_tools_mean

model='num_layers: 4\nhidden_size: 64\nnum_attention_heads: 8\nffn_hidden_size: 256\nvocab_size: 100\nseq_length: 32\n'
imported model 'kv_heads = 2; causal' "${model}num_query_groups: 2\n"
printf '%b' "${model}num_experts: 4\nmoe_router_topk: 2\ninterleave_moe_layer_step: 2\n" >settings.yaml
expect 0 'read: ' import model settings.yaml
[ "$(grep -c -e 'repeat = 2;' -e 'op = "experts"' -e 'op = "mlp"' "$scratch.out")" = 3 ] || complain "a step of 2 does not alternate: $(cat "$scratch.out")"
verdict import_files.query_groups_and_steps_of_experts_are_found

# matrix GPUS CELL: a matrix of nvidia-smi with equal cells
matrix() {
	awk -v n="$1" -v cell="$2" 'BEGIN { for (i = 0; i < n; i++) printf "\tGPU%d", i; print "\tCPU Affinity"
		for (i = 0; i < n; i++) { printf "GPU%d", i; for (k = 0; k < n; k++) printf "\t%s", k == i ? "X" : cell; print "\t0-7" } }' >matrix.txt
}
matrix 64 SYS
expect 0 '^65 records read' import topology matrix.txt
matrix 65 SYS
expect 2 'matrix.txt:1: there are more than 64 devices' import topology matrix.txt
# A P100 has four NVLinks and a V100 six.
for links in '4 p100-sxm2' '5 v100-sxm2'; do
	matrix 2 "NV${links% *}"
	expect 0 "assumed to be ${links#* } " import topology matrix.txt
done
matrix 2 NV999999999
expect 2 "matrix.txt:2: .*NV999999999.* is not a kind of path such as PIX or NV4" import topology matrix.txt
matrix 2 NV5
sed -i '2s/NV5/NV2/' matrix.txt
expect 2 'matrix.txt:3: the path to GPU0 is NV5, but NV2 in line 2' import topology matrix.txt
verdict import_files.matrix_has_up_to_64_devices_and_equal_paths_both_ways
