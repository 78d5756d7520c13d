#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each reader has a limit. Input that is too large, nested too deep or at the limits of numbers
# ends with a message and exit code 2, soon and in bounded memory.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
# shellcheck disable=SC3045 # dash and bash have -v; the limit is 3 GiB of address space
(ulimit -v 3000000) 2>/dev/null && ulimit -v 3000000

# repeated COUNT TEXT
repeated() {
	awk -v count="$1" -v text="$2" 'BEGIN { for (i = 0; i < count; i++) printf "%s", text }'
}

{ printf 'case = { topology = '; repeated 100000 '('; } >x.cfg
expect 2 '^x\.cfg:1: groups and lists are nested deeper than 64 \(nest fewer\)' run x.cfg
{ printf 'case = { settings = ('; repeated 1200000 '1,'; printf '1); };\n'; } >x.cfg
expect 2 '^x\.cfg:1: more than 1000000 names and values in all files \(use smaller files\)' run x.cfg
awk 'BEGIN { print "case = {"; for (i = 0; i < 1100; i++) print "a" i " = 1;"; print "};" }' >x.cfg
expect 2 '^x\.cfg:1026: more than 1024 settings in one group \(divide it into several groups\)' run x.cfg
{ echo 'case = {'; repeated 1100000 '# 16 bytes long
'; } >x.cfg
expect 2 '^x\.cfg: is larger than 16 MiB \(split it with @include\)' run x.cfg
for i in $(seq 1 20); do
	echo "@include \"deep$((i + 1)).cfg\"" >"deep$i.cfg"
done
expect 2 '^deep[0-9]*\.cfg:1: @include "deep[0-9]*\.cfg": it is nested more than 16 files deep \(include it from a higher file\)' run deep1.cfg
: >empty.cfg
repeated 1100 '@include "empty.cfg"
' >x.cfg
expect 2 'it is the 1001st include \(use at most 1000\)' run x.cfg
{ repeated 1700 '# 13 bytes...'; echo; } >wide.cfg
repeated 999 '@include "wide.cfg"
' >x.cfg
expect 2 'more than 16 MiB with all includes \(use smaller files\)' run x.cfg
ln -s /dev/zero endless.cfg
expect 2 '^endless\.cfg: is larger than 16 MiB \(split it with @include\)' run endless.cfg
expect 2 "the file 'endless\.cfg' cannot be read: it is a pipe or a device" run --topology dgx-h100 --model llama3-8b -q --serve list=endless.cfg
expect 2 '^endless\.cfg: the file cannot be read: it is a pipe or a device' import log endless.cfg
repeated 2000 'x' >wide.txt
expect 2 '^wide\.txt:1: the line is longer than 1 KiB' run --topology dgx-h100 --model llama3-8b -q --serve list=wide.txt
verdict limits.too_large_configurations_are_refused

# 100,000 lines that are read completely, once with an error and once as comments.
awk 'BEGIN {
	print "case = { topology = \"t320-same-esxi\"; batch = 8; model = \"alexnet\"; };"
	for (g = 0; g < 100; g++) {
		print "g" g " = {"
		for (i = 0; i < 998; i++) print "\tk" i " = \"v\"; # a setting"
		print "};"
	}
}' >long.cfg
expect 2 "^long\.cfg:2: unknown key 'g0'" run long.cfg
[ "$(wc -l <"$scratch.err")" -le 22 ] || complain 'more than 21 lines of errors'
repeated 100000 '# a line
' >long.cfg
echo 'case = { topology = "t320-same-esxi"; model = "alexnet"; };' >>long.cfg
expect 0 '' run long.cfg -q --draws 0
verdict limits.configurations_of_100000_lines_are_read

