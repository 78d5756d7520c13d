#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recordings of an H200 and an H100 (calib/measure, 27 November 2026) against predictions:
# programs that the probe forwarded, and steps of ResNet-50 in PyTorch that were recorded and are
# replayed. For the H100, also what the kernels of steps took.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
recorded=calib/measured/recorded

check_fit() {
	for file in probe.jsonl resnet50-train.jsonl resnet50-infer.jsonl resnet50-train.kineto.json; do
		gzip -dc "$recorded/$gpu-$file.gz" >"$scratch/$file" || complain "$file cannot be unpacked"
	done
	farwire fit "$scratch/probe.jsonl" -q -o "$scratch/$gpu.cfg"
	[ "$code" = 0 ] || complain "fit: ended with $code: $(cat "$scratch.err")"
	diff "$scratch/$gpu.cfg" "$recorded/$gpu.cfg" >"$scratch.diff" ||
		complain "the profile differs: $(cat "$scratch.diff")"
	verdict "$gpu.fit_repeats_the_profile_to_the_byte"
}

# check_programs PERCENT: the largest error that is allowed
check_programs() {
	farwire report "$scratch/probe.jsonl" -o "$scratch/page.html"
	answer=$(sed -n 's/.*\(For [0-9]* programs forwarded [^<]*\).*/\1/p' "$scratch/page.html" | head -n 1)
	echo "$answer" | sed 's/^For \([0-9]*\).*step time is \([0-9.]*\)[^0-9]*\([0-9.]*\).*/\1 \2 \3/' |
		awk -v most="$1" '{ exit !($1 >= 51 && $2 <= 1 && $3 <= most) }' ||
		complain "forwarded programs: $answer"
	verdict "$gpu.programs_forwarded_over_tcp_are_predicted"
}

# replay FILE BATCH STEP PERCENT: the recorded step, with the host's time as it is without the
# recorder, against the median of unrecorded steps.
replay() {
	farwire run --calls "$scratch/$1" --topology "dgx-$gpu" --profile "$recorded/$gpu.cfg" \
		--batch "$2" --draws 0 --format csv
	measured=$(sed -n "/\"$3.untraced\"/,/}/s/.*\"median_s\": \([0-9.]*\).*/\1/p" \
		"$recorded/$gpu-resnet50-times.json")
	awk -F , -v measured="$measured" -v most="$4" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { error = 100 * ($column / measured - 1); exit !(error <= most && error >= -most) }
		END { if (NR < 2) exit 1 }' "$scratch.out" ||
		complain "$1: $(cat "$scratch.out"), measured $measured s"
}

# check_replays TRAIN KINETO INFER: the allowed errors in percent
check_replays() {
	farwire import kineto "$scratch/resnet50-train.kineto.json" -o "$scratch/kineto.jsonl"
	[ "$code" = 0 ] || complain "import: $(cat "$scratch.err")"
	replay resnet50-train.jsonl 64 train "$1"
	replay kineto.jsonl 64 train "$2"
	replay resnet50-infer.jsonl 32 infer "$3"
	verdict "$gpu.recorded_steps_are_replayed"
}

# check_move FROM PERCENT: the step that was recorded on another GPU, against the median of this one's
check_move() {
	gzip -dc "$recorded/$1-resnet50-train.jsonl.gz" >"$scratch/moved.jsonl"
	replay moved.jsonl 64 train "$2"
	verdict "$gpu.step_recorded_on_another_gpu_is_moved_by_the_classes_of_its_kernels"
}

gpu=h200
check_fit
check_programs 15
check_replays 5 5 20
check_move h100 4

# PyTorch's profiler made the H100's host the limit: the profiled step took 51 ms, not 39 ms.
gpu=h100
check_fit
check_programs 20
check_replays 5 25 10
check_move h200 2

command -v python3 >/dev/null || { echo 'skipped: python3 is missing' && exit 0; }
python3 -B calib/trace/kernels_summary.py $recorded/h100-kernels.jsonl.gz >"$scratch/summary" ||
	complain 'kernels_summary.py fails'
for line in 'product 8192 x 8192 x 8192: 1.392 ms in a burst, 1.561 ms after seconds (+12 %), 1980 -> 1418 MHz, 700 W' \
	'step: bert-large train amp batch=32 length=384: 116.3 ms, kernels 101.8 ms, 1980 MHz, 581 W'; do
	grep -qF "$line" "$scratch/summary" || complain "no '$line' in: $(head -n 30 "$scratch/summary")"
done
verdict h100.kernels_of_steps_are_summed_up_without_annotations
