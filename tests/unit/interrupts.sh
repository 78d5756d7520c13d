#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# An interrupt (Ctrl-C, or SIGTERM of a batch system) ends long work at once, with a line that says
# how to go on.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# interrupts SIGNAL PATTERN ARGS...: the signal ends the command after a second, with one such line
interrupts() {
	number=$1 pattern=$2
	shift 2
	code=0
	timeout -s "$number" -k 20 1 "$FARWIRE" "$@" >"$scratch.out" 2>"$scratch.err" </dev/null || code=$?
	[ "$code" = 124 ] || complain "farwire $*: ended with $code before the interrupt"
	[ "$(grep -c '^farwire: interrupted' "$scratch.err")" = 1 ] && grep -q "$pattern" "$scratch.err" ||
		complain "farwire $*: no '$pattern' in: $(tail -n 3 "$scratch.err")"
	[ ! -s "$scratch.out" ] || complain "farwire $*: wrote results"
}
plan="--topology dgx-h100 --model llama3-70b --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --gpus 64"
whole="$plan --plan tp=8,pp=8,global_batch=512,micro_batch=1"
# shellcheck disable=SC2086 # several options
for number in INT TERM; do
	interrupts $number '^farwire: interrupted; nothing was written$' run $whole
	# The signal comes before the first plan is simulated, so the search has written no journal.
	interrupts $number '^farwire: interrupted; nothing was written$' \
		plan $plan --plan global_batch=512 --format csv -o plans.csv
	[ ! -e plans.csv.journal ] || complain 'plans.csv.journal is there'
	rm -f points.csv.journal
	interrupts $number '^farwire: interrupted; the same command goes on from points.csv.journal$' \
		sweep mixed-pool --vary case.batch=16,32,64,128 --draws 64 --format csv -o points.csv
	[ ! -e points.csv ] || complain 'points.csv is there'
done
verdict interrupts.a_line_says_how_to_go_on

# A shell ignores SIGINT for work in its background. The work then goes on without a message.
# shellcheck disable=SC2086 # several options
(
	trap '' INT
	exec "$FARWIRE" run $whole >"$scratch.out" 2>"$scratch.err" </dev/null
) &
sleep 1
kill -INT $!
sleep 1
kill -TERM $! || complain 'an ignored SIGINT ended the command'
code=0
wait $! || code=$?
[ "$code" = 143 ] || complain "SIGTERM ended the command with $code"
[ "$(grep -c interrupted "$scratch.err")" = 1 ] || complain 'not one message, that of SIGTERM'
verdict interrupts.an_ignored_interrupt_changes_nothing
