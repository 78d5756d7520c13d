#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire sensitivity`: its answers are those of `run` with the parameters set, its table
# of measurements names parameters that there are, and threads change nothing.
cd "$(dirname "$0")/../.." || exit 2
source=$PWD
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END'
case = { topology = "t320-same-esxi"; program = "client"; server = "server";
	runtime = "flexdirect-1.11"; profile = "flexdirect-1050ti"; batch = 16; };
END

expect 0 '' sensitivity case.cfg -q --draws 0 --points 0 --format csv
head -n 1 "$scratch.out" | grep -q '^parameter,value,low,high,at_low_ratio,at_high_ratio,first_order' ||
	complain "columns: $(head -n 1 "$scratch.out")"
# the ends of the first parameter, set by hand
tr -d '\r' <"$scratch.out" | sed -n 2p >row.txt
IFS=, read -r name _ low high at_low at_high _ <row.txt
for end in "$low $at_low" "$high $at_high"; do
	expect 0 '' run case.cfg -q --draws 0 --format csv --set "$name=${end% *}"
	tr -d '\r' <"$scratch.out" | awk -F, -v want="${end##* }" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ratio") at = i - NF; next }
	{ off = $(NF + at) / want - 1; exit off > 1e-3 || off < -1e-3 }' ||
		complain "$name=${end% *} is not ${end##* } but $(cat "$scratch.out")"
done
# rows by falling swing
expect 0 '' sensitivity case.cfg -q --draws 0 --vary-all 10% --format csv
tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { next }
{ swing = $6 > $5 ? $6 - $5 : $5 - $6; if (NR > 2 && swing > before + 1e-12) wrong = 1; before = swing }
$4 + 0 > $3 + 0 && ($6 - $5) * $7 < -1e-12 { wrong = 1 } # an elasticity falls where the answer does
END { exit wrong || NR < 10 }' || complain "not by swing: $(cut -d, -f1,5,6 "$scratch.out" | head)"
# an elasticity by hand: a wire's own latency is next to nothing here, interrupts are not
shows '^guest\.\*\.coalescing_rate,4 kHz,3\.6 kHz,4\.4 kHz,'
expect 0 '' sensitivity case.cfg -q --draws 0 --vary-all 10% --for link. --format csv
tr -d '\r' <"$scratch.out" | awk -F, 'NR > 1 && $1 !~ /^link\./ { exit 1 }' || complain '--for lets others in'
verdict 'sensitivity.answers_are_what_run_says'

expect 0 '' sensitivity case.cfg -q --draws 0 --points 16 --of step
shows '^The step time of resnet50 .* depends most on the calls of a .* \(stack\.calls_per_library_op\): at [0-9.]+ the answer is'
shows '^A measurement of the calls of a .*, which causes [0-9]+ % \([0-9]+ to [0-9]+\) of the variance from parameters'
shows 'Sobol indices of the first [0-9]+ are from 16 points'
for format in table csv json jsonl; do
	for jobs in 1 3; do
		expect 0 '' sensitivity case.cfg -q --format $format --draws 2 --points 8 --jobs $jobs --plot jobs$jobs.svg
		cp "$scratch.out" jobs$jobs.txt
	done
	cmp -s jobs1.txt jobs3.txt || complain "$format: --jobs 3 differs"
	cmp -s jobs1.svg jobs3.svg || complain "$format: --jobs 3 draws another plot"
done
verdict 'sensitivity.indices_and_threads'

# Each pattern of measures.def is of a parameter, and each test that it names is one.
expect 0 '' list parameters
awk 'NR > 2 { print $1 "." $2 }' "$scratch.out" >known.txt
sed -nE 's/^MEASURE\("([^"]+)".*/\1/p' "$source/sim/report/measures.def" >patterns.txt
[ "$(wc -l <patterns.txt)" -gt 20 ] || complain 'no patterns'
while read -r pattern; do
	first=${pattern%%.*} # what it is of; its own name is last
	[ "$first" != link ] || first='[a-z]+'
	regex=$(echo "${pattern##*.}" | sed 's/\*/.+/')
	grep -qE "^$first\.$regex$" known.txt || complain "measures.def: no parameter is like '$pattern'"
done <patterns.txt
grep -o 'farwire-probe --only [a-z]*' "$source/sim/report/measures.def" | sort -u | while read -r _ _ test; do
	grep -q "^PROBE($test)" "$source/calib/probe/probes.def" || echo "  no probe '$test'"
done >wrong.txt
grep -o 'probe host --only [a-z]*' "$source/sim/report/measures.def" | sort -u | while read -r _ _ _ test; do
	grep -q "^HOST_PROBE(host_probe_$test)" "$source/calib/host/probes.def" || echo "  no host probe '$test'"
done >>wrong.txt
[ ! -s wrong.txt ] || complain "$(cat wrong.txt)"
verdict 'sensitivity.measurements_there_are'
