#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The file of a runtime states how its runtime uses TCP. Settings override it. Its origin is shown.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
runtimes=$PWD/models/runtimes
cd "$scratch" || exit 2
{
	echo 'tcp = { nagle = true; writes_per_message = 2; first_write = "32 B"; };'
	cat "$runtimes/synchronous.cfg"
} >two-writes.cfg
case="--topology vm-p100-vmxnet3 --program client --server server --model alexnet --stack pytorch --batch 8"

# shellcheck disable=SC2086 # several options
expect 0 '' explain $case --runtime ./two-writes.cfg tcp
for line in 'nagle *true *given *./two-writes.cfg:1' 'writes_per_message *2 *given *./two-writes.cfg:1' \
	'first_write *32 B *given *./two-writes.cfg:1'; do
	grep -q "^tcp.$line" "$scratch.out" || complain "no line '$line' in explain"
done
# shellcheck disable=SC2086 # several options
expect 0 '' explain $case --runtime ./two-writes.cfg --set tcp.nagle=false tcp.nagle
grep -q '^tcp.nagle *false *given *--set' "$scratch.out" || complain 'a setting does not override the file'
sed '1s/nagle/nagel/' two-writes.cfg >wrong.cfg
# shellcheck disable=SC2086 # several options
expect 2 "wrong.cfg:1: .*nagel" explain $case --runtime ./wrong.cfg tcp
verdict runtime_transport.runtime_file_sets_defaults_of_its_transport

# Each call of a synchronous runtime is answered, so each header waits for its acknowledgement, and
# stalls take delayed_ack for each call. If three answers make the server interactive, each third
# does. Answers of 8 B are one write.
stalls_s() { # stalls_s ARGS...: the duration of a step beyond the 37 ms without stalls
	# shellcheck disable=SC2086 # several options
	"$FARWIRE" run $case --runtime ./two-writes.cfg --set 'runtime.reply_header=8 B' --draws 0 "$@" 2>&1 |
		sed -n 's/^step time *\([0-9.]*\) s$/\1/p' | awk '{ print $1 - 0.037 }'
}
all=$(stalls_s)
half=$(stalls_s --set 'tcp.delayed_ack=20 ms')
third=$(stalls_s --set tcp.interactive_answers=3)
awk -v all="${all:-0}" -v half="${half:-0}" -v third="${third:-0}" 'BEGIN {
	exit !(all > 40 && half / all > 0.495 && half / all < 0.505 && third / all > 0.33 && third / all < 0.337)
}' || complain "stalls of '$all' s, with half of the delay '$half' s, of each third call '$third' s"
verdict runtime_transport.calls_of_two_writes_stall
exit 0
