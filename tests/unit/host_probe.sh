#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire probe host: complete, interrupted and continued recordings; a server and its peer;
# invalid arguments.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# A short run writes nothing to stdout. If its time ends before the last pass, as on a busy machine,
# it exits with 1, and further runs continue it.
budget=0.5
probe() { # wanted exit code, options
	wanted=$1
	shift
	farwire probe host -q --budget "$budget" "$@"
	for file; do :; done
	sittings=1
	while [ "$code" = 1 ] && grep -q 'the time limit was reached in pass' "$scratch.err" &&
		[ $sittings -lt 20 ]; do
		tail -n 1 "$file" | grep -q '^{"end":false' || complain "$file: no end of a sitting"
		only=
		[ "$1" != --only ] || only=$2
		farwire probe host -q --budget "$budget" ${only:+--only "$only"} --continue "$file"
		sittings=$((sittings + 1))
	done
	[ "$code" = "$wanted" ] || complain "probe $*: ended with $code, not $wanted: $(cat "$scratch.err")"
}
points() {
	grep -c '^{"test":' "$1"
}
whole() { # file: each point once in each pass, and an end that counts the lines
	tail -n 1 "$1" | grep -q "^{\"end\":true,\"lines\":$(($(wc -l <"$1") - 1))," ||
		tail -n 1 "$1" | grep -q "^{\"end\":true,\"lines\":$(wc -l <"$1")," ||
		complain "$1: no end: $(tail -c 200 "$1")"
	sed -nE 's/^(\{"test":.*"pass":[0-9]+).*/\1/p' "$1" | sort | uniq -d | grep . &&
		complain "$1: points more than once in a pass"
	[ "$(points "$1")" -gt 0 ] || complain "$1: no points"
}

probe 0 --only noise,memcpy -o one.jsonl
whole one.jsonl
head -n 1 one.jsonl | grep -q '"tool":"farwire probe host".*"passes":3,"host":{' || complain 'line 1'
grep -q '"test":"tcp"' one.jsonl && complain '--only measured more'
probe 1 --only noise -o one.jsonl
grep -q 'exists already' "$scratch.err" || complain 'a recording was written over'
farwire probe host -q --budget 0.2 --only noise
[ "$(grep -c '^{"test":"noise"' "$scratch.out")" -ge 2 ] || complain 'standard output'
verdict host_probe.recording

# Ctrl-C in the middle, then the rest: measured points stay unchanged.
"$FARWIRE" probe host -q --budget 20 --only '*.unix,tcp.receive' -o two.jsonl 2>stopped &
pid=$!
waited=0
until { [ -s two.jsonl ] && [ "$(points two.jsonl)" -gt 2 ]; } || [ $((waited += 1)) -gt 100 ]; do
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
code=$?
[ "$code" = 143 ] || complain "interrupted: ended with $code"
grep -q "continue with .farwire probe host --only [*].unix,tcp.receive --continue two.jsonl" stopped ||
	complain "interrupted: said $(cat stopped)"
cp two.jsonl before
printf '{"test":"rpc","is":{"tr' >>two.jsonl # a torn line
probe 0 --only '*.unix,tcp.receive' --continue two.jsonl
whole two.jsonl
cmp -n "$(wc -c <before)" before two.jsonl || complain 'what was measured has changed'
probe 0 --only '*.unix,tcp.receive' --continue two.jsonl
[ "$(grep -c '^{"end":true' two.jsonl)" = 1 ] || complain 'a whole recording grew'
probe 2 --connect 127.0.0.1:9 --continue two.jsonl
# Very little time: each point is measured once, and a message says that points are missing.
farwire probe host -q --budget 0.01 --only memcpy -o short.jsonl
[ "$code" = 1 ] || complain "cut by its time: ended with $code"
grep -q 'reached in pass [23] of 3.*continue with .farwire probe host --only memcpy --continue short.jsonl' \
	"$scratch.err" || complain "cut by its time: said $(cat "$scratch.err")"
tail -n 1 short.jsonl | grep -q '^{"end":false' || complain 'cut by its time: an end that is none'
# A complete recording reports again that its machine drifted.
sed 's/^{"end":true.*/{"end":true,"lines":9,"elapsed_s":1,"drift":{"gemm":0.01,"copy.h2d":-0.052}}/' two.jsonl >drift.jsonl
farwire probe host -q --continue drift.jsonl
[ "$code" = 1 ] || complain "a recording that drifted: ended with $code"
grep -q 'copy.h2d drifted by -5.2 %' "$scratch.err" || complain "drifted: said $(cat "$scratch.err")"
verdict host_probe.continue

# Two programs, as on two machines: the server ends with its peer. It takes a free port and prints
# its number.
"$FARWIRE" probe host --server 127.0.0.1:0 2>served &
pid=$!
waited=0
until [ -s served ] || [ $((waited += 1)) -gt 100 ]; do
	sleep 0.1
done
port=$(sed -n 's/.*--connect 127\.0\.0\.1:\([0-9]*\).*/\1/p' served)
budget=5 # in one sitting: the server ends with its peer
probe 0 --only tcp.receive,rpc --connect 127.0.0.1:$port -o three.jsonl
budget=0.5
wait "$pid" || complain "the server: $(cat served)"
whole three.jsonl
grep -q '"waived":"rpc","why":"a Unix socket' three.jsonl || complain 'a Unix socket between machines'
grep -q '"network":{"server":"127.0.0.1:'$port'".*"congestion":"[a-z]*","mss_B":[1-9]' three.jsonl ||
	complain 'line 1 does not tell the network'
probe 1 --only tcp --connect 127.0.0.1:$port -o four.jsonl
grep -q 'refused' "$scratch.err" || complain "no server: $(cat "$scratch.err")"
[ ! -e four.jsonl ] || complain 'a recording without a server'
verdict host_probe.server

# Without a folder, storage is waived and no file remains.
mkdir folder
probe 0 --only storage.random --scratch folder -o five.jsonl
whole five.jsonl
[ -z "$(ls folder)" ] || complain "left behind: $(ls folder)"
probe 0 --only storage.random --scratch nosuch -o six.jsonl
grep -q '"waived":"storage","why":"nosuch: ' six.jsonl || complain 'storage without a folder'
verdict host_probe.storage

expect 2 'measures .host.' probe gpu
expect 2 'needs host' probe
expect 2 "'disk' matches none of tcp, rpc, memcpy, storage, noise" probe host --only tcp,disk
expect 2 'is not an ADDRESS' probe host --only tcp --connect ''
expect 2 'is not an ADDRESS' probe host --server 127.0.0.1:99999
expect 2 'only answers the measurements of another machine' probe host --server 127.0.0.1 --connect 127.0.0.1
expect 2 'leave out -o' probe host --continue one.jsonl -o two.jsonl
expect 2 'more than 0' probe host --budget 0
expect 2 'below 9007199254740992' probe host --seed 9007199254740992
expect 2 'No such file' probe host --continue nosuch.jsonl
echo '{"format":"farwire-samples","version":2,' >seven.jsonl
expect 2 'version other than 1|damaged|first line' probe host --continue seven.jsonl
for wrong in 's/"cpu":"[^"]*"/"cpu":"Another"/' 's/"seed":[0-9]*/"seed":-1/' 's/"passes":[0-9]*/"passes":1e9/'; do
	sed "1$wrong" one.jsonl >eight.jsonl
	expect 2 'was measured on "Another", this machine is|has no' probe host --continue eight.jsonl
done
verdict host_probe.words
