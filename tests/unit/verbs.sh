#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs of one command agree with each other and with arithmetic on them: tables, plots, and
# messages of progress.
cd "$(dirname "$0")/../.." || exit 2
samples=$PWD/tests/samples/logs
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

hints() { # FILE.svg: the numbers that appear below the mouse
	sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p' "$1"
}

# A key means parameters whose name contains it, or that have this status. Ends of an interval are on
# both sides of the value, and JSON, CSV and table have the same.
own='--topology t320-same-esxi --runtime flexdirect-1.11 --profile flexdirect-1050ti --program client'
# shellcheck disable=SC2086 # words of a command
{
	expect 0 '' explain $own fitted --format json
	[ "$(grep -c '"status": "fitted"' "$scratch.out")" = "$(grep -c '"key"' "$scratch.out")" ] ||
		complain 'a parameter is listed that is not fitted'
	sed -n 's/^    "\(key\|value\|low\|high\)": "\{0,1\}\([^",]*\)"\{0,1\},$/\2/p' "$scratch.out" | paste -d, - - - - >json
	awk -F, '!($3 < $2 && $2 < $4) { exit 1 } END { if (NR < 4) exit 1 }' json || complain "intervals: $(cat json)"
	expect 0 '' explain $own fitted --format csv
	sed 1d "$scratch.out" | cut -d, -f 1-4 | cmp -s - json || complain "CSV and JSON differ: $(cat json)"
	expect 0 '' explain $own runtime.handoff --format csv
	[ "$(wc -l <"$scratch.out")" = 2 ] || complain 'a name means more than one parameter'
	expect 0 '' explain $own runtime.handoff
	shows '64.2 us +52.86 us \.\. 77.98 us +fitted'
	shows '^runtime.handoff: time to pass' # its help, because it is the only one
	expect 0 '' explain $own fitted
	grep -q '^stack.calls_per_library_op: ' "$scratch.out" && complain 'a list has the help of its first row'
}
verdict 'verbs.explain_lists_what_a_key_means'

# Numbers, flags and words have their own forms, which are the same in CSV and in lines of JSON.
while IFS='|' read -r key setting csv json; do
	for format in csv jsonl; do
		expect 0 '' explain --topology dgx1-v100 --gpus 16 --model alexnet --stack pytorch -q "$key" --set "$setting" --format $format
		tr -d '\r' <"$scratch.out" | tail -n 1 >"row.$format"
	done
	grep -qF "$csv" row.csv && grep -qF "$json" row.jsonl || complain "$key: $(cat row.csv row.jsonl)"
done <<'END'
case.batch|case.batch=48|case.batch,48,48,48,,,given,'--set,,batch size|{"key": "case.batch", "value": 48, "low": 48, "high": 48, "prior": null, "unit": "", "status": "given", "origin": "--set", "note": "", "help": "batch size
library.pxn|library.pxn=false|library.pxn,false,,,,,given,'--set,,|{"key": "library.pxn", "value": false, "low": null, "high": null, "prior": null, "unit": "", "status": "given"
case.symmetry|case.batch=48|case.symmetry,auto,,,,,default,built in,,"whether|{"key": "case.symmetry", "value": "auto", "low": null, "high": null, "prior": null, "unit": "", "status": "default", "origin": "built in"
END
# Two equal DGX-1 are one class, 256 machines on a fat tree are nearly alike, and a single machine is like no other.
machines() { # TEXT OPTIONS...
	text=$1
	shift
	expect 0 '' explain --model alexnet --stack pytorch -q case.transport "$@"
	shows "$text"
}
machines '^2 machines of 1 class: one of each is simulated \(case.symmetry\)$' --topology dgx1-v100 --gpus 16 --set case.symmetry=on
shows '^case.transport: auto is rdma here$'
machines '^256 machines of [0-9]+ classes: one of each is simulated, as they are nearly alike \(case.symmetry\)$' \
	--topology dgx-h100-fat-tree --gpus 2048
machines '^all machines are simulated: too few of them are alike \(case.symmetry\)$' --topology dgx1-v100 --gpus 8 --set case.symmetry=on
verdict 'verbs.explain_writes_each_kind_of_value_and_the_classes_of_machines'

