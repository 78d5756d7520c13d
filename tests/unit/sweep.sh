#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire sweep`: points of lists and ranges, their order, the same bytes with any number of
# threads, words as values, and the value at which a verdict changes.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END'
case = { topology = "t320-same-esxi"; program = "client"; server = "server";
	runtime = "flexdirect-1.11"; batch = 8; };
END

# Prints the column $1 of the results' CSV, one value on each line. Only the last two columns
# can contain commas.
column() {
	tr -d '\r' <"$scratch.out" | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	{ print $at }'
}
# numbers_are COLUMN NUMBER...: checks the column, to 1e-9.
numbers_are() {
	name=$1
	shift
	column "$name" | awk -v wanted="$*" 'BEGIN { count = split(wanted, want, " ") }
	{ difference = $1 - want[NR]; size = want[NR] < 0 ? -want[NR] : want[NR] }
	difference > 1e-9 * size || difference < -1e-9 * size { wrong = 1 }
	END { exit wrong || NR != count }' || complain "$name is not $*: $(cat "$scratch.out")"
}

expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary 'link.vswitch.latency=5 us, 0.1 ms,0 s'
numbers_are link.vswitch.latency 5e-6 1e-4 0
expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary 'link.vswitch.latency=0 us:100 us:lin5'
numbers_are link.vswitch.latency 0 25e-6 50e-6 75e-6 100e-6
expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary 'link.vswitch.bandwidth=80 Mbit/s:8 Gbit/s:log3'
numbers_are link.vswitch.bandwidth 1e7 1e8 1e9
expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary case.batch=1:16:log5
numbers_are case.batch 1 2 4 8 16
verdict 'sweep.lists_and_ranges_give_their_points'

expect 0 '' sweep case.cfg -q --draws 0 --vary case.fraction=1 --vary 'link.vswitch.latency=5 us' --vary 'link.vswitch.loss=0,1e-3'
shows '^Sweep of resnet50 on t320-same-esxi, batch 8 over GPU fraction, one-way latency of vswitch and packet loss of vswitch$'
expect 0 '' sweep case.cfg -q --draws 0 --vary case.batch=8,16 # the name of the case has the batch size
shows '^Sweep over batch size$'
expect 0 '' report case.cfg -q --draws 0 --vary case.batch=8,16
shows '<h1>How does the prediction depend on batch size\?</h1>'
verdict 'sweep.titles_name_what_is_swept'

# The last axis changes fastest.
expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary case.batch=8,16 --vary 'link.vswitch.latency=10 us,20 us,30 us'
numbers_are case.batch 8 8 8 16 16 16
numbers_are link.vswitch.latency 1e-5 2e-5 3e-5 1e-5 2e-5 3e-5
column samples_per_s >sweep.txt
for batch in 8 16; do
	for latency in 10 20 30; do
		farwire run case.cfg -q --draws 0 --format csv --batch $batch --set "link.vswitch.latency=$latency us"
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "throughput_samples_per_s") at = i - NF }
		NR == 2 { print $(NF + at) }' "$scratch.out"
	done
done >run.txt
cmp -s sweep.txt run.txt || complain "sweep and run differ: $(paste sweep.txt run.txt)"
verdict 'sweep.points_agree_with_run'

for format in csv jsonl; do # the others have the same numbers
	for draws in 0 3; do
		for jobs in 1 5; do
			expect 0 '' sweep case.cfg -q --format $format --draws $draws --jobs $jobs \
				--profile flexdirect-1050ti --vary case.batch=8,16 --vary runtime.policy=flexdirect,batched
			cp "$scratch.out" jobs$jobs.txt
		done
		cmp -s jobs1.txt jobs5.txt || complain "$format, $draws draws: --jobs 5 differs"
	done
done
verdict 'sweep.threads_do_not_change_the_output'

expect 0 '' sweep case.cfg -q --draws 0 --format csv --vary case.runtime=synchronous,asynchronous
column case.runtime >words.txt
printf 'synchronous\nasynchronous\n' | cmp -s - words.txt || complain "the values are: $(cat words.txt)"
# The runtime that waits for each call is slower.
column samples_per_s | awk 'NR == 1 { first = $1 } END { exit !($1 > first) }' ||
	complain "an asynchronous runtime is no faster: $(cat "$scratch.out")"
expect 0 '' sweep case.cfg -q --draws 0 --vary runtime.pipelined=true,false --format json
shows '"runtime.pipelined": "true"'
shows '"runtime.pipelined": "false"'
expect 2 "^--vary: there is no runtime 'synchronos' \(did you mean 'synchronous'" \
	sweep case.cfg -q --draws 0 --vary case.runtime=asynchronous,synchronos -o none.csv
expect 2 '^--vary: case.batch = "0" is out of range' sweep case.cfg -q --draws 0 --vary case.batch=8,0 -o none.csv
[ ! -e none.csv ] || complain 'a sweep with an invalid point wrote a file'
verdict 'sweep.words_can_be_values'

