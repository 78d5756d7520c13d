#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire solve`: its bounds agree to 1 % with the point where a fine sweep crosses the target. Its
# messages when the target is met everywhere, nowhere or in several intervals. The output does not
# depend on the number of threads.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END'
case = { topology = "t320-same-esxi"; stack = "tf-1.12"; program = "client"; server = "server";
	runtime = "flexdirect-1.11"; profile = "flexdirect-1050ti"; batch = 16; };
END

# Prints the number in column $1 of the first row of the results' CSV.
cell() {
	tr -d '\r' <"$scratch.out" | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	NR == 2 { print $at }'
}
# agrees KEY NUMBER VALUE SWEEP: checks the bound of KEY against the point where NUMBER, swept over
# SWEEP, falls below VALUE, interpolated linearly between two points.
agrees() {
	expect 0 '' solve case.cfg -q --draws 0 --format csv --target "$2>=$3" --for "$1"
	bound=$(cell "$1")
	expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary "$1=$4"
	tr -d '\r' <"$scratch.out" | awk -F, -v name="$2" -v target="$3" -v bound="$bound" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	{ x = $1; y = $at }
	NR > 2 && (y >= target) != (y0 >= target) { found++; root = x0 + (x - x0) * (target - y0) / (y - y0) }
	{ x0 = x; y0 = y }
	END {
		off = bound / root - 1
		if (found == 1 && off < 0.01 && off > -0.01) exit 0
		print "  solve says " bound ", a sweep crosses " found + 0 " times, last at " root
		exit 1
	}' || complain "$1 for $2 >= $3: solve and sweep disagree"
}
agrees link.vswitch.latency ratio 0.4 '100 us:120 us:lin11'
agrees link.vswitch.bandwidth samples_per_s 31.5 '4 MB/s:4.8 MB/s:lin11'
expect 0 '' solve case.cfg -q --draws 0 --format csv --target 'ratio>=0.64' --for case.batch --between 8:30
bound=$(cell case.batch)
expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary case.batch=$((bound - 1)),"$bound"
tr -d '\r' <"$scratch.out" | awk -F, 'NR == 2 && $5 >= 0.64 || NR == 3 && $5 < 0.64 { exit 1 }' ||
	complain "batch $bound is not the smallest: $(cat "$scratch.out")"
verdict 'solve.agrees_with_a_fine_sweep'

expect 0 '' solve case.cfg -q --draws 0 --target 'ratio>=0.3' --for link.vswitch.latency --between '1us:20us'
shows '^resnet50 .* meets the target ratio to local >= 0\.3 everywhere from 1 us to 20 us \(one-way latency of vswitch\); the worst value is 0\.6'
shows '^ratio to local >= 0\.3 +everywhere +'
expect 0 '' solve case.cfg -q --draws 0 --target 'ratio>=1.5' --for link.vswitch.latency --between '1us:20us'
shows 'does not meet the target .* from 1 us to 20 us \(one-way latency of vswitch\); the best value is 0\.65'
expect 0 '' solve case.cfg -q --draws 0 --target 'ratio>=0.64' --for case.batch
shows 'Searched: 1 to 128, ' # 8 times the present value, 16
shows 'with the batch size from 16 to 34\. The result is not monotone\. At 64 it fails: out of GPU memory'
expect 0 '' solve case.cfg -q --draws 0 --format csv --target 'step<=1 s' --for link.vswitch.loss \
	--between 1e-5:1
shows '^step time <= 1 s,up to,0\.0'
# a parameter with only one value is left out
expect 0 '' solve --topology t320-same-esxi --stack tf-1.12 --gpus 1 -q --draws 0 --target 'efficiency>=0.01' --for case.gpus --between 1:3
shows 'Not searched: 2 to 3 \('
# one number sets several parameters
expect 0 '' solve case.cfg -q --draws 0 --format csv --target 'ratio>=0.7' --for 'guest.*.coalescing_rate' --between 1kHz:64kHz
shows '^ratio to local >= 0\.7,from,4[0-9]+'
# a number that replaces different values says so
expect 0 '' solve case.cfg -q --draws 0 --target 'ratio>=0.3' --for 'link.*.latency' --between '1us:20us' \
	--set link.slot.latency='2 us' --set link.vswitch.latency='12 us'
shows '^The case has values from 2 us to 12 us; each value of the search replaces all of them\. Searched'
# integers whose results alternate
hierarchical='solve ddl-host -q --draws 0 --for case.gpus --set library.algorithm=hierarchical'
expect 0 '' $hierarchical --target 'speedup>=20'
shows 'from 28 on\. The result is not monotone\. Among the tried values, 29 fails: .*equal numbers of ranks'
expect 0 '' $hierarchical --target 'throughput>=1000' --between 8:64
shows 'meets the target throughput >= 1000 images/s from 8 to 64 .* not monotone\. Among the tried values, 63 fails: '
shows '^throughput >= 1000 images/s +in parts '
expect 0 '' solve quarter-gpu -q --draws 0 --target 'ratio>=0.3' --for case.fraction --between 0.1:1 # 1 is its limit
shows 'Searched: 0\.1 to 1 '
expect 2 'case.fraction: 1.01 is out of range \(.* to 1\)' solve quarter-gpu -q --draws 0 --target 'ratio>=0.3' --for case.fraction --between 0.1:1.01
expect 2 'case.batch: 8.5 is not a whole number' solve case.cfg -q --draws 0 --target 'ratio>=0.3' --for case.batch --between 8.5:16
verdict 'solve.targets_met_everywhere_nowhere_or_in_parts_are_reported'

