#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans, run from the command line: pipelines have their bubble, and a plan that does not fit is a
# verdict. The network has a tiny vocabulary, so all stages take nearly
# equal times, and NVLink is fast compared with its kernels.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

cat >even.cfg <<'END'
network = { name = "even"; sequence = 2048; vocabulary = 8; source = "equal blocks";
layers = ( { name = "e"; op = "embedding"; out = 4096; },
	{ name = "b"; repeat = 16; layers = (
		{ name = "n1"; op = "layer_norm"; },
		{ name = "a"; op = "attention"; heads = 32; causal = true; },
		{ name = "s1"; op = "add"; from = ["b", "a"]; },
		{ name = "n2"; op = "layer_norm"; },
		{ name = "m"; op = "mlp"; hidden = 16384; activation = "gelu"; },
		{ name = "s2"; op = "add"; from = ["s1", "m"]; } ); },
	{ name = "l"; op = "linear"; out = 8; }, { name = "x"; op = "cross_entropy"; } ); };
END
# run PLAN: predicts 8 GPUs of a DGX H100
run() {
	expect 0 '' run --topology dgx-h100 --model even.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
		--gpus 8 --draws 0 --quiet --format csv --set gpu.h100-sxm5.memory='2000 GiB' \
		--set gpu.h100-sxm5.bf16='50 TFLOPS' --plan "$1"
}
# Prints the result's CSV; texts are left out, because they may contain commas.
columns() {
	tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"//g'
}
# Prints the number in column $1 of the result's CSV.
number() {
	columns | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	NR == 2 { print $at }'
}
# bubble PLAN SHARE OFF: the part "pipeline bubble" is this share of the step, but for the relative
# error OFF, and all parts but kernels and the bubble are less than 5 %
bubble() {
	run "$1"
	awk -v bubble="$(number pipeline_bubble_s)" -v step="$(number step_s)" -v share="$2" \
		-v kernel="$(number kernel_s)" -v most="$3" 'BEGIN {
		off = bubble / step / share - 1
		rest = 1 - (kernel + bubble) / step
		if (off < most && off > -most && rest < 0.05 && rest >= 0) exit 0
		print "  the bubble is " bubble / step " of the step, not " share ", the rest " rest
		exit 1 }' || complain "$1: the bubble is wrong"
}
# p stages and m micro-batches: (p - 1) / (m + p - 1); with v chunks (p - 1) / (v m + p - 1)
bubble pp=8,global_batch=8,schedule=gpipe 0.4667 0.03
bubble pp=8,global_batch=8 0.4667 0.03
bubble pp=8,global_batch=32 0.1795 0.03
bubble pp=8,global_batch=16,chunks=2 0.1795 0.1
# zb-h1 has a bubble of (p - 1) (F + B - W) instead of (p - 1) (F + B + W). Products take the same time
# in all three; attention takes more, and only in F and B.
run pp=8,global_batch=32
whole=$(number pipeline_bubble_s)
run pp=8,global_batch=32,schedule=zb-h1
awk -v bubble="$(number pipeline_bubble_s)" -v whole="$whole" 'BEGIN {
	exit !(bubble > whole / 3 && bubble < 0.45 * whole) }' ||
	complain "zb-h1 waits for $(number pipeline_bubble_s) s, 1f1b for $whole s"
verdict 'plans.pipelines_have_the_bubble_of_their_schedule'

# waits PLAN COLUMN...: only these waits take more than 0.1 % of the step, and the parts add up to it
# (a mean over ranks is cut to whole picoseconds)
waits() {
	plan=$1
	shift
	run "$plan"
	columns | awk -F, -v parts="$*" '
	NR == 1 { for (i = 1; i <= NF; i++) { name[i] = $i; if ($i == "kernel_s") first = i } }
	NR == 2 {
		for (i = 1; i < first; i++) if (name[i] == "step_s") step = $i
		for (i = first; i <= NF; i++) {
			sum += $i
			if (name[i] !~ /^(kernel|call_issue)_s$/ && $i > 1e-3 * step) found = found " " name[i]
		}
		if (found != " " parts) { print "  waits:" found; exit 1 }
		if (sum > step + 1.5e-12 || sum < step - 1.5e-12) {
			print "  the parts are " sum ", the step is " step; exit 1 } }' ||
		complain "$plan: the waits are not $*"
}
waits tp=8 tensor_exposed_s
waits dp=8 data_exposed_s
waits dp=8,sharding=parameters data_exposed_s
waits pp=8,global_batch=8 pipeline_bubble_s
waits tp=2,pp=2,dp=2 tensor_exposed_s data_exposed_s pipeline_bubble_s
waits tp=2,pp=4,global_batch=8 tensor_exposed_s pipeline_bubble_s
verdict 'plans.exposed_communication_is_counted_for_its_group'

