#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire plan: the search finds the plans that a simulation of all plans finds, also after it was
# killed, and refuses impossible plans.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

cat >small.cfg <<'END'
network = { name = "small"; sequence = 1024; vocabulary = 512; source = "equal blocks";
layers = ( { name = "e"; op = "embedding"; out = 1024; },
	{ name = "b"; repeat = 8; layers = (
		{ name = "n1"; op = "layer_norm"; },
		{ name = "a"; op = "attention"; heads = 8; causal = true; },
		{ name = "s1"; op = "add"; from = ["b", "a"]; },
		{ name = "n2"; op = "layer_norm"; },
		{ name = "m"; op = "mlp"; hidden = 4096; activation = "gelu"; },
		{ name = "s2"; op = "add"; from = ["s1", "m"]; } ); },
	{ name = "l"; op = "linear"; out = 512; }, { name = "x"; op = "cross_entropy"; } ); };
END
# a host that is never the limit, so that first steps are like later ones
job="--model small.cfg --stack pytorch-fsdp-bf16 --set stack.dispatch=5us --set stack.autograd=1 --exchange nccl-2.18 -q"
# plan TOPOLOGY GPUS OPTIONS...: searches without intervals
plan() {
	topology=$1 gpus=$2
	shift 2
	# shellcheck disable=SC2086 # a list of words
	$how "$FARWIRE" plan --topology "$topology" --gpus "$gpus" $job --draws 0 --format csv "$@"
}
how=

# same TOPOLOGY GPUS OPTIONS...: the best plans are those of all plans, and no step is below its
# least time, which leaves out a part of most steps
same() {
	plan "$@" -o found.csv || complain "$*: the search fails"
	plan "$@" --exhaustive --best 1000 -o all.csv || complain "$*: the simulation of all plans fails"
	head -n "$(wc -l <found.csv)" all.csv | cmp -s found.csv || complain "$*: the best plans are not those of all plans"
	tr -d '\r' <all.csv | sed 's/"[^"]*"/plan/' | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["step_s"] < $at["least_step_s"] { bad = 1 }
	$at["step_s"] > $at["least_step_s"] { longer++ }
	END { exit bad || NR < 10 || longer < NR / 2 }' || complain "$*: a step is below its least time, or all take just that"
	[ "$(wc -l <found.csv)" -gt 2 ] || complain "$*: only one plan was found"
}
same dgx-h100 8 --plan global_batch=16 --vary plan.micro_batch=1,2 --vary plan.chunks=1,2 --vary plan.sharding=none,optimizer
same dgx-a100 4 --plan global_batch=8,sharding=parameters --vary plan.sequence_parallel=true,false
same dgx-h100 4 --plan global_batch=8,pp=4 --set gpu.h100-sxm5.memory='3 GiB' --best 2
# Here the host is the limit. A stage that waits for others has its calls done, so a bubble has no time of the host.
host=$job
job="--model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 -q"
same dgx-h100 4 --plan global_batch=8,recompute=none
sed 's/op = "mlp"; hidden = 4096; activation = "gelu";/op = "experts"; experts = 8; top = 2; hidden = 2048;/' small.cfg >experts.cfg
calls=$job
job="--model experts.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 -q"
same dgx-h100 4 --plan global_batch=16,recompute=none,chunks=1,pp=1 --vary plan.cp=1,2
job=$calls
verdict 'plan_search.best_plans_are_those_of_a_simulation_of_all_plans'

