#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans of other tools, one configuration a line, and the whole case that each one becomes. Batches,
# copies and chunks follow by hand from the numbers of the configuration.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# plan FILE: imports the file. "got" has the settings of its case and plan, without those that each case has.
plan() {
	expect 0 'settings read: ' import plan "$1"
	got=$(sed -n '/^case/,$ s/^\t\([^#]*\); #.*/\1/p; /^\tsettings/ s/^\t\(.*\);.*/\1/p' "$scratch.out" |
		sed '/^exchange/d;/^settings.*;/d;s/ = /=/;s/sequence_parallel=false/-sp/;s/sequence_parallel=true/sp/' | tr '\n' ' ')
}
# json WANTED CONFIGURATION
json() {
	echo "$2" >c.json
	plan c.json
	[ "$got" = "$1 " ] || complain "$2 became $got, not $1"
}
# script WANTED ARGUMENTS...
script() {
	echo "$2" >c.sh
	plan c.sh
	[ "$got" = "$1 " ] || complain "$2 became $got, not $1"
}
refused() { # PATTERN CONFIGURATION
	echo "$2" >c.json
	expect 2 "^c.json:?1?: $1" import plan c.json
}

# Groups: 32 layers on 4 stages in parts of 2 are 4 chunks. 16 GPUs are two copies.
script 'gpus=16 stack="megatron-bf16" tp=2 pp=4 chunks=4 order="tp-cp-pp-dp" micro_batch=2 global_batch=32 sharding="optimizer" recompute_modules="core_attn" sp overlap_gradients=true gradient_element="2 B"' \
	'--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --num-layers 32 --num-layers-per-virtual-pipeline-stage 2 --nproc_per_node 8 --nnodes 2 --micro-batch-size 2 --global-batch-size 32 --use-tp-pp-dp-mapping --bf16 --sequence-parallel --recompute-method uniform --recompute-num-layers 1 --expert-tensor-parallel-size 1 --recompute-modules core_attn --use-distributed-optimizer --overlap-grad-reduce --grad-reduce-in-bf16'
json 'gpus=4 stack="megatron-bf16" pp=4 chunks=3 -sp' \
	'{"pipeline_model_parallel_size": 4, "virtual_pipeline_model_parallel_size": 3, "num_layers": 32, "num_layers_per_virtual_pipeline_stage": 2}'
json 'gpus=2 stack="pytorch-bf16-adamw" pp=2 chunks=3 schedule="interleaved" -sp' \
	'{"pipeline_parallel_degree": 2, "pipeline_parallel_schedule": "Interleaved1F1B", "num_virtual_stages_per_pipeline_rank": 3}'
json 'gpus=2 stack="pytorch-bf16-adamw" pp=2 chunks=4 schedule="interleaved" -sp' \
	'{"pipeline_parallel_degree": 2, "pipeline_parallel_schedule": "Interleaved1F1B", "num_layers": 8, "num_layers_per_virtual_pipeline_stage": 1}'
json 'gpus=2 stack="pytorch-bf16-adamw" pp=2 schedule="gpipe" -sp' '{"pipeline_parallel_degree": 2, "pipeline_parallel_schedule": "GPipe"}'
json 'gpus=12 stack="pytorch-bf16-adamw" tp=2 ep=6 -sp' '{"tensor_parallel_size": 2, "expert_parallel_size": 6}'
json 'gpus=6 stack="pytorch-bf16-adamw" tp=2 ep=6 dp=3 -sp' '{"tensor_parallel_size": 2, "expert_parallel_size": 6, "data_parallel_size": 3}'
refused 'num_layers_per_virtual_pipeline_stage = 3 does not divide the 8 layers of a stage' \
	'{"pipeline_model_parallel_size": 4, "num_layers": 32, "num_layers_per_virtual_pipeline_stage": 3}'
refused 'num_layers_per_virtual_pipeline_stage = 16 does not divide the 8 layers of a stage' \
	'{"pipeline_model_parallel_size": 4, "num_layers": 32, "num_layers_per_virtual_pipeline_stage": 16}'
