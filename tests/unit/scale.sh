#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The verb `scale`, and `sweep`, `compare`, `plot` and `report` with jobs and collectives.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
# Two machines with two V100 each on one 25 Gb/s switch, without noise.
cat >job.cfg <<'END'
case = { name = "job"; topology = "gpu-pool"; exchange = "ddp"; batch = 32; gpus = 4; epochs = 2; };
END
cat >wider.cfg <<'END'
case = { name = "wider"; topology = "gpu-pool"; exchange = "ddp"; batch = 64; gpus = 4; };
END
job() { # VERB OPTIONS...
	verb=$1
	shift
	expect 0 '' "$verb" job.cfg -q --draws 0 --set exchange.noise=0 "$@"
}
# Runs farwire for a plot and ignores messages of a sanitizer about the drawing library.
plotted() { # FILE VERB OPTIONS...
	file=$1 verb=$2
	shift 2
	farwire "$verb" job.cfg -q --draws 0 --plot "$file" "$@"
	[ "$code" = 0 ] && [ -s "$file" ] || complain "farwire $verb $*: no plot: $(cat "$scratch.err")"
}
# Prints the column $1 of the CSV, one value per line; texts with commas come last.
column() {
	tr -d '\r' <"$scratch.out" | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	{ print $at }'
}

# The default is 1, 2, 4 GPUs. The speed-up agrees with `run`; efficiency is speed-up divided by GPUs.
job scale --format csv
[ "$(column gpus | tr '\n' ' ')" = '1 2 4 ' ] || complain "GPUs: $(column gpus)"
cp "$scratch.out" scale.csv
column samples_per_s >scale.txt
for gpus in 1 2 4; do
	job run --format csv --gpus $gpus
	column throughput_samples_per_s
done >run.txt
cmp -s scale.txt run.txt || complain "scale and run differ: $(paste scale.txt run.txt)"
tr -d '\r' <scale.csv | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{ rate = $at["samples_per_s"]; gpus = $at["gpus"]; if (NR == 2) one = rate
  near(rate / one, $at["speedup"]); near(rate / one / gpus, $at["efficiency"])
  start = $at["training_s"] - 2 * 1281167 / rate
  if (start < 1 || start > 60) wrong = 1 # the phases around the steps
  near(32 * gpus / rate, $at["step_s"])
  if (NR > 2 && rate <= last) wrong = 1 # more GPUs do more
  if (gpus == 1 && $at["exposed_s"] + $at["straggler_s"] != 0) wrong = 1
  if (gpus == 4 && !($at["exposed_s"] > 0)) wrong = 1
  last = rate }
function near(a, b) { if (a - b > 1e-6 * a || b - a > 1e-6 * a) { wrong = 1; print "  " a " is not " b } }
END { exit wrong }' || complain "numbers that do not agree: $(cat scale.csv)"
verdict 'scale.agrees_with_run'

# Parameters of a job may be set, whether or not the case itself is a job.
expect 0 '' scale --topology gpu-pool --exchange ddp --gpus 1,4 -q --draws 0 --format csv \
	--set exchange.noise=0
expect 0 '' scale --topology gpu-pool --set case.gpus=1 -q --draws 0 --format csv
[ "$(column gpus)" = 1 ] || complain "a job of one GPU runs on: $(column gpus)"
expect 2 "did you mean 'exchange.noise'" scale --topology gpu-pool -q --set exchange.noize=0
verdict 'scale.accepts_settings_of_jobs'

job scale --gpus 3,1 --format csv
[ "$(column gpus | tr '\n' ' ')" = '3 1 ' ] || complain "--gpus 3,1: $(column gpus)"
job scale --gpus 1:4:log3 --format csv
[ "$(column gpus | tr '\n' ' ')" = '1 2 4 ' ] || complain "--gpus 1:4:log3: $(column gpus)"
expect 0 '' scale --topology gpu-pool --exchange ddp -q --draws 0 --format csv
[ "$(column gpus | tr '\n' ' ')" = '1 2 4 ' ] || complain "without --gpus it used: $(column gpus)"
expect 2 'numbers of GPUs must be whole and at least 1' scale job.cfg -q --gpus 0,1
expect 2 'numbers of GPUs must be whole and at least 1' scale job.cfg -q --gpus one,two
expect 2 'case.gpus = "?2.5' scale job.cfg -q --gpus 1,2.5
expect 2 "case.gpus=1:2' is not a variation" scale job.cfg -q --gpus 1:2
expect 2 '.' scale job.cfg -q --gpus 1,100 # the topology has four
verdict 'scale.lists_and_ranges_give_the_numbers_of_gpus'

for jobs in 1 3; do
	farwire scale job.cfg -q --draws 3 --jobs $jobs --format json -o jobs$jobs.json --plot jobs$jobs.svg
	[ "$code" = 0 ] || complain "--jobs $jobs: $(cat "$scratch.err")"
done
cmp -s jobs1.json jobs3.json || complain '--jobs 3 changes the numbers'
cmp -s jobs1.svg jobs3.svg || complain '--jobs 3 changes the chart'
for word in '"name": "scaling"' '"efficiency"' '"exposed_s"'; do
	grep -qF "$word" jobs1.json || complain "no $word in the JSON"