# The bars of a comparison are the column to_first, which divides by the first case.
expect 0 '' compare ddl-host ddl-calico -q --draws 0 --format csv --plot bars.svg
tr -d '\r' <"$scratch.out" | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ rate = $(at["samples_per_s"] + 1) } # the name contains a comma
	NR == 2 { first = rate }
	{ printf "%.6g\n", rate / first }' >wanted
hints bars.svg | sed 's/.*: //' | cmp -s - wanted || complain "bars: $(hints bars.svg)"
expect 0 '' compare quarter-gpu ddl-host --draws 0 -q --format json
shows '"name": "case", "unit": null'
shows '"name": "step_s", "unit": "s"'
verdict 'verbs.compare_draws_the_ratios_to_the_first_case'

expect 0 '' compare --topology dgx-h100,dgx-a100 --model llama3-70b --stack pytorch-fsdp-bf16 --plan tp=1,global_batch=8 \
	--gpus 8 -q --draws 0
shows 'failed: out of GPU memory'
shows ' sequences/s '
verdict 'verbs.failed_rows_of_a_transformer_have_its_unit'

# A caption leaves out settings that a later one replaces, but not those whose key only begins alike.
expect 0 '' run --topology dgx1-v100 --model resnet50 --gpus 2 --set library.ll=0.4 --set library.ll=0.5 \
	--set library.ll128=true --plot caption.svg --draws 0 -q
grep -q ', case.gpus=2, library.ll=0.5, library.ll128=true, profiles' caption.svg ||
	complain "the caption is $(grep -o 'farwire [0-9].*configuration' caption.svg)"
verdict verbs.caption_has_the_settings_that_count

# The log measures 4096 bytes in 15.65 us (the median of two passes), 0.2617 GB/s. The bus bandwidth of an
# all-reduce on 8 GPUs is 2 x 7/8 times that.
expect 0 '' diagnose "$samples/simulated-half-nvlink.log" --topology dgx-h100 --exchange nccl-2.18 --draws 4 -q --plot curves.svg
hints curves.svg | head -n 10 | awk -F ': ' '
	NR == 1 { wrong = !($1 == 4096 && $2 > 0.4576 && $2 < 0.4584) }
	NR == 10 && !($2 > 218.4 && $2 < 235.9) { wrong = 1 }
	END { exit wrong || NR != 10 }' || complain "measured: $(hints curves.svg | head -n 10)"
# The expected curve has its interval around its value: smaller times are larger bandwidths.
hints curves.svg | sed -n '11,20{s/.*: //;s/[()]//g;s/ to / /;p;}' | awk '!(NF == 3 && $2 < $1 && $1 < $3) { wrong = 1 } END { exit wrong || NR != 10 }' ||
	complain "expected: $(hints curves.svg | sed -n 11,20p)"
# Probabilities of at least 1 % are suspects, and they add up to nearly 1. Others are ruled out.
expect 0 '' diagnose "$samples/simulated-half-nvlink.log" --topology dgx-h100 --exchange nccl-2.18 --draws 4 -q --noise 40% --format csv
grep -v ',ruled out,' "$scratch.out" | sed -n '2,$s/^\("[^"]*"\|[^",]*\),\([0-9.]*\),.*/\2/p' | awk '
	$1 < 0.01 || (NR > 1 && $1 > last) { exit 1 } { sum += $1; last = $1 } END { if (NR < 3 || sum < 0.98 || sum > 1.001) exit 1 }' ||
	complain "probabilities: $(cut -c 1-80 "$scratch.out")"
expect 0 '' diagnose "$samples/simulated-half-nvlink.log" --topology dgx1-v100 --exchange nccl-2.18 --draws 4 -q
shows '^large sizes .*: faster than expected; 1\.[5-9][0-9] times the predicted speed, 4 of 4 outside'
shows '^middle sizes .*: as expected; 1\.[0-9]* times the predicted speed, 0 of 3 outside'
shows '^no suspect: the log is faster than predicted by [0-9]+ %, and no fault makes it faster'
# A fault can explain a log that is slower for other sizes.
awk '$1 ~ /^[0-9]+$/ && $1 <= 65536 { $6 *= 9; $10 *= 9 } { print }' "$samples/simulated-half-nvlink.log" >mixed.log
expect 0 '' diagnose mixed.log --topology dgx1-v100 --exchange nccl-2.18 --draws 4 -q
shows '^small sizes .*: slower than expected'
shows '^Simple forced '
verdict 'verbs.diagnose_draws_bandwidths_and_says_factors_above_1'

