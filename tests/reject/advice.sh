#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Messages name what the case is, and their advice can be followed.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

plan='--topology dgx-h100 --stack megatron-bf16 --exchange nccl-2.18 --gpus 8 --draws 0'
# shellcheck disable=SC2086 # a list of words
expect 2 'case.guest has no effect on a plan' run $plan --model gpt2 --plan tp=2,dp=4,global_batch=64 \
	--set case.guest=n0.os
verdict advice.settings_without_effect_on_a_plan_are_called_so

# The plan needs more memory than a GPU has, so there is no step, but there is a plan.
# shellcheck disable=SC2086
expect 1 '--timeline: there is no step to draw, because the first case failed: out of GPU memory' \
	run $plan --model llama3-70b --plan tp=1,dp=8,global_batch=64 --timeline no.svg
[ ! -e no.svg ] || complain 'a failed plan has a timeline'
expect 2 '--timeline: the first case has no plan' run quarter-gpu --draws 0 --timeline no.svg
verdict advice.timelines_of_failed_plans_have_the_reason

# Tensor parallelism does not split experts, but expert parallelism does.
farwire run --topology l40s-8gpu --model qwen3-30b-a3b --serve rate=1 --draws 0
shows 'FAIL: out of GPU memory: .*write a larger case.expert'
farwire run --topology l40s-8gpu --model llama3-70b --serve rate=1 --draws 0
shows 'FAIL: out of GPU memory: .*write a larger case.tensor'
farwire run --topology lan-pair --model llama3-8b --serve rate=1 --draws 0
shows 'FAIL: out of GPU memory: .*write --set serve.weights=int8 or int4'
farwire run --topology lan-pair --model llama3-8b --serve rate=1 --set serve.weights=int4 --draws 0
shows ' requests/s$'
verdict advice.servers_of_experts_are_told_to_spread_them

# The case of each row of a dataset is read, too.
cp "$FARWIRE_DATA"/calib/measured/c4140_v100.* .
expect 0 '' check c4140_v100.cfg
sed -i 's/"case.transport=rdma"/"case.transport=rmda"/' c4140_v100.cfg
expect 2 "^c4140_v100.cfg:[0-9]+: case: no transport is called 'rmda'" check c4140_v100.cfg
verdict advice.settings_of_the_rows_of_a_dataset_are_checked
exit 0
