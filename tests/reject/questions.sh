#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Questions that `solve` and `sensitivity` cannot answer: exit code 2 and the reason.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END'
case = { topology = "t320-same-esxi"; program = "client"; runtime = "asynchronous"; };
END

for verb in solve sensitivity; do
	expect 0 '' $verb --help
	shows "^farwire $verb"
	expect 2 "\`farwire $verb\` needs CASE" $verb
	expect 2 'takes one CASE' $verb case.cfg case.cfg
done
expect 2 'needs --target' solve case.cfg --for link.vswitch.latency
expect 2 'needs --for KEY' solve case.cfg --target 'ratio>=0.9'
expect 2 'needs exactly one --for KEY' solve case.cfg --target 'ratio>=0.9' --for case.batch --for case.gpus
for target in ratio 'ratio>0.9' '>=0.9' 'ratio=0.9' 'ratio>='; do
	expect 2 '^--target: ' solve case.cfg --target "$target" --for case.batch
done
expect 2 "is not a target \(write a result, >= or <=, and a value" solve case.cfg --target 'ratio' --for case.batch
expect 2 "no result called 'speed' \(the results of a program on a GPU are ratio, samples_per_s" \
	solve case.cfg --target 'speed>=2' --for case.batch
expect 2 "this kind of case has no result 'speedup'" solve case.cfg --target 'speedup>=2' --for case.batch
expect 2 "step of 'step<=250' has no unit" solve case.cfg --target 'step<=250' --for case.batch
expect 2 "must be greater than 0" solve case.cfg --target 'ratio>=-1' --for case.batch
expect 2 'no training time \(write --set case\.epochs=N\)' solve ddl-host --draws 0 --target 'training time<=9 h' \
	--for case.batch --between 64:128
# Batches of 64 and more do not fit; the others have no tokens.
for between in 4:8 1:256; do
	expect 2 "^--target: .* has no number 'tokens_per_s' .choose another" solve case.cfg -q --draws 0 \
		--target 'tokens>=2' --for case.batch --between $between
done
verdict 'questions.invalid_targets_are_refused'

expect 2 "^--for: unknown parameter 'link.vswitch.latncy' \(did you mean 'link.vswitch.latency'" \
	solve case.cfg --target 'ratio>=0.9' --for link.vswitch.latncy
for key in case.batch=8; do
	expect 2 "^--for: '$key' is not the key of a parameter" solve case.cfg --target 'ratio>=0.9' --for "$key"
done
expect 2 'case\.model is not a number' solve case.cfg --target 'ratio>=0.9' --for case.model
expect 2 'unknown parameter' solve case.cfg --target 'ratio>=0.9' --for 'guest.*.nosuch'
expect 2 'is not a range \(write LO:HI, each value' solve case.cfg --target 'ratio>=0.9' --for case.batch --between 8
expect 2 'is not a range \(write LO:HI with LO less' solve case.cfg --target 'ratio>=0.9' --for case.batch --between 8:2
expect 2 'case\.batch: 0 is out of range \(1 to' solve case.cfg --target 'ratio>=0.9' --for case.batch --between 0:2
expect 2 'case\.batch: 2\.5 is not a whole number' solve case.cfg --target 'ratio>=0.9' --for case.batch --between 1:2.5
expect 2 'link\.vswitch\.latency: 2 has no unit' \
	solve case.cfg --target 'ratio>=0.9' --for link.vswitch.latency --between 1us:2
expect 2 'needs 16 GPUs from index 0 on' solve --topology t320-same-esxi --gpus 1 --draws 0 \
	--target 'efficiency>=0.9' --for case.gpus --between 16:17
verdict 'questions.invalid_parameters_and_ranges_are_refused'

expect 2 "no result called 'speed'" sensitivity case.cfg --of speed --vary-all 10%
expect 2 "no uncertain parameter of .* has 'nosuch' in its name" sensitivity case.cfg --for nosuch
expect 2 "no parameter of .* has 'nosuch' in its name" sensitivity case.cfg --for nosuch --vary-all 10%
for part in 0 -1% 100% x 10us; do
	expect 2 "^farwire: --vary-all must be above 0 % and below 100 %, not '$part'" sensitivity case.cfg --vary-all "$part"
done
expect 2 'takes no option --points' sensitivity case.cfg --points 8
expect 2 'has no ratio to local: out of GPU memory: resnet50 at batch 64' \
	sensitivity --topology t320-same-esxi --batch 64 --draws 0 -q --vary-all 10% --for link.vswitch
verdict 'questions.invalid_sensitivities_are_refused'
expect 2 '^--gpus: the case has 2 jobs, but .farwire scale. needs one' scale dgx1-two-jobs --gpus 1,2
expect 2 '^--gpus: numbers of GPUs must be whole and at least 1 \(write --gpus 1,2' scale --topology dgx1-v100 --gpus 0,1
expect 2 'there can be at most 6 options --vary, not 7' report case.cfg -q --draws 0 -o x.html --vary a=1,2 --vary b=1,2 \
	--vary c=1,2 --vary d=1,2 --vary e=1,2 --vary f=1,2 --vary g=1,2
printf 'dataset = { name = "x"; title = "t"; source = "s"; role = "test"; table = "x.tsv"; value = "v"; label = ["v"];
	settings = ["case.topology=t320-same-esxi", "case.batch=64"]; };\n' >x.cfg
printf 'v\nFAIL:memory\n' >x.tsv
farwire validate x.cfg --draws 0 -q --plot x.svg
{ [ "$code" = 2 ] && grep -q '^farwire: --plot: the datasets contain no measured numbers' "$scratch.err"; } ||
	complain "a plot of a failure: ended with $code, $(cat "$scratch.err")"
verdict 'questions.requests_without_an_answer_are_refused'

# vary WRONG WHY
vary() {
	expect 2 "^--vary: '$1' is not a variation \(write KEY=a,b,c or KEY=lo:hi:log20 .*\): $2" \
		sweep case.cfg -q --vary "$1"
}
vary 'case.batch=1:2' 'write the spacing and the number of values, such as log20, after the second colon$'
vary 'case.batch=1:2:exp5' "the spacing must be 'log' or 'lin'$"
vary 'case.batch=1:2:lin1' 'a range must have 2 to 1000000 values$'
vary 'case.batch=1:2 us:lin5' 'the two ends have units of different quantities$'
vary 'case.batch=2:1:lin5' 'the high end must be above the low end$'
vary 'case.batch=0:2:log5' 'a logarithmic range must begin above 0$'
vary 'case.batch=1e-308:1e308:log5' 'the two ends are too far apart$'
vary 'case.batch=1:2:lin5,9' 'a range must have 2'
verdict 'questions.malformed_variations_are_refused'