# Diamonds are the best plans, which have the largest throughput. Points with equal differences of
# memory and throughput have equal distances.
expect 0 '' plan --topology dgx-h100 --gpus 4 --model gpt3-125m --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	--plan global_batch=16 --best 2 --draws 0 -q --plot plans.svg
# The plot has a point for each simulated plan.
shows "possible, [0-9]* fit, the search needs $(hints plans.svg | grep -c GB)"
[ "$(grep -c '<path .*#d55e00' plans.svg)" = 3 ] || complain 'there are not two diamonds and one in the key'
hints plans.svg | sed 's/ GB: \([0-9.]*\) .*/ \1/' >plans
grep -A 1 '<path .*#d55e00' plans.svg | sed -n 's/.*<title>\([0-9.]* GB: [0-9.]*\) .*/\1/p' | sed 's/ GB://' | sort >best
sort -k 2,2nr plans | head -n 2 | sort | cmp -s - best || complain "the diamonds are $(cat best)"
sed -n 's/.*<rect x="\([0-9.]*\)" y="\([0-9.]*\)".*<title>\([0-9.]*\) GB: \([0-9.]*\) .*/\1 \2 \3 \4/p' plans.svg | awk '
	NR == 1 { x = $1; y = $2; memory = $3; rate = $4 }
	NR == 2 { across = ($1 - x) / ($3 - memory); up = ($2 - y) / ($4 - rate) }
	NR > 2 && (far($1 - x, across * ($3 - memory)) || far($2 - y, up * ($4 - rate))) { exit 1 }
	function far(a, b) { return a - b > 0.1 || b - a > 0.1 }
	END { if (NR < 6 || across <= 0 || up >= 0) exit 1 }' || complain 'the axes of plans are not linear'
[ "$(grep -c '^tp=' "$scratch.out")" = 2 ] || complain "--best 2: $(cat "$scratch.out")"
expect 0 '' plan --topology dgx-h100 --gpus 4 --model gpt3-125m --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	--plan global_batch=16 --best 1 --draws 0 -q
[ "$(grep -c '^tp=' "$scratch.out")" = 1 ] || complain "--best 1: $(cat "$scratch.out")"
verdict 'verbs.plan_marks_the_best_plans'

# A target of a plan counts sequences, and also in a case whose own batch is not divisible by its GPUs.
plans='--gpus 4 --model gpt3-125m --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --plan tp=1,pp=1 --draws 0 -q'
# shellcheck disable=SC2086 # words of a command
{
	expect 0 '' plan --topology dgx-h100 $plans --plan global_batch=16 --best 2 --target 'throughput>=1'
	shows '^fastest with throughput >= 1 sequences/s: tp=1,pp=1,dp=4,micro_batch=4,sharding=optimizer$'
	expect 0 '' plan --topology dgx-h100,dgx-a100 $plans --plan global_batch=16 --target 'throughput>=1'
	shows '^fastest with throughput >= 1 sequences/s: dgx-h100, tp=1,pp=1,dp=4,micro_batch=4,sharding=optimizer$'
	expect 2 '^--target: there is no result called .nosuch.' plan --topology dgx-h100 $plans --plan global_batch=16 --target 'nosuch>=1'
	expect 0 '' plan --topology dgx-h100 --gpus 4 --model gpt3-125m --stack pytorch-fsdp-bf16 --plan global_batch=18 --draws 0 -q --target 'step<=1 us'
	shows '^no row meets step time <= 1 us'
	expect 0 '' scale --topology dgx-h100 --gpus 1,2 --model gpt3-125m --batch 4 --draws 0 -q --target 'throughput>=1'
	shows '^fastest with throughput >= 1 sequences/s: gpus=2$'
}
# Rows that meet the target are first, and others follow with the fastest first.
expect 0 '' scale --topology dgx1-v100 --gpus 1,2,4 -q --draws 0 --model alexnet --stack pytorch --exchange ddp --target 'ratio>=0.9'
shows '^fastest with scaling efficiency >= 0.9: gpus=1$'
[ "$(awk '/^---/ { body = 1; next } body { printf "%s ", $1 }' "$scratch.out")" = '1 4 2 ' ] || complain "the ranked rows: $(cat "$scratch.out")"
verdict 'verbs.targets_of_plans_and_scaling_count_what_the_case_counts'

