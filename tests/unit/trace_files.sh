#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Files of --trace have the structure that Perfetto needs: each line is an event in JSON, spans of a
# thread are nested or apart, times are whole nanoseconds, and each thread has its names.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples
cd "$scratch" || exit 2

cat >structure.awk <<'END'
function wrong(what) {
	if (++count <= 3)
		print FILENAME ":" NR ": " what ": " $0
}
function number(key) { # without its point, so that times are nanoseconds
	if (!match($0, "\"" key "\": [0-9.]+"))
		return -1
	text = substr($0, RSTART, RLENGTH)
	gsub(/.*: |[.]/, "", text)
	return text + 0
}
BEGIN {
	string = "\"([^\"\\\\[:cntrl:]]|\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4}))*\""
	whole = "(0|[1-9][0-9]*)"
	time = whole "[.][0-9][0-9][0-9]"
	thread = "\"pid\": " whole ", \"tid\": " whole
	size = "\"[a-z]+\": [0-9.e+]+"
	counter = "^{\"ph\": \"C\", \"name\": " string ", \"pid\": " whole ", \"ts\": " time \
		", \"args\": {" size "(, " size ")*}},?$"
	name = "^{\"ph\": \"M\", \"name\": \"(process|thread)_name\", " thread ", \"args\": {\"name\": " string "}},?$"
	span = "^{\"ph\": \"X\", \"name\": " string ", \"cat\": " string ", " thread \
		", \"ts\": " time ", \"dur\": " time "},?$"
}
NR == 1 {
	if ($0 !~ "^{\"displayTimeUnit\": \"ns\", \"otherData\": {\"version\": " string "},$")
		wrong("not the head")
	next
}
NR == 2 && $0 != "\"traceEvents\": [" { wrong("not the list") }
NR == 2 { next }
$0 == "]}" {
	ended = NR
	if (comma)
		wrong("a comma before the end")
	next
}
{
	if (NR > 3 && !comma)
		wrong("no comma before the event")
	comma = $0 ~ /,$/
	process = number("pid")
	track = number("tid")
}
/^{"ph": "M"/ {
	if ($0 !~ name)
		wrong("not a name")
	kind = /process_name/ ? "process" : "thread"
	named[kind, process, track]++
	next
}
{
	if (/^{"ph": "[sf]", "name": "message"/ && !counters) { # arrows come behind all spans, one end after the other
		if (arrows++ % 2 != /^{"ph": "f"/)
			wrong("the arrow has no other end")
		next
	}
	if ($0 ~ counter) {
		counters++
		next
	}
	if ($0 !~ span || arrows || counters) { # counters come behind all others
		wrong("not a span")
		next
	}
	spans++
	if (named["process", process, track] != 1 || named["thread", process, track] != 1)
		wrong("the thread has no name")
	start = number("ts")
	end = start + number("dur")
	if (start < latest[track])
		wrong("the span begins before the previous one")
	latest[track] = start
	while (depth[track] > 0 && ends[track, depth[track]] <= start)
		depth[track]--
	if (depth[track] > 0 && end > ends[track, depth[track]])
		wrong("the span crosses the end of the span around it")
	ends[track, ++depth[track]] = end
}
END {
	if (arrows % 2)
		wrong("an arrow has no end")
	if (ended != NR || spans < least)
		wrong("the end is missing, or there are only " spans + 0 " spans")
	exit count > 0
}
END

# structure LEAST ARGUMENT...: checks the trace of a run with at least that many spans
structure() {
	least=$1
	shift
	farwire "$@" --draws 0 -q --trace trace.json
	[ "$code" = 0 ] || complain "farwire $*: $(head -n 2 "$scratch.err")"
	awk -v least="$least" -f structure.awk trace.json >wrong || complain "farwire $*: $(cat wrong)"
}
structure 1000 run --topology t320-same-lan --model resnet50
structure 1000 run --topology dgx-h100 --gpus 16 --model resnet50
structure 20 run --topology dgx1-v100 --gpus 8 --collective all_reduce --exchange nccl-2.8
structure 100 run --topology dgx-h100 --gpus 8 --model llama3-8b --exchange nccl-2.18 \
	--plan pp=4,tp=2,global_batch=8,recompute=full --set case.steps=1 --set case.steps_warmup=0
structure 100 run --topology dgx-h100 --model llama3-8b --serve rate=4,batch=4
verdict trace_files.spans_are_nested_and_each_thread_is_named

# The wire carries requests, answers and copied data, and nothing without a name.
structure 1000 run --topology t320-same-esxi --model resnet50 --stack tf-1.12 --runtime asynchronous --program client --server server
sed -n 's/.*"name": "\([^"]*\)", "cat": "wire".*/\1/p' trace.json | sort -u | tr '\n' ' ' >names
[ "$(cat names)" = 'answer data request ' ] || complain "messages are called $(cat names)"
verdict trace_files.messages_have_names

gunzip -c "$samples/traces/dlrm-rank0.json.gz" >rank0.json
farwire import kineto rank0.json -o job.jsonl
structure 1000 run --calls job.jsonl --topology dgx1-v100 --gpus 8 --exchange nccl-2.18
verdict trace_files.job_of_a_recording_has_a_trace

# The check finds each kind of fault in a trace of three spans.
damage() { # EXPRESSION of sed
	cat >good.json <<-'END'
		{"displayTimeUnit": "ns", "otherData": {"version": "0"},
		"traceEvents": [
		{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "gpu \"0\""}},
		{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "stream"}},
		{"ph": "X", "name": "a", "cat": "kernel", "pid": 1, "tid": 1, "ts": 0.000, "dur": 3.000},
		{"ph": "X", "name": "b", "cat": "kernel", "pid": 1, "tid": 1, "ts": 1.000, "dur": 1.500},
		{"ph": "X", "name": "c", "cat": "kernel", "pid": 1, "tid": 1, "ts": 2.500, "dur": 0.500}
		]}
	END
	sed "$1" good.json >bad.json
	awk -v least=3 -f structure.awk bad.json >wrong && complain "sed '$1' is not found"
}
damage x
for fault in '6s/1.500/2.500/' '6s/1.000/1.0005/' '5s/"a"/"a\\x"/' '4d' '7s/"tid": 1/"tid": 2/' '5s/3.000/1.000/;6s/ts": 1/ts": 0/' \
	'7s/X/s/' '$d' '6s/},/}/' '7s/$/,/' '6d'; do
	damage "$fault"
done
sed '' good.json >bad.json
awk -v least=3 -f structure.awk good.json >wrong || complain "a correct trace has faults: $(cat wrong)"
verdict trace_files.each_kind_of_fault_is_found
