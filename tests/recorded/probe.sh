#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire-probe with the fake device: it finds what is planted, repeats to the byte, continues
# after an interruption and ends as it should. Also with the spinning device, whose forwarder is
# a real process.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=${FARWIRE%/*}/tests/farwire-probe-fake
if [ ! -x "$probe" ]; then
	echo "  no $probe"
	exit 77
fi

# run CODE PATTERN ARGS...: checks the exit code and the messages.
run() {
	wanted=$1
	pattern=$2
	shift 2
	"$probe" -q "$@" >"$scratch.out" 2>"$scratch.err" </dev/null
	code=$?
	[ "$code" = "$wanted" ] || complain "farwire-probe-fake $*: ended with $code, not $wanted"
	if [ -z "$pattern" ]; then
		[ ! -s "$scratch.err" ] || complain "farwire-probe-fake $*: printed $(cat "$scratch.err")"
	else
		grep -qE -e "$pattern" "$scratch.err" ||
			complain "farwire-probe-fake $*: no '$pattern' in: $(cat "$scratch.err")"
	fi
}

# points FILE: the points of a recording, each with its pass, without the anchors.
points() {
	grep '^{"test":' "$1" | grep -v '^{"test":"drift"' | sed 's/,"t_s":.*//' | sort
}

run 0 '' --list
cat >"$scratch.list" <<'END'
A1  call
A2  queue
A3  kernel
A5  graph
M1  copy
M2  share
M3  memory
C1  gemm
R1  forward
V   stream
END
cut -c 1-14 "$scratch.out" | sed 's/ *$//' | diff - "$scratch.list" || complain '--list prints other tests'
verdict 'probe.lists_its_tests'

all=$scratch/all.jsonl
run 0 '' --plant tests/recorded/planted.txt -o "$all"
tail -n 1 "$all" | grep -q '^{"end":true,"lines":[0-9]*,"elapsed_s":' || complain 'no last line'
[ "$(grep -cv '^{.*}$' "$all")" = 0 ] || complain 'some lines are not objects'
[ "$(tail -n 1 "$all" | sed 's/.*"lines":\([0-9]*\),.*/\1/')" = "$(wc -l <"$all")" ] ||
	complain 'the last line does not count the lines'
[ "$(points "$all" | wc -l)" -gt 1400 ] || complain 'fewer than 1400 points'
[ -z "$(points "$all" | uniq -d)" ] || complain 'a pass has a point twice'
tail -n 1 "$all" | sed 's/.*"elapsed_s":\([0-9]*\).*/\1/' | {
	read -r seconds
	[ "$seconds" -le 120 ]
} || complain 'the run took more than two minutes of its clock'
verdict 'probe.measures_each_point_once_per_pass'