refused 'num_layers is \$L, which has no value here' \
	'{"pipeline_model_parallel_size": 4, "num_layers": "$L", "num_layers_per_virtual_pipeline_stage": 2}'
refused 'pipeline_parallel_schedule = ZBV has no counterpart .write one of: 1F1B, Interleaved1F1B, GPipe' \
	'{"pipeline_parallel_degree": 2, "pipeline_parallel_schedule": "ZBV"}'
refused '8 GPUs are not divisible by tp x cp x pp x dp = 12 ' '{"world_size": 8, "tensor_model_parallel_size": 2, "context_parallel_size": 2, "data_parallel_size": 3}'
[ "$(grep -c ^c.json "$scratch.err")" = 1 ] || complain "further messages: $(cat "$scratch.err")"
refused 'the plan is for 3.6e\+09 GPUs' '{"tensor_model_parallel_size": 60000, "pipeline_model_parallel_size": 60000}'
refused 'the plan is for 4e\+09 GPUs' '{"nproc_per_node": 2, "nnodes": 2000000000}'
json 'gpus=2000000000 stack="pytorch-bf16-adamw" tp=2000000000 -sp' '{"tensor_parallel_size": 2000000000}'
refused 'no key of a plan was found' '{"vocab_size": 5}'
verdict import_plan.groups_and_chunks_are_those_of_the_configuration

# Batches: 64 samples in 4 steps of 8 GPUs are 2 each. Without a number of GPUs, 64 / 4 / 2 copies of 2 GPUs are 16.
json 'gpus=8 stack="pytorch-bf16-adamw" micro_batch=2 global_batch=64 -sp' '{"train_batch_size": 64, "gradient_accumulation_steps": 4, "world_size": 8}'
json 'gpus=16 stack="pytorch-bf16-adamw" tp=2 micro_batch=2 global_batch=64 -sp' \
	'{"train_batch_size": 64, "gradient_accumulation_steps": 4, "tensor_parallel_size": 2, "train_micro_batch_size_per_gpu": 2}'
refused '60 samples of a step are not 1.875 of a micro-batch x 4 of accumulation x 8 copies' \
	'{"train_batch_size": 60, "gradient_accumulation_steps": 4, "world_size": 8}'
refused '60 samples of a step are not 2 of a micro-batch x 4 of accumulation x 8 copies' \
	'{"train_batch_size": 60, "gradient_accumulation_steps": 4, "world_size": 8, "train_micro_batch_size_per_gpu": 2}'
refused '60 samples of a step are not 2 of a micro-batch x 4 of accumulation x 7.5 copies' \
	'{"train_batch_size": 60, "gradient_accumulation_steps": 4, "train_micro_batch_size_per_gpu": 2}'
json 'gpus=8 stack="pytorch-fsdp-bf16" micro_batch=4 sharding="parameters" -sp' '{"fsdp": "full_shard", "train_batch_size": 4, "num_processes": 8}'
json 'gpus=8 stack="pytorch-fsdp-bf16" sharding="parameters" -sp' '{"fsdp": "full_shard", "num_processes": 8}'
json 'gpus=8 stack="pytorch-fsdp-bf16" micro_batch=1 global_batch=16 sharding="parameters" -sp' \
	'{"fsdp": "full_shard", "train_batch_size": 16, "per_device_train_batch_size": 1, "num_processes": 8}'
json 'gpus=8 stack="pytorch-bf16-adamw" micro_batch=6 global_batch=96 -sp' '{"local_batch_size": 6, "global_batch_size": 96, "world_size": 8}'
json 'gpus=8 stack="pytorch-bf16-adamw" tp=2 micro_batch=6 global_batch=24 sp' '{"local_batch_size": 6, "world_size": 8, "tensor_parallel_degree": 2}'
json 'gpus=8 stack="pytorch-bf16-adamw" pp=2 micro_batch=1 global_batch=24 -sp' '{"local_batch_size": 6, "world_size": 8, "pipeline_parallel_degree": 2}'
json 'gpus=8 stack="pytorch-bf16-adamw" micro_batch=3 -sp' '{"local_batch_size": 6, "micro_batch_size": 3, "world_size": 8}'
json 'gpus=2 stack="pytorch-bf16-adamw" tp=2 micro_batch=6 sp' '{"local_batch_size": 6, "tensor_parallel_degree": 2}'
refused 'global_batch is 1.52e\+10, which is more than 2e9' '{"local_batch_size": 1900000000, "world_size": 8}'
json 'gpus=6 stack="pytorch-bf16-adamw" dp=6 micro_batch=2 global_batch=36 -sp' \
	'{"data_parallel_size": 6, "micro_batch_size": 2, "gradient_accumulation_steps": 3}'