# trace SCHEDULE NAME...: the trace and the timeline of a step have these passes of 8 micro-batches,
# each forward pass on all 8 stages
trace() {
	schedule=$1
	shift
	expect 0 '' run --topology dgx-h100 --model even.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
		--gpus 8 --draws 0 --quiet --set gpu.h100-sxm5.memory='2000 GiB' \
		--plan "pp=8,global_batch=8,schedule=$schedule" --trace step.json --timeline step.svg
	for name in "$@"; do
		grep -q "\"name\": \"$name\"" step.json || complain "$schedule: the trace has no $name"
		grep -q "$name" step.svg || complain "$schedule: the timeline has no $name"
	done
	for micro in 1 8; do
		stages=$(grep "\"name\": \"F$micro\"" step.json | sed 's/.*"pid": \([0-9]*\).*/\1/' | sort -u | wc -l)
		[ "$stages" -ge 8 ] || complain "$schedule: F$micro is on $stages stages"
	done
	most_GB=$(sed -n 's/.*"ph": "C".*"args": {\([^}]*\)}.*/\1/p' step.json | tr ',' ':' |
		awk -F: '{ all = $2 + $4 + $6 + $8 + $10; if (all > most) most = all } END { printf "%.4g", most / 1e9 }')
	grep -q "needs most: $most_GB GB" "$scratch.out" || complain "$schedule: counters reach $most_GB GB: $(grep most "$scratch.out")"
}
for schedule in gpipe 1f1b; do
	trace $schedule B1 B8
	! grep -q '"name": "W1"' step.json || complain "$schedule: the trace has gradients of weights apart"
done
trace zb-h1 B1 B8 W1 W8
verdict 'plans.traces_and_timelines_have_the_passes_of_the_schedule'

# 8 GPUs are 4 tensor groups of 2 ranks, one for each stage.
expect 0 '' run --topology dgx-h100 --model even.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --gpus 8 --draws 0 \
	--quiet --set gpu.h100-sxm5.memory='2000 GiB' --plan tp=2,pp=4,global_batch=4 --trace step.json
for rank in 0 1 2 3 4 5 6 7; do
	grep -q "\"name\": \"rank $rank, stage $((rank / 2))\"" step.json || complain "the trace has no track of rank $rank"
done
verdict 'plans.each_rank_has_a_track_with_its_own_name'

# 1.5 GB of bf16 weights become 14 GB of weights, gradients and states on each GPU; ZeRO shares
# them, so the smaller memory is enough.
fits() {
	expect 0 '' run --topology dgx-h100 --model even.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
		--gpus 8 --draws 0 --quiet --set gpu.h100-sxm5.memory='40 GiB' --plan "$1"
}
fits dp=8
shows 'out of GPU memory: a stage of even needs .* GB: [0-9.]* GB too much'
nearest=$(sed -n 's/.*nearest plan that fits: --plan \([^)]*\)).*/\1/p' "$scratch.out")
[ -n "$nearest" ] || complain 'no plan is named that fits'
fits "$nearest"
shows 'exposed|kernel-bound'
fits sharding=optimizer,recompute=full
shows 'exposed|kernel-bound'
verdict 'plans.a_plan_that_does_not_fit_is_a_verdict'

# Nine machines of one stage each are one class; eight machines of eight stages are eight.
explains() {
	expect 0 '' explain case.gpus --topology dgx-h100 --model llama3-8b --stack pytorch-fsdp-bf16 \
		--exchange nccl-2.18 --gpus "$1" --plan "$2"
}
explains 72 tp=8
shows '9 machines of 1 class: one of each is simulated'
explains 64 pp=8,tp=8
shows 'all machines are simulated: too few of them are alike'
verdict 'plans.explain_says_whether_machines_are_folded'

# By hand: each block has 12 x 4096^2 weights, attention 2 x 2048^2 x 4096 multiplications, and the
# logits 8 x 4096. MFU is this work, times 2 x 3, over the peak of 8 GPUs. With all blocks computed
# again, HFU is 4/3 of MFU, but for the logits and the product at the end of a block.
run dp=8,recompute=full,early_stop=false
awk -v rate="$(number throughput_samples_per_s)" -v mfu="$(number mfu)" -v hfu="$(number hfu)" 'BEGIN {
	blocks = 16 * (2048 * 12 * 4096 ^ 2 + 2 * 2048 ^ 2 * 4096)
	logits = 2048 * 8 * 4096
	peak = 8 * 50e12
	good = 6 * (blocks + logits) * rate / peak / mfu
	again = (6 * (blocks + logits) + 2 * blocks) * rate / peak / hfu
	exit !(good > 0.999999 && good < 1.000001 && again > 0.999999 && again < 1.000001) }' ||
	complain 'MFU or HFU is not the work over the peak'
verdict 'plans.mfu_and_hfu_are_the_work_over_the_peak'