{ printf '{"format":"farwire-calls","x":'; repeated 100000 '['; } >x.jsonl
expect 2 '^x\.jsonl:1: the line is not JSON: the text is nested too deeply' run --topology t320-same-esxi --calls x.jsonl
expect 2 'nested too deep' fit x.jsonl
expect 2 'nested too deep' import kineto x.jsonl
expect 2 '^x\.jsonl:1: ' import iperf3 x.jsonl
# A recording can have at most 60000 streams and 60000 events.
handles() { # COUNT CALL HANDLE
	awk -v count="$1" -v call="$2" -v handle="$3" 'BEGIN {
		print "{\"format\":\"farwire-calls\",\"version\":1}"
		for (i = 0; i < count; i++)
			printf "{\"call\":\"%s\",\"thread\":0,\"start_s\":%d,\"end_s\":%d.5,\"%s\":%d}\n", call, i, i, handle, i
		printf "{\"end\":true,\"lines\":%d}\n", count
	}'
}
for of in 'cudaEventRecord event' 'cudaStreamSynchronize stream'; do
	# shellcheck disable=SC2086
	handles 60000 $of >x.jsonl
	expect 0 '' run --topology t320-same-esxi --calls x.jsonl --draws 0 -q
	# shellcheck disable=SC2086
	handles 60001 $of >x.jsonl
	expect 2 "^--calls: a step of the recording uses more than 60000 ${of##* }s \(record shorter" run --topology t320-same-esxi --calls x.jsonl
done
{ printf '[{"case":"x","y":'; repeated 100000 '['; } >x.json
expect 2 '^x\.json:1: the file is not JSON: the text is nested too deeply' plot x.json -o x.svg
truncate -s 300M x.json
expect 2 '^x\.json: the file is larger than 256 MiB' plot x.json -o x.svg
rm x.json
{ printf '{"format":"farwire-samples","tool":"'; repeated 2000000 x; echo '"}'; } >x.jsonl
expect 2 '^x\.jsonl:1: the line is longer than 1 MiB' fit x.jsonl
repeated 70000 x >x.log
expect 2 '^x\.log:1: this file is not a log, because a line is longer than 64 KiB' import perftest x.log
# Rows of nccl-tests, each with a different size or all with the same.
rows() {
	echo '# Collective test starting: all_reduce_perf'
	echo '#  Rank  0 Group  0 Pid  11 on  node device  0 [0x07] NVIDIA A100'
	echo '#  Rank  1 Group  0 Pid  11 on  node device  1 [0x07] NVIDIA A100'
	echo '#       size         count      type   redop    root     time   algbw   busbw #wrong'
	awk -v count="$1" -v step="$2" 'BEGIN { for (i = 0; i < count; i++)
		print 1024 + step * i, 256, "float", "sum", -1, "20.50", "0.05", "0.05", 0 }'
}
rows 65537 1 >x.log
expect 2 '^x\.log:65541: the log has more than 65536 points' import nccl-tests x.log
rows 1001 0 >x.log
expect 2 '^x\.log:1005: the same point occurs more than 1000 times' import nccl-tests x.log
repeated 65537 '[  5]   0.00-1.00   sec  1.09 GBytes  9.41 Gbits/sec    0   1.55 MBytes
' >x.log
expect 2 '^x\.log(:[0-9]+)?: a point has more than 65536 results' import iperf3 x.log
verdict limits.too_large_recordings_and_results_are_refused

# A sparse file of 17 GiB without blocks, if the file system supports it.
# (tests/unit/test_recording.c and test_call_files.c test the limit of 8 GiB.)
if truncate -s 17G x.csv.journal 2>/dev/null; then
	expect 2 '^x\.csv\.journal: the file is larger than 16 GiB, so it is not the journal' \
		sweep c4140-infiniband --vary case.batch=8,16 -o x.csv
	[ "$(stat -c %s x.csv.journal)" = 18253611008 ] || complain 'the journal was changed'
	verdict limits.huge_files_are_refused
fi
rm -f x.csv.journal

