#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire calibrate with the fake GPU and this machine: recordings, a profile and a page in one
# folder. The same command continues, or fits the present recordings again. The test does not
# cover the effect of this machine's noise on gates.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=${FARWIRE%/*}/tests/farwire-probe-fake
if [ ! -x "$probe" ]; then
	echo "  no $probe"
	exit 77
fi
# The fake GPU has its own clock, on which two minutes pass in a second.
printf '#!/bin/sh\nexec "%s" "$@" --budget 110\n' "$(cd "${probe%/*}" && pwd)/${probe##*/}" >"$scratch/probe"
chmod +x "$scratch/probe"
FARWIRE_PROBE=$scratch/probe
export FARWIRE_PROBE

# The run has ended, with or without a failed gate; or the host is unfinished after a second,
# and a message says so.
ended() { # NAME OF THE RUN
	case $code in
	0 | 3) ;;
	1) grep -q 'the time limit was reached in pass' "$scratch.err" && tail -n 1 "$out/host.jsonl" | grep -q '^{"end":false' ;;
	*) false ;;
	esac || complain "$1: ended with $code: $(tail -n 3 "$scratch.err")"
}

out=$scratch/mine
farwire calibrate --budget 1 -o "$out"
ended 'the first run'
shows '^Fake GPU: launching a kernel takes 2\.[01][0-9.]* us'
shows 'pinned copies to the GPU reach 2[34]\.[0-9]* GB/s from [48] KiB up'
shows "^The report: $out/report\\.html"
for file in gpu.jsonl host.jsonl profile.cfg report.html; do
	[ -s "$out/$file" ] || complain "no $file"
done
grep -q '<svg' "$out/report.html" || complain 'the report has no images'
grep -q 'path = "driver.launch"' "$out/profile.cfg" || complain 'the profile lacks driver.launch'
shows 'forwarded programs that no fit used: median error 0\.[0-9] %, largest [0-4]\.[0-9] %'
grep -q 'Measured by farwire' "$out/report.html" || complain 'the page does not say who measured'
# The largest drift of the page, in percent, is that of the recording's last line.
tail -n 1 "$out/gpu.jsonl" | sed 's/.*"drift":{//' | tr ',}' '\n\n' | sed -n 's/.*":-\{0,1\}//p' | sort -g | tail -n 1 |
	awk '{ printf "largest drift %.1f %%", 100 * $1 }' >"$scratch.drift"
grep -qFf "$scratch.drift" "$out/report.html" || complain "$(cat "$scratch.drift"), but $(grep -o 'largest drift [^;]*' "$out/report.html")"
grep -q 'Nothing was fitted of: .*calls' "$out/report.html" && complain 'a complete page says that calls are missing'
[ "$(grep -c 'sha256 of the recording' "$out/profile.cfg")" = 2 ] || complain 'the profile is not made of both recordings'
"$FARWIRE" run --topology t320-same-lan --profile "$out/profile.cfg" --draws 2 -q >"$scratch.out" ||
	complain 'the profile cannot be used'
verdict 'calibrate.writes_recordings_a_profile_and_a_report'

# The warning agrees with the load before and after. In between the load may cross the limit.
rm -rf "$scratch/busy"
read -r before _ </proc/loadavg
farwire calibrate --budget 1 -o "$scratch/busy"
read -r after _ </proc/loadavg
case $(echo "$before $after" | awk '{ print ($1 > 0.5) + ($2 > 0.5) }') in
0) ! grep -q 'machine is busy' "$scratch.err" || complain "warns at a load of $before" ;;
2) grep -q 'machine is busy: [0-9.]* threads' "$scratch.err" || complain "no warning at a load of $before" ;;
*) ;;
esac
verdict 'calibrate.warns_before_measuring_on_a_busy_machine'

head -c 200000 "$out/gpu.jsonl" >"$out/gpu.cut" && mv "$out/gpu.cut" "$out/gpu.jsonl"
host_lines=$(wc -l <"$out/host.jsonl")
farwire calibrate --budget 1 -q -o "$out"
ended 'the second run'
[ "$(wc -l <"$out/host.jsonl")" -gt "$host_lines" ] || complain 'the recording of the host did not continue'
tail -n 1 "$out/gpu.jsonl" | grep -q '^{"end":true' || complain 'the recording of the GPU did not continue'
verdict 'calibrate.continues_cut_recordings'

# Without its forwarded calls and products the recording says what it does not fit.
grep -v '"test":"\(forward\|gemm\)"' "$out/gpu.jsonl" >"$out/gpu.less" && mv "$out/gpu.less" "$out/gpu.jsonl"
farwire calibrate --budget 1 -o "$out"
ended 'the run of a part'
shows '^  nothing was fitted of: matrix products, forwarded calls$'
grep -q 'Nothing was fitted of: matrix products, forwarded calls\.' "$out/report.html" ||
	complain 'the page does not say that forwarding was left out'
grep -q 'easured and fitted' "$out/report.html" && complain 'the page says that all was fitted'
verdict 'calibrate.names_what_it_did_not_fit'

# Without a GPU only the host is measured.
printf '#!/bin/sh\nexit 77\n' >"$scratch/probe"
all=$out out=$scratch/no-gpu
farwire calibrate --budget 1 -o "$out"
ended 'the run without a GPU'
grep -q 'This page describes only the host' "$out/report.html" || complain 'the page does not say that there is no GPU'
grep -q 'path = "driver' "$out/profile.cfg" && complain 'the profile has numbers of a GPU'
[ ! -e "$out/gpu.jsonl" ] || complain 'there is a recording of a GPU'
out=$all
verdict 'calibrate.measures_the_host_without_a_gpu'

printf '#!/bin/sh\nexit 77\n' >"$scratch/none" && chmod +x "$scratch/none"
printf '#!/bin/sh\nexit 1\n' >"$scratch/broken" && chmod +x "$scratch/broken"
FARWIRE_PROBE=$scratch/none
farwire calibrate --budget 1 -q -o "$out" # only the host, whose recording exists
ended 'the run without a GPU'
FARWIRE_PROBE=$scratch/broken
farwire calibrate --budget 1 -q -o "$scratch/other"
[ "$code" = 1 ] || complain "with a failing probe the run ended with $code"
FARWIRE_PROBE=$scratch/nowhere
farwire calibrate --budget 1 -q -o "$scratch/other"
[ "$code" = 1 ] || complain "with a missing probe the run ended with $code"
grep -q "^farwire: cannot run '.*/nowhere': No such file" "$scratch.err" ||
	complain "with a missing probe the error is $(cat "$scratch.err")"
expect 1 'cannot create the folder' calibrate --budget 1 -q -o "$scratch/none/x"
verdict 'calibrate.reports_what_failed'