done
plotted two.pdf scale
grep -qa '/Count 2' two.pdf || complain 'the PDF lacks the page of the parts of the steps'
verdict 'scale.threads_do_not_change_numbers_and_charts'

# Four GPUs are more than twice as fast as one, and the error of the common kernels cancels. So all draws are faster.
expect 0 '' scale job.cfg -q --gpus 1,4 --draws 4 --format csv
[ "$(column faster | tr '\n' ' ')" = ' 1 ' ] || complain "the chances to be faster are: $(column faster)"
expect 0 '' scale job.cfg -q --gpus 1,4 --draws 4
shows '^intervals: 90 %, from 4 draws of a row$'
job scale --gpus 1,4
! grep -q 'chance to be faster\|^intervals' "$scratch.out" || complain '--draws 0 gives a chance'
verdict 'scale.says_how_probably_more_gpus_are_faster'

job sweep --format csv --vary case.batch=16,64
head -n 1 "$scratch.out" | grep -q 'speedup.*efficiency.*exposed_s' || complain "columns: $(head -n 1 "$scratch.out")"
head -n 1 "$scratch.out" | grep -q ',ratio' && complain 'a job has no ratio to a local GPU'
# Larger batches have longer kernels and the same gradients, so a smaller part is exposed.
column efficiency | awk 'NR == 1 { first = $1 } END { exit !($1 > first) }' ||
	complain "larger batches scale no better: $(cat "$scratch.out")"
plotted gpus.svg sweep --vary case.gpus=1,2,4 --vary case.batch=16,64
verdict 'sweep.jobs_have_speedup_and_efficiency'

# A collective: more bytes take longer, and bus bandwidth is 2 (n - 1)/n times bytes / time.
plotted bandwidth.svg sweep --format csv --collective all_reduce --vary 'case.collective_size=1 KiB,64 KiB,16 MiB'
tr -d '\r' <"$scratch.out" | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; if (at["samples_per_s"]) wrong = 1; next }
{ size = $at["case.collective_size"]; time = $at["time_s"]; rate = $at["bus_bandwidth_Bps"]
  expected = size * 1.5 / time
  if (rate - expected > 1e-6 * rate || expected - rate > 1e-6 * rate || time <= last) wrong = 1
  last = time }
END { exit wrong || NR != 4 }' || complain "sizes: $(cat "$scratch.out")"
expect 0 '' run job.cfg -q --draws 0 --collective all_reduce
shows 'bus bandwidth'
plotted scale.svg scale --collective all_reduce --gpus 2,4
shows 'bus bandwidth'
verdict 'sweep.collectives_have_bus_bandwidth'

# Four machines: servers on GPUs share the work of the adapters, like servers on CPUs.
expect 0 '' sweep --topology c4140-m-ethernet --model vgg16 --batch 64 --exchange tf-parameter-server \
	--set case.gpus=16 --set library.server_on_cpu=false --vary library.servers=1,4 \
	-q --draws 0 --format csv
tr -d '\r' <"$scratch.out" | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{ step[NR] = $at["step_s"] }
END { exit !(NR == 3 && step[3] > 0 && step[3] < 0.7 * step[2]) }' || complain "servers: $(cat "$scratch.out")"
verdict 'sweep.more_parameter_servers_shorten_the_step'

# The collectives of a single rank take time, too: the parts of its step add up to the step.
expect 0 '' run --topology lan-pair --runtime asynchronous --program client --gpus 1 --model gpt2 --batch 2 \
	-q --draws 0 --format jsonl
sed 's/.*"step": {"value": \([^,]*\),.*"breakdown": {\([^}]*\)}.*/\1, \2/; s/"[^"]*": //g' "$scratch.out" |
	awk -F', ' '{ for (i = 2; i <= NF; i++) sum += $i; exit !(NF > 5 && sum - $1 < 1e-11 && $1 - sum < 1e-11) }' ||
	complain "parts: $(cat "$scratch.out")"
verdict run.parts_of_a_single_rank_add_up
# A served network without generated tokens has no token throughput, and no ends of an interval.
expect 0 '' run --topology dgx2 --model bert-base --serve rate=100,requests=50 --draws 3 -q --format jsonl
shows '"tokens_per_s": {"value": null, "low": null, "high": null'
verdict run.missing_numbers_have_no_interval
expect 0 '' compare quarter-gpu job.cfg serve-resnet50-t4 -q --draws 0 --format csv # samples and requests
tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/text/g' | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{ first[NR] = $at["to_first"] }
END { exit !(first[2] == 1 && first[3] > 0 && first[4] == "") }' || complain "no ratio: $(cat "$scratch.out")"
expect 0 '' compare job.cfg wider.cfg -q --draws 0 --format csv
head -n 1 "$scratch.out" | grep -q 'gpus,.*to_first.*efficiency' || complain "columns: $(cat "$scratch.out")"
expect 0 '' compare job.cfg quarter-gpu -q --draws 0 --format csv # a job and a client
tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/text/g' | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{ local[NR] = $at["to_local"]; efficiency[NR] = $at["efficiency"]; gpus[NR] = $at["gpus"] }
END { exit !(local[2] == "" && efficiency[2] > 0 && gpus[2] == 4 &&
	local[3] > 0 && efficiency[3] == "" && gpus[3] == "") }' || complain "mixed: $(cat "$scratch.out")"
