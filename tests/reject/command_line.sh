#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Command lines that cannot be meant: exit code 2, a suggestion if a valid word is near, no
# results. The errors come before any prediction.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
printf 'case = { topology = "t320-same-esxi"; program = "client"; runtime = "asynchronous"; };\n' >case.cfg

# Without arguments the usage goes to stderr.
expect 2 '^Usage: farwire VERB'
expect 0 '' --help
shows '^  run  '
expect 0 '' --version
expect 2 "there is no verb 'rn'; did you mean 'run'\?" rn case.cfg
expect 2 "there is no verb 'frobnicate' \(see" frobnicate
for verb in run compare sweep explain check list validate calibrate fit report plot; do
	expect 0 '' $verb --help
	shows "^farwire $verb"
	shows '^Examples:'
	cp "$scratch.out" help.txt
	expect 0 '' help $verb
	cmp -s "$scratch.out" help.txt || complain "farwire help $verb: is not the help of the verb"
done
expect 2 "there is no verb 'rn'" help rn
verdict 'command_line.every_verb_has_help'

# Users of other programs find the name of a setting, of a list and of the option that is missing.
served='run --topology hgx-h100 --model llama3-8b --engine vllm --draws 0'
for words in ttft=first_slo tpot=between_slo qps=rate max_num_seqs=batch; do
	# shellcheck disable=SC2086 # several options
	expect 2 "unknown parameter 'serve.${words%=*}' \(write 'serve.${words#*=}'\)" \
		$served --serve "rate=1,prompt=64,output=8,${words%=*}=1"
done
for words in prices=prices stack=stacks; do
	# shellcheck disable=SC2086 # several options
	expect 2 "'zzzzzz' \(.farwire list ${words#*=}. shows" ${served% --engine*} "--${words%=*}" zzzzzz
done
expect 2 'needs KIND FILE... \(.farwire list importers. shows each KIND\)' import report.nsys-rep
: >nccl.log
expect 2 'a log needs its machine \(write --topology NAME' diagnose nccl.log
for words in serve.clients=serve.concurrency serve.quantization=serve.weights serve.tensor=case.tensor; do
	# shellcheck disable=SC2086 # several options
	expect 2 "unknown parameter '${words%=*}' \(write '${words#*=}'\)" $served --set "${words%=*}=2"
done
verdict 'command_line.errors_lead_from_words_of_other_programs_to_the_right_ones'

expect 2 'takes no option --drws \(did you mean --draws\?\)' run case.cfg --drws 3
expect 2 'takes no option --nosuch$' run case.cfg --nosuch
expect 2 'takes no option --vary' run case.cfg --vary case.batch=1,2
[ "$(wc -l <"$scratch.err")" = 1 ] || complain "the value of an unknown option has a message of its own: $(cat "$scratch.err")"
expect 2 "'-x' is not an option .*; write -- before a name" run case.cfg -x
cp case.cfg ./-case.cfg
expect 0 '' run --draws 0 -- -case.cfg
expect 2 'there is no case .--output=made' run --draws 0 -- --output=made
[ ! -e made ] || complain 'a word after -- was taken as an option'
expect 2 "there is no case '--'" run -- --
expect 2 '--draws needs a value' run case.cfg --draws
expect 2 '--serve needs a value .rate=' plan --serve --topology dgx-h100
expect 2 '--quiet takes no value' run case.cfg --quiet=yes
expect 2 "--format must be one of table\|csv\|json\|jsonl, not 'xml'" run case.cfg --format xml
expect 2 "--color must be one of auto\|always\|never, not 'maybe'" run case.cfg --color maybe
for value in -1 1.5 1e3 nan '' x 18446744073709551616; do
	expect 2 "--draws must be a whole number from 0 to [0-9]+, not '$value'" run case.cfg --draws "$value"
	expect 2 "--seed must be a whole number from 0 to [0-9]+, not '$value'" run case.cfg --seed "$value"
	expect 2 "--jobs must be a whole number from 0 to [0-9]+, not '$value'" run case.cfg --jobs "$value"
done
for name in plan serve fail degrade batch fraction model title output; do
	expect 2 "--$name must not be empty \(write --$name [^ ]+\)" run case.cfg --$name ''
done
for parts in tp tp=1,,dp=8 =8 ','; do
	expect 2 "^farwire: --plan: '.*' sets nothing \(write --plan tp=8,pp=4,\.\.\.\)" run case.cfg --plan "$parts"
