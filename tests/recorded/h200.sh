#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recordings of an H200 (calib/measure, 27 November 2026) against predictions: programs that
# the probe forwarded, and steps of ResNet-50 in PyTorch that were recorded and are replayed.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
recorded=calib/measured/recorded
profile=$recorded/h200.cfg
for file in probe.jsonl resnet50-train.jsonl resnet50-infer.jsonl resnet50-train.kineto.json; do
	gzip -dc "$recorded/h200-$file.gz" >"$scratch/$file" || complain "$file cannot be unpacked"
done

# Products of matrices do not pass their gates, because their law has no tiles; so fit ends with 3.
farwire fit "$scratch/probe.jsonl" -q -o "$scratch/h200.cfg"
[ "$code" = 3 ] || complain "fit: ended with $code, not 3: $(cat "$scratch.err")"
diff "$scratch/h200.cfg" $profile >"$scratch.diff" || complain "the profile differs: $(cat "$scratch.diff")"
verdict 'h200.fit_repeats_the_profile_to_the_byte'

farwire report "$scratch/probe.jsonl" -o "$scratch/page.html"
answer=$(sed -n 's/.*\(For [0-9]* programs forwarded [^<]*\).*/\1/p' "$scratch/page.html" | head -n 1)
echo "$answer" | sed 's/^For \([0-9]*\).*step time is \([0-9.]*\)[^0-9]*\([0-9.]*\).*/\1 \2 \3/' |
	awk '{ exit !($1 >= 51 && $2 <= 1 && $3 <= 15) }' || complain "forwarded programs: $answer"
verdict 'h200.programs_forwarded_over_tcp_are_predicted'

# replay FILE BATCH STEP PERCENT: the recorded step, with the host's time as it is without the
# recorder, against the median of unrecorded steps.
replay() {
	farwire run --calls "$scratch/$1" --topology dgx-h200 --profile $profile --batch "$2" --draws 0 --format csv
	measured=$(sed -n "/\"$3.untraced\"/,/}/s/.*\"median_s\": \([0-9.]*\).*/\1/p" $recorded/h200-resnet50-times.json)
	awk -F , -v measured="$measured" -v most="$4" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { error = 100 * ($column / measured - 1); exit !(error <= most && error >= -most) }
		END { if (NR < 2) exit 1 }' "$scratch.out" ||
		complain "$1: $(cat "$scratch.out"), measured $measured s"
}
farwire import kineto "$scratch/resnet50-train.kineto.json" -o "$scratch/kineto.jsonl"
[ "$code" = 0 ] || complain "import: $(cat "$scratch.err")"
replay resnet50-train.jsonl 64 train 5
replay kineto.jsonl 64 train 5
replay resnet50-infer.jsonl 32 infer 20
verdict 'h200.recorded_steps_are_replayed'