# The map does not depend on the order of values and axes, except that the first of the two axes
# of numbers is the horizontal one.
map() {
	file=$1
	shift
	expect 0 '' sweep case.cfg -q --draws 0 "$@" --plot "$file"
}
map rising.svg --vary 'link.vswitch.latency=1 us,10 us,0.1 ms,1 ms' \
	--vary 'link.vswitch.bandwidth=0.1 Gbit/s,1 Gbit/s,10 Gbit/s,100 Gbit/s' --vary case.batch=8,16,512
map mixed.svg --vary case.batch=8,16,512 --vary 'link.vswitch.latency=1 ms,10 us,1 us,0.1 ms' \
	--vary 'link.vswitch.bandwidth=1 Gbit/s,0.1 Gbit/s,100 Gbit/s,10 Gbit/s'
map turned.svg --vary 'link.vswitch.bandwidth=0.1 Gbit/s,1 Gbit/s,10 Gbit/s,100 Gbit/s' \
	--vary 'link.vswitch.latency=1 us,10 us,0.1 ms,1 ms' --vary case.batch=8,16,512
cmp -s rising.svg mixed.svg || complain 'the order of values and axes changes the map'
! cmp -s rising.svg turned.svg || complain 'exchanging the axes of numbers does not change the map'
map curves.svg --vary 'link.vswitch.latency=1 us,10 us,0.1 ms,1 ms' --vary case.batch=8,16
map words.svg --vary 'link.vswitch.latency=1 us,10 us,0.1 ms,1 ms' --vary case.runtime=synchronous,asynchronous
expect 0 '' sweep ddl-host -q --draws 0 --vary case.gpus=1,2 --plot named.svg
grep -q 'farwire [0-9.]*, ddl-host, seed 1' named.svg || complain 'the plot does not name its case'
verdict 'sweep.map_does_not_depend_on_the_order_of_axes'