# --trace and --timeline are of the first case only.
for cases in quarter-gpu 'quarter-gpu ddl-host'; do
	# shellcheck disable=SC2086
	farwire run $cases -q --draws 0 --trace trace.json
	[ ! -e first.json ] || cmp -s trace.json first.json || complain 'the trace has another case'
	mv trace.json first.json
done
verdict 'verbs.a_trace_is_of_the_first_case'

# A PDF has all charts on pages of their own; other formats have the first.
pages() {
	tr -d '\000' <"$1" | sed -n 's/.*\/Count \([0-9]*\).*/\1/p' | head -n 1
}
printf 'name\tgpus\trate\trole\npool\t1\t360\ttest\npool\t2\t700\ttest\n' >jobs.tsv # a line over the GPUs, and errors
cat >jobs.cfg <<'END'
dataset = { name = "jobs"; title = "Jobs"; source = "a test"; table = "jobs.tsv"; value = "rate"; role_column = "role"; label = ["name", "gpus"];
	settings = ["case.topology=gpu-pool", "case.exchange=ddp"]; columns = ( { column = "gpus"; setting = "case.gpus"; } ); };
END
expect 0 'has only the first of 2 charts' validate jobs.cfg --draws 0 --plot chart.svg
farwire validate jobs.cfg --draws 0 -q --plot chart.pdf
[ "$(pages chart.pdf)" = 2 ] || complain "validate: $(pages chart.pdf) pages"
farwire scale --topology gpu-pool --exchange ddp --draws 0 -q --plot chart.pdf
[ "$(pages chart.pdf)" = 2 ] || complain "scale: $(pages chart.pdf) pages"
farwire run quarter-gpu --draws 0 -q --format json -o one.json
farwire plot one.json --plot chart.pdf
[ "$(pages chart.pdf)" = 1 ] || complain "plot of one result: $(pages chart.pdf) pages"
farwire plot one.json one.json --plot chart.pdf
[ "$(pages chart.pdf)" = 2 ] || complain "plot of two results: $(pages chart.pdf) pages"
for results in 'one.json' 'one.json one.json'; do
	# shellcheck disable=SC2086 # a list of files
	farwire plot $results --plot chart.svg --title 'Own title'
	grep -q '>Own title<' chart.svg || complain "plot of $results: another title"
done
verdict 'verbs.pdf_has_a_page_for_each_chart'

# A server whose network generates no tokens has latencies of requests only.
expect 0 '' run serve-resnet50-t4 --draws 0 -q
shows '^of a request +[0-9]'
grep -q 'token' "$scratch.out" && complain 'there are times of tokens'
verdict 'verbs.run_prints_latencies_of_servers_without_tokens'

# The chart of a model server: the shares of the JSON over their latencies.
expect 0 '' run serve-resnet50-t4 --draws 0 -q --format json --plot shares.svg
sed -n 's/.*"latency_cdf": {\(.*\)}.*/\1/p' "$scratch.out" | tr ',' '\n' | tr -d '" ' |
	awk -F: '{ printf "%.6g: %.6g\n", $2, $1 }' >wanted
hints shares.svg >got
[ -s wanted ] && cmp -s got wanted || complain "shares: $(head -n 3 got)"
verdict 'verbs.run_draws_the_latencies_of_requests'

# A plot needs the interval at each searched value; without one, only bounds have intervals.
for plot in '' '--plot bound.svg'; do
	# shellcheck disable=SC2086
	farwire solve $own -q --target 'ratio>=0.3' --for link.vswitch.latency --between 10us:300us --draws 2 $plot
	sed -n 's/.* \([0-9]*\) values, then .*runs and \([0-9]*\) intervals.*/\1 \2/p' "$scratch.out"
done >intervals
awk 'NR == 1 { without = $2 } NR == 2 { exit !($2 >= $1 && without < $1) }' intervals || complain "intervals: $(cat intervals)"
expect 2 "no uncertain parameter of .* has 'nosuch' .*with --vary-all 10%" sensitivity quarter-gpu --for nosuch -q --draws 0
expect 2 "no parameter of .* has 'nosuch' in its name .*names\)" sensitivity quarter-gpu --for nosuch --vary-all 10% -q --draws 0
verdict 'verbs.solve_and_sensitivity_say_what_they_did'

