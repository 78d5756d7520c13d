#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The numbers of reports and validations are those of `run`, and errors are recomputed here from the
# measured and predicted numbers.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# report CASE...: writes `page` with a line for each row of a table, its cells before bars, and
# `run.json` with the same prediction.
report() {
	farwire report "$@" --draws 0 -q -o page.html
	[ "$code" = 0 ] || complain "report $*: $(cat "$scratch.err")"
	sed '1,/<body>/d; s/<svg.*<\/svg>//; s/<\/td>/|/g; s/<[^>]*>//g' page.html | tr -d '\302\240' >page
	farwire run "$@" --draws 0 -q --format json -o run.json
}
# value KEY: the number behind a key of the prediction, before its clients
value() {
	sed '/"clients"/,$d' run.json | sed -n "s/^    \"$1\": {\{0,1\}\"\{0,1\}[value\": ]*\([-0-9.e+]*\).*/\1/p" | head -n 1
}
# row NAME KEY: the row shows the number of this key with four digits
row() {
	shown=$(sed -n "s/^$1|\([^|]*\)|.*/\1/p" page | head -n 1)
	echo "$(value "$2") $(echo "${shown:-none}" | sed 's/\([0-9]\)\([^0-9. e]\)/\1 \2/')" | awk '
		BEGIN { unit["us"] = 1e-6; unit["ms"] = 1e-3; unit["GB/s"] = 1e9; unit["TFLOP/s"] = 1e12; unit["min"] = 60; unit["h"] = 3600 }
		{ part = $2 * ($3 in unit ? unit[$3] : 1) / $1 - 1; exit !($2 + 0 > 0 && part < 0.00051 && part > -0.00051) }' ||
		complain "$1 is '$shown', but $2 is $(value "$2")"
}

report --topology dgx-h100 --gpus 8 --collective all_reduce --set 'case.collective_size=16 MiB' --exchange nccl-2.18
row time step
row 'bus bandwidth' throughput
# The answer has the same numbers as the table.
grep -qF ": the bus bandwidth is $(sed -n 's/^bus bandwidth|\([^|]*\)|.*/\1/p' page), the time is $(sed -n 's/^time|\([^|]*\)|.*/\1/p' page). The library chose " page ||
	complain "the answer on a collective: $(grep 'bandwidth is' page)"
report --topology gpu-pool --stack tf-1.12 --exchange ddp --gpus 4 --set exchange.noise=0
row throughput throughput
row speed-up speedup
row 'scaling efficiency' ratio
row 'step time' step
row 'GPU utilisation' gpu_utilization
report --topology gpu-pool --stack tf-1.12 --exchange ddp --gpus 4 --set exchange.noise=0 --set case.epochs=90
row 'training time' training
grep -qF ", the training time is $(sed -n 's/^training time|\([^|]*\)|.*/\1/p' page)." page || complain "the answer: $(grep 'training time is' page)"
# Two of eight GPUs exchange gradients over one of eight equal links, which is the highest utilisation of its row.
report --topology dgx1-v100 --model alexnet --stack pytorch --gpus 2 --exchange nccl-2.18
percent=$(sed -n 's/.*"link": "n0.nv0-1 [^"]*", "utilization": \([0-9.]*\),.*/\1/p' run.json | sort -g | awk '{ most = $1 } END { printf "%.2g", 100 * most }')
grep -qF "n*.gpu* (v100-sxm2)|n*.gpu* (v100-sxm2)|8|nvlink|25 GB/s, 250 ns|$percent%|" page && [ "${percent:-0}" != 0 ] ||
	complain "links of $percent %: $(grep 'nvlink' page)"
