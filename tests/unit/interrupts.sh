#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# An interrupt (Ctrl-C) ends long work at once, with a line that says how to go on.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# interrupts PATTERN ARGS...: the command ends by SIGINT after a second, with one such line
interrupts() {
	pattern=$1
	shift
	code=0
	timeout -s INT -k 20 1 "$FARWIRE" "$@" >"$scratch.out" 2>"$scratch.err" </dev/null || code=$?
	[ "$code" = 124 ] || complain "farwire $*: ended with $code before the interrupt"
	[ "$(grep -c '^farwire: interrupted' "$scratch.err")" = 1 ] && grep -q "$pattern" "$scratch.err" ||
		complain "farwire $*: no '$pattern' in: $(tail -n 3 "$scratch.err")"
	[ ! -s "$scratch.out" ] || complain "farwire $*: wrote results"
}
plan="--topology dgx-h100 --model llama3-70b --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --gpus 64"
# shellcheck disable=SC2086 # several options
interrupts '^farwire: interrupted; nothing was written$' run $plan --plan tp=8,pp=8,global_batch=512,micro_batch=1
# shellcheck disable=SC2086 # several options
interrupts '^farwire: interrupted; the same command goes on from plans.csv.journal$' \
	plan $plan --plan global_batch=512 --format csv -o plans.csv
verdict interrupts.a_line_says_how_to_go_on