done
expect 2 "--best must be a whole number from 1 to 1000, not '0'" plan case.cfg --best 0
expect 2 '--for must not be empty \(write --for KEY\)' sensitivity case.cfg --for=
for name in x x.gif x.svg.gz svg ''; do
	expect 2 "--plot $name: the name must end in \.svg, \.pdf or \.png" run case.cfg --plot "$name"
done
expect 2 '--plot: one size of a collective gives no curve' run --topology dgx-h100 --gpus 8 \
	--collective all_reduce --exchange nccl-2.18 --draws 0 --plot one.svg
expect 2 '--timeline: the first case has no plan' run case.cfg -q --draws 0 --timeline one.svg -o one.txt
[ ! -e one.txt ] || complain 'results were written in spite of an error'
# All errors of a command line are reported together.
expect 2 '--nosuch' run case.cfg --nosuch --format xml --draws x
[ "$(wc -l <"$scratch.err")" = 3 ] || complain "there are not 3 lines for 3 errors: $(cat "$scratch.err")"
verdict 'command_line.wrong_options_are_refused'

expect 2 'needs CASE\.\.\. or --topology NAME' run
expect 2 'needs CASE CASE' compare case.cfg
expect 2 'needs CASE or --topology' sweep --vary case.batch=1,2
expect 2 "takes one CASE, but 'case.cfg' is another one" sweep case.cfg case.cfg --vary case.batch=1,2
expect 2 "farwire calibrate. takes only options, not 'my-server'" calibrate my-server
expect 2 'needs FILE' check
expect 2 'needs RESULT' plot
expect 2 "list: 'topologie' is not a list \(did you mean 'topologies'\?" list topologie
expect 2 "list: 'x' is not a list \(there are parameters, topologies, machines" list x
expect 0 '' list schedules --plain
expect 2 "has no parameter 'case.bach' \(did you mean 'case.batch'\?" explain case.cfg case.model case.bach
verdict 'command_line.missing_and_additional_arguments_are_refused'

expect 2 "^--topology: there is no topology 't320-same-ln' \(did you mean 't320-same-lan'\?" \
	run --topology t320-same-ln
printf '%s\n' 'topology = { name = "own"; hosts = ( { name = "near"; } );' \
	'guests = ( { name = "guest"; host = "near"; } );' \
	'gpus = ( { name = "gpu0"; host = "near"; profile = "h100"; } );' \
	'links = ( { name = "slot0"; kind = "pcie"; ends = ["near", "gpu0"]; } ); };' >own.cfg
expect 2 "^own.cfg:3: there is no GPU profile 'h100' \(did you mean 'h100-nvl', 'h100-pcie' or 'h100-sxm5'\? The name" \
	run --topology own.cfg
expect 2 "^--model: there is no model 'resnet5' \(did you mean 'resnet50'\?" run case.cfg --model resnet5
expect 2 "^--stack: there is no stack 'tf-1.1' \(did you mean 'tf-1.12'\?" run case.cfg --stack tf-1.1
expect 2 "^--runtime: there is no runtime 'synchronos' \(did you mean 'synchronous'\?" \
	run case.cfg --runtime synchronos
expect 2 "^--profile: there is no profile 'flexdirect-1050t' \(did you mean 'flexdirect-1050ti'\?" \
	run case.cfg --profile flexdirect-1050t
expect 2 "^--transport: case: no transport is called 'udp' \(there are tcp, rdma, shm, auto; .farwire list transports. shows them\)" \
	run case.cfg --transport udp
expect 2 "^--model: case: case\.model has no effect on a collective \(leave it out\)" \
	run --topology dgx1-v100 --gpus 8 --collective all_reduce --model vgg16
expect 2 "^--vary: case: case\.batch has no effect on a collective" \
	sweep --topology dgx1-v100 --gpus 8 --collective all_reduce --vary case.batch=8,16
expect 2 "^--tokens: case: case\.tokens has an effect only on jobs" run --topology dgx1-v100 --model gpt2 --tokens 1e9
expect 2 "^farwire: --title has an effect only on images \(write --plot FILE\.svg, or leave it out\)" \
	run case.cfg --title speed
expect 2 "^farwire: --no-data has an effect only on images" compare case.cfg case.cfg --no-data
expect 2 "^farwire: --all-ranks has an effect only on images \(write --timeline FILE\.svg" \
	run case.cfg --all-ranks --plot parts.svg
expect 2 "^--gpu: there is no GPU 'gpu7' \(did you mean 'gpu0'\?" run case.cfg --gpu gpu7
expect 2 "^--program: there is no program's guest 'clint' \(did you mean 'client'\?" \
	run case.cfg --program clint
