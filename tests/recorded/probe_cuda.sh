#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire-probe for CUDA, which make builds without warnings if nvcc exists. It has the same
# tests as with the fake device, which also has those of tests/forwarding. Without a GPU it says so. With a GPU the test measures clocks
# and calls.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=${FARWIRE%/*}/farwire-probe
if [ ! -x "$probe" ]; then
	echo '  skipped: without nvcc make builds no farwire-probe'
	exit 77
fi
"$probe" --list >"$scratch.list" || complain '--list failed'
"${FARWIRE%/*}/tests/farwire-probe-fake" --list >"$scratch.all"
grep -v '^R1 \|^V ' "$scratch.all" | cmp -s - "$scratch.list" || complain 'the tests differ from those of the fake device'
"${FARWIRE%/*}/tests/farwire-probe-forward" --list | cmp -s - "$scratch.all" || complain 'the forwarding probes are missing'
"$probe" --device spin >/dev/null 2>"$scratch.err" && complain 'a spinning device is accepted'
grep -q 'not an option of this program' "$scratch.err" || complain "--device: $(cat "$scratch.err")"
verdict 'probe_cuda.has_the_tests_of_the_fake_device'

code=0
timeout 50 "$probe" -q --only graph --only 'call.*' --only kernel --budget 5 --passes 1 \
	>"$scratch.out" 2>"$scratch.err" || code=$?
case $code in
0)
	tail -n 1 "$scratch.out" | grep -q '^{"end":true' || complain 'no last line'
	grep -q '"call":"launch","stream":"blocked"' "$scratch.out" || complain 'no launches'
	;;
77) grep -q 'no GPU' "$scratch.err" || complain "without a GPU it prints $(cat "$scratch.err")" ;;
*) complain "it ended with $code: $(cat "$scratch.err")" ;;
esac
verdict 'probe_cuda.measures_or_reports_a_missing_gpu'