expect 2 'jobs must be a whole number from 0 to 1024' run quarter-gpu --jobs 1025
expect 2 'noise must be above 0 % and below 100 %' diagnose x.log --noise 100%
expect 2 'budget must be a number of seconds above 0' calibrate --budget 0
expect 2 'budget must be a number of seconds above 0' calibrate --budget 1000001
expect 0 '' plan --help
shows '\(default 8\)'
farwire run --topology dgx-h100 --model gpt3-125m --gpus 4 --plan pp=4,global_batch=8 --draws 0 -q --timeline step.svg --title 'Own title'
[ "$code" = 0 ] && grep -q 'Own title' step.svg && [ -s step.csv ] || complain "--title of a timeline: $(cat "$scratch.err")"
verdict 'verbs.options_have_limits_and_defaults'

# Help is asked for in three ways, also among other words. Without a verb it is an error.
for way in 'help' '--help' '-h'; do
	expect 0 '' "$way"
	cp "$scratch.out" "help$way"
	cmp -s help-h "help$way" || [ "$way" != -h ] || complain "$way prints another help"
done
cmp -s helphelp help--help || complain '--help prints another help'
farwire
[ "$code" = 2 ] && [ ! -s "$scratch.out" ] && cmp -s "$scratch.err" helphelp || complain "without a verb: $code, $(cat "$scratch.err")"
expect 0 '' help run
cp "$scratch.out" helprun
for way in '-h' '--help' 'quarter-gpu -h' '--topology x --help'; do
	# shellcheck disable=SC2086 # words of a command
	expect 0 '' run $way
	cmp -s "$scratch.out" helprun || complain "run $way prints another help"
done
expect 2 "^farwire: there is no verb 'swep'; did you mean 'sweep'\? \(see farwire --help\)$" swep
expect 2 "^farwire: there is no verb 'zzzzzzzz' \(see farwire --help\)$" zzzzzzzz
expect 2 "^farwire: '-z' is not an option \(see farwire run --help; write -- before a name that begins with -\)$" run -z
verdict 'verbs.help_is_asked_for_in_three_ways'

# check names the kind of each file. Three marks of a recording are two steps of 2 ms each.
{
	echo '{"format":"farwire-calls","version":1}'
	for ms in 1 3 5; do
		echo "{\"step\":$ms,\"t_s\":0.00$ms}"
		echo "{\"call\":\"cudaLaunchKernel\",\"start_s\":0.00$ms,\"end_s\":0.00${ms}1,\"kernel_s\":0.001}"
	done
	echo '{"end":true}'
} >marks.jsonl
grep -v '"step"' marks.jsonl >whole.jsonl
while read -r file what; do
	case $file in *.jsonl) ;; *) file=$FARWIRE_DATA/$file.cfg ;; esac
	expect 0 '' check "$file"
	shows ": no errors in this $what\$"
done <<'END'
marks.jsonl recording: 3 calls by 1 threads; 2 marked steps, the median one 2 ms
whole.jsonl recording: 3 calls by 1 threads; 0 marked steps, all of it 4.1 ms
topologies/what-ifs/ddl-networks what-if
calib/measured/bitfusion_networks dataset
topologies/cases/ddl-host case
topologies/lan-pair topology
topologies/gpus/v100-sxm2 GPU
topologies/machines/dgx2 machine
topologies/networks/torus-edr network
models/networks/vgg16 model
models/stacks/pytorch stack
models/exchanges/ddp exchange
models/runtimes/synchronous runtime
calib/profiles/flexdirect-1050ti file
calib/fits/p100 file
END
verdict 'verbs.check_names_the_kind_of_a_file'

# An import says what it used, unless it is quiet.
expect 0 'used' import nccl-tests "$samples/simulated-half-nvlink.log"
expect 0 '' import nccl-tests "$samples/simulated-half-nvlink.log" -q
verdict 'verbs.import_is_quiet_on_request'

# A sweep that has no journal yet does not continue.
farwire sweep quarter-gpu --vary case.batch=8,16 --draws 0 -o grid.csv
[ "$code" = 0 ] && [ ! -s "$scratch.err" ] && [ ! -e grid.csv.journal ] || complain "a new sweep: $(cat "$scratch.err")"
verdict 'verbs.a_new_sweep_does_not_continue'