expect 2 "^--server: there is no server guest 'servr' \(did you mean 'server'\?" run case.cfg --server servr
expect 2 "^--set: guest 'client' is not on the host of GPU 'gpu0'" \
	run --topology t320-same-lan --set case.server=client
expect 2 "^--program: .*no runtime forwards the calls" run --topology t320-same-lan --program client
expect 2 "there is no dataset 'flexdirect_1050t' \(did you mean 'flexdirect_1050ti'\?" \
	validate flexdirect_1050t
expect 2 "there is no case 'pool-8-on4' \(did you mean 'pool-8-on-4'\?" run pool-8-on4
expect 2 "there is no case 'pool-8-on4' \(did you mean 'pool-8-on-4'\?" explain pool-8-on4 tcp
expect 2 "'t320-same-esxi' is a topology, not a case \(write --topology" compare case.cfg t320-same-esxi
expect 2 "there is no fit 'p10' \(did you mean 'p100'\?" fit p10
expect 2 "no parameter 'runtime.nosuch'" explain case.cfg runtime.nosuch
expect 2 "no parameter 'link.\*.nosuch'" explain case.cfg 'link.*.nosuch'
expect 2 "no parameter ''" explain case.cfg ''
expect 2 "^farwire: --for: no uncertain parameter of .* has 'nosuch' in its name" \
	sensitivity case.cfg -q --draws 0 --for vcpu_wake --for nosuch
verdict 'command_line.unknown_names_get_a_suggestion'

expect 2 "^--set: unknown parameter 'runtime.handof' \(did you mean 'runtime.handoff'\?\)" \
	run case.cfg --set 'runtime.handof=1 us'
expect 2 "^--set: unknown parameter 'link.vswitch.latncy' \(did you mean 'link.vswitch.latency'\?\)" \
	run case.cfg --set 'link.vswitch.latncy=1 us'
expect 2 "^--set: unknown parameter 'latncy'" run case.cfg --set 'latncy=1 us'
for text in case.batch =5 = ''; do
	expect 2 "^--set: '$text' sets nothing \(write key=value" run case.cfg --set "$text"
done
expect 2 '^--set: link.vswitch.bandwidth = "-1 Gbit/s" is out of range \(write a bandwidth' \
	run case.cfg --set 'link.vswitch.bandwidth=-1 Gbit/s'
expect 2 '^--set: link.vswitch.bandwidth = "1 us" is a time, not a bandwidth' \
	run case.cfg --set 'link.vswitch.bandwidth=1 us'
expect 2 '^--set: guest.client.kind = "vn" is not one of' run case.cfg --set guest.client.kind=vn
verdict 'command_line.wrong_settings_are_refused'

while IFS= read -r text; do
	expect 2 "^--vary: '.*' is not a variation \(write KEY=a,b,c or" sweep case.cfg --vary "$text"
done <<'END'
x
=1,2
case.batch=
case.batch=1:2
case.batch=1:2:3
case.batch=1:2:log
case.batch=1:2:log1
case.batch=0:2:log3
case.batch=1:2:lin3x
case.batch=1:2:lin-3
case.batch=1:2:lin1000001
link.vswitch.latency=1 us:2:lin3
link.vswitch.latency=1 us:2 Gbit/s:lin3
END
expect 2 'needs 1 to 6 options --vary KEY=VALUES' sweep case.cfg
expect 2 '^--vary: case.batch = "" is not a plain number' sweep case.cfg --vary case.batch=8,,16
expect 2 "^--vary: unknown parameter 'case.bach' \(did you mean 'case.batch'" sweep case.cfg --vary case.bach=8,16
expect 2 '^--vary: the grid has more than 1000000 points' \
	sweep case.cfg --vary case.batch=1:1e6:lin1001 --vary 'link.vswitch.latency=1 us:1 s:lin1000'
expect 2 '^--vary: link.vswitch.latency = "2 Gbit/s" is a bandwidth, not a time' \
	sweep case.cfg --vary 'link.vswitch.latency=1 us,2 Gbit/s'
verdict 'command_line.malformed_variations_are_refused'

# Numbers at the limits of counts, ratios and times.
for value in 0 -1 0.5 1.5 2147483648 4294967296 9223372036854775808 1e308 nan inf -inf 0x10 16k 1e; do
	expect 2 "^--batch: case.batch = \"$value\" .*write " run case.cfg --batch "$value"
	expect 2 "^--copies: case.copies = \"$value\" .*write " run case.cfg --copies "$value"