grep -q '^global_batch is that of 6 GPUs, and grows with their number$' "$scratch.err" || complain 'no word about the assumed GPUs'
verdict import_plan.batches_are_products_of_copies_and_accumulation

json 'gpus=2 stack="pytorch-fsdp-bf16" pp=2 sharding="gradients" -sp' '{"fsdp_reshard_after_forward": "default", "pipeline_parallel_degree": 2}'
json 'gpus=1 stack="pytorch-fsdp-bf16" pp=1 sharding="parameters" -sp' '{"fsdp_reshard_after_forward": "default", "pipeline_parallel_degree": 1}'
json 'gpus=2 stack="megatron-bf16" pp=2 -sp' '{"fsdp_reshard_after_forward": "true", "pipeline_model_parallel_size": 2}'
json 'gpus=4 stack="megatron-bf16" pp=2 dp=2 sharding="gradients" -sp' \
	'{"fsdp_reshard_after_forward": "never", "pipeline_model_parallel_size": 2, "data_parallel_shard_degree": 2}'
json 'gpus=16 stack="pytorch-fsdp-bf16" replicas=2 sharding="parameters" -sp' '{"data_parallel_shard_degree": -1, "data_parallel_replicate_degree": 2, "world_size": 16}'
json 'gpus=16 stack="pytorch-bf16-adamw" dp=2 -sp' '{"data_parallel_shard_degree": 1, "data_parallel_replicate_degree": 2, "world_size": 16}'
grep -q '	dp = 2; # c.json:1: data_parallel_replicate_degree' "$scratch.out" || complain 'the copies do not name their setting'
json 'gpus=1 stack="pytorch-bf16-adamw" dp=1 -sp' '{"data_parallel_shard_degree": 1}'
grep -q '	dp = 1; # c.json:1: data_parallel_shard_degree' "$scratch.out" || complain 'one copy does not name its setting'
json 'gpus=16 stack="pytorch-fsdp-bf16" dp=2 sharding="parameters" -sp' '{"data_parallel_shard_degree": 4, "data_parallel_size": 2, "world_size": 16}'
json 'gpus=8 stack="pytorch-bf16-adamw" sharding="gradients" -sp' '{"fsdp": "shard_grad_op", "num_processes": 8}'
json 'gpus=2 stack="megatron-bf16" tp=2 sharding="none" -sp' '{"use_distributed_optimizer": false, "tensor_model_parallel_size": 2}'
refused 'fsdp_reshard_after_forward = sometimes has no counterpart .write one of: true, false, always, never, default' '{"fsdp_reshard_after_forward": "sometimes"}'
refused 'zero_stage = 4 is not a stage .write 0, 1, 2 or 3' '{"zero_stage": 4}'
refused 'fsdp = what has no counterpart' '{"fsdp": "what"}'
refused 'recompute_num_layers = 2 keeps the activations of one block of several' '{"recompute_num_layers": 2}'
refused 'recompute_granularity = some has no counterpart' '{"recompute_granularity": "some"}'
verdict import_plan.shardings_have_the_words_of_a_plan