# The first plan has whole steps, as in a run. The second one has a first step, and after --set the steps of the user.
fixed=global_batch=512,tp=2,chunks=1,micro_batch=1,recompute=none,sharding=none,schedule=auto
two='--set case.micro_batches=128 --set case.steps=2 --set case.steps_warmup=0'
step() { sed 's/"[^"]*"/plan/' "$1" | awk -F, -v row="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == row { print $at["step_s"] }'; }
# run PP OPTIONS...: predicts one plan
run() {
	pp=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	"$FARWIRE" run --topology dgx-h100 --gpus 8 $job --draws 0 --format csv --plan $fixed,pp="$pp" "$@"
}
plan dgx-h100 8 --plan $fixed --vary plan.pp=2,4 -o best.csv
run 2 -o run.csv
[ "$(step best.csv 2)" = "$(step run.csv 2)" ] || complain "the best plan takes $(step best.csv 2), not $(step run.csv 2)"
run 4 --set case.steps=1 --set case.steps_warmup=0 -o run.csv
[ "$(step best.csv 3)" = "$(step run.csv 2)" ] || complain "the first step takes $(step best.csv 3), not $(step run.csv 2)"
plan dgx-h100 8 --plan $fixed --vary plan.pp=2,4 --format table -o best.txt
grep -q '; 1 of these rows show a first step$' best.txt || complain "the title is $(head -n 1 best.txt)"
# shellcheck disable=SC2086 # lists of words
plan dgx-h100 8 --plan $fixed --vary plan.pp=2,4 $two -o given.csv && run 4 $two -o run.csv
[ "$(step given.csv 3)" = "$(step run.csv 2)" ] || complain "two steps take $(step given.csv 3), not $(step run.csv 2)"
[ "$(step best.csv 3)" != "$(step run.csv 2)" ] || complain 'the step without --set is one of two'
job=$host
verdict 'plan_search.best_plan_has_whole_steps_and_settings_of_the_user_hold_for_all'

plan dgx-h100 8 --plan global_batch=16 -o whole.csv
(how=exec && plan dgx-h100 8 --plan global_batch=16 --jobs 1 -o found.csv) &
while kill -0 $! 2>/dev/null && [ "$( (wc -l <found.csv.journal) 2>/dev/null || echo 0)" -le 3 ]; do sleep 0.01; done
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
[ -e found.csv.journal ] || complain 'the search was not killed'
plan dgx-h100 8 --plan global_batch=16 --jobs 2 -o found.csv || complain 'the search does not continue'
cmp -s found.csv whole.csv || complain 'the result of a continued search differs'
[ ! -e found.csv.journal ] || complain 'the journal remains'
verdict 'plan_search.killed_search_continues_to_the_same_result'

# With tp 1 two GPUs share out in two ways, and there is nothing to do in sequence parallel. With tp 2
# it is the other way round. So there are two plans each.
plan dgx-h100 2 --plan global_batch=4,pp=1,micro_batch=1,recompute=none --vary plan.tp=1,2 \
	--vary plan.sharding=none,optimizer --vary plan.sequence_parallel=true,false --best 100 -o four.csv ||
	complain 'the search fails'
[ "$(grep -c 'tp=1,.*dp=2' four.csv) $(grep -c 'tp=2,.*dp=1' four.csv)" = '2 2' ] ||
	complain "the plans are $(cut -d, -f1-6 four.csv)"
verdict 'plan_search.keys_without_effect_are_not_varied'

expect 2 'no plan is possible: .*not divisible by tp .*write plan.tp=2' plan --topology dgx-h100 --gpus 6 \
	--model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --plan global_batch=6,tp=3 -o none.csv
expect 2 'needs the samples of a step' plan --topology dgx-h100 --gpus 8 --model small.cfg \
	--stack pytorch-fsdp-bf16 --exchange nccl-2.18 -o none.csv
expect 2 "'plan.tp=two' is not a value" plan --topology dgx-h100 --gpus 8 --model small.cfg \
	--stack pytorch-fsdp-bf16 --exchange nccl-2.18 --plan global_batch=8,tp=two -o none.csv
[ ! -e none.csv ] || complain 'a refused search left a file'
expect 0 '' plan --topology dgx-h100 --gpus 8 --model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 -q \
	--plan global_batch=8 --set gpu.h100-sxm5.memory='10 MiB'
shows 'out of GPU memory'
shows '^No plan of .* fits into the memory of a GPU: [0-9]+ are possible, and these need least'
verdict 'plan_search.impossible_plans_are_refused_and_large_ones_are_verdicts'

expect 0 '' scale --topology dgx-h100 --gpus 4,8 --model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	--draws 0 -q --plan tp=4
expect 0 '' sweep --topology dgx-h100 --gpus 8 --model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	-q --draws 0 --plan global_batch=8 --vary plan.tp=1,2,4,8
verdict 'plan_search.scale_and_sweep_take_plans'

# Without --draws, the best plans have 8 draws each, also with --vary. One tensor group of two GPUs has another time than
# two ranks, so the second plan is slower with a chance of at most one half.
expect 0 '' plan --topology dgx-h100 --gpus 2 --model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 -q --best 2 \
	--plan global_batch=4,pp=1,micro_batch=1,recompute=none,sharding=none,cp=1 --vary plan.tp=1,2
shows '^intervals: 90 %, from 8 draws of a row$'
shows 'chance to be faster'
expect 0 '' plan --topology dgx-h100 --gpus 2 --model small.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 -q --best 2 \
	--plan global_batch=4,pp=1,micro_batch=1,recompute=none,sharding=none,cp=1 --vary plan.tp=1,2 --format csv
sed 's/"[^"]*"/plan/' "$scratch.out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
NR == 3 && ($at["faster"] == "" || $at["faster"] > 0.5 || !($at["to_first_low"] < $at["to_first"])) { bad = 1 }
END { exit bad || NR != 3 }' || complain "the second plan: $(cat "$scratch.out")"
verdict 'plan_search.best_plans_have_intervals_and_a_chance_by_default'

# Each row is the best plan of one system, as a search on this system finds it, and the
# fastest comes first. Chances of all rows add to 1.
systems="--plan global_batch=16,pp=1,recompute=none --prices list-2026"
# shellcheck disable=SC2086 # lists of words
systems() {
	topology=$1
	shift
	$how "$FARWIRE" plan --topology "$topology" --gpus 8 $job $systems --format csv "$@"
}
systems dgx-a100-40,dgx-h100 --plot systems.svg -o both.csv || complain 'the search of two systems fails'
[ -s systems.svg ] && [ -s systems.csv ] || complain 'the chart of two systems is missing'
for topology in dgx-a100-40 dgx-h100; do
	systems "$topology" --best 1 -o single.csv || complain "the search on $topology fails"
	single=$(sed -n '2s/^"\([^"]*\)".*/\1/p' single.csv)
	grep -q "^$topology,\"$single\"," both.csv || complain "the plan of $topology is not $single"
done
[ "$(cut -d, -f1 both.csv | tr '\r\n' '  ' | tr -s ' ')" = 'topology dgx-h100 dgx-a100-40 ' ] ||
	complain "the order is $(cut -d, -f1 both.csv)"
sed 's/"[^"]*"/plan/' both.csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{ sum += $at["fastest"]; cheap += $at["cheapest"]; cost += $at["cost_per_sample"] > 0 }
END { exit !(sum > 0.99 && sum < 1.01 && cheap > 0.99 && cheap < 1.01 && cost == 2) }' ||
	complain "chances and costs: $(cat both.csv)"
(how=exec && systems dgx-a100-40,dgx-h100 --jobs 1 --draws 0 -o killed.csv) &
while kill -0 $! 2>/dev/null && [ ! -s killed.csv.journal.dgx-h100 ]; do sleep 0.01; done
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
[ -e killed.csv.journal.dgx-a100-40 ] || complain 'the search of two systems was not killed'
systems dgx-a100-40,dgx-h100 --draws 0 -o killed.csv || complain 'the search of two systems does not continue'
systems dgx-a100-40,dgx-h100 --draws 0 -o whole.csv
cmp -s killed.csv whole.csv || complain 'the result of a continued search of two systems differs'
[ ! -e killed.csv.journal.dgx-h100 ] || complain 'a journal of two systems remains'
expect 2 "no plan can be searched on dgx1-v100 \\(remove it" plan --topology dgx-h100,dgx1-v100 --gpus 8 --model small.cfg \
	--stack pytorch-bf16-adamw --exchange nccl-2.18 --plan global_batch=16 -q
grep -q "computes in bf16, but GPU 'v100-sxm2'" "$scratch.err" || complain "the reason is $(cat "$scratch.err")"
expect 2 "'dgx-h100' stands there twice" plan --topology dgx-h100,dgx-h100 --gpus 8 --model small.cfg -q
for names in , ,dgx-h100 dgx-h100,; do
	expect 2 "^farwire: --topology $names: a name is missing" plan --topology $names --gpus 8 --model small.cfg -q
done
expect 2 'are for one case' compare a.cfg b.cfg --topology dgx-h100,dgx-h200
expect 0 '' compare --topology dgx-a100-40,dgx-h100 --gpus 8 --model resnet50 --batch 8 --draws 0 -q
shows 'resnet50 on dgx-h100'
verdict 'plan_search.several_systems_are_ranked_with_the_best_plan_of_each'
