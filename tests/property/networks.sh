#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every shipped network trains on one GPU at a plausible rate, or needs more memory than the GPU
# has. Transformers train in parallel and over a network, too, and the user's own file is a network.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

# result NAME OPTION...: a line with name, verdict, samples/s, tokens/s and why it failed
result() {
	name=$1
	shift
	"$FARWIRE" run --topology dgx-h200 --stack pytorch "$@" --draws 0 --quiet --format json </dev/null 2>&1 | awk -v name="$name" '
		/"verdict"/ && !verdict { verdict = $2; gsub(/[",]/, "", verdict) }
		/"reason"/ && !reason { reason = $0; sub(/.*"reason": /, "", reason) }
		/"throughput"/ && value == "" { value = $3; sub(/,/, "", value) }
		/"tokens_per_s"/ && tokens == "" { tokens = $3; sub(/,/, "", tokens) }
		END { print name, verdict == "" ? "refused" : verdict, value + 0, tokens + 0, reason }'
}

complaints() {
	awk "$@" >"$scratch/wrong"
	while read -r line; do complain "$line"; done <"$scratch/wrong"
}

"$FARWIRE" list models --plain >"$scratch/names"
while read -r model; do
	result "$model" --model "$model" --batch 1 --set stack.precision=bf16
done <"$scratch/names" >"$scratch/results"
complaints '$2 != "ok" && !/out of GPU memory/ { print "fails: " $0 }' "$scratch/results"
complaints '$2 == "ok" { fits++ } END { if (fits < 25) print "only " fits " networks fit" }' "$scratch/results"
# 16 bytes a parameter: 141 GB hold 8.8 G parameters at most
complaints '$2 == "ok" && $1 ~ /-(13b|20b|30b|34b|70b|120b|175b|405b|8x7b|30b-a3b)$/ { print "fits: " $0 }' "$scratch/results"
verdict networks.all_train_or_need_more_memory

# 6 flop for each parameter and token, and no more than the peak of 989 Tflop/s; at least 2 % of it
# in steps of more than 2000 tokens and 1 G parameters.
complaints '
	$1 ~ /^(gpt2|gpt2-medium|gpt2-large|gpt2-xl|mpt-.*|gpt3-.*|llama.*)$/ && $2 == "ok" {
		size = $1 == "gpt2" ? 0.124 : $1 == "gpt2-medium" ? 0.355 : $1 == "gpt2-large" ? 0.774 : $1 == "gpt2-xl" ? 1.56 : 0
		if (!size) { size = $1; sub(/.*-/, "", size); size = size ~ /m$/ ? size / 1000 : size + 0 }
		used = 6e9 * 0.95 * size * $4 / 989e12
		if (used > 1 || (size >= 1 && used < 0.02)) print used " of the peak: " $0
		seen++
	}
	END { if (seen < 12) print "only " seen " language models fit" }' "$scratch/results"
verdict networks.language_models_stay_below_the_peak

for model in gpt2 bert-base vit-b-16; do
	result "$model" --model $model --batch 4
	result "$model-8" --model $model --batch 4 --gpus 8 --exchange ddp
	result "$model-forwarded" --topology t320-same-esxi --model $model --batch 1 --runtime asynchronous
done >"$scratch/results"
complaints '
	$2 != "ok" { print "fails: " $0 }
	{ rate[$1] = $3 }
	END {
		for (name in rate)
			if ((name "-8") in rate && (rate[name "-8"] > 8 * rate[name] || rate[name "-8"] < 4 * rate[name]))
				print name ": " rate[name] " on one GPU, " rate[name "-8"] " on eight"
	}' "$scratch/results"
verdict networks.transformers_train_in_parallel_and_forwarded

cd "$scratch" || exit 2
sed 's/name = "gpt2"/name = "mine"/' "$FARWIRE_DATA/models/networks/gpt2.cfg" >own.cfg
expect 0 '' run --topology dgx-h200 --model own.cfg --set case.sequence=512 --draws 0
shows ' sequences/s$'
shows 'sequences: [0-9.]+ tokens/s'
expect 0 '' explain --topology dgx-h200 --model own.cfg efficiency.h200-sxm.mine.peak
shows '^efficiency.h200-sxm.mine.peak '
expect 2 "there is no model 'own' .* must end in .cfg" run --topology dgx-h200 --model own --draws 0
expect 2 "case.sequence works only with networks of sequences, but 'vgg16' takes images" run --topology dgx-h200 --model vgg16 --set case.sequence=512 --draws 0
expect 2 "1024 positions, but the sequences have 2048 tokens" run --topology dgx-h200 --model own.cfg --set case.sequence=2048 --draws 0
sed -n '/^# my-network.cfg/,/^```/p' "$FARWIRE_DATA/docs/configuration.md" | sed '/^```/d' >my-network.cfg
expect 0 '' run --topology dgx-h200 --model my-network.cfg --draws 0
verdict networks.own_file_is_named_by_its_path_and_called_by_its_name
