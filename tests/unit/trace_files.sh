#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The files of --trace keep the rules of the Trace Event Format, as Perfetto reads it: each thread
# has a name, times are whole nanoseconds from 0 on, and the spans of a thread are in order of
# their starts and nested or apart.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# trace LEAST ARGS...: the trace of this run has at least that many spans
trace() {
	least=$1
	shift
	expect 0 '' run "$@" --draws 0 --quiet --trace trace.json
	awk -v least="$least" '
	function fail(what) { print "  line " NR ": " what ": " $0; bad = 1; exit 1 }
	function ns(text) { sub(/\./, "", text); return text + 0 }
	NR == 1 { if (!/^\{"displayTimeUnit": "ns", "otherData": \{.*\},$/) fail("no beginning"); next }
	NR == 2 { if ($0 != "\"traceEvents\": [") fail("no list"); next }
	/^\]\}$/ { ended = 1; next }
	ended { fail("the file goes on after its end") }
	/^\{"ph": "M"/ {
		if (!match($0, /"pid": [0-9]+, "tid": [0-9]+, "args": \{"name": ".+"\}\},?$/)) fail("no name")
		split(substr($0, RSTART), word, /[ ,]+/)
		if (/"thread_name"/) named[word[2] " " word[4]] = 1
		next
	}
	/^\{"ph": "X", "name": ".+", "cat": "[a-z]+"/ {
		if (!match($0, /"pid": [0-9]+, "tid": [0-9]+, "ts": [0-9]+\.[0-9][0-9][0-9], "dur": [0-9]+\.[0-9][0-9][0-9]\},?$/))
			fail("no span")
		split(substr($0, RSTART), word, /[ ,}]+/)
		thread = word[2] " " word[4]
		start = ns(word[6]); end = start + ns(word[8])
		if (!named[thread]) fail("the thread has no name")
		if (start < last[thread]) fail("the span begins before the one before it")
		last[thread] = start
		while (depth[thread] > 0 && open[thread, depth[thread]] <= start) depth[thread]--
		if (depth[thread] > 0 && end > open[thread, depth[thread]]) fail("the span overlaps another one")
		open[thread, ++depth[thread]] = end
		spans++
		next
	}
	{ fail("an unknown line") }
	END {
		if (bad) exit 1
		if (!ended) { print "  the list does not end"; exit 1 }
		if (spans < least) { print "  only " spans + 0 " spans"; exit 1 }
	}' trace.json || complain "farwire run $*"
}

trace 32 --topology dgx-h100 --gpus 8 --collective all_reduce --exchange nccl-2.18
trace 100 --topology dgx-h100 --gpus 8 --model llama3-8b --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	--plan tp=2,pp=2,global_batch=8,sharding=optimizer
trace 100 --topology vm-p100-vmxnet3 --runtime flexdirect-1.11 --program client --batch 64
trace 100 serve-remote-l40s
grep -q '"name": "[0-9]* tokens of prompts, [0-9]* of outputs"' trace.json && grep -q '"name": "request 9: ' trace.json ||
	complain 'the trace of a model server has no iterations or requests'
verdict trace_files.spans_of_a_thread_are_ordered_and_nested