json 'gpus=2 stack="pytorch-bf16-adamw" settings=["stack.precision=mxfp8"] tp=2 sp' '{"converters": ["mxfp8"], "tensor_parallel_degree": 2}'
json 'gpus=2 stack="pytorch-bf16-adamw" settings=["stack.precision=fp8"] tp=2 sp' '{"converters": ["other"], "tensor_parallel_degree": 2, "precision": "fp8-mixed"}'
json 'gpus=2 stack="pytorch-bf16-adamw" settings=["stack.precision=fp32"] tp=2 sp' '{"tensor_parallel_degree": 2, "precision": "no"}'
json 'gpus=2 stack="nemo-mxfp8" tp=2 -sp' '{"tensor_model_parallel_size": 2, "fp8": "hybrid", "fp8_recipe": "mxfp8"}'
json 'gpus=2 stack="nemo-fp8" tp=2 -sp' '{"tensor_model_parallel_size": 2, "fp8": "hybrid", "fp8_recipe": "delayed"}'
json 'gpus=2 stack="nemo-nvfp4" tp=2 -sp' '{"tensor_model_parallel_size": 2, "fp8": "hybrid", "fp4": "e2m1", "fp8_recipe": "mxfp8"}'
json 'gpus=2 stack="megatron-fp16" tp=2 -sp' '{"tensor_model_parallel_size": 2, "fp8": "no_fp8", "fp4": "Off", "bf16": "none", "fp16": {"enabled": true}}'
json 'gpus=2 stack="nemo-fp8" tp=2 -sp' '{"tensor_model_parallel_size": 2, "fp8": "hybrid", "bf16": true}'
json 'gpus=2 stack="megatron-bf16" tp=2 -sp gradient_element="4 B"' '{"tensor_model_parallel_size": 2, "grad_reduce_in_bf16": false, "accumulate_allreduce_grads_in_fp32": false}'
json 'gpus=2 stack="megatron-bf16" tp=2 -sp gradient_element="2 B"' '{"tensor_model_parallel_size": 2, "accumulate_allreduce_grads_in_fp32": false}'
json 'gpus=2 stack="pytorch-bf16-adamw" tp=2 sp' '{"model": {"name": "llama3"}, "tensor_parallel_degree": 2}'
! grep -q 'the network is' "$scratch.err" || complain 'a network without its size is named'
json 'gpus=2 stack="pytorch-bf16-adamw" tp=2 sp' '{"model": {"name": "llama3", "flavor": "8B"}, "tensor_parallel_degree": 2}'
grep -q '^the network is llama3 8B ' "$scratch.err" || complain 'the network is not named'
verdict import_plan.precisions_choose_the_stack

