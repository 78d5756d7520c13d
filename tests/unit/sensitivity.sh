#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire sensitivity`: its results are those of `run` with these parameters, its table of
# measurements names existing parameters, and threads change nothing.
cd "$(dirname "$0")/../.." || exit 2
source=$PWD
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END'
case = { topology = "t320-same-esxi"; stack = "tf-1.12"; program = "client"; server = "server";
	runtime = "flexdirect-1.11"; profile = "flexdirect-1050ti"; batch = 16; };
END

expect 0 '' sensitivity case.cfg -q --draws 0 --format csv --plot bars.svg
cp "$scratch.out" bars.csv
head -n 1 "$scratch.out" | grep -q '^parameter,value,low,high,at_low_ratio,at_high_ratio,share,' ||
	complain "columns: $(head -n 1 "$scratch.out")"
# Sets the two ends of the first parameter with `run`.
tr -d '\r' <"$scratch.out" | sed -n 2p >row.txt
IFS=, read -r name _ low high at_low at_high _ <row.txt
for end in "$low $at_low" "$high $at_high"; do
	expect 0 '' run case.cfg -q --draws 0 --format csv --set "$name=${end% *}"
	tr -d '\r' <"$scratch.out" | awk -F, -v want="${end##* }" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ratio") at = i - NF; next }
	{ off = $(NF + at) / want - 1; exit off > 1e-3 || off < -1e-3 }' ||
		complain "$name=${end% *} is not ${end##* } but $(cat "$scratch.out")"
done
# The rows are in the order of falling swing.
expect 0 '' sensitivity case.cfg -q --draws 0 --vary-all 10% --format csv
tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { next }
{ swing = $6 > $5 ? $6 - $5 : $5 - $6; if (NR > 2 && swing > before + 1e-12) wrong = 1; before = swing }
$4 + 0 > $3 + 0 && ($6 - $5) * $7 < -1e-12 { wrong = 1 } # an elasticity has the sign of the change
$1 == "case.batch" { ends++; away = log($6 / $5) / log($4 / $3) / $7 - 1; if (away > 1e-9 || away < -1e-9) wrong = 1 }
END { exit wrong || ends != 1 || NR < 10 }' || complain "the order is not by swing: $(cut -d, -f1,5,6 "$scratch.out" | head)"
# The interval of the coalescing rate is 10 % on both sides.
shows '^guest\.\*\.coalescing_rate,4 kHz,3\.6 kHz,4\.4 kHz,'
expect 0 '' sensitivity case.cfg -q --draws 0 --vary-all 10% --for link. --format csv
tr -d '\r' <"$scratch.out" | awk -F, 'NR > 1 && $1 !~ /^link\./ { exit 1 }' || complain '--for shows other parameters'
# The bars of the plot have the lengths of the swings, from the case's own ratio to that at each end.
expect 0 '' run case.cfg -q --draws 0 --format csv
ratio=$(tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ratio") at = i - NF } NR == 2 { print $(NF + at) }')
for end in '5 #0072b2' '6 #e69f00'; do
	tr -d '\r' <bars.csv | sed -n 2,4p | cut -d, -f "${end% *}" >ends
	grep "<rect .*${end#* }" bars.svg | sed -n '2,4s/.*width="\([0-9.]*\)".*/\1/p' | paste -d ' ' ends -
done | awk -v ratio="$ratio" '{ swing = $1 > ratio ? $1 - ratio : ratio - $1; scale = $2 / swing
	if (NR == 1) first = scale; if (scale > 1.01 * first || scale < 0.99 * first) exit 1 } END { if (NR != 6) exit 1 }' ||
	complain "bars: $(grep '<rect' bars.svg | sed -n 2,9p)"
verdict 'sensitivity.results_agree_with_run'

expect 0 '' sensitivity case.cfg -q --draws 0 --of step --for stack.
shows '^The step time of resnet50 .* depends most on the calls of a .* \(stack\.calls_per_library_op\): at [0-9.]+ the answer is'
shows '^A measurement of the calls of a .*, which causes about [0-9]+ % of the variance from parameters'
# The shares are the squares of the swings, divided by their sum.
tr -d '\r' <bars.csv | awk -F, 'NR > 1 { swing = $6 - $5; square[NR] = swing * swing; share[NR] = $7; sum += swing * swing }
END { for (i = 2; i <= NR; i++) if (share[i] - square[i] / sum > 1e-6 || square[i] / sum - share[i] > 1e-6) exit 1
	exit NR < 10 }' || complain "shares: $(cut -d, -f1,5-7 bars.csv | head)"
