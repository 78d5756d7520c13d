#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a terminal, tables fit its width and --wide prints them in one piece. Elsewhere they are whole.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

if ! script -qec true /dev/null >/dev/null 2>&1; then
	echo '  skipped: this machine gives no pseudo-terminal (mount devpts at /dev/pts)'
	exit 77
fi

# Prints the longest line of a comparison, which has more columns than 80 characters can show.
longest() {
	awk '{ if (length($0) > most) most = length($0) } END { print most }'
}
compare="$FARWIRE compare ddl-host ddl-calico --draws 2 --quiet"

on_terminal() {
	COLUMNS=$1 script -qec "$2" /dev/null </dev/null | tr -d '\r' | longest
}

[ "$(on_terminal 80 "$compare")" -le 80 ] || complain 'a line is longer than the terminal'
[ "$(on_terminal 20 "$compare")" = "$(on_terminal 80 "$compare")" ] || complain 'a terminal of 20 columns counts as less than 80'
[ "$(on_terminal 80 "$compare --wide")" -gt 80 ] || complain '--wide does not print whole lines'
[ "$($compare | longest)" -gt 80 ] || complain 'the lines of a pipe are broken'
verdict terminal.tables_fit_the_width

# Every verb that prints a table fits 80 columns, its sentences included.
while read -r arguments; do
	[ "$(on_terminal 80 "$FARWIRE $arguments --quiet")" -le 80 ] || complain "farwire $arguments: a line is too long"
done <<'END'
run serve-remote-l40s --draws 2
scale ddl-calico --gpus 2,4 --draws 2
plan --topology dgx-h100 --gpus 4 --model gpt3-125m --stack pytorch-fsdp-bf16 --exchange nccl-2.18 --plan global_batch=16 --best 3
diagnose tests/samples/logs/simulated-half-nvlink.log --topology dgx-h100 --exchange nccl-2.18 --draws 0
solve serve-remote-l40s --target 'latency_p99<=20 s' --for serve.rate --between 0.5:8 --draws 0
validate bitfusion_networks --draws 0
sensitivity --topology t320-same-lan --runtime asynchronous --program client --draws 0
explain --topology vm-p100-vmxnet3 --runtime asynchronous --program client tcp
list cases
END
verdict terminal.tables_and_sentences_of_all_verbs_fit_80_columns
