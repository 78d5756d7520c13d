#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A plan that says how long its run is has failures, checkpoints and restarts; a straggler slows it
# down.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

plan='--topology dgx-h100 --stack pytorch-bf16-adamw --exchange nccl-2.18 --gpus 16 --model gpt2'
plan="$plan -q --plan tp=1,dp=16,global_batch=16"

# field NAME OPTION...: prints a field of the CSV of the plan.
field() {
	name=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	farwire run $plan --format csv "$@"
	tr -d '\r' <"$scratch.out" | awk -F, -v name="$name" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
		NR == 2 { print $at }'
}
# holds WHAT EXPRESSION: an expression of awk is true.
holds() {
	awk "BEGIN { exit !($2) }" || complain "$1: $2"
}

# Without failures the run is the launch (60 + 120 + 16 x 0.01 s), its steps, and a pause for each
# of the 3 checkpoints.
no_failures='--set run.gpu_mtbf=0 --set run.host_mtbf=0 --set run.link_mtbf=0 --set run.software_mtbf=0'
steps='--draws 0 --set case.job_steps=3000'
step=$(field step_s --draws 0)
# shellcheck disable=SC2086
elapsed=$(field elapsed_s $steps $no_failures --set run.checkpoint_interval="$(awk "BEGIN { print 1000 * $step }")s")
holds 'a run without failures' "$elapsed >= 180.16 + 3000 * $step && $elapsed < 180.16 + 3000 * $step + 10"
# A million steps with a GPU that fails each 100 h: 16 GPUs have a failure each 6.25 h.
million='--draws 0 --set case.job_steps=1e6 --set run.gpu_mtbf=100h'
# shellcheck disable=SC2086
{
	elapsed=$(field elapsed_s $million)
	failures=$(field failures $million)
	hours=$(field gpu_hours $million)
	goodput=$(field goodput_ratio $million)
}
holds 'failures' "$failures > 0.9 * $elapsed / 22500 && $failures < 1.1 * $elapsed / 22500"
holds 'goodput is the part of the steps' "($goodput * $elapsed) / (1e6 * $step) - 1 < 1e-9"
holds 'hours of two machines and a spare' "$hours / (24 * $elapsed / 3600) - 1 < 1e-9"
verdict long_run.answers_follow_from_the_steps_and_the_failures

# The 24 draws include the failures and their rates, so the interval of failures is wide.
expect 0 '"failures": \{"value": [0-9.]+, "low": [0-9.]+, "high": [0-9.]+' run $plan --draws 24 \
	--set case.job_steps=1e6 --set run.gpu_mtbf=100h --set run.gpu_failures=3 --format json
cp "$scratch.out" first
expect 0 '"best interval"' run $plan --draws 24 --set case.job_steps=1e6 --set run.gpu_mtbf=100h \
	--set run.gpu_failures=3 --format json
cmp -s first "$scratch.out" || complain 'the same seed gives other bytes'
# After 3 failures, the rate has a factor of (1.08 .. 7.03) / 3 in 90 % of the draws.
wide=$(sed -n 's/.*"failures": {"value": [0-9.]*, "low": \([0-9.]*\), "high": \([0-9.]*\).*/\2 \/ \1/p' first)
holds 'few observed failures' "$wide > 3 && $wide < 20"
verdict long_run.intervals_include_failures_and_their_rates

# Checkpoints: 124.4 million parameters of 14 B each. One rank alone writes them at most at 1 / (1
# ns/B); the 16 ranks together are faster.
expect 0 'failures: .*' run $plan $million --set run.checkpoint_sharded=false
part() {
	sed -n "s/.*[ ,]$1 \([0-9.]*\) \(m*s\).*/\1 \2/p" "$scratch.out" | awk '{ print $2 == "ms" ? $1 / 1000 : $1 }'
}
alone=$(sed -n 's/.* write \([0-9.]*\) s,.*/\1/p' "$scratch.out")
holds 'one rank writes' "$alone > 1.74 && $alone < 3"
expect 0 ' write [0-9.]+ ms,' run $plan $million
verdict long_run.ranks_write_their_shards_together

# shellcheck disable=SC2086
{
	expect 2 '^--set: run: these keys describe the long run of a plan' run $plan --set run.spare=0
	expect 2 '^--set: run: these keys' run --topology dgx-h100 --model gpt2 --set run.spare=0
	expect 2 'run.spare = "-1" is out of range' run $plan $steps --set run.spare=-1
	expect 2 "there is no storage 'paralel'" run $plan $steps --set run.checkpoint_storage=paralel
	expect 2 'case.tokens cannot be combined' run $plan $steps --tokens 1e9
	expect 1 'FAIL: the run makes no progress: a failure comes every 0.375 min' run $plan \
		--draws 0 --set case.job_steps=1e6 --set run.gpu_mtbf=0.1h
}
verdict long_run.bad_values_are_refused_and_hopeless_runs_fail

# The first rank computes 1.5 times as long, and the others wait for it. The answer does not
# depend on folding.
straggler=$(field step_s --draws 0 --set case.straggler=1.5)
holds 'a straggler' "$straggler > 1.3 * $step && $straggler <= 1.5 * $step"
folded=$(field step_s --draws 0 --set case.straggler=1.5 --set case.symmetry=on)
holds 'a straggler of folded machines' "$folded / $straggler - 1 < 1e-3 && $folded / $straggler - 1 > -1e-3"
verdict long_run.stragglers_slow_down_plans
exit 0
