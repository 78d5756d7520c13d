#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The verbs `report` and `plot`: their pages, images and errors.
[ -x "$FARWIRE" ] || exit 77
case $FARWIRE in
/*) ;;
*) FARWIRE=$PWD/$FARWIRE ;;
esac
root=$PWD
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2

cat >'a&b.cfg' <<'END'
case = { name = "<i>16</i> & more"; topology = "t320-same-esxi"; stack = "tf-1.12"; runtime = "flexdirect-1.11";
	profile = "flexdirect-1050ti"; program = "client"; server = "server"; batch = 16; };
END
# A row for fitting, a row for validation and a failed row, with an asynchronous runtime.
printf 'place\tbatch\trate\trole\nbaseline\t16\t48.83\tfit\nremote\t16\t31.94\ttest\nfar\t16\tFAIL:timeout\ttest\n' >rows.tsv
cat >small.cfg <<'END'
dataset = { name = "small"; title = "Small & <quick>"; source = "a test"; table = "rows.tsv";
	value = "rate"; role_column = "role"; label = ["place", "batch"];
	settings = ["case.profile=flexdirect-1050ti", "case.server=server"];
	columns = ( { column = "batch"; setting = "case.batch"; },
		{ column = "place"; values = (
			{ is = "baseline"; settings = ["case.topology=t320-same-esxi", "case.stack=tf-1.12"]; },
			{ is = "remote"; settings = ["case.topology=t320-same-esxi", "case.stack=tf-1.12", "case.program=client",
				"case.runtime=flexdirect-1.11"]; },
			{ is = "far"; settings = ["case.topology=t320-different-lan", "case.stack=tf-1.12", "case.program=client",
				"case.runtime=flexdirect-1.11"]; } ); } );
	beside = ( { title = "asynchronous"; settings = ["case.runtime=asynchronous"]; } ); };
END

check() { # NAME COMMAND...: the command must succeed
	name=$1
	shift
	if "$@" >out 2>&1; then
		echo "ok report.$name"
	else
		sed 's/^/  /' out | head -n 20
		echo "FAIL report.$name"
	fi
}
refused() { # CODE TEXT COMMAND...: checks the exit code and the text on stderr
	wanted=$1 text=$2
	shift 2
	"$@" >/dev/null 2>err
	code=$?
	[ $code = "$wanted" ] && grep -qF -- "$text" err && return
	echo "exit code $code, message:" && cat err
	return 1
}
holds() { # FILE TEXT...: checks that the file contains all texts
	file=$1
	shift
	for text; do
		grep -qF -- "$text" "$file" || { echo "$file: no '$text'" && return 1; }
	done
}
whole_page() {
	"$FARWIRE" report 'a&b.cfg' --draws 2 --title 'Is <it> "slow"?' -o case.html &&
		holds case.html '<h1>Is &lt;it&gt; &quot;slow&quot;?</h1>' '</html>' \
			'&lt;i&gt;16&lt;/i&gt; &amp; more' 'a&amp;b.cfg:1' 'calib/profiles/flexdirect-1050ti.cfg:' \
			': the throughput is ' ', the ratio to local is ' 'runtime.handoff' &&
		[ "$(grep -c '^<svg ' case.html)" = 2 ] &&
		grep -q '<title>kernels: [0-9.]* ms</title>' case.html && # values below the mouse
		! grep -E '<script|<i>|href="[^#]|src=|url\(|@import' case.html
}
same_bytes() {
	"$FARWIRE" report 'a&b.cfg' --draws 2 --jobs 1 --title 'Is <it> "slow"?' -o again.html &&
		cmp case.html again.html && "$FARWIRE" report 'a&b.cfg' --draws 0 -o 1.html &&
		"$FARWIRE" report 'a&b.cfg' --draws 0 --jobs 3 -o 2.html && cmp 1.html 2.html
}
# The timeline of a pool has the server's threads of the first client, and not those of others.
pool() {
	"$FARWIRE" report pool-8-on-4 --draws 0 -q -o pool.html &&
		holds pool.html 'client0&gt;server1 0' &&
		! grep -E 'client[1-7]&gt;server' pool.html
}
# The comparison names the faster case and the factor: the same case on a longer wire is slower, in
# either order.
winner() {
	sed 's/name = "[^"]*"/name = "near"/' 'a&b.cfg' >near.cfg
	sed 's/name = "[^"]*"/name = "far"/; s/batch = 16;/batch = 16; settings = ["link.vswitch.latency=1 ms"];/' 'a&b.cfg' >far.cfg
	times=$("$FARWIRE" compare far.cfg near.cfg --draws 0 -q --format csv | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "to_first") at = i }
		NR == 3 { printf "%.3g times the throughput of far.", $at }')
	"$FARWIRE" report far.cfg near.cfg --draws 0 -q -o two.html &&
		holds two.html 'near is the fastest of 2 cases, with ' "$times" '<h1>Which of these' &&
		[ "$(grep '<h2' two.html | head -n 1 | grep -c 'Comparison of the cases')" = 1 ]
}
# One figure, and a row for each point; the range's ends agree with the table.
swept() {
	set -- 'a&b.cfg' --vary 'link.vswitch.latency=20 us,2 us,1 ms' --vary case.runtime=asynchronous,flexdirect-1.11 -q --draws 4
	"$FARWIRE" report "$@" -o sweep.html && "$FARWIRE" sweep "$@" --format csv >sweep.csv &&
		holds sweep.html 'Over one-way latency of vswitch (20 us, 2 us, 1 ms) and remoting runtime (asynchronous, flexdirect-1.11)' \
			'one-way latency of vswitch = 1 ms, remoting runtime = flexdirect-1.11' '; compared with the first point, one-way latency of vswitch = 2 us, remoting runtime = asynchronous is faster with a probability of ' 'The numbers: 6 points' &&
		[ "$(grep -c '^<svg ' sweep.html)" = 1 ] &&
		[ "$(grep -c '^<tr><td class="n">' sweep.html)" = 6 ] &&
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "ratio") at = i }
			NR == 7 { printf "ranges from %.4g", $at }' sweep.csv >wanted && holds sweep.html "$(cat wanted)" &&
		"$FARWIRE" report 'a&b.cfg' --batch 8 --vary case.batch=8,16 -q -o up.html && ! grep -q 'case.batch=8' up.html &&
		refused 2 'is not a case' "$FARWIRE" report small.cfg --vary case.batch=1,2 -o bad.html &&
		refused 2 'link.none.latency' "$FARWIRE" report 'a&b.cfg' --vary 'link.none.latency=1 us,2 us' -o bad.html
}
dataset() {
	"$FARWIRE" report small.cfg --draws 0 -q -o small.html &&
		holds small.html 'Small &amp; &lt;quick&gt;' 'on 1 test row, and ' '1 of 1 measured failures' \
			'failed: connection timeout' 't320-different-lan'
}
# An unmeasured dataset: a table of all combinations without errors, with the file's number of draws.
what_if() {
	"$FARWIRE" report what.cfg -q -o what.html &&
		holds what.html 'What if the wire were longer?' 'There are no measurements of these combinations' 'near ' 'far ' \
			'>16<' 'from only 2 draws' &&
		! grep -E 'error \(%\)|[0-9] test rows' what.html
}
cat >what.cfg <<'END'
dataset = { name = "what"; title = "What if the wire were longer?"; draws = 2;
	settings = ["case.topology=t320-same-esxi", "case.stack=tf-1.12", "case.runtime=asynchronous", "case.program=client"];
	dimensions = ( { name = "wire"; values = ( { is = "near"; }, { is = "far"; settings = ["link.vswitch.latency=1 ms"]; } ); },
		{ name = "batch"; setting = "case.batch"; values = ["16", "32"]; } ); };
END
# A probe's recording shows its fits.
recording() {
	"$FARWIRE" report "$root/calib/measured/recorded/loopback-spin.jsonl" -o loopback.html &&
		holds loopback.html 'Spinning CPU' '<svg ' &&
		"$FARWIRE" report "$root/tests/recorded/calibration/fake.jsonl" -o fake.html &&
		holds fake.html 'Parameters of the profile' 'Fitted lines and their gates' &&
		refused 2 'cannot be read' "$FARWIRE" report none.jsonl -o bad.html
}
beside_in_json() {
	"$FARWIRE" validate small.cfg --draws 0 -q --format json >small.json &&
		holds small.json '"beside": [' '"title": "asynchronous"' &&
		"$FARWIRE" validate small.cfg --draws 0 -q >small.txt &&
		holds small.txt 'for comparison, not judged: asynchronous'
}
draws_again() {
	"$FARWIRE" run 'a&b.cfg' --draws 2 --format json -o 16.json &&
		"$FARWIRE" run 'a&b.cfg' --draws 2 --set case.batch=32 --format json -o 32.json &&
		"$FARWIRE" plot 16.json --plot one.svg && "$FARWIRE" plot 16.json 32.json -o two.pdf &&
		"$FARWIRE" plot 16.json -o one.png && "$FARWIRE" run 'a&b.cfg' --draws 2 --format csv >run.csv &&
		"$FARWIRE" plot 16.json --format csv >plot.csv && cmp run.csv plot.csv &&
		grep -q '<svg' one.svg && [ "$(head -c 5 two.pdf)" = %PDF- ] && head -c 4 one.png | grep -q PNG
}
# FILE.csv beside a plot has the numbers of the plot, and the caption has the seed, the profile and
# the hash that `explain` prints.
plots_have_data() {
	"$FARWIRE" run 'a&b.cfg' --draws 2 --plot run.svg -q >/dev/null && "$FARWIRE" run 'a&b.cfg' --draws 2 --format csv >want.csv &&
		cmp want.csv run.csv || return 1
	hash=$("$FARWIRE" explain 'a&b.cfg' | sed -n 's/^configuration \([0-9a-f]*\) .*/\1/p')
	[ ${#hash} = 8 ] && holds run.svg 'seed 1' 'profiles flexdirect-1050ti' "configuration $hash" || return 1
	other=$("$FARWIRE" explain 'a&b.cfg' --set link.vswitch.latency='3 us' | sed -n 's/^configuration \([0-9a-f]*\) .*/\1/p')
	[ "$hash" != "$other" ] || { echo "another latency has the same hash $hash" && return 1; }
	for high in 4 5; do # and so has another interval of the same latency
		printf 'parameters = ( { path = "link.vswitch.latency"; fit = { value = "3 us"; low = "2 us"; high = "%s us"; origin = "measured"; note = "a test"; }; } );\n' \
			$high >other.cfg
		"$FARWIRE" explain 'a&b.cfg' --profile other.cfg | sed -n 's/^configuration \([0-9a-f]*\) .*/\1/p'
	done | sort | uniq -d | grep . && return 1
	for verb in 'compare a&b.cfg' 'sweep --vary case.batch=8,16' 'solve --target ratio>=0.5 --for case.batch --between 8:16'; do
		rm -f run.csv
		# shellcheck disable=SC2086 # words of a command
		"$FARWIRE" $verb 'a&b.cfg' --draws 0 --plot run.svg -q --format csv >want.csv && cmp want.csv run.csv || return 1
		rm run.csv
		# shellcheck disable=SC2086
		"$FARWIRE" $verb 'a&b.cfg' --draws 0 --plot run.svg --no-data -q >/dev/null && [ ! -e run.csv ] || return 1
	done
	"$FARWIRE" sweep 'a&b.cfg' --vary case.batch=8,16 --format csv -o run.csv --plot run.svg -q && [ -s run.csv ] || return 1
	# Points of a fit, and the spans of a timeline: the last one ends at the step time.
	"$FARWIRE" fit "$root/tests/recorded/calibration/fake.jsonl" -o fake.cfg --plot fit.svg -q 2>/dev/null
	[ "$(sed -n 's/\r$//; 1p' fit.csv)" = series,x_name,x,measured_s,measured_s_low,measured_s_high,predicted_s,held_out ] &&
		[ "$(wc -l <fit.csv)" -gt 20 ] || return 1
	set -- --topology dgx-h100 --model gpt3-6.7b --gpus 4 --plan pp=4,global_batch=8 --draws 0 -q
	"$FARWIRE" run "$@" --format json --timeline step.svg >step.txt && sed -n 's/\r$//; 1p' step.csv | grep -qx rank,name,start_s,end_s &&
		grep -q '^"rank 3, stage 3",B8,' step.csv && grep -q '<title>B8: ' step.svg &&
		sed -n 's/.*"step": {"value": \([0-9.]*\),.*/\1/p; /"step"/q' step.txt >wanted &&
		tr -d '\r' <step.csv | awk -F, -v step="$(cat wanted)" 'NR > 1 && $NF > last { last = $NF }
			END { exit !(last > 0.9 * step && last < 1.1 * step) }' || return 1
	"$FARWIRE" run "$@" --timeline other.svg --no-data >step.txt && [ ! -e other.csv ] && cp step.svg step.cfg &&
		refused 2 'name the same file' "$FARWIRE" run "$@" --timeline step.svg -o step.csv --plot x.svg
}
nothing_partial() {
	refused 2 'is neither a case nor a dataset' "$FARWIRE" report bad.cfg -o bad.html &&
		refused 2 'did you mean' "$FARWIRE" report flexdirect_1050t -q -o bad.html &&
		refused 2 "did you mean 'pool-8-on-4'" "$FARWIRE" report pool-8-on4 -q -o bad.html &&
		refused 2 'must end in .html' "$FARWIRE" report 'a&b.cfg' -o bad.txt &&
		refused 2 'print it from a browser; for one chart' "$FARWIRE" report 'a&b.cfg' -o bad.pdf &&
		refused 2 'needs CASE|DATASET' "$FARWIRE" report -o bad.html &&
		refused 1 'cannot write' "$FARWIRE" report 'a&b.cfg' -o none/bad.html &&
		refused 2 'needs an image file' "$FARWIRE" plot 16.json &&
		refused 2 'cannot be read' "$FARWIRE" plot none.json -o bad.svg &&
		refused 2 '.svg, .pdf or .png' "$FARWIRE" plot 16.json -o bad.gif && ! ls | grep '^bad\.[^c]'
}
serving() {
	"$FARWIRE" report serve-resnet50-t4 --draws 0 -q -o serving.html &&
		grep -q ': the throughput is [0-9.]* requests/s, the mean latency is .* the latency p99 is [0-9.]* ms\. Bottleneck: ' serving.html &&
		grep -q '<h1>How fast are requests served?</h1>' serving.html &&
		holds serving.html 'mean latency (ms)' && ! grep -q 'step time' serving.html
}
# Requests and samples have no quotient.
incomparable() {
	"$FARWIRE" report quarter-gpu serve-resnet50-t4 --draws 0 -q -o both.html &&
		holds both.html 'so that none is the fastest' && ! sed 's/<[^>]*>/ /g' both.html | grep -qiw nan
}
echo 'other = {};' >bad.cfg
# A data folder without the style sheet gives no page, because it would have no layout.
page_has_the_style_sheet() {
	mkdir -p data/models
	ln -s "$root/topologies" "$root/calib" data/ && ln -s "$root"/models/[!r]* "$root"/models/runtimes data/models/
	"$FARWIRE" report 'a&b.cfg' -q --draws 0 -o styled.html && grep -q '^details.part{' styled.html || return 1
	FARWIRE_DATA=$folder/data "$FARWIRE" report 'a&b.cfg' -q --draws 0 -o unstyled.html 2>error && return 1
	grep -q 'models/report.css: cannot be read: No such file or directory' error && ! [ -e unstyled.html ]
}
check page_has_the_style_sheet page_has_the_style_sheet

check page_of_a_case_is_complete whole_page
check same_input_gives_the_same_bytes same_bytes
check timeline_of_a_pool_shows_its_first_client pool
check page_of_several_cases_names_the_fastest winner
check page_of_requests_and_samples_names_no_fastest incomparable
check page_of_a_sweep_agrees_with_sweep swept
check page_of_a_dataset_shows_errors_and_verdicts dataset
check page_of_a_what_if_shows_no_errors what_if
check page_of_a_recording_shows_its_fits recording
check page_of_a_model_server_says_rate_and_latency serving
check validate_shows_rows_that_are_not_judged beside_in_json
check saved_results_are_plotted_again draws_again
check plots_have_their_numbers_beside_them plots_have_data
check refused_requests_leave_no_files nothing_partial