farwire run job.cfg -q --draws 0 --format json -o a.json
farwire run wider.cfg -q --draws 0 --format json -o b.json
farwire plot a.json b.json --plot both.svg
[ "$code" = 0 ] && [ -s both.svg ] || complain "plot: $(cat "$scratch.err")"
verdict 'compare.jobs_and_clients_have_their_columns'

farwire run ddl-roce-100 -q --draws 0
grep -q '^setup: .*; transport rdma$' "$scratch.out" || complain 'run does not name the transport'
# The GPUs of one machine need no transport. Those of two machines do.
for gpus in 8 16; do
	expect 0 '' run --topology dgx1-v100 --gpus $gpus --draws 0 --transport tcp
	grep -oE '^changes nothing here: .*|transport tcp$' "$scratch.out"
done >transports.txt
printf '%s\n' 'changes nothing here: --transport tcp' 'transport tcp' | cmp -s - transports.txt ||
	complain "transports: $(cat transports.txt)"
farwire explain --topology vm-p100-roce --program client --runtime asynchronous case.transport
grep -q '^case\.transport: auto is tcp here' "$scratch.out" || complain "explain does not name the transport behind auto: $(cat "$scratch.out")"
verdict 'run.chosen_transport_is_named'

expect 0 '' run --topology dgx-h100 --gpus 2 -q --draws 0
shows '^kernel times come from shapes, with constants fitted to other networks or GPUs'
expect 0 '' run --topology dgx-h100 --gpus 2 --exchange nccl-2.18 --collective all_reduce -q --draws 0
! grep -q 'images/s' "$scratch.out" || complain 'a collective has images/s'
verdict 'run.the_source_of_kernel_times_is_printed'

farwire report job.cfg -q --draws 2 -o job.html
[ "$code" = 0 ] || complain "report: $(cat "$scratch.err")"
for text in 'How does this training scale?' 'the speed-up is ' 'the scaling efficiency is ' \
	'the training time is ' 'Scaling to more GPUs'; do
	sed 's/\xc2\xa0/ /g' job.html | grep -qF "$text" || complain "no '$text' in the report"
done
[ "$(grep -c '^<svg ' job.html)" = 4 ] || complain 'figures are missing'
farwire report job.cfg -q --draws 0 --collective all_reduce -o collective.html
[ "$code" = 0 ] || complain "report: $(cat "$scratch.err")"
grep -qF 'the bus bandwidth is ' collective.html || complain 'no bandwidth in the report'
verdict 'report.page_of_a_job_has_its_parts'

for size in '1000 B=1 kB' '1024 B=1 KiB' '1536 KiB=1536 KiB' '2048 KiB=2 MiB'; do
	farwire run --topology dgx1-v100 --gpus 2 --collective all_reduce --exchange nccl-2.8 -q --draws 0 \
		--set case.collective_size="${size%=*}"
	shows "^all_reduce of ${size#*=} on dgx1-v100"
done
verdict 'scale.sizes_are_whole_numbers_of_the_largest_unit'

# 2,048 GPUs over TCP need some 10 million events.
large='run --topology dgx1-v100-ethernet --model resnet50 --exchange nccl-2.18 --gpus 2048 --draws 0 -q'
# shellcheck disable=SC2086 # several options
expect 0 '' $large --events 5000000
shows 'FAIL: the job needs about [0-9]+ million events by a run on 64 GPUs, more than case.events \(write'
shows '^0 events'
verdict 'scale.jobs_that_need_too_many_events_are_refused_before_they_run'

# Words become bars with their names, and curves if there is another axis.
expect 0 '' sweep --topology gpu-pool --exchange ddp --gpus 2 --vary case.transport=tcp,rdma -q --plot words.svg
grep -q '>tcp<\|>transport = tcp<' words.svg || complain 'the bars of a sweep have no words'
expect 0 '' sweep --topology gpu-pool --exchange ddp --gpus 2 --vary case.transport=tcp,rdma --vary case.batch=8,16,32 \
	-q --plot curves.svg
grep -q '>batch size<' curves.svg && grep -q '>transport = rdma<' curves.svg ||
	complain 'the curves of words have no axis of numbers'
verdict 'sweep.charts_show_words_as_bars_or_curves'

expect 0 '' scale --topology dgx-h100 --model gpt3-125m --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --gpus 4,8 \
	--plan tp=2 --draws 0 -q --plot plan.svg
shows '^Scaling of gpt3-125m on dgx-h100$'
grep -q '>scaling efficiency<\|>ideal<' plan.svg && complain 'the chart of a plan has an empty panel'
verdict 'scale.charts_of_plans_have_no_empty_panel'
