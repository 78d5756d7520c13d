#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire probe host: complete, interrupted and continued recordings; invalid arguments.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# A short run writes nothing to stdout. If its time ends before the last pass, as on a busy machine,
# it exits with 1, and further runs continue it.
budget=0.5
probe() { # CODE OPTIONS...
	wanted=$1
	shift
	farwire probe host -q --budget "$budget" "$@"
	for file; do :; done
	runs=1
	while [ "$code" = 1 ] && grep -q 'the time limit was reached in pass' "$scratch.err" &&
		[ $runs -lt 20 ]; do
		tail -n 1 "$file" | grep -q '^{"end":false' || complain "$file: the last line is not an end"
		farwire probe host -q --budget "$budget" --continue "$file"
		runs=$((runs + 1))
	done
	[ "$code" = "$wanted" ] || complain "probe $*: ended with $code, not $wanted: $(cat "$scratch.err")"
}
points() {
	grep -c '^{"test":' "$1"
}
whole() { # FILE: checks that each point occurs once in each pass, and that the end counts the lines
	tail -n 1 "$1" | grep -q "^{\"end\":true,\"lines\":$(($(wc -l <"$1") - 1))," ||
		tail -n 1 "$1" | grep -q "^{\"end\":true,\"lines\":$(wc -l <"$1")," ||
		complain "$1: the end is missing: $(tail -c 200 "$1")"
	sed -nE 's/^(\{"test":.*"pass":[0-9]+).*/\1/p' "$1" | sort | uniq -d | grep . &&
		complain "$1: a pass has a point twice"
	[ "$(points "$1")" -gt 0 ] || complain "$1: no points"
}

probe 0 -o one.jsonl
whole one.jsonl
head -n 1 one.jsonl | grep -q '"tool":"farwire probe host".*"passes":3,"host":{' || complain 'line 1 is wrong'
# A copy of less than 10 kB takes less than 100 us, even if other work interrupts most of them.
grep '"test":"memcpy".*"size_B":[0-9]\{1,4\},' one.jsonl | sed 's/.*"samples":\[\([^]]*\).*/\1/' | awk -F, '
	{ least = $1; for (i = 2; i <= NF; i++) if ($i < least) least = $i; if (!(least > 1e-10 && least < 1e-4)) wrong = 1 }
	END { exit wrong || NR == 0 }' || complain 'a short copy takes no plausible time'
probe 1 -o one.jsonl
grep -q 'exists already' "$scratch.err" || complain 'an existing recording was not refused'
farwire probe host -q --budget 0.2
[ "$(grep -c '^{"test":"memcpy"' "$scratch.out")" -ge 2 ] || complain 'standard output has no recording'
verdict host_probe.recording_has_each_point_once

# SIGTERM in the middle, then a run that continues: measured points do not change.
"$FARWIRE" probe host -q --budget 20 -o two.jsonl 2>stopped &
pid=$!
waited=0
until { [ -s two.jsonl ] && [ "$(points two.jsonl)" -gt 2 ]; } || [ $((waited += 1)) -gt 600 ]; do
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
code=$?
[ "$code" = 143 ] || complain "interrupted: ended with $code"
grep -q "continue with .farwire probe host --continue two.jsonl" stopped ||
	complain "interrupted: it printed $(cat stopped)"
cp two.jsonl before
printf '{"test":"memcpy","is":{' >>two.jsonl # a cut line
probe 0 --continue two.jsonl
whole two.jsonl
cmp -n "$(wc -c <before)" before two.jsonl || complain 'measured points have changed'
probe 0 --continue two.jsonl
[ "$(grep -c '^{"end":true' two.jsonl)" = 1 ] || complain 'a complete recording grew'
# Very little time: each point is measured once, and a message says that points are missing.
farwire probe host -q --budget 0.01 -o short.jsonl
[ "$code" = 1 ] || complain "at its time limit it ended with $code"
grep -q 'reached in pass [23] of 3.*continue with .farwire probe host --continue short.jsonl' \
	"$scratch.err" || complain "at its time limit it printed $(cat "$scratch.err")"
tail -n 1 short.jsonl | grep -q '^{"end":false' || complain 'at its time limit it wrote a complete end'
# The mode of the recording gives the points, also without --full. A full plan has other sizes.
farwire probe host --full -q --budget 0.01 -o full.jsonl
distinct() {
	sed -n 's/^\({"test":.*\),"pass".*/\1/p' full.jsonl | sort -u
}
distinct >full
farwire probe host -q --budget 0.01 --continue full.jsonl
distinct | cmp -s full - || complain "a full recording was continued with other points: $(distinct | diff full - | head -n 3)"
sed -n 1p full.jsonl | grep -q '"mode":"full","passes":10,' || complain 'line 1 is not that of a full run'
# A complete recording reports again that its machine drifted.
sed 's/^{"end":true.*/{"end":true,"lines":9,"elapsed_s":1,"drift":{"gemm":0.01,"copy.h2d":-0.052}}/' two.jsonl >drift.jsonl
farwire probe host -q --continue drift.jsonl
[ "$code" = 1 ] || complain "with a recording that drifted it ended with $code"
grep -q 'copy.h2d drifted by -5.2 %' "$scratch.err" || complain "with a recording that drifted it printed $(cat "$scratch.err")"
verdict host_probe.interrupted_recording_is_continued

expect 2 'measures only the host' probe gpu
expect 2 'needs host' probe
expect 2 '--only is not an option of .farwire probe|no option' probe host --only memcpy
expect 2 '--connect is not an option of .farwire probe|no option' probe host --connect 127.0.0.1
expect 2 'remove -o' probe host --continue one.jsonl -o two.jsonl
expect 2 'above 0' probe host --budget 0
expect 2 'below 9007199254740992' probe host --seed 9007199254740992
expect 2 'No such file' probe host --continue nosuch.jsonl
echo '{"format":"farwire-samples","version":2,' >seven.jsonl
expect 2 'version other than 1|damaged|first line' probe host --continue seven.jsonl
for wrong in 's/"cpu":"[^"]*"/"cpu":"Another"/' 's/"seed":[0-9]*/"seed":-1/' 's/"passes":[0-9]*/"passes":1e9/'; do
	sed "1$wrong" one.jsonl >eight.jsonl
	expect 2 'was made on "Another", but this machine is|states no' probe host --continue eight.jsonl
done
verdict host_probe.wrong_arguments_are_refused