# Each row has the beginning of a line, the planted value and the tolerance. Copies and products
# include other costs of the model: 16 copies in a row start without gaps, and a kernel has its
# floor and gap.
awk '
function median(text, values, count, i, j, held) {
	count = split(text, values, ",")
	for (i = 2; i <= count; i++) {
		held = values[i] + 0
		for (j = i - 1; j > 0 && values[j] + 0 > held; j--)
			values[j + 1] = values[j]
		values[j + 1] = held
	}
	return (values[int((count + 1) / 2)] + values[int(count / 2) + 1]) / 2
}
NR == FNR {
	if (NF == 3) { start[NR] = $1; planted[NR] = $2; tolerance[NR] = $3; rows = NR }
	next
}
/^{"test"/ {
	for (i = 1; i <= rows; i++)
		if (index($0, start[i]) == 1) {
			samples = $0
			sub(/.*"samples":\[/, "", samples)
			sub(/\].*/, "", samples)
			value = median(samples)
			found[i]++
			if (value > planted[i] * (1 + tolerance[i]) || value < planted[i] * (1 - tolerance[i]))
				printf "  %s is %g, planted was %g\n", start[i], value, planted[i]
		}
}
END {
	for (i = 1; i <= rows; i++)
		if (found[i] != 3) printf "  %s was found %d times, not in three passes\n", start[i], found[i]
}' - "$all" <<'END' >"$scratch.wrong"
{"test":"call","is":{"call":"launch","stream":"idle"},"x":{"argument_B":0} 3.4e-6 0.03
{"test":"call","is":{"call":"launch","stream":"blocked"},"x":{"argument_B":4096} 5.0384e-6 0.03
{"test":"call","is":{"call":"get","stream":"idle"} 0.25e-6 0.04
{"test":"call","is":{"call":"malloc","stream":"idle"} 80e-6 0.03
{"test":"call","is":{"call":"query_pending","stream":"blocked"} 1.3e-6 0.03
{"test":"queue","is":{},"x":{"depth":1016} 3.4e-6 0.05
{"test":"queue","is":{},"x":{"depth":1020} 46.5e-3 0.05
{"test":"kernel","is":{"what":"gap"} 1.4e-6 0.03
{"test":"kernel","is":{"what":"start"} 3.1e-6 0.03
{"test":"kernel","is":{"what":"end"} 2.2e-6 0.05
{"test":"kernel","is":{"what":"concurrent"},"x":{"kernels":32} 1 0.2
{"test":"kernel","is":{"what":"concurrent"},"x":{"kernels":64} 2 0.2
{"test":"copy","is":{"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":32768} 2e-6 0.03
{"test":"copy","is":{"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":65536} 8.24288e-6 0.03
{"test":"copy","is":{"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":67108864} 5.3717e-3 0.03
{"test":"share","is":{"with":"d2h","of":"h2d"} 1.3 0.05
{"test":"memory","is":{"kernel":"copy","level":"hbm"},"x":{"size_B":536862720} 0.77085e-3 0.04
{"test":"gemm","is":{"type":"fp16"},"x":{"m":4096,"n":4096,"k":4096} 2.4149e-3 0.02
END
[ ! -s "$scratch.wrong" ] || complain "$(cat "$scratch.wrong")"
verdict 'probe.finds_planted_values'

# Without noise every value follows exactly from the planted costs, here in microseconds (ratios of
# share and concurrent without a unit). Reading the clock is free. The last kernel before the end of
# a blocker still has 1.3 of its launch latency of 2.2 before it, after the record of the end (0.9).
# A short product runs 20 times in a graph with gaps of 0.5, so its time has 19 / 20 of a gap and a
# twentieth of the 1.3, besides its floor (1.6). That of 128 takes 1.3 and two parts of a tile of 32.
cat >"$scratch/exact" <<'END'
noise.sigma = 0
noise.outlier_rate = 0
timer.host_read = 0
gpus = 2
kernel.concurrent = 32
END
exact=$scratch/exact.jsonl
run 0 '' --plant "$scratch/exact" -o "$exact"
awk '
NR == FNR {
	if (NF >= 2) { start[NR] = $1; wanted[NR] = $2; rows = NR }
	next
}
/^{"test"/ {
	for (i = 1; i <= rows; i++) {
		if (!(i in start) || index($0, start[i]) != 1)
			continue
		scale = /"unit":"s"/ ? 1e6 : 1
		samples = $0
		sub(/.*"samples":\[/, "", samples)
		sub(/\].*/, "", samples)
		count = split(samples, values, ",")
		found[i]++
		for (k = 1; k <= count; k++) {
			off = values[k] * scale - wanted[i]
			if (off > 2e-6 * wanted[i] || off < -2e-6 * wanted[i]) {
				printf "  %s is %.9g, not %.9g\n", start[i], values[k] * scale, wanted[i]
				break
			}
		}
	}
}
END {
	for (i = 1; i <= rows; i++)
		if (i in start && found[i] != 3)
			printf "  %s was found %d times, not in three passes\n", start[i], found[i]
}' - "$exact" <<'END' >"$scratch.wrong"
{"test":"call","is":{"call":"launch","stream":"idle"},"x":{"argument_B":0} 2.1
{"test":"call","is":{"call":"launch","stream":"blocked"},"x":{"argument_B":4096} 2.5096
{"test":"call","is":{"call":"copy_h2d","stream":"idle"} 2.5
{"test":"call","is":{"call":"memset","stream":"idle"} 1.9
{"test":"call","is":{"call":"record","stream":"blocked"} 0.9
{"test":"call","is":{"call":"wait_event","stream":"blocked"} 0.8
{"test":"call","is":{"call":"query_ready","stream":"idle"} 0.6
{"test":"call","is":{"call":"query_pending","stream":"blocked"} 0.7
{"test":"call","is":{"call":"sync_idle","stream":"idle"} 1.2
{"test":"call","is":{"call":"malloc","stream":"idle"} 60
{"test":"call","is":{"call":"free","stream":"idle"} 45
{"test":"call","is":{"call":"create_event","stream":"idle"} 0.5
{"test":"queue","is":{},"x":{"depth":1023} 2.1
{"test":"kernel","is":{"what":"gap"} 0.9
{"test":"kernel","is":{"what":"floor"} 1.6
{"test":"kernel","is":{"what":"start"} 2.2
{"test":"kernel","is":{"what":"end"} 1.4
{"test":"kernel","is":{"what":"concurrent"},"x":{"kernels":32} 1.0002498
{"test":"kernel","is":{"what":"concurrent"},"x":{"kernels":64} 2
{"test":"graph","is":{"what":"run"},"x":{"nodes":100} 210.4
{"test":"copy","is":{"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":65536} 3.852512
{"test":"copy","is":{"direction":"d2h","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":65536} 3.82144
{"test":"copy","is":{"direction":"h2d","memory":"pageable","call":"sync","measure":"rate"},"x":{"size_B":65536} 17.99824
{"test":"copy","is":{"direction":"d2h","memory":"pageable","call":"sync","measure":"rate"},"x":{"size_B":65536} 19.40896
{"test":"share","is":{"with":"d2h","of":"h2d"} 1.12
{"test":"memory","is":{"kernel":"copy","level":"hbm"},"x":{"size_B":536862720} 360.80848
{"test":"gemm","is":{"type":"fp32"},"x":{"m":128,"n":128,"k":128} 7.57674201
{"test":"forward","is":{"transport":"shm","what":"call","mode":"sync"},"x":{"argument_B":64,"payload_B":0,"batch":1} 4.31408
{"test":"forward","is":{"transport":"tcp","what":"call","mode":"sync"},"x":{"argument_B":64,"payload_B":0,"batch":1} 21.51408
{"test":"forward","is":{"transport":"shm","what":"call","mode":"async"},"x":{"argument_B":64,"payload_B":0,"batch":1} 1.784595
{"test":"forward","is":{"transport":"shm","what":"call","mode":"batched"},"x":{"argument_B":64,"payload_B":0,"batch":8} 1.80731
{"test":"stream","is":{"program":"launches","place":"local","mode":"async","transport":"none"},"x":{"latency_s":0,"rate_Bps":0,"kernel_s":1e-05 2504.8128
{"test":"stream","is":{"program":"launches","place":"forwarded","mode":"sync","transport":"tcp"},"x":{"latency_s":5e-05,"rate_Bps":0,"kernel_s":1e-05 21207.16
{"test":"stream","is":{"program":"pipeline","place":"forwarded","mode":"sync","transport":"tcp"},"x":{"latency_s":0.0001,"rate_Bps":1250000000,"kernel_s":5e-05 13843.087616
END
[ ! -s "$scratch.wrong" ] || complain "$(cat "$scratch.wrong")"
# The anchors are measured at an eighth of the time limit of 110 s, or at the next point.
sed -n 's/.*"anchor":"gemm".*"t_s":\([^,]*\),.*/\1/p' "$exact" | awk '
	NR > 1 && ($1 < last + 13.75 - 1e-6 || $1 > last + 18) { early++ }
	{ last = $1 }
	END { exit NR < 3 || early > 1 }' || complain 'the anchors are not measured at equal distances'
verdict 'probe.values_without_noise_are_exact'

# Quick runs have three passes, full ones ten. Sizes of copies between powers of two, except those
# beside 64 KiB, are held out of fits. Batches of programs have 16 calls.
for mode in quick:3 full:10; do
	run 0 '' --${mode%:*} --only graph
	grep -q "\"mode\":\"${mode%:*}\",\"passes\":${mode#*:}," "$scratch.out" || complain "${mode%:*} has other passes"
done
awk -F'"size_B":' '/"test":"copy"/ {
		split($2, part, "}")
		for (size = part[1]; size > 1; size /= 2)
			;
		fit = size == 1 || part[1] == 65535 || part[1] == 65537
		if (fit != /"held_out":false/) bad++
	}
	/"test":"stream"/ && /"mode":"batched"/ != /"batch":16}/ { bad++ }
	END { exit bad > 0 }' "$exact" || complain 'a point has the wrong batch or is wrongly held out'
verdict 'probe.plans_have_their_points'

# Large arguments fill the queue after fewer calls. A launch behind a blocker that takes long
# would have waited for the blocker.
grep '"call":"launch","stream":"blocked"' "$all" | sed 's/.*"samples":\[//; s/\].*//' | tr , '\n' |
	awk '{ n++; if ($1 > 1e-3) late++ } END { exit n < 600 || late > 0 }' || complain 'a launch waited for its blocker'
verdict 'probe.launches_do_not_wait_for_the_blocker'

# Memory is measured with sizes far above the cache, however large that is.
echo 'memory.l2 = 100e6' >"$scratch/cache"
run 0 '' --plant "$scratch/cache" --only memory --passes 1
awk -F'"size_B":' '/"level":"hbm"/ { count++; if ($2 + 0 < 8 * 99e6) small++ }
	END { exit count < 6 || small > 0 }' "$scratch.out" || complain 'memory was measured with sizes that fit a cache'
verdict 'probe.measures_beyond_caches'

few='--only call.* --only copy.h2d.* --only forward'
# shellcheck disable=SC2086
{
	run 0 '' $few --seed 7 -o "$scratch/one.jsonl"
	run 0 '' $few --seed 8 -o "$scratch/other.jsonl"
}
tail -n +2 "$scratch/one.jsonl" >"$scratch/one"
# shellcheck disable=SC2086
"$probe" -q $few --seed 7 | tail -n +2 | cmp -s - "$scratch/one" ||
	complain 'the same seed gave different bytes'
points "$scratch/other.jsonl" >"$scratch/other"
points "$scratch/one.jsonl" | cmp -s - "$scratch/other" && complain 'two seeds gave the same points'
verdict 'probe.same_seed_gives_the_same_bytes'

# After a planted failure the run continues: each point occurs once in each pass, as in an
# uninterrupted run.
echo 'fail_after = 60000' >"$scratch/fails"
# shellcheck disable=SC2086
run 1 'the planted failure' $few --seed 7 --plant "$scratch/fails" -o "$scratch/torn.jsonl"
before=$(points "$scratch/torn.jsonl" | wc -l)
printf '{"test":"copy","is":{"dir' >>"$scratch/torn.jsonl"
# shellcheck disable=SC2086
run 0 '' $few --continue "$scratch/torn.jsonl"
points "$scratch/one.jsonl" >"$scratch/points"
[ "$before" -gt 100 ] || complain "only $before points before the failure"
[ "$before" -lt "$(wc -l <"$scratch/points")" ] || complain 'the failure came too late'
points "$scratch/torn.jsonl" | diff - "$scratch/points" >"$scratch.diff" ||
	complain "the points differ: $(head -n 3 "$scratch.diff")"
[ "$(grep -cv '^{.*}$' "$scratch/torn.jsonl")" = 0 ] || complain 'a cut line remains'
size=$(wc -c <"$scratch/torn.jsonl")
run 0 'is already complete' --continue "$scratch/torn.jsonl"
[ "$(wc -c <"$scratch/torn.jsonl")" = "$size" ] || complain 'a complete recording grew'
verdict 'probe.continues_after_a_failure'

run 1 'exists already' --only graph -o "$scratch/one.jsonl"
run 1 'cannot be|No such file' --only graph -o "$scratch/no/such/folder.jsonl"
run 2 'matches no test' --only nothing.like.that
run 2 'not an option' --sideways 3
run 2 'lacks its value' --seed
run 2 'must be a whole number' --seed 1.5
run 2 '--passes must be a whole number from 1 to 1000' --passes 2.5
run 2 '--passes must be a whole number from 1 to 1000' --passes 0
run 2 '--gpu must be a whole number from 0' --gpu -1
run 2 '--budget must be a number from 0.01' --budget 0.001
run 2 'must be a number' --budget no
run 2 'must be fake or spin' --device cuda
run 2 'No such file' --continue "$scratch/none.jsonl"
run 2 'line 1' --continue tests/recorded/planted.txt
for value in fast -1 '1 x'; do
	echo "call.launch = $value" >"$scratch/bad"
	run 1 'bad:1: not a planted parameter: call.launch' --plant "$scratch/bad"
done
echo 'absent = 1' >"$scratch/absent"
run 77 'no GPU' --plant "$scratch/absent"
[ ! -s "$scratch.out" ] || complain 'without a GPU it wrote output'
verdict 'probe.reports_wrong_arguments_and_missing_gpus'

echo 'noise.drift = 0.0008' >"$scratch/drift"
run 1 'drifted by .* %' --plant "$scratch/drift" --only 'copy.*' -o "$scratch/drift.jsonl"
tail -n 1 "$scratch/drift.jsonl" | grep -q '"call.launch":0.0[3-9]' || complain 'the recording lacks the drift'
cp "$scratch/drift.jsonl" "$scratch/drifted.jsonl"
run 1 'drifted by .* %' --continue "$scratch/drift.jsonl"
cmp -s "$scratch/drift.jsonl" "$scratch/drifted.jsonl" || complain 'a recording with drift grew'
verdict 'probe.drift_of_the_machine_ends_with_1'

# A run that reaches its time limit is unfinished. Further runs continue it until it is
# complete.
run 1 'time limit was reached in pass [2-9] of 10.*continue with' --only 'copy.*rate' --budget 10 --passes 10 \
	-o "$scratch/late.jsonl"
tail -n 1 "$scratch/late.jsonl" | grep -q '^{"end":false.*"elapsed_s":1[0-2]\.' || complain 'it took longer than its budget'
runs=1
while [ $runs -lt 20 ] && tail -n 1 "$scratch/late.jsonl" | grep -q '^{"end":false'; do
	"$probe" -q --only 'copy.*rate' --budget 20 --continue "$scratch/late.jsonl" 2>"$scratch.err"
	code=$?
	runs=$((runs + 1))
done
[ $code = 0 ] || complain "the last of $runs runs ended with $code: $(cat "$scratch.err")"
[ "$(grep -c '^{"end":' "$scratch/late.jsonl")" = $runs ] || complain 'the recording does not have one end for each run'
[ -z "$(points "$scratch/late.jsonl" | uniq -d)" ] || complain 'with several runs a pass has a point twice'
[ "$(points "$scratch/late.jsonl" | sed 's/.*"pass"://' | sort | uniq -c | awk '{ print $1 }' | uniq | wc -l)" = 1 ] ||
	complain 'with several runs the passes have different numbers of points'
verdict 'probe.stops_at_its_budget_and_continues_later'

# On the real clock of a busy machine the anchors may really drift.
code=0
"$probe" -q --device spin --only forward.shm.call.async --only forward.tcp.payload.sync \
	--only 'forward.tcp.call.*' --only V --budget 2 --passes 1 -o "$scratch/spin.jsonl" \
	2>"$scratch.err" || code=$?
[ $code = 0 ] || grep -q drifted "$scratch.err" ||
	complain "with the spinning device it ended with $code: $(cat "$scratch.err")"
for words in '"transport":"shm","what":"call"' '"transport":"tcp","what":"payload"' \
	'"transport":"tcp","what":"call"' '"program":"training","place":"forwarded"' \
	'"program":"launches","place":"local"'; do
	grep -qF "$words" "$scratch/spin.jsonl" || complain "no $words"
done
# 200 kernels of 50 us take at least 10 ms, and 200 round trips of 100 us add 20 ms.
awk -F'"samples":' '/"program":"launches"/ && /"kernel_s":5e-05/ {
	split($2, values, /[\[,\]]/)
	least = /"mode":"sync"/ && /"latency_s":5e-05/ ? 0.02 : 0.01
	if (values[2] + 0 < least) print "  shorter than possible: " $1 values[2]
}' "$scratch/spin.jsonl" >"$scratch.wrong"
[ ! -s "$scratch.wrong" ] || complain "$(cat "$scratch.wrong")"
verdict 'probe.forwards_to_a_real_process'

"$probe" -q --device spin --only V --budget 60 -o "$scratch/stopped.jsonl" 2>"$scratch.err" &
pid=$!
waited=0
until [ -s "$scratch/stopped.jsonl" ] || [ $((waited += 1)) -gt 600 ]; do
	sleep 0.1
done
kill -INT $pid
wait $pid
code=$?
[ $code = 130 ] || complain "interrupted, it ended with $code"
grep -q 'interrupted; continue with --continue' "$scratch.err" ||
	complain "interrupted, it printed $(cat "$scratch.err")"
[ "$(grep -cv '^{.*}$' "$scratch/stopped.jsonl")" = 0 ] || complain 'the recording has a cut line'
grep -q '"end"' "$scratch/stopped.jsonl" && complain 'the interrupted recording has an end'
verdict 'probe.interrupted_run_can_be_continued'