grep -qF 'n*.nic*|fabric.leaf*|4|infiniband|100 Gbit/s, 400 ns|' page || complain "links: $(grep 'fabric' page)"
# Backward computes again what forward computed, so HFU is larger than MFU.
report --topology dgx-h100 --model gpt3-125m --gpus 4 --plan pp=4,global_batch=8,recompute=full
row throughput throughput
row 'throughput of a GPU' tokens_per_s_gpu
row 'model FLOP\/s of a GPU' model_flops_gpu
row MFU mfu
row HFU hfu
row 'step time' step
# Stages: number of ranks, memory in GB (1e9), and parts that add up to the step.
sed -n 's/.*"memory": \([0-9.]*\),*$/\1/p' run.json | sed 1d | awk '{ printf "%.1f\n", 1e-9 * $1 }' >memory
grep '^stage [0-9]|\|^rank [0-9].*computes longest|' page >stages
cut -d '|' -f 3 stages | cmp -s - memory && [ -s memory ] || complain "stages: $(cat stages), memory: $(cat memory)"
awk -F '|' -v step="$(value step)" '{ sum = 0; for (i = 4; i < NF; i++) sum += $i; if (sum > 1e3 * step + 0.1 || sum < 1e3 * step - 0.1 || $2 != 1) exit 1 }' stages ||
	complain "the parts of stages do not add up to the step: $(cat stages)"
report serve-resnet50-t4
row throughput throughput
row 'mean latency' step
row 'latency p50' latency_p50
row 'latency p99' latency_p99
report serve-llama3-h100
row 'token throughput' tokens_per_s
row 'mean time to first token' first_token_mean
row 'time to first token p95' first_token_p95
row 'mean time per token' token
row 'time between tokens p99' between_tokens_p99
grep -q '^    "throughput": .*"unit": "requests/s"' run.json || complain "a server has $(grep '^    "throughput"' run.json)"
report quarter-gpu
row throughput throughput
row 'ratio to local' ratio
expect 0 '' run quarter-gpu --draws 0 -q
shows "^$(value calls) calls and $(value polls) polls per step"
verdict 'report_numbers.pages_have_the_numbers_of_run'

# Rows with errors of every size, failures that were measured or predicted, or both.
printf 'place\tn\trate\trole\nremote\t1\t31.94\ttest\nremote\t2\t40\ttest\nremote\t3\t25\ttest\nremote\t4\t33.5\ttest\nremote\t5\t32\tfit\nfar\t6\tFAIL:timeout\ttest\nremote\t7\tFAIL:timeout\ttest\nfar\t8\t20\ttest\nremote\t9\t31\treport\nremote\t10\t35\tfit\n' >rows.tsv
cat >rows.cfg <<'END'
dataset = { name = "rows"; title = "Rows"; source = "a test"; table = "rows.tsv";
	value = "rate"; role_column = "role"; label = ["place", "n"];
	settings = ["case.profile=flexdirect-1050ti", "case.server=server", "case.program=client", "case.runtime=flexdirect-1.11", "case.batch=16"];
	columns = ( { column = "place"; values = (
			{ is = "remote"; settings = ["case.topology=t320-same-esxi", "case.stack=tf-1.12"]; },
			{ is = "far"; settings = ["case.topology=t320-different-lan", "case.stack=tf-1.12"]; } ); } ); };
END
expect 0 '' validate rows.cfg --draws 4 -q --format csv
tr -d '\r' <"$scratch.out" | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["verdict"] == "ok" && $at["measured"] + 0 > 0 {
		value = $at["predicted"]; low = $at["predicted_low"]; high = $at["predicted_high"]; m = $at["measured"]
		if (!(low < value && value < high)) wrong = 1
		error = value / m - 1; if (error - $at["error"] > 1e-9 || $at["error"] - error > 1e-9) wrong = 1
		printf "%s %.9g %d\n", $at["role"], error < 0 ? -error : error, low <= m && m <= high }
	$at["verdict"] != "ok" && ($at["predicted"] != "" || $at["error"] != "") { wrong = 1 }
	END { exit wrong }' >errors || complain "CSV: $(cat "$scratch.out")"
