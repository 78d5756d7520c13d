#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# With --quiet each verb prints nothing on stderr, and on stdout the same results without the notes
# and remedies that the help of --quiet names.
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# same DROPPED ARG...: stdout of both runs is equal after removing the lines that match DROPPED.
same() {
	dropped=$1
	shift
	farwire "$@"
	[ "$code" = 0 ] || complain "farwire $*: ended with $code: $(head -n 1 "$scratch.err")"
	grep -vE -e "$dropped" "$scratch.out" >"$scratch.loud"
	farwire "$@" --quiet
	[ "$code" = 0 ] || complain "farwire $* --quiet: ended with $code: $(head -n 1 "$scratch.err")"
	[ ! -s "$scratch.err" ] || complain "farwire $* --quiet: stderr: $(head -n 1 "$scratch.err")"
	cmp -s "$scratch.loud" "$scratch.out" ||
		complain "farwire $* --quiet: $(diff "$scratch.loud" "$scratch.out" | head -n 3)"
	echo "$1" >>"$scratch.verbs"
}

samples=$root/tests/samples
program='--topology t320-same-esxi --runtime asynchronous --program client'
notes='^would help: |^changes nothing here: '
none='^%$'
printf 'parameters = ( { path = "link.*.latency"; value = "1 us"; status = "assumed"; note = "x"; } );\n' >fitted.cfg
# shellcheck disable=SC2086 # words of a command
{
	same "$notes" run $program --draws 3 --set case.batch=16 --set runtime.call_timeout=50s
	same "$notes" run --topology dgx1-v100 --gpus 8 --draws 0 --set case.batch=32 -o -
	same "$none" run --topology dgx-h100 --gpus 8 --collective all_reduce --draws 0 --format csv
	same "$notes" compare ddl-host ddl-calico --draws 0
	same "$none" scale --topology dgx1-v100 --gpus 1,2 --draws 0 --plot scale.svg
	same "$none" sweep $program --vary 'link.*.latency=1 us,10 us' --plot sweep.svg
	same "$none" plan --topology dgx-h100 --gpus 8 --model llama3-8b --plan global_batch=16,tp=8,pp=1 --draws 0
	same "$none" users $program --users 2 --active '25 %' --draws 0
	same "$none" solve $program --target 'ratio>=0.5' --for link.vswitch.latency --draws 3
	same "$none" sensitivity $program --draws 3 --for link.vswitch.latency
	same "$none" explain $program
	same ': no errors in this ' check fitted.cfg
	same "$none" list
	same "$none" list gpus
	same "$none" validate flexdirect_1050ti --draws 0
	same "$none" diagnose "$samples/logs/simulated-half-nvlink.log" --topology dgx-h100 --exchange nccl-2.18 --draws 4
	same "$none" report $program --draws 0 -o page.html
	same "$none" import log "$samples/logs/simulated-half-nvlink.log"
	same "$none" fit "$root/tests/recorded/calibration/fake.jsonl"
	farwire run ddl-host --draws 0 --format json -o result.json
	same "$none" plot result.json --plot plot.svg
}
mkdir bin && cp "$FARWIRE" bin/farwire
FARWIRE=bin/farwire farwire calibrate --budget 1 --quiet -o calibration
[ ! -s "$scratch.out" ] || complain "calibrate --quiet: stdout: $(head -n 1 "$scratch.out")"
grep 'is not measured\|machine is busy' "$scratch.err" && complain 'calibrate --quiet: it prints the notes above'
echo calibrate >>"$scratch.verbs"
for verb in $("$FARWIRE" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	"$FARWIRE" help "$verb" | grep -q -- '--quiet' || continue
	grep -qx "$verb" "$scratch.verbs" || complain "not tried: $verb"
done
verdict unit.quiet.drops_only_progress_notes_and_remedies