for jobs in 1 3; do
	expect 0 '' sensitivity case.cfg -q --format json --draws 2 --jobs $jobs --for stack. --plot jobs$jobs.svg
	cp "$scratch.out" jobs$jobs.txt
done
cmp -s jobs1.txt jobs3.txt || complain '--jobs 3 differs'
cmp -s jobs1.svg jobs3.svg || complain '--jobs 3 changes the plot'
verdict 'sensitivity.threads_do_not_change_shares'

# A kernel on nine tenths of a GPU takes 1 / 0.9 of the time, and no GPU has more than all of it. The
# answer is the step time for a kernel, and the throughput for a plan.
kernel='--topology dgx-h100 --set kernel.m=16384 --set kernel.n=16384 --set kernel.k=16384 --set kernel.type=fp16'
# shellcheck disable=SC2086 # words of a command
expect 0 '' sensitivity $kernel -q --draws 0 --vary-all 10% --for case.fraction --format csv
tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { exit $5 != "at_low_step_s" }
{ exit !($1 == "case.fraction" && $2 == 1 && $3 == 0.9 && $4 == 1 && $5 / $6 * 0.9 - 1 < 1e-6 && $7 < -0.99999 && $7 > -1.00001) }' ||
	complain "a part of a GPU: $(cat "$scratch.out")"
expect 0 '' sensitivity --topology dgx-h100 --gpus 4 --model gpt3-125m --stack pytorch-fsdp-bf16 --plan global_batch=16 \
	-q --draws 0 --vary-all 10% --for 'plan.*'
shows '^The throughput of gpt3-125m .* depends most on the size of an element of a reduced gradient'
shows '^2 of [1-9][0-9]* numbers change it; '
verdict 'sensitivity.kernels_and_plans_have_answers_of_their_own'

# If no parameter changes the answer, the table has all that were tried.
expect 0 '' sensitivity case.cfg -q --draws 0 --vary-all 10% --for tcp.syn_retries --format csv
[ "$(grep -c '^tcp.syn_retries,' "$scratch.out")" = 1 ] || complain "idle parameters: $(cat "$scratch.out")"
expect 0 '' sensitivity case.cfg -q --draws 0 --vary-all 10% --for tcp.syn_retries
shows 'no parameter changes it'
verdict 'sensitivity.parameters_without_influence_are_listed'

# Each pattern of measures.def matches a parameter, and each probe that it names exists.
expect 0 '' list parameters
# Long lines are broken; their further lines begin with blanks.
awk 'NR <= 2 { next }
	/^ / { sub(/^ +/, " "); line = line $0; next }
	{ if (line) print line; line = $0 }
	END { print line }' "$scratch.out" >parameters.txt
awk '{ print $1 "." $2 }' parameters.txt >known.txt
sed -nE 's/^MEASURE\("([^"]+)".*/\1/p' "$source/sim/report/measures.def" >patterns.txt
[ "$(wc -l <patterns.txt)" -gt 20 ] || complain 'measures.def has too few patterns'
# The first phrase of a parameter's help is its name in headings and plots, so it is unique in a group.
awk -F '  +' '{ sub(/[,:;(].*/, "", $3); if (seen[$1 "|" $3]++) print "  " $1 "." $2 " is called like another one: " $3 }' \
	parameters.txt >same.txt
[ ! -s same.txt ] || complain "$(cat same.txt)"
while read -r pattern; do
	first=${pattern%%.*} # the kind of part; the name of the parameter is last
	[ "$first" != link ] || first='[a-z]+'
	regex=$(echo "${pattern##*.}" | sed 's/\*/.+/')
	grep -qE "^$first\.$regex$" known.txt || complain "measures.def: no parameter matches '$pattern'"
done <patterns.txt
grep -o 'farwire-probe --only [a-z]*' "$source/sim/report/measures.def" | sort -u | while read -r _ _ test; do
	grep -q "^PROBE($test)" "$source/calib/probe/probes.def" || echo "  no probe '$test'"
done >wrong.txt
[ ! -s wrong.txt ] || complain "$(cat wrong.txt)"
verdict 'sensitivity.proposed_measurements_exist'