summary() { # ROLE: count, median, mean, largest and coverage of its rows
	grep "^$1 " errors | sort -k 2,2g | awk '
		{ e[NR] = $2; sum += $2; covered += $3 }
		END { printf "%d %.6g %.6g %.6g %.6g\n", NR, (e[int((NR + 1) / 2)] + e[int(NR / 2) + 1]) / 2, sum / NR, e[NR], covered / NR }'
}
expect 0 '' validate rows.cfg --draws 4 -q --format json
for role in test fit; do
	grep "^      \"$role\": {\"count\"" "$scratch.out" | tr -d '{}",:' | awk '{ printf "%d %.6g %.6g %.6g %.6g\n", $3, $5, $7, $9, $13 }' >got
	summary $role >wanted
	cmp -s got wanted || complain "$role rows of JSON: $(cat got), not $(cat wanted)"
	grep "^    \"$role\": {\"count\"" "$scratch.out" | tr -d '{}",:' | awk '{ printf "%d %.6g %.6g %.6g %.6g\n", $3, $5, $7, $9, $13 }' >got
	cmp -s got wanted || complain "all $role rows of JSON: $(cat got), not $(cat wanted)"
done
expect 0 '' validate rows.cfg --draws 4 -q
for role in test fit; do
	summary $role | awk -v role=$role '{ printf "%s rows: %d, absolute error: median %.2f %%, largest %.2f %%, mean %.2f %%,\n", role, $1, 100 * $2, 100 * $4, 100 * $3 }' >wanted
	grep -qF -f wanted "$scratch.out" || complain "$(grep "^$role rows" "$scratch.out"), not $(cat wanted)"
done
shows '^verdicts: 1 of 3 agree' # one failed as measured, one only there, one only here
# A table with the line ends of Windows has the same rows.
cp "$scratch.out" before.txt
cp rows.tsv unix.tsv
sed 's/$/\r/' unix.tsv >rows.tsv
expect 0 '' validate rows.cfg --draws 4 -q
cmp -s "$scratch.out" before.txt || complain "line ends change the result: $(diff "$scratch.out" before.txt | head -n 4)"
verdict 'report_numbers.validate_summarises_the_errors_of_its_rows'

# Remote programs use 65.0 % of the GPU. At most 2 % more than the source saw are allowed.
for bound in '0.64 holds 0' '0.62 BROKEN 3'; do
	set -- $bound
	printf 'place\tn\trate\trole\tbusy\nremote\t1\t31.94\ttest\t%s\n' "$1" >rows.tsv
	sed 's/value = "rate";/& utilization = "busy"; utilization_slack = 0.02;/' rows.cfg >busy.cfg
	expect "$3" '' validate busy.cfg --draws 0 -q
	shows "^$2 *: mean GPU utilisation not above the highest one seen \(0\.650\)"
done
mv unix.tsv rows.tsv
verdict 'report_numbers.utilisation_may_exceed_the_highest_one_by_the_slack'

farwire report rows.cfg --draws 4 -q -o page.html
sed -n 's/<tr class="alarm">\(.*\)/\1/p' page.html | sed 's/<[^>]*>/|/g' | grep -o 'remote n=[0-9]*\|far n=[0-9]*' | sort >alarms
printf 'far n=8\nremote n=7\n' | cmp -s - alarms || complain "rows with an alarm: $(cat alarms)"
sed '1,/<body>/d; s/<svg.*<\/svg>//; s/<\/td>/|/g; s/<[^>]*>//g' page.html | sed 's/−/-/g' >page
for n in 1 2 3 4; do
	shown=$(sed -n "s/^remote n=$n|test|[0-9.]*|[0-9.]*|[^|]*|\([-+][0-9.]*\) %|.*/\1/p" page)
	sed -n "${n}p" errors | awk -v shown="$shown" '{ exit substr(shown, 2) != sprintf("%.1f", 100 * $2) }' ||
		complain "the error of row $n is $shown, not $(sed -n "${n}p" errors)"