dataset() {
	printf 'dataset = { name = "x"; title = "t"; source = "s"; %s };\n' "$1" >x.cfg
}
dataset 'table = "x.tsv"; value = "v"; role = "test"; label = ["v"];'
{ printf 'v\n'; repeated 70000 1; echo; } >x.tsv
expect 2 '^\./x\.tsv:2: the line is longer than 64 KiB|^x\.tsv:2: the line is longer than 64 KiB' validate x.cfg
printf 'v\n1\000\n' >x.tsv
expect 2 'x\.tsv:2: .*write it as plain text in UTF-8' validate x.cfg
{ echo v; repeated 8000000 '# 15 bytes long
'; } >x.tsv
expect 2 'x\.tsv:[0-9]+: the file is larger than 64 MiB' validate x.cfg
rm x.tsv
values=$(awk 'BEGIN { for (i = 0; i < 400; i++) printf "%s\"%d\"", i ? ", " : "", i + 1 }')
dataset "case = \"c4140-infiniband\"; dimensions = (
	{ name = \"a\"; setting = \"case.batch\"; values = [$values]; },
	{ name = \"b\"; setting = \"case.gpus\"; values = [$values]; } );"
expect 2 '^x\.cfg:[0-9]+: dataset: there are more than 100000 combinations' validate x.cfg
list=$(awk 'BEGIN { for (i = 0; i < 10001; i++) printf "%s%d", i ? "," : "", i + 1 }')
expect 2 'a list can have at most 10000 values' sweep c4140-infiniband --vary "case.batch=$list"
expect 2 'a range must have 2 to 1000000 values' sweep c4140-infiniband --vary case.batch=1:9:lin1000001
expect 2 'the two ends are too far apart' sweep c4140-infiniband --vary case.batch=-1e308:1e308:lin3
expect 2 'more than 1000000 points' sweep c4140-infiniband --vary case.batch=1:2:lin1001 \
	--vary case.gpus=1:2:lin1000
many=$(awk 'BEGIN { for (i = 0; i < 10; i++) printf "%s{ batch = 8; }", i ? ", " : "" }')
echo "case = { topology = \"gpu-pool\"; runtime = \"batched\"; program = \"spread\"; copies = 4096;
	clients = ( $many ); };" >x.cfg
expect 2 'case: there are more than 10000 clients' run x.cfg
verdict limits.too_large_tables_and_grids_are_refused

echo 'case = { topology = "t320-same-lan"; };' >t320.cfg
# Numbers at their limits give a result or an error, and never a crash, an endless run or NaN in
# a result.
for value in 0 -0 1 -1 2147483647 2147483648 4294967296 9223372036854775807 9223372036854775808 \
	1e18 1e308 1e309 1e-308 5e-324 NaN nan inf -inf Infinity 0x10 '' ' ' 1e 1..2 1,5 ١; do
	for setting in 'case.batch=' 'case.steps=' 'case.gpus=' 'link.vswitch.latency= us' \
		'link.vswitch.bandwidth= Gbit/s' 'link.vswitch.loss=' 'runtime.intercept= s'; do
		key=${setting%%=*}
		farwire run --topology t320-same-esxi --model alexnet --runtime batched --draws 0 -q \
			--set case.steps=1 --set "$key=$value${setting#*=}"
		case $code in
		0) [ -s "$scratch.out" ] || complain "$key=$value: no result" ;;
		2) [ -s "$scratch.err" ] || complain "$key=$value: refused without a message" ;;
		*) complain "$key=$value: ended with $code: $(head -n 1 "$scratch.err")" ;;
		esac
		! grep -qiE '[^a-z](nan|inf)[^a-z]' "$scratch.out" ||
			complain "$key=$value: the result contains NaN or inf"
	done
done
expect 2 'reverse_bandwidth = "1e-9 B/s" is too small \(write 0 B/s, or at least 0\.001 B/s\)' \
	run t320.cfg --set 'link.client-port.reverse_bandwidth=1e-9 B/s'
verdict limits.extreme_numbers_give_a_result_or_an_error

expect 2 'serve.on and serve.off make more than 1e.07 phases' run --topology dgx-h100 --model llama3-8b \
	--serve 'rate=0.001,on=1 ns,off=1 ns'
# A service of two runs for as long as the other one: 10^7 s. This makes 5 * 10^9 phases of 2 ms.
cat >two.cfg <<'EOF'
case = { topology = "gpu-pool"; fraction = 0.5; clients = ( { name = "a"; model = "gpt2-xl"; gpu = "gpu1"; },
	{ name = "b"; model = "resnet50"; gpu = "gpu1"; } ); };