done
for value in 0 -0.1 1.1 1e308 nan inf; do
	expect 2 "^--fraction: case.fraction = \"$value\" .*write " run case.cfg --fraction "$value"
done
for value in '-1 us' '11 s' '1e308 s' 'nan s' 'inf s' 5 '1e400 s' '1 us us' 'us'; do
	expect 2 "^--set: link.vswitch.latency = \"$value\" " run case.cfg --set "link.vswitch.latency=$value"
done
expect 0 '' run case.cfg -q --draws 0 --batch 1 --set 'link.vswitch.latency=0 s'
expect 0 '' run case.cfg -q --draws 0 --batch 1 --seed 9223372036854775807
expect 0 '' run case.cfg -q --draws 0 --batch 1e1 --jobs 1024
verdict 'command_line.numbers_out_of_range_are_refused'

# The last one of equal options counts.
farwire run case.cfg -q --draws 0 --batch 4 --batch 16 --format json
cp "$scratch.out" twice.json
farwire run case.cfg -q --draws 0 --batch 16 --format json
cmp -s "$scratch.out" twice.json || complain 'the first one of two options counts'
verdict 'command_line.the_last_of_equal_options_counts'

# explain writes CSV with as many rows as its JSON has parameters.
farwire explain case.cfg --format csv
head -n 1 "$scratch.out" | grep -q '^key,value,low,high,prior,unit,status,origin,note,help' || complain 'no head line'
rows=$(grep -cE '^[a-z0-9_.*-]+,' "$scratch.out")
farwire explain case.cfg --format json
[ "$rows" = "$(($(grep -c '^    "key": ' "$scratch.out") + 1))" ] || complain "$rows rows of CSV"
farwire explain case.cfg 'link.*.latency' --format csv
[ "$(tail -n +2 "$scratch.out" | cut -d, -f1 | tr '\n' ' ')" = 'link.slot.latency link.vswitch.latency ' ] ||
	complain "a star shows $(cut -d, -f1 "$scratch.out")"
verdict 'command_line.explain_writes_csv'

# Each line of JSON Lines is one object.
expect 0 '' explain case.cfg case.model case.batch --format jsonl
[ "$(grep -c '^{"key": "case\.[a-z]*", .*}$' "$scratch.out")" = "$(wc -l <"$scratch.out")" ] ||
	complain "lines that are no objects: $(head -n 2 "$scratch.out")"
shows '"case.batch"'
verdict 'command_line.explain_writes_json_lines'

# Parameter servers carry no keys and values from one model server to another.
expect 2 "^--exchange: exchange 'tf-parameter-server' exchanges gradients over parameter servers" \
	run serve-disaggregated-100g -q --draws 0 --exchange tf-parameter-server
verdict 'command_line.parameter_servers_for_model_servers_are_refused'

# A name of any length is quoted only as far as a reader needs it.
expect 2 "no pipeline schedule is called 'x{80}' " run --topology dgx-h100 --gpus 8 --model gpt2 -q \
	--plan "schedule=$(head -c 100000 /dev/zero | tr '\0' x),tp=2"
[ "$(wc -c <"$scratch.err")" -lt 500 ] || complain "the error has $(wc -c <"$scratch.err") bytes"
verdict 'command_line.unknown_names_are_cut_in_errors'

# Exit codes. A case that fails is a result, which the verdict states, so every verb ends with 0.
# Without an answer it ends with 2. tests/reject/output.sh tests 1, and broken bounds give 3.
large='--batch 100000 -q --draws 0'
# shellcheck disable=SC2086 # words of a command
{
	for words in "run case.cfg" 'compare case.cfg case.cfg' 'sweep case.cfg --vary case.batch=100000,200000'; do
		expect 0 '' $words $large
		shows 'out of GPU memory'
	done
	expect 0 '' scale c4140-tcp-10 --gpus 1,2 $large
	expect 0 '' solve case.cfg --target ratio\>=0.5 --for link.vswitch.latency $large
	shows 'fails everywhere'
	farwire report case.cfg $large -o failed.html
	[ $code = 0 ] && grep -q 'out of GPU memory' failed.html || complain "report: ended with $code"
	expect 2 'out of GPU memory' sensitivity case.cfg $large
	for verb in run compare scale sweep plan solve sensitivity explain check validate diagnose fit import report plot; do
		expect 2 . $verb nosuch.cfg -q
	done
	expect 2 'calibrate' calibrate nosuch
	expect 2 'is not a list' list nosuch
}
verdict 'command_line.exit_codes_tell_whether_there_is_an_answer'
