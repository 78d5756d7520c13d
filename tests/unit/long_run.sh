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

# number_of NAME: prints an estimate of the last prediction.
number_of() {
	tr -d '\r' <"$scratch.out" | sed -n "s/^ *\"$1\": {\"value\": \([^,]*\),.*/\1/p" | head -n 1
}
# field NAME OPTION...: prints an estimate of the prediction.
field() {
	name=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	farwire run $plan --format json "$@"
	number_of $name
}
# checkpoint NAME: prints a time of the last prediction.
checkpoint() {
	sed -n "s/.*\"checkpoint\": .*\"$1\": \([^,}]*\).*/\1/p" "$scratch.out"
}
# holds WHAT EXPRESSION: an expression of awk is true.
holds() {
	awk "BEGIN { exit !($2) }" || complain "$1: $2"
}
# same WHAT X Y: two numbers are equal to a part in 10^9.
same() {
	awk "BEGIN { x = ($2) / ($3) - 1; exit !(x < 1e-9 && x > -1e-9) }" || complain "$1: $2 is not $3"
}

# Without failures the run is the launch (60 + 120 + 16 x 0.01 s), its steps, and a pause for each
# of the 3 checkpoints.
no_failures='--set run.gpu_mtbf=0s --set run.host_mtbf=0s --set run.link_mtbf=0s --set run.software_mtbf=0s'
steps='--draws 0 --set case.job_steps=3000'
step=$(field step --draws 0)
# shellcheck disable=SC2086
elapsed=$(field elapsed $steps $no_failures --set run.checkpoint_interval="$(awk "BEGIN { print 1000 * $step }")s")
holds 'a run without failures' "$elapsed >= 180.16 + 3000 * $step && $elapsed < 180.16 + 3000 * $step + 10"
# A million steps with a GPU that fails each 100 h: 16 GPUs have a failure each 6.25 h.
million='--draws 0 --set case.job_steps=1e6 --set run.gpu_mtbf=100h --set run.spare=10'
# shellcheck disable=SC2086
{
	elapsed=$(field elapsed $million)
	failures=$(field failures $million)
	hours=$(field gpu_hours $million)
	goodput=$(field goodput_ratio $million)
}
holds 'failures' "$failures > 0.9 * $elapsed / 22500 && $failures < 1.1 * $elapsed / 22500"
same 'goodput is the part of the steps' "$goodput * $elapsed" "1e6 * $step"
same 'hours of two machines and 20 spares' "$hours" "176 * $elapsed / 3600"
# Each failure hangs for 100 s, and its machine is repaired an hour after it failed. Then follow the launch and
# a read, which one of 125 further failures interrupts.
# shellcheck disable=SC2086
failures=$(field failures --draws 0 --set case.job_steps=1e6 $no_failures --set run.gpu_mtbf=100h --set run.spare=0 \
	--set run.hang=1 --set run.watchdog=100s --set run.repair=1h)
lost=$(sed -n 's/.*"detection": \([^,]*\), "wait for repair": \([^,]*\), "restart": \([^}]*\)}.*/\1 \2 \3/p' "$scratch.out")
echo "$lost $failures $(checkpoint read)" | awk '{ d = $1 / $4 / 100; w = $2 / $4 / 3500; r = $3 / $4 / (180.16 + $5)
	exit !(d > 1 - 1e-9 && d < 1 + 1e-9 && w > 1 - 1e-9 && w < 1 + 1e-9 && r > 0.985 && r <= 1) }' ||
	complain "detection, repair and restart of $failures failures: $lost"
# Three machines have 30 spares, so ten times their 24 GPUs.
farwire run --topology dgx-h100 --stack pytorch-bf16-adamw --exchange nccl-2.18 --gpus 24 --model gpt2 -q --plan tp=1,dp=24,global_batch=24 \
	--draws 0 --set case.job_steps=1000 --set run.spare=10 --format json
same 'hours of three machines and 30 spares' "$(number_of gpu_hours)" "264 * $(number_of elapsed) / 3600"
# A job of one step makes progress, although its launch and its checkpoint take 1,000 times as long.
# shellcheck disable=SC2086
{
	short=$(field elapsed --draws 0 --set case.job_steps=1)
	pause=$(checkpoint pause)
	write=$(checkpoint write)
}
same 'a job of one step' "$short" "180.16 + $step + $pause + $write"
verdict long_run.answers_follow_from_the_steps_and_the_failures

# Rented spares cost as much as the machines of the job. A GPU without steps takes its idle power: here
# machines and GPUs that compute nothing take none, so only steps and lost steps take energy.
rent='--set gpu_cost.h100-sxm5.hour_price=2 --set gpu_cost.h100-sxm5.idle=0 --set machine_cost.dgx-h100.power=0W'
rent="$rent --set cost.port_power=0W --set cost.port_rate_power=0W"
# shellcheck disable=SC2086
{
	cost=$(field cost_of_run $million $rent)
	energy=$(field energy_of_run $million $rent)
	power=$(field power $million $rent)
	lost=$(sed -n 's/.*"lost work": \([^,}]*\).*/\1/p' "$scratch.out")
}
same 'rent of the job and its spares' "$cost" "2 * $hours"
same 'energy of steps and lost steps' "$energy" "$power * (1e6 * $step + $lost)"
# If idle GPUs take as much as busy ones, then 20 spares take ten times the power of two machines. They
# take no further power.
idle='--set gpu_cost.h100-sxm5.idle=1 --set gpu_cost.h100-sxm5.busy=1 --set cost.further_power=500W --set cost.facility=1'
# shellcheck disable=SC2086
{
	energy=$(field energy_of_run $million $rent $idle)
	power=$(field power $million $rent $idle)
}
same 'energy of idle spares' "$energy" "$elapsed * ($power + 10 * ($power - 500))"
# A further price of 5 an hour is paid once, and not for the spares, too.
# shellcheck disable=SC2086
same 'further price' "$(field cost_of_run $million $rent --set cost.further_hour_price=5)" "2 * $hours + 5 * $elapsed / 3600"
# Ten spare machines for each of the job cost more than five times as much as one.
# shellcheck disable=SC2086
farwire sweep $plan --draws 4 --set case.job_steps=1e6 $rent --vary run.spare=10,1 --target 'goodput>=0.5'
shows '^cheapest with goodput >= 0.5: run.spare=1, .*; cheaper than run.spare=10 with a probability of 100 %'
verdict long_run.costs_include_spares_and_the_time_without_steps

