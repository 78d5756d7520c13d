#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire calibrate with the fake GPU: a recording, a profile and a page in one folder. The same
# command continues, or fits the present recording again.
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

# The run has ended, with or without a failed gate.
ended() { # NAME OF THE RUN
	[ "$code" = 0 ] || [ "$code" = 3 ] || complain "$1: ended with $code: $(tail -n 3 "$scratch.err")"
}

out=$scratch/mine
farwire calibrate --budget 1 -o "$out"
ended 'the first run'
shows '^Fake GPU: launching a kernel takes 2\.[01][0-9.]* us'
shows 'pinned copies to the GPU reach 2[34]\.[0-9]* GB/s from [48] KiB up'
shows "^The report: $out/report\\.html"
for file in gpu.jsonl profile.cfg report.html; do
	[ -s "$out/$file" ] || complain "no $file"
done
grep -q '<svg' "$out/report.html" || complain 'the report has no images'
grep -q 'path = "driver.launch"' "$out/profile.cfg" || complain 'the profile lacks driver.launch'
grep -q 'Measured by farwire' "$out/report.html" || complain 'the page does not say who measured'
# The largest drift of the page, in percent, is that of the recording's last line.
tail -n 1 "$out/gpu.jsonl" | sed 's/.*"drift":{//' | tr ',}' '\n\n' | sed -n 's/.*":-\{0,1\}//p' | sort -g | tail -n 1 |
	awk '{ printf "largest drift %.1f %%", 100 * $1 }' >"$scratch.drift"
grep -qFf "$scratch.drift" "$out/report.html" || complain "$(cat "$scratch.drift"), but $(grep -o 'largest drift [^;]*' "$out/report.html")"
grep -q 'Nothing was fitted of: .*calls' "$out/report.html" && complain 'a complete page says that calls are missing'
"$FARWIRE" run --topology t320-same-lan --profile "$out/profile.cfg" --draws 2 -q >"$scratch.out" ||
	complain 'the profile cannot be used'
verdict 'calibrate.writes_a_recording_a_profile_and_a_report'

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
farwire calibrate --budget 1 -q -o "$out"
ended 'the second run'
tail -n 1 "$out/gpu.jsonl" | grep -q '^{"end":true' || complain 'the recording of the GPU did not continue'
verdict 'calibrate.continues_a_cut_recording'

# Without its products the recording says what it does not fit.
grep -v '"test":"gemm"' "$out/gpu.jsonl" >"$out/gpu.less" && mv "$out/gpu.less" "$out/gpu.jsonl"
farwire calibrate --budget 1 -o "$out"
ended 'the run of a part'
shows '^  nothing was fitted of: matrix products$'
grep -q 'Nothing was fitted of: matrix products\.' "$out/report.html" ||
	complain 'the page does not say that products were left out'
grep -q 'easured and fitted' "$out/report.html" && complain 'the page says that all was fitted'
verdict 'calibrate.names_what_it_did_not_fit'

# Without a GPU, or without the probe, there is nothing to measure.
printf '#!/bin/sh\nexit 77\n' >"$scratch/none" && chmod +x "$scratch/none"
mkdir "$scratch/bin" && cp "$FARWIRE" "$scratch/bin/farwire"
FARWIRE_PROBE=$scratch/none expect 1 'there is no GPU to measure' calibrate --budget 1 -q -o "$scratch/no-gpu"
FARWIRE_PROBE='' FARWIRE=$scratch/bin/farwire expect 1 'no farwire-probe in the folder' calibrate --budget 1 -q -o "$scratch/no-gpu"
[ "$(ls -A "$scratch/no-gpu")" = '' ] || complain "without a GPU there are $(ls -A "$scratch/no-gpu")"
verdict 'calibrate.needs_a_gpu'

printf '#!/bin/sh\nexit 1\n' >"$scratch/broken" && chmod +x "$scratch/broken"
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