# At its own value the case meets a target that equals its prediction with a probability of one half, and one that is the
# upper end of the 90 % interval with 5 %.
expect 0 '' solve case.cfg -q --draws 4 --target 'ratio>=0.1' --for link.vswitch.latency --between 1us:9us
value=$(sed -nE 's/.*which gives ([0-9.]+) \(([0-9.]+) to ([0-9.]+)\).*/\1/p' "$scratch.out")
high=$(sed -nE 's/.*which gives ([0-9.]+) \(([0-9.]+) to ([0-9.]+)\).*/\3/p' "$scratch.out")
for pair in "$value 50" "$high 5"; do
	expect 0 '' solve case.cfg -q --draws 4 --target "ratio>=${pair% *}" --for link.vswitch.latency --between 1us:9us
	shows "so that it meets the target with a probability of ${pair#* } %"
done
expect 0 '' solve case.cfg -q --draws 0 --target "ratio>=$value" --for link.vswitch.latency --between 1us:9us
! grep -q 'with a probability' "$scratch.out" || complain '--draws 0 gives a probability'
verdict 'solve.says_how_probably_the_present_value_meets_the_target'

# no case is computed for a result that the case cannot have
expect 2 'no training time \(write --set case\.epochs=N\)' solve ddl-host --target 'training_time<=1 h' --for link.network.bandwidth --draws 1000
expect 0 '' solve ddl-host -q --draws 0 --target 'training_time<=3000 s' --for case.epochs
shows 'with the number of epochs up to 3\.'
# an interval ends at the parameter's bound
expect 0 '' solve ddl-calico -q --draws 4 --target 'efficiency>=0.62' --for tcp.streams --between 1:8
shows 'with the number of parallel TCP streams of a connection from 2 \(1 to [2-8]\) on\.'
expect 2 'no elapsed time \(write --set case\.job_steps=N\)' solve ddl-host --target 'elapsed<=1 h' --for link.network.bandwidth
expect 0 '' solve ddl-host -q --draws 0 --target 'elapsed<=600 s' --for case.job_steps --between 10:100000
# half of the time trains with half of the tokens; a number of tokens or epochs makes both times known
tokens='--topology dgx-h100 --gpus 2 --model gpt3-125m --stack pytorch-fsdp-bf16 --exchange ddp --batch 4 --draws 0 -q --format csv'
# shellcheck disable=SC2086 # words of a command
{
	expect 0 '' run $tokens --set case.tokens=1e9
	half=$(tr -d '\r' <"$scratch.out" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "training_s") at = i; next }
		{ printf "%.9g", $(at + 1) / 2 }') # the name contains a comma
	expect 0 '' solve $tokens --target "training<=$half s" --for case.tokens --between 1e6:1e9
	cell case.tokens | awk '{ exit !($1 > 4.95e8 && $1 < 5.05e8) }' || complain "half of the tokens: $(cat "$scratch.out")"
	expect 0 '' solve $tokens --target 'training<=1000 h' --for case.batch --between 4:5 --set case.tokens=1e9
	expect 2 'no training time' solve $tokens --target 'training<=1 h' --for case.batch --set case.job_steps=9
	expect 2 'no elapsed time' solve $tokens --target 'elapsed<=1 h' --for case.batch --set case.tokens=1e9
	expect 0 '' solve $tokens --target 'elapsed<=1000 h' --for case.batch --between 4:5 --set case.job_steps=9
	expect 0 '' solve $tokens --target 'elapsed<=1000 h' --for case.batch --between 4:5 --set case.epochs=1
}
verdict 'solve.impossible_targets_are_refused_before_the_work'

for format in csv jsonl; do # the others have the same numbers
	for jobs in 1 3; do
		expect 0 '' solve case.cfg -q --format $format --draws 2 --jobs $jobs --seed 7 \
			--target 'ratio>=0.3' --for link.vswitch.latency --between '10us:300us' --plot jobs$jobs.svg
		cp "$scratch.out" jobs$jobs.txt
	done
	cmp -s jobs1.txt jobs3.txt || complain "$format: --jobs 3 differs"
	cmp -s jobs1.svg jobs3.svg || complain "$format: --jobs 3 changes the plot"
done
shows '"link.vswitch.latency": \{"value": [0-9e.-]+, "low": [0-9e.-]+, "high": [0-9e.-]+\}'
verdict 'solve.threads_do_not_change_the_output'

# At 0.001 requests/s, a thousandth of the default, 2000 requests take 2e6 s, at which a run ends.
expect 0 '' solve --topology hgx-h100 --model llama3-8b --stack serving --serve output=2,prompt=16,first_slo=1s \
	--for serve.rate --target 'slo_attainment>=0.99' -q --draws 0
shows ' everywhere from 0.01 to 1000 '
verdict 'solve.rates_of_requests_are_high_enough_for_a_run'

# The first point takes 1.5 s and the last one 86 ms. The largest of them sets the unit of the axis.
expect 0 '' solve --topology lan-pair --program client --server server --model resnet50 \
	--stack pytorch --batch 8 --runtime lupine -q --draws 0 --target 'step<=90 ms' --for link.wire.bandwidth \
	--between '1 Mbit/s:10 Gbit/s' --plot unit.svg
shows 'with the bandwidth of wire from 2\.09. MB/s on'
grep -q '>step time (s)<' unit.svg || complain "the axis is $(grep -o '>step time[^<]*' unit.svg)"
verdict 'solve.largest_answer_sets_the_unit_of_the_chart'