expect 0 '' run --topology dgx-h100 --model even.cfg --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	--gpus 8 --draws 0 --quiet --format csv --plan dp=8 --tokens 1e12
awk -v time="$(number training_s)" -v rate="$(number tokens_per_s_gpu)" 'BEGIN {
	off = time * rate * 8 / 1e12 - 1
	exit !(off < 1e-9 && off > -1e-9) }' || complain 'the training time is not tokens over tokens/s'
expect 2 'needs networks with sequences' run --topology dgx-h100 --model resnet50 --stack pytorch \
	--gpus 8 --draws 0 --quiet --tokens 1e12
verdict 'plans.tokens_give_the_time_of_a_training'

# Two plans of one case have different names, also when only one key differs.
for chunks in 1 2; do
	cat >"chunks$chunks.cfg" <<END
case = { topology = "dgx-h100"; model = "even.cfg"; stack = "pytorch-fsdp-bf16"; exchange = "nccl-2.18"; gpus = 4; };
plan = { pp = 4; chunks = $chunks; global_batch = 8; };
END
done
expect 0 '' compare chunks1.cfg chunks2.cfg --draws 0 --quiet --format csv
shows 'tp=1,pp=4,dp=1,micro_batch=1"'
shows 'tp=1,pp=4,dp=1,micro_batch=1,chunks=2"'
verdict 'plans.compared_plans_of_one_case_have_different_names'

# refused PLAN PATTERN: the plan is impossible, the error says what to write, and no file is written
refused() {
	expect 2 "$2" run --topology dgx-h100 --model mixtral-8x7b --stack megatron-bf16 --exchange nccl-2.18 \
		--gpus 8 --draws 0 --quiet --plan "$1" -o refused.txt
	[ ! -e refused.txt ] || complain "$1: an output file was written"
}
refused tp=6 'not divisible by tp \(6\): write plan.tp='
refused pp=3 'not divisible by pp \(3\): write plan.pp='
refused pp=4,chunks=3 '8 blocks of a stage are not divisible by chunks \(3\): write plan.chunks=2'
refused dp=8,global_batch=12 'not divisible by dp \(8\) x micro_batch \(1\): write plan.global_batch=8'
refused ep=3 'experts are not divisible by .*ep \(3\): write .*ep=2'
verdict 'plans.impossible_plans_are_refused_and_nothing_is_written'

# The report has the numbers of a plan, its stages and a step as a figure.
farwire report --topology dgx-h100 --model llama2-7b --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --gpus 8 \
	--draws 0 --quiet --plan pp=8,global_batch=8 -o plan.html
[ "$code" = 0 ] || complain "report: ended with $code, $(cat "$scratch.err")"
for words in '>MFU<' '>HFU<' '>stage 7<' 'pipeline bubble' 'Passes, communication and bubble'; do
	grep -q -- "$words" plan.html || complain "the report lacks '$words'"
done
verdict 'plans.report_has_stages_and_a_step'

# Llama 3 70B on 8 GPUs: 70.6 G parameters of 18 bytes / 8 need more than 86 GB. The plan is predicted on
# request, and the memory that lacks is its memory less the GPU's 80 GiB.
large='--topology dgx-h100 --model llama3-70b --stack megatron-bf16 --exchange nccl-2.18 --gpus 8 --set case.sequence=4096'
# shellcheck disable=SC2086 # a list of words
{
	farwire run $large --draws 0 -q --plan tp=8,global_batch=16
	shows 'FAIL: out of GPU memory: a stage of llama3-70b needs [0-9.]+ GB, GPU .* has 85.90 GB'
	farwire run $large --draws 0 -q --plan tp=8,global_batch=16,anyway=true
	shows '^the plan does not fit: this is [0-9.]+ GB more than the GPU has'
	farwire run $large --draws 0 -q --plan tp=8,global_batch=16,anyway=true --format json
	sed -n 's/.*"memory": \([0-9.e+]*\), "memory_lacking": \([0-9.e+]*\),.*/\1 \2/p; s/.*"memory": \([0-9.e+]*\),$/\1/p; s/.*"memory_lacking": \([0-9.e+]*\),$/\1/p' \
		"$scratch.out" | head -n 2 | tr '\n' ' ' | awk '{ exit !($1 - $2 > 85.8e9 && $1 - $2 < 86e9) }' ||
		complain 'the lacking memory is not the difference'
}
verdict 'plans.plans_that_do_not_fit_are_predicted_on_request'

# The reserve counts as memory of each stage.
reserve_B() {
	farwire run --topology dgx-h100 --model llama3-8b --stack megatron-bf16 --exchange nccl-2.18 --gpus 8 --draws 0 -q \
		--plan tp=8,global_batch=16,reserve="$1" --set case.sequence=4096 --format csv
	sed 's/"[^"]*"/x/g' "$scratch.out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR == 2 { printf "%.0f", $at["memory_B"] }'
}
[ "$(($(reserve_B '3 GB') - $(reserve_B '1 GB')))" = 2000000000 ] || complain 'a reserve of 2 GB more is not 2 GB more memory'
verdict 'plans.reserve_is_part_of_the_memory'