# The 24 draws include the failures and their rates. After 3 failures, the rate has a factor of 1.08
# / 3 to 7.03 / 3 in 90 % of the draws.
few='--draws 24 --set case.job_steps=1e7 --set run.gpu_mtbf=100h --set run.gpu_failures=3'
# shellcheck disable=SC2086
{
	field failures $few >/dev/null
	cp "$scratch.out" first
	field failures $few >/dev/null
}
cmp -s first "$scratch.out" || complain 'the same seed gives other bytes'
wide=$(sed -n 's/^ *"failures": {"value": [^,]*, "low": \([^,]*\), "high": \([^,]*\),.*/\2 \/ \1/p' first)
holds 'few observed failures' "${wide:-0} > 3 && ${wide:-0} < 30"
verdict long_run.intervals_include_failures_and_their_rates

# The checkpoint has 124.4 million parameters of 12 B, which autocast keeps in fp32. One rank has 1
# ns/B of work and a copy on a core of 3.8 GHz, so it takes 0.94 s or more. A part of 16 ranks takes
# a sixteenth.
# shellcheck disable=SC2086
{
	field failures $million --set run.checkpoint_sharded=false >/dev/null
	alone=$(checkpoint write)
	field failures $million >/dev/null
	together=$(checkpoint write)
}
holds 'one rank writes' "${alone:-0} > 0.94 && ${alone:-0} < 1.5"
holds 'all ranks write' "${together:-0} > $alone / 17 && ${together:-0} < $alone / 14"
# A storage of 0.1 GB/s takes 14.9 s for the 1.49 GB that one of the 16 equal ranks writes.
# shellcheck disable=SC2086
{
	field failures $million --set run.checkpoint_sharded=false --set checkpoint_storage.bandwidth='0.1 GB/s' >/dev/null
	slow=$(checkpoint write)
}
holds 'one of 16 ranks writes to a slow storage' "${slow:-0} > 14.9 && ${slow:-0} < 18"
# Weights in bf16 have a master copy: 4 B, two states of 4 B and 2 B for each parameter. FSDP casts the fp32
# weights when it gathers them.
for state in none:14 parameters:12; do
	farwire run --topology dgx-h100 --stack megatron-bf16 --exchange nccl-2.18 --gpus 2 --model gpt2 -q --draws 0 --format json \
		--plan tp=1,dp=2,global_batch=2,sharding=${state%:*} --set case.job_steps=100 --set checkpoint_storage.bandwidth='0.01 GB/s'
	same "state with sharding=${state%:*}" "$(checkpoint write)" "124439808 * ${state#*:} / 1e7"
done
verdict long_run.ranks_write_their_shards_together

# Each of the two machines has eight adapters. One that fails each 1,600 h gives a failure each 100 h.
# shellcheck disable=SC2086
{
	field failures $steps $no_failures --set run.link_mtbf=1600h >/dev/null
	between=$(checkpoint 'between failures')
}
same 'links of both machines fail' "${between:-0}" 360000
verdict long_run.links_of_all_machines_fail

# shellcheck disable=SC2086
{
	expect 2 '^--set: run: these keys describe the long run of a plan' run $plan --set run.spare=0
	expect 2 '^--set: run: these keys' run --topology dgx-h100 --model gpt2 --set run.spare=0
	expect 2 'run.spare = "-1" is out of range' run $plan $steps --set run.spare=-1
	expect 2 "there is no storage 'paralel'" run $plan $steps --set run.checkpoint_storage=paralel
	expect 2 'case.tokens cannot be combined' run $plan $steps --tokens 1e9
	farwire run $plan --draws 0 --set case.job_steps=1e6 --set run.gpu_mtbf=0.1h
	shows 'FAIL: the run makes no progress: a failure comes every 0.37'
}
verdict long_run.bad_values_are_refused_and_hopeless_runs_fail

# The first rank computes 1.5 times as long, and the others wait for it. The answer does not
# depend on folding.
plan="$plan,micro_batch=16,global_batch=256"
step=$(field step --draws 0)
straggler=$(field step --draws 0 --set case.straggler=1.5)
holds 'a straggler' "$straggler > 1.3 * $step && $straggler <= 1.5 * $step"
folded=$(field step --draws 0 --set case.straggler=1.5 --set case.symmetry=on)
holds 'a straggler of folded machines' "$folded / $straggler - 1 < 1e-3 && $folded / $straggler - 1 > -1e-3"
verdict long_run.stragglers_slow_down_plans
exit 0