serve = ( { model = "gpt2-xl"; rate = 0.001; requests = 10000; },
	{ model = "resnet50"; rate = 0.001; requests = 10; on = "1 ms"; off = "1 ms"; } );
EOF
expect 2 '^two.cfg:4: serve.resnet50.on and serve.resnet50.off make more than 1e.07 phases' run two.cfg
verdict limits.many_phases_of_arrivals_are_refused

# Text of the input cannot control the terminal.
printf 'case = { topology = "a\033[31mb\007"; };\n' >x.cfg
expect 2 "there is no topology 'a \[31mb '" run x.cfg
expect 2 '^--set: ' run c4140-infiniband --set "$(printf 'case.\033[2J=1')"
! grep -q "$(printf '\033')" "$scratch.err" || complain 'a message contains an escape sequence'
verdict limits.control_characters_are_removed_from_messages

# Names from files and command lines are shown with control characters, and characters that change
# the direction of a text, as \x1b and \u202e.
odd=$(printf '\033[2J\342\200\256')
cat >odd.cfg <<END
case = { name = "a${odd}z"; topology = "odd-topology.cfg"; gpus = 2; };
END
sed "s/name = \"[^\"]*\"/name = \"dgx--$odd\"/" "$FARWIRE_DATA"/topologies/dgx1-v100.cfg >odd-topology.cfg
printf 'net\tms\na%s\t1\nb\t2\n' "$odd" >odd.tsv
cat >lab.cfg <<END
dataset = { name = "l$odd"; title = "t$odd"; source = "s"; table = "odd.tsv"; value = "ms"; role = "test"; quantity = "time";
	label = ["net"]; settings = ["case.topology=dgx1-v100", "case.gpus=2"];
	columns = ( { column = "net"; values = ( { is = "a$odd"; settings = []; }, { is = "b"; settings = []; } ); } );
	claims = ( { claim = "c$odd"; kind = "range"; rows = ["b"]; low = 200; } ); };
END
# clean PATTERN ARGS...: the results and messages contain no such characters.
clean() {
	pattern=$1
	shift
	farwire "$@"
	! cat "$scratch.out" "$scratch.err" | grep -qe "$(printf '\033')" -e "$(printf '\342\200\256')" ||
		complain "$*: control characters"
	cat "$scratch.out" "$scratch.err" | grep -qF "$pattern" || complain "$*: no '$pattern'"
}
for format in table csv; do
	clean 'a\x1b[2J\u202ez' run odd.cfg --draws 0 --format $format
	clean 'a\x1b[2J\u202ez' compare odd.cfg odd.cfg --draws 0 --format $format
	clean 'a\x1b[2J\u202e' validate lab.cfg --draws 0 --format $format
done
clean 'a\x1b[2J\u202ez' scale odd.cfg --gpus 1,2 --draws 0
clean 'l\x1b[2J\u202e: t\x1b[2J\u202e' validate lab.cfg --draws 0
clean 'ru\x1b[2J\u202en' "ru${odd}n"
clean 'x\x1b[2J\u202e' run odd.cfg "--x$odd"
clean 'no  [2J\u202ee' run "no $odd"e
clean 'no\x1b[2J\u202e' run odd.cfg --draws 0 -o "no$odd/x"
verdict limits.invisible_characters_are_shown

# Whatever the limit of memory, a command succeeds or says that memory is short. libconfig and
# other libraries must not crash, also if several threads read files.
done_count=0
short_count=0
kb=20000
while [ $kb -lt 260000 ]; do
	code=0
	# shellcheck disable=SC3045
	(ulimit -v $kb && exec "$FARWIRE" sweep quarter-gpu --vary case.batch=8,16 --draws 2 --jobs 4 -q \
		>/dev/null 2>said.txt) || code=$?
	if [ $code = 0 ]; then
		done_count=$((done_count + 1))
	elif [ $code = 1 ] && grep -q 'out of memory' said.txt; then
		short_count=$((short_count + 1))
	elif ! grep -q 'error while loading shared libraries' said.txt; then
		complain "with $kb KB: ended with $code, said $(head -n 1 said.txt)"
	fi
	kb=$((kb + 12000))
done
[ $done_count -gt 5 ] && [ $short_count -gt 5 ] || complain "$done_count done, $short_count short"
verdict limits.too_little_memory_is_reported

