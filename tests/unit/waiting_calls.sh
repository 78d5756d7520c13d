#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire run` of a forwarded program names the calls in which the program spends most time, and the GPU with which it
# is compared.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

# A runtime that sends calls ahead lets the program issue several steps while the GPU works on one.
far='--topology lan-pair --program client --model resnet50 --stack pytorch-amp --batch 16 --runtime synchronous --draws 0'
# shellcheck disable=SC2086 # a list of words
{
	farwire run $far
	shows '^cudaGetDevice  '
	[ "$(sed -n '/^call  /,/^(/p' "$scratch.out" | wc -l)" = 8 ] || complain 'the table has not five rows'
	for runtime in synchronous lupine; do
		farwire run $far --runtime $runtime --format json
		# The calls of all kinds are those of a step, each row is the product of its count and mean, and the longest wait is first.
		sed -n '/"waiting_calls"/,/\]/p' "$scratch.out" | tr -d '",' | awk -v calls="$(sed -n 's/^ *"calls": \([0-9]*\),/\1/p' "$scratch.out")" '
			$1 == "count:" { sum += count = $2 }
			$1 == "waited:" { if (before != "" && $2 > before) print "not sorted"; before = waited = $2 }
			$1 == "mean:" && (count * $2 / waited < 0.999 || count * $2 / waited > 1.001) { print "not the product" }
			$1 == "served:" && ($2 < 0 || $2 > waited) { print "more than the wait" }
			END { if (sum < 0.99 * calls || sum > 1.01 * calls) print sum " calls of " calls }' >"$scratch.found"
		[ -s "$scratch.found" ] && complain "$runtime: $(cat "$scratch.found")"
	done
}
verdict waiting_calls.rows_add_up_to_the_calls_of_a_step

farwire run --topology dgx1-v100 --model resnet50 --stack pytorch --gpus 1 --batch 8 --draws 0
grep -q '^call ' "$scratch.out" && complain 'a local program has waiting calls'
verdict waiting_calls.a_local_program_has_none

# shellcheck disable=SC2086
{
	farwire sweep $far --vary case.local=client,server
	shows "compared with a local t4 in host 'desk' / t4 in host 'rack'"
	farwire run $far --set case.local=server --format json
	shows "\"local\": \"t4 in host 'rack'\""
	farwire report $far --set case.local=server -o "$scratch.html"
	grep -q "compared with a local t4 in host &#39;rack&#39;" "$scratch.html" || complain 'the report does not name the host'
}
verdict waiting_calls.results_name_the_local_gpu