for value in 2.5 '"two"' 0 3000000000; do
	refused "tensor_parallel_degree must be a whole number from 1 to 2e9, not '$(echo "$value" | tr -d '"')'" "{\"tensor_parallel_degree\": $value}"
done
refused "sequence_parallel must be true or false, not 'maybe'" '{"tensor_parallel_degree": 2, "sequence_parallel": "maybe"}'
refused 'tensor_parallel_size is 4, but tensor_parallel_degree in c.json:1 is 2' '{"tensor_parallel_degree": 2, "tensor_parallel_size": 4}'
refused 'tensor_parallel_size is 2x, but tensor_parallel_degree in c.json:1 is 2' '{"tensor_parallel_degree": 2, "tensor_parallel_size": "2x"}'
for nothing in '""' null '"None"' '"~"' '"auto"' '"2.0"'; do
	json 'gpus=2 stack="pytorch-bf16-adamw" tp=2 sp' "{\"tensor_parallel_degree\": 2, \"tensor_parallel_size\": $nothing}"
done
for word in yes:sp on:sp True:sp 1:sp no:-sp off:-sp False:-sp 0:-sp; do
	json "gpus=2 stack=\"pytorch-bf16-adamw\" tp=2 ${word#*:}" "{\"tensor_parallel_degree\": 2, \"sequence_parallel\": \"${word%:*}\"}"
done
verdict import_plan.settings_have_one_value_of_their_kind

# Each value names the line from which it comes, of two settings the one that decided.
places() { # PLACES LINES...: places are "KEY:LINE:SETTING" of each value with a place
	known=$1
	shift
	printf '%s\n' "$@" >c.yaml
	expect 0 'settings read: ' import plan c.yaml
	found=$(sed -n 's/^\t\([a-z_]*\) = .*; # c.yaml:\([0-9]*\): \([a-z_.0-9]*\)$/\1:\2:\3/p' "$scratch.out" | tr '\n' ' ')
	[ "$found" = "$known " ] || complain "the places of $* are $found, not $known"
}
places 'gpus:1:world_size micro_batch:2:local_batch_size global_batch:2:local_batch_size' \
	'world_size: 8' 'local_batch_size: 6'
places 'gpus:2:num_processes micro_batch:3:train_batch_size sharding:1:fsdp' \
	'fsdp: full_shard' 'num_processes: 8' 'train_batch_size: 4'
places 'gpus:2:world_size micro_batch:3:gradient_accumulation_steps global_batch:1:train_batch_size' \
	'train_batch_size: 64' 'world_size: 8' 'gradient_accumulation_steps: 4'
places 'dp:1:data_parallel_size micro_batch:3:micro_batch_size global_batch:2:gradient_accumulation_steps' \
	'data_parallel_size: 6' 'gradient_accumulation_steps: 3' 'micro_batch_size: 2'
places 'gpus:2:nproc_per_node tp:7:tensor_model_parallel_size pp:4:pipeline_model_parallel_size chunks:5:num_layers_per_virtual_pipeline_stage' \
	'nnodes: 2' 'nproc_per_node: 8' 'num_layers: 32' 'pipeline_model_parallel_size: 4' 'num_layers_per_virtual_pipeline_stage: 2' 'fp16: true' 'tensor_model_parallel_size: 2' 'fp8: hybrid'
places 'settings:3:mixed_precision pp:1:pipeline_parallel_degree replicas:5:data_parallel_replicate_degree dp:5:data_parallel_replicate_degree schedule:2:pipeline_parallel_schedule chunks:2:pipeline_parallel_schedule sharding:4:data_parallel_shard_degree' \
	'pipeline_parallel_degree: 2' 'pipeline_parallel_schedule: Interleaved1F1B' 'mixed_precision: fp16' 'data_parallel_shard_degree: 4' 'data_parallel_replicate_degree: 2'
places 'dp:1:data_parallel_shard_degree sharding:1:data_parallel_shard_degree recompute:6:activation_checkpoint.mode overlap_gradients:5:overlap_comm bucket:3:reduce_bucket_size gradient_element:4:grad_reduce_in_bf16' \
	'data_parallel_shard_degree: 3' 'data_parallel_replicate_degree: 1' 'reduce_bucket_size: 5' 'grad_reduce_in_bf16: true' 'overlap_comm: true' 'activation_checkpoint.mode: full'
places 'pp:1:pipeline_model_parallel_size layout:2:pipeline_model_parallel_layout chunks:2:pipeline_model_parallel_layout order:3:use_tp_pp_dp_mapping sharding:5:use_distributed_optimizer recompute:4:recompute_activations overlap_parameters:7:overlap_param_gather overlap_tensor:6:tp_comm_overlap gradient_element:8:accumulate_allreduce_grads_in_fp32' \
	'pipeline_model_parallel_size: 2' 'pipeline_model_parallel_layout: "Et|tL"' 'use_tp_pp_dp_mapping: true' 'recompute_activations: true' 'use_distributed_optimizer: true' 'tp_comm_overlap: false' 'overlap_param_gather: true' 'accumulate_allreduce_grads_in_fp32: true'
verdict import_plan.values_name_their_lines

# Tests of Megatron-LM have YAML with arguments as keys. A text without the ending of JSON is one if it begins with a brace, and
# one without arguments is YAML.
printf '%s\n' 'MODEL_ARGS:' '  --tensor-model-parallel-size: 2' '  --micro-batch-size: 3' >c.yaml
plan c.yaml
[ "$got" = 'gpus=2 stack="megatron-bf16" tp=2 micro_batch=3 -sp ' ] || complain "keys with dashes became $got"
echo '  {"tensor_model_parallel_size": 2, "note": "--micro-batch-size 4"}' >c.txt
plan c.txt
[ "$got" = 'gpus=2 stack="megatron-bf16" tp=2 -sp ' ] || complain "JSON in another file became $got"
printf '%s\n' 'tensor_model_parallel_size: 2' >c.txt
plan c.txt
[ "$got" = 'gpus=2 stack="megatron-bf16" tp=2 -sp ' ] || complain "YAML in another file became $got"
verdict import_plan.contents_tell_the_kind_of_file

# Arguments: the value of a variable is that above the line. Words with an unknown variable have no value, and neither
# have those with a second one. An array is not the value of a flag. "--" is not an argument.
cat >c.sh <<'END'
A=2; B=${A} C=${D:-4} E=${F}
1G=3 --overlap-comm "${ARGS[@]}" --tensor-model-parallel-size $A; --context-parallel-size "${C}",	--pipeline-model-parallel-size ${1G:-8}
A=3
--data-parallel-size $A$B -- --micro-batch-size=${A} --global-batch-size ${H:-} --expert-parallel-size $E # --micro-batch-size 9
--ddp-bucket-size $ --grad-reduce-in-bf16 ; --nproc_per_node 64 --nnodes ${B
END
plan c.sh
[ "$got" = 'gpus=128 stack="megatron-bf16" tp=2 cp=4 pp=8 micro_batch=3 -sp overlap_gradients=true gradient_element="2 B" ' ] ||
	complain "the script became $got"
grep -v read: "$scratch.err" >notes
cat >wanted <<'END'
c.sh:4: $E is not a value, so ep is assumed
c.sh:4: $A$B is not a value, so dp is assumed
c.sh:4: ${H:-} is not a value, so global_batch is assumed
c.sh:5: $ is not a value, so bucket is assumed
END
sort notes >sorted
sort wanted | cmp -s - sorted || complain "the notes are $(cat notes)"
grep -q '^12 settings read: 12 used, 0 skipped$' "$scratch.err" || complain 'the number of settings differs'
verdict import_plan.variables_of_scripts_are_replaced

printf '%s\n' 'x_flag = true # c' '[parallelism] ' 'tensor_parallel_degree = "2"	 # degree' "pipeline_parallel_schedule = 'GPipe'" \
	'list = [' '  "a",' '' '"b" ]' 'context_parallel_degree = 4' 'name_dim = "a # b"' "odd_dim = \"it's # one\" # two" \
	'pipeline_parallel_degree = 2' '[training]	' '	global_batch_size = 8	' 'pairs = [1, 2]' 'micro_batch_size = 1' >c.toml
plan c.toml
[ "$got" = 'gpus=16 stack="pytorch-bf16-adamw" tp=2 cp=4 pp=2 schedule="gpipe" micro_batch=1 global_batch=8 sp ' ] ||
	complain "the TOML became $got"
grep -q "^c.toml:10: parallelism.name_dim = a # b was skipped" "$scratch.err" || complain 'a comment begins within quotes'
grep -q "^c.toml:11: parallelism.odd_dim = it's # one was skipped" "$scratch.err" || complain 'another quote ends the text'
grep -q '^11 settings read: 6 used, 5 skipped$' "$scratch.err" || complain "the number of settings is $(cat "$scratch.err")"
for line in x '= 3' '[a' '[a] b'; do
	echo "$line" >bad.toml
	expect 2 '^bad.toml:1: this is not a line of TOML .write .section. or key = value' import plan bad.toml
done
echo "a: [1" >bad.yaml
expect 2 '^bad.yaml:2: this is neither JSON nor YAML: did not find expected' import plan bad.yaml
echo word >bad.yaml
expect 2 '^bad.yaml:1: a configuration has keys .write key: value' import plan bad.yaml
echo '[1, 2]: 3' >bad.yaml
expect 2 '^bad.yaml:1: a key must be a word .write key: value' import plan bad.yaml
for length in 512 513; do
	awk "BEGIN { while (length(word) < $length) word = word \"a\"; print word \": { tensor_parallel_size: 2 }\" }" >long.yaml
	if [ $length = 512 ]; then plan long.yaml; else expect 2 '^long.yaml:1: the names of nested keys are too long' import plan long.yaml; fi
done
verdict import_plan.lines_of_toml_and_yaml_that_have_no_key_are_refused