# A stack that cannot grow ends the program with a signal, so it has its size from the beginning.
if [ -r /proc/self/status ]; then
	"$FARWIRE" run ddl-host --draws 20000 -q >/dev/null 2>&1 &
	stack_kb=0
	tries=0
	until [ "${stack_kb:-0}" -ge 512 ] || [ $((tries += 1)) -gt 300 ]; do
		sleep 0.1
		stack_kb=$(sed -n 's/^VmStk:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$!/status")
	done
	kill $! && wait $! 2>/dev/null
	[ "$stack_kb" -ge 512 ] || complain "the stack has only $stack_kb kB"
	verdict limits.stack_has_its_size_from_the_beginning
fi

# With 100 to 1000 KiB of stack the program says so, and with 1024 KiB it works.
for kb in 100 300 600 1000 1024; do
	code=0
	(ulimit -s $kb && exec "$FARWIRE" run ddl-host --draws 2 --jobs 4 -q >/dev/null 2>said.txt) || code=$?
	if [ $kb = 1024 ]; then
		[ $code = 0 ] || complain "with $kb KiB of stack: ended with $code, said $(head -n 1 said.txt)"
	elif [ $code != 1 ] || ! grep -q "limit on the stack is $kb KiB" said.txt; then
		complain "with $kb KiB of stack: ended with $code, said $(head -n 1 said.txt)"
	fi
done
verdict limits.too_small_a_stack_is_reported

# A route may have 32 links, between ends that use 28 further resources. Each switch adds one link.
chained() { # SWITCHES ARGS...: runs a program whose calls pass that many switches
	awk -v n="$1" 'BEGIN {
		print "topology = { name = \"chain\"; hosts = ( { name = \"h0\"; cores = 32; }, { name = \"h1\"; cores = 32; } );"
		print "guests = ( { name = \"a\"; host = \"h0\"; kind = \"vm\"; }, { name = \"b\"; host = \"h1\"; kind = \"vm\"; } );"
		print "gpus = ( { name = \"g0\"; host = \"h0\"; profile = \"t4\"; }, { name = \"g1\"; host = \"h1\"; profile = \"t4\"; } );"
		printf "switches = [\"s1\""; for (i = 2; i <= n; i++) printf ", \"s%d\"", i; print "]; links = ("
		for (i = 0; i < 2; i++) printf "{ name = \"p%d\"; kind = \"pcie\"; ends = [\"h%d\", \"g%d\"]; generation = 3; lanes = 16; },\n", i, i, i
		for (i = 0; i <= n; i++) printf "%s{ name = \"l%d\"; kind = \"ethernet\"; ends = [\"%s\", \"%s\"]; bandwidth = \"10 Gbit/s\"; latency = \"10 ns\"; }\n",
			i ? ", " : "", i, i ? "s" i : "a", i < n ? "s" (i + 1) : "b"
		print "); };" }' </dev/null >chain.cfg
	shift
	expect 0 '' run --topology chain.cfg -q --draws 0 --set tcp.streams=8 "$@"
}
far='--program a --gpu g1 --server b --batch 16 --runtime asynchronous --set tcp.relay=true --set stack.real_input=true'
# shellcheck disable=SC2086 # a list of arguments
for switches in 10 31; do
	chained $switches $far
	shows 'images/s'
	chained $switches --gpus 2 --exchange ddp-gloo --batch 16
	shows 'images/s'
done
# shellcheck disable=SC2086
chained 32 $far
shows "no route from 'a' to 'b' for tcp .a route has at most 32 links"
chained 32 --gpus 2 --exchange ddp-gloo --batch 16
shows 'a route has at most 32 links'
verdict limits.routes_of_more_than_32_links_are_refused

# 1025 * 1024 pairs of ranks are more than 2^20.
expect 2 '^--collective: case: an all_to_all of 1025 ranks has more pairs of ranks than can be simulated \(write at most 1024 GPUs\)' \
	run --topology dgx-h100 --gpus 1025 --collective all_to_all --draws 0
verdict limits.all_to_all_of_too_many_ranks_is_refused