done
grep -q '^remote n=3|test|25|[^|]*|[^|]*|+' page && grep -q '^remote n=2|test|40|[^|]*|[^|]*|-' page || complain 'errors have another sign'
grep -q '^far n=6|[a-z]*|.*|failed: ' page && grep -q '^far n=8|[a-z]*|20|.*|failed: ' page || complain "failures: $(grep FAIL page)"
# 4 test rows of the page: the median error is that of the JSON.
grep -q 'The median error is .* on 4 test rows, and .* on 2 fit rows\.' page || complain "the answer: $(grep 'test rows' page)"
grep -q '1 of 3 measured failures are predicted' page || complain 'the answer counts failures otherwise'
# The timeline is that of a fit row, although a test row comes first.
grep -q 'One steady step of remote n=5' page || complain "the timeline: $(grep -o 'One steady step of [^|]*' page)"
verdict 'report_numbers.page_of_a_dataset_marks_wrong_rows'

# The same rows with other settings have the judged prediction beside their own.
sed 's/^	columns/	beside = ( { title = "asynchronous"; settings = ["case.runtime=asynchronous"]; } );\n&/' rows.cfg >beside.cfg
expect 0 '' validate beside.cfg --draws 0 -q
judged=$(sed -n 's/^remote n=1  *test  *[0-9.]*  *\([0-9.]*\) .*/\1/p' "$scratch.out")
sed -n 's/^remote n=1  *\([0-9.]*\)  *none  *\([0-9.]*\)  .*/\1 \2/p' "$scratch.out" |
	awk -v judged="$judged" '!($1 > 1.3 * $2 && $2 == judged) { wrong = 1 } END { exit wrong || NR != 1 }' || complain "beside: $(grep 'remote n=1' "$scratch.out")"
verdict 'report_numbers.rows_with_other_settings_are_beside_the_judged_ones'

# Two of three claims hold: the numbers are 31.94 in both rows.
printf 'place\tn\trate\trole\nremote\t1\t31.94\ttest\nremote\t2\t40\ttest\n' >rows.tsv
sed 's/^	columns/	claims = ( { claim = "slow"; kind = "range"; high = 32; }, { claim = "fast"; kind = "range"; low = 33; }, { claim = "first"; kind = "range"; low = 31; rows = ["n=1"]; } );\n&/' rows.cfg >claims.cfg
farwire report claims.cfg --draws 0 -q -o page.html
[ "$code" = 3 ] || complain "the report with a broken claim ended with $code"
sed 's/<[^>]*>/|/g' page.html >page
grep -q '2 of 3 claims hold; broken: fast\.' page || complain "claims: $(grep -o '[0-9]* of [0-9]* claims[^|]*' page)"
grep -q 'BROKEN|*fast|*31.9, 31.9; first broken at remote n=1' page && grep -q 'holds|*first|*31.9|' page || complain "claims: $(grep BROKEN page)"
verdict 'report_numbers.page_counts_the_claims_that_hold'

# The settings of a case are in a table of their own.
cat >remote.cfg <<'END'
case = { topology = "t320-same-esxi"; stack = "tf-1.12"; runtime = "flexdirect-1.11"; profile = "flexdirect-1050ti"; program = "client"; server = "server"; };
END
farwire report remote.cfg --draws 0 -q -o page.html --set tcp.syn_retries=4
sed '1,/<body>/d; s/<svg.*<\/svg>//; s/<\/td>/|/g; s/<[^>]*>//g' page.html >page
sed -n '/^The settings of this case/,/^All [0-9]* parameters/s/^[^|]*|\([a-z_.0-9-]*\)|.*/\1/p' page >chosen
grep -qx tcp.syn_retries chosen && grep -qx case.runtime chosen && [ "$(grep -vc '^case\.\|^tcp.syn_retries$\|^stack.real_input$' chosen)" = 0 ] ||
	complain "settings: $(cat chosen)"
