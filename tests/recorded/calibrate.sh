#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire calibrate over the fake GPU and this machine: recordings, a profile and a page in
# one folder. The same command continues, or fits the present recordings again. The effect of
# this machine's noise on gates is not tested.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=${FARWIRE%/*}/farwire-probe-fake
if [ ! -x "$probe" ]; then
	echo "  no $probe"
	exit 77
fi
# The fake GPU has its own clock, whose two minutes pass in a second.
printf '#!/bin/sh\nexec "%s" "$@" --budget 110\n' "$(cd "${probe%/*}" && pwd)/${probe##*/}" >"$scratch/probe"
chmod +x "$scratch/probe"
FARWIRE_PROBE=$scratch/probe
export FARWIRE_PROBE

# Done, with or without a gate that this machine breaks; or unfinished, since a second is
# not enough for the host, and said.
ended() { # what
	case $code in
	0 | 3) ;;
	1) grep -q 'the time limit was reached in pass' "$scratch.err" && tail -n 1 "$out/host.jsonl" | grep -q '^{"end":false' ;;
	*) false ;;
	esac || complain "$1: ended with $code: $(tail -n 3 "$scratch.err")"
}

out=$scratch/mine
farwire calibrate --budget 1 -o "$out"
ended 'measuring'
shows '^Fake GPU: launching a kernel takes 2\.[01][0-9.]* us'
shows 'pinned copies to the GPU reach 2[34]\.[0-9]* GB/s from [48] KiB up'
shows "^The report: $out/report\\.html"
for file in gpu.jsonl host.jsonl profile.cfg report.html; do
	[ -s "$out/$file" ] || complain "no $file"
done
grep -q '<img' "$out/report.html" || complain 'a report without pictures'
grep -q 'path = "driver.launch"' "$out/profile.cfg" || complain 'a profile without driver.launch'
shows 'forwarded programs that no fit used: median error 0\.[0-9] %, largest [0-4]\.[0-9] %'
[ "$(grep -c 'sha256 of the recording' "$out/profile.cfg")" = 2 ] || complain 'not both in one profile'
"$FARWIRE" run --topology t320-same-lan --profile "$out/profile.cfg" --draws 2 -q >"$scratch.out" ||
	complain 'the profile cannot be used'
verdict 'calibrate.measures_fits_and_reports'

head -c 200000 "$out/gpu.jsonl" >"$out/gpu.cut" && mv "$out/gpu.cut" "$out/gpu.jsonl"
host_lines=$(wc -l <"$out/host.jsonl")
farwire calibrate --budget 1 -q -o "$out"
ended 'again'
[ "$(wc -l <"$out/host.jsonl")" -gt "$host_lines" ] || complain 'the host did not go on'
tail -n 1 "$out/gpu.jsonl" | grep -q '^{"end":true' || complain 'it did not go on'
verdict 'calibrate.goes_on'

printf '#!/bin/sh\nexit 77\n' >"$scratch/none" && chmod +x "$scratch/none"
printf '#!/bin/sh\nexit 1\n' >"$scratch/broken" && chmod +x "$scratch/broken"
FARWIRE_PROBE=$scratch/none
farwire calibrate --budget 1 -q -o "$out" # the host alone, which is there already
ended 'no GPU'
FARWIRE_PROBE=$scratch/broken
farwire calibrate --budget 1 -q -o "$scratch/other"
[ "$code" = 1 ] || complain "a probe that fails: ended with $code"
FARWIRE_PROBE=$scratch/nowhere
farwire calibrate --budget 1 -q -o "$scratch/other"
[ "$code" = 1 ] || complain "no such probe: ended with $code"
grep -q "^farwire: cannot run '.*/nowhere': No such file" "$scratch.err" ||
	complain "no such probe: $(cat "$scratch.err")"
expect 1 'cannot create the folder' calibrate --budget 1 -q -o "$scratch/none/x"
verdict 'calibrate.says_what_failed'