# Two axes of numbers make a map of whatever a case predicts, also where one axis makes a chart of its own. A map has one
# colour bar and no markers of curves. The line of a target is labelled.
axis4='case.copies=1,2,3,4'
for case in serve-resnet50-t4 'dgx1-scaling:case.gpus=1,2,4,8'; do
	first='serve.rate=100,200,300,400'
	[ "$case" = "${case#*:}" ] || { first=${case#*:} axis4='case.batch=8,16,32,64'; }
	expect 0 '' sweep "${case%%:*}" -q --draws 0 --vary "$first" --vary "$axis4" --plot any.svg
	[ "$(grep -c '#440[0-9a-f]*\|#fd[0-9a-f]*' any.svg)" -ge 2 ] && ! grep -q '<circle' any.svg || complain "$case: no map"
	axis4='case.copies=1,2,3,4'
done
expect 0 '' sweep serve-resnet50-t4 -q --draws 0 --vary serve.rate=100,200,300,400 --vary case.copies=1,2,3,4 \
	--target 'latency_p99<=8.6 ms' --plot limit.svg
grep -q '>latency p99 &lt;= 8.6 ms<' limit.svg || complain 'the map has no line at its target'
expect 0 '' sweep serve-resnet50-t4 -q --draws 0 --vary serve.rate=100,200,300,400 --vary case.copies=1,2,3,4 \
	--target 'latency_p99<=20 ms' --plot limit.svg
grep -q '>latency p99 &lt;= 20 ms: no such line, all values are lower<' limit.svg ||
	complain 'the map does not say that no value reaches the line'
expect 0 '' sweep serve-resnet50-t4 -q --draws 0 --vary serve.rate=100,200,300,400 --target 'latency_p50<=9 ms' --plot limit.svg
grep -q '>latency p50 &lt;= 9 ms<' limit.svg || complain 'the curve has no line at its target'
expect 2 'has no result .ratio.' sweep serve-resnet50-t4 -q --draws 0 --vary serve.rate=100,200 --target 'ratio>=1' --plot x.svg
expect 0 '' sweep serve-resnet50-t4 -q --draws 0 --vary serve.rate=100,200 --target 'latency_p50<=9 ms'
shows '^fastest with latency p50 <= 9 ms: serve.rate=200'
# Over one axis, a model server has a chart for each of its times.
expect 0 '' sweep serve-llama3-h100 -q --draws 0 --set serve.requests=200 --vary serve.rate=4,8 --plot load.svg
grep -q '>first token (ms)<' load.svg && grep -q '>between tokens (ms)<' load.svg &&
	grep -q '>latency of a request (s)<' load.svg || complain 'times of a model server are missing'
verdict 'sweep.two_axes_of_numbers_make_a_map_with_the_line_of_the_target'

# With too much loss on the wire between the LANs there is a reason instead of a number: ok up
# to some loss, never above it, and at 1 no connection.
expect 0 '' sweep --topology t320-different-lan --program client --server server \
	--runtime flexdirect-1.11 -q --draws 0 --format csv --vary link.router-port.loss=0,0.01,0.1,0.3,0.5,0.7,0.9,1
tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { next }
{ rate[NR] = $2 }
/,ok$/ { if (failed) wrong = 1; if (NR > 2 && $2 >= rate[NR - 1]) wrong = 1; ok++; next }
/(call|connection) timeout: / { if ($2 != "") wrong = 1; failed++; last = $0; next }
{ wrong = 1 }
END { exit wrong || ok < 2 || failed < 2 || last !~ /connection timeout/ }' ||
	complain "the verdict does not change: $(cut -d, -f1,2,14- "$scratch.out")"
verdict 'sweep.verdict_changes_at_one_value'

# Without --draws, 16 points have 8 draws each. If there are 17 points, only the first and the 15 fastest ones have any.
# Latency makes the case slower, so the second point, which has the highest latency, has none.
expect 0 '' sweep case.cfg -q --vary 'link.vswitch.latency=5 us,10 us'
shows '^intervals: 90 %, from 8 draws of a row$'
expect 0 '' sweep case.cfg -q --model alexnet --format csv --vary 'link.vswitch.latency=2 ms,15 us,14 us,13 us,12 us,11 us,10 us,9 us,8 us,7 us,6 us,5 us,4 us,3 us,2 us,1 us'
cp "$scratch.out" sixteen.csv
column faster | awk 'NR == 1 { next } !($1 > 0.5) { wrong = 1 } END { exit wrong || NR != 16 }' ||
	complain "the chances to be faster are not above 0.5: $(cat sixteen.csv)"
few() {
	expect 0 '' sweep case.cfg -q --model alexnet --vary 'link.vswitch.latency=1 ms,2 ms,15 us,14 us,13 us,12 us,11 us,10 us,9 us,8 us,7 us,6 us,5 us,4 us,3 us,2 us,1 us' "$@"
}
few --jobs 1
shows '^intervals: 90 %, from 8 draws of a row; only the first and the fastest of 17 rows have them'
few --jobs 1 --format csv --plot few.svg
cp "$scratch.out" few.csv
few --jobs 5 --format csv
cmp -s few.csv "$scratch.out" || complain 'the number of threads changes a sweep with few intervals'
column samples_per_s_low >low.txt
column samples_per_s >value.txt
column faster >faster.txt
paste low.txt value.txt faster.txt | awk -F '\t' '
{ drawn = $1 != "" }
drawn != (NR != 2) || (NR == 1 || NR == 2) != ($3 == "") || NR > 2 && !($3 > 0.5) { wrong = 1 }
END { exit wrong || NR != 17 }' || complain "other points have draws: $(cat few.csv)"
[ "$(column to_first_low | awk 'NR > 2 && $1 > 1 { n++ } END { print n + 0 }')" = 15 ] ||
	complain "quotients to the first point have no intervals: $(cat few.csv)"
few --format csv --draws 0
column samples_per_s | cmp -s - value.txt || complain 'draws change a value'
! head -n 1 "$scratch.out" | grep -q faster || complain '--draws 0 has chances'
verdict 'sweep.first_and_fastest_points_have_draws_by_default'

# A map has a side for each of two axes of numbers, in rising order, and curves have the first axis of numbers
# along x. The other axis, of words, gives the maps or curves. The hint of each place has the point's own number.
values() { # FORMAT: runtime (0 or 1), batch, latency in us and ratio of each point
	tr -d '\r' <"$scratch.out" | awk -F, -v format="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ printf "%d %g %g " format "\n", $at["case.runtime"] == "synchronous", $at["case.batch"], 1e6 * $at["link.wire.latency"], $at["ratio"] }'
}
remote='--topology lan-pair --program client --server server --model alexnet --stack pytorch -q --draws 0 --format csv'
# shellcheck disable=SC2086 # a list of words
expect 0 '' sweep $remote --vary link.wire.latency='5 us,500 us,50 us,100 us' --vary case.runtime=lupine,synchronous \
	--vary case.batch=8,4,2,1 --plot map.svg
values %.4g | sort -k 1,1g -k 2,2g -k 3,3g | awk '{ print $3 ", " $2 ": " $4 }' >wanted
grep -o '<title>[^<]*' map.svg | sed 's/<title>//' | cmp -s - wanted || complain "map: $(grep -o '<title>[^<]*' map.svg), not $(cat wanted)"
# shellcheck disable=SC2086
expect 0 '' sweep $remote --vary case.runtime=lupine,synchronous --vary case.batch=1,2,4 --vary link.wire.latency='5 us,50 us' --plot curves.svg
values %.6g | sort -k 1,1g -k 3,3g -k 2,2g | awk '{ print $2 ": " $4 }' >wanted
grep -o '<title>[^<]*' curves.svg | sed 's/<title>//' | cmp -s - wanted || complain "curves: $(grep -o '<title>[^<]*' curves.svg), not $(cat wanted)"
verdict 'sweep.charts_have_each_point_at_its_place'