# Keys without a text are left out, but not whether input crosses the network. Files of the data folder have short names.
grep -qx stack.real_input chosen && ! grep -qx case.calls chosen || complain "settings: $(cat chosen)"
grep -qE '\|case\.runtime\|flexdirect-1\.11\|\|given\|remote\.cfg:1\|' page || complain "a setting: $(grep '|case.runtime|' page)"
grep -q '|link\.vswitch\.latency|.*|topologies/t320-same-esxi\.cfg:[0-9]*|' page || complain "a file: $(grep '|link.vswitch.latency|' page)"
grep -q '|default; prior: [a-z]*|built in|' page || complain 'no prior'
verdict 'report_numbers.page_of_a_case_lists_its_settings'

# The second topology fails. Its first point is the one that is named.
farwire report remote.cfg --vary case.topology=t320-same-esxi,t320-different-lan --vary case.batch=8,16,32 --draws 0 -q -o page.html
sed 's/<[^>]*>//g' page.html >page
grep -q '3 of 6 points fail (machines and their network = t320-different-lan, batch size = 8: connection timeout' page ||
	complain "failing points: $(grep -o '[0-9]* of 6 points fail[^:]*' page)"
farwire report remote.cfg --vary case.topology=t320-different-lan --draws 0 -q -o page.html
grep -q 'None of the 1 points works' page.html || complain "no point works: $(grep -o 'None of.*' page.html)"
verdict 'report_numbers.page_of_a_sweep_names_the_first_failing_point'

# The links of a topology are those of the row with the most GPUs, the timeline that of the first with a wire.
printf 'name\tgpus\trate\trole\npool\t1\t360\ttest\npool\t2\t700\ttest\npool\t4\t1300\ttest\npool\t3\t1000\ttest\n' >jobs.tsv
cat >jobs.cfg <<'END'
dataset = { name = "jobs"; title = "Jobs"; source = "a test"; table = "jobs.tsv"; value = "rate"; role_column = "role"; label = ["name", "gpus"];
	settings = ["case.topology=gpu-pool", "case.stack=tf-1.12", "case.exchange=ddp"]; columns = ( { column = "gpus"; setting = "case.gpus"; } ); };
END
farwire report jobs.cfg --draws 0 -q -o page.html
sed 's/<[^>]*>/|/g' page.html >page
[ "$(grep -o 'utilisation in pool gpus=.' page)" = 'utilisation in pool gpus=4' ] || complain "links: $(grep -o 'utilisation in [^|]*' page)"
[ "$(grep -o 'One steady step of pool gpus=.' page)" = 'One steady step of pool gpus=2' ] || complain "timeline: $(grep -o 'One steady step of [^|]*' page)"
grep -q 'pool gpus=2: measured 700, predicted ' page || complain "points: $(grep -o 'pool gpus=[^|]*measured[^|]*' page)"
verdict 'report_numbers.figures_of_a_dataset_show_its_largest_and_its_first_remote_row'

# Up to 48 rows have a bar of their step. If there are more, only rows with the most GPUs have one. Each label
# is also in the table.
{
	printf 'name\tn\tgpus\trate\trole\n'
	for n in $(seq 47); do printf 'pool\t%d\t1\t360\ttest\n' "$n"; done
	printf 'pool\t48\t2\t700\ttest\n'
} >jobs.tsv
sed 's/"gpus"\];/"n"];/' jobs.cfg >many.cfg
farwire report many.cfg --draws 0 -q -o page.html
printf 'pool\t49\t1\t360\ttest\n' >>jobs.tsv
farwire report many.cfg --draws 0 -q -o more.html
labels() {
	grep -o '>pool n=[0-9]*<' "$1" | sort | uniq -c | awk '{ sum[$1]++ } END { print sum[1] + 0, sum[2] + 0 }'
}
[ "$(labels page.html), $(labels more.html)" = '0 48, 48 1' ] || complain "bars of steps: $(labels page.html), $(labels more.html)"
verdict 'report_numbers.many_rows_have_steps_of_the_largest_jobs'

