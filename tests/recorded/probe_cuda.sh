#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire-probe as nvcc builds it, which make does without a warning where there
# is nvcc: it has the same tests as over the fake device, and says it where there
# is no GPU. Where there is one, its clocks and calls are measured.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=${FARWIRE%/*}/farwire-probe
if [ ! -x "$probe" ]; then
	echo '  no nvcc: farwire-probe is not compiled here'
	exit 77
fi
"$probe" --list >"$scratch.list" || complain '--list failed'
"$probe-fake" --list | cmp -s - "$scratch.list" || complain 'not the tests of the fake device'
"$probe" --help | grep -q '^ *cuda ' || complain '--help does not tell of the GPU'
verdict 'probe_cuda.is_built'

code=0
timeout 50 "$probe" -q --only timer --only 'call.*' --only kernel --budget 5 --passes 1 \
	>"$scratch.out" 2>"$scratch.err" || code=$?
case $code in
0)
	tail -n 1 "$scratch.out" | grep -q '^{"end":true' || complain 'no last line'
	grep -q '"call":"launch","stream":"blocked"' "$scratch.out" || complain 'no launches'
	;;
77) grep -q 'no GPU' "$scratch.err" || complain "without a GPU it says $(cat "$scratch.err")" ;;
*) complain "it ended with $code: $(cat "$scratch.err")" ;;
esac
verdict 'probe_cuda.runs_or_says_why_not'