# The answer on combinations has the smallest and the largest prediction, without their intervals.
cat >grid.cfg <<'END'
dataset = { name = "grid"; title = "Grid"; settings = ["case.stack=tf-1.12", "case.runtime=flexdirect-1.11", "case.profile=flexdirect-1050ti",
		"case.server=server", "case.program=client", "case.topology=t320-same-esxi"];
	dimensions = ( { name = "wire"; values = ( { is = "near"; }, { is = "far"; settings = ["link.vswitch.latency=1 ms"]; },
		{ is = "cut"; settings = ["case.topology=t320-different-lan"]; } ); },
		{ name = "batch"; setting = "case.batch"; values = ["32", "16", "8"]; } ); };
END
farwire report grid.cfg --draws 2 -q -o page.html
sed 's/<\/td>/|/g; s/<[^>]*>//g' page.html >page
numbers() { # WIRE: the smallest and the largest throughput of its rows
	sed -n "s/^$1|[0-9]*|[^|]*|[^|]*|\([0-9.]*\) (.*/\1/p" page | sort -g | sed -n '1h; 3{H;g;s/\n/ to /p;}'
}
grep -qF "Predicted images/s: near $(numbers near); far $(numbers far); cut fails. " page && [ -n "$(numbers far)" ] ||
	complain "ranges: $(grep -o 'Predicted images/s: .*' page), not $(numbers near), $(numbers far)"
verdict 'report_numbers.answer_on_combinations_has_the_range_of_predictions'

# Charts over the number of GPUs show measured speed-ups, efficiencies and times (of 32 images per GPU) as
# throughput. A speed-up and an efficiency are those over the predicted throughput of one GPU.
for quantity in speedup ratio time; do
	sed "s/value = \"rate\"/&; quantity = \"$quantity\"/" jobs.cfg >other.cfg
	printf 'name\tgpus\trate\trole\npool\t1\t1\ttest\npool\t2\t0.8\ttest\npool\t4\t1.6\ttest\n' >jobs.tsv
	farwire report other.cfg --draws 0 -q -o page.html
	sed -n 's/.*<title>\([0-9]\) GPUs: measured \([0-9.]*\), predicted \([0-9.]*\).*/\1 \2 \3/p' page.html | awk -v quantity=$quantity '
		NR == 1 { alone = $3 }
		{ value = $1 == 1 ? 1 : 0.4 * $1; wanted = quantity == "time" ? 32 * $1 / value : value * alone * (quantity == "ratio" ? $1 : 1)
		  if ($2 > 1.0001 * wanted || $2 < 0.9999 * wanted) wrong = 1 }
		END { exit wrong || NR != 3 }' || complain "$quantity: $(grep -o '[0-9] GPUs: measured [^<]*' page.html)"
done
# The loop ends with times, whose other figures are in us.
grep -q 'pool gpus=2: measured 800000, predicted [0-9.]*, error' page.html || complain "times: $(grep -o 'pool gpus=2: measured[^<]*' page.html)"
expect 0 '' validate other.cfg --draws 0 -q --format json
grep '"key": "efficiency' "$scratch.out" | tr -d ',}' | awk '{ for (i = 1; i < NF; i++) at[$i] = $(i + 1); if (!(at["\"low\":"] < at["\"value\":"] && at["\"value\":"] < at["\"high\":"])) wrong = 1 }
	END { exit wrong || NR == 0 }' || complain "fitted: $(grep '"key"' "$scratch.out")"
verdict 'report_numbers.measured_speed_ups_and_times_are_drawn_as_throughput'
