#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the facts' tables say of GPUs is what ships: each row has a file in
# topologies/gpus/ with the same numbers, which say that they are published; a
# profile from a recording of that GPU is known by the same name.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
facts=calib/measured/facts_gpus.tsv

# value FILE KEY: the number of a published value.
value() {
	sed -nE "s/^[[:space:]]*$2 = \\{ value = \"([0-9.]+) .*origin = \"published\".*/\\1/p" "$1"
}
same() { # FILE KEY WANTED
	got=$(value "$1" "$2")
	[ "$3" = NA ] && return
	awk -v a="${got:-none}" -v b="$3" 'BEGIN { exit !(a + 0 == b + 0 && a != "none") }' ||
		complain "$1: $2 is '$got', $facts says $3"
}

rows=0
while IFS="$(printf '\t')" read -r name fp32 fp16 bandwidth memory _; do
	case $name in
	'#'* | gpu) continue ;;
	'GTX 1050 Ti') file=gtx-1050ti ;;
	'GTX 1080') file=gtx-1080 ;;
	'K80 (one die)') file=k80 ;;
	P100-SXM2) file=p100-sxm2 ;;
	P100-PCIe) file=p100-pcie ;;
	V100-SXM2-16GB) file=v100-sxm2 ;;
	A100-SXM4-80GB) file=a100-sxm4-80 ;;
	H100-SXM5-80GB) file=h100-sxm5 ;;
	H200-SXM) file=h200-sxm ;;
	*)
		complain "$facts: '$name' has no file in topologies/gpus/"
		continue
		;;
	esac
	rows=$((rows + 1))
	grep -q "\"$file\"" calib/fit/gpu_names.def || complain "$file is not in calib/fit/gpu_names.def"
	file=topologies/gpus/$file.cfg
	same "$file" fp32 "$fp32"
	same "$file" fp16 "$fp16"
	same "$file" memory_bandwidth "$bandwidth"
	same "$file" memory "$memory"
done <$facts
[ "$rows" -ge 9 ] || complain "only $rows rows of $facts"
verdict 'published.gpus'

# Names of recordings lead to files that are there.
sed -nE 's/^GPU_NAME\("[^"]*", "([^"]+)", [0-9]\)$/\1/p' calib/fit/gpu_names.def >"$scratch.names"
[ -s "$scratch.names" ] || complain 'no names'
while read -r name; do
	[ -f "topologies/gpus/$name.cfg" ] || complain "gpu_names.def: no topologies/gpus/$name.cfg"
done <"$scratch.names"
verdict 'published.names_of_drivers'

# Published copies over PCIe, GB/s, against what a link of that generation carries
# with the packets that fits take: they fit, and an engine reaches most of it.
# P100 gen3 x16: 12.15 and 12.89; A100 gen4 x16: 25.1 (calib/measured/facts_links.tsv).
head='{"format":"farwire-samples","version":1,"tool":"t","date":"d","seed":1,"mode":"m","passes":1,"host":{"cpu":"c"},'
copy() { # GPU GB/s LOW HIGH
	{
		echo "$head\"gpu\":{\"name\":\"$1\"}}"
		echo '{"test":"copy","is":{"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":268435456},"pass":0,"unit":"B/s","samples":['"$2"'e9],"stop":"count","held_out":false}'
	} >"$scratch.jsonl"
	farwire fit "$scratch.jsonl" -q
	awk -v low="$3" -v high="$4" '/path = "dma.efficiency"/ { found = 1; next }
		found { sub(/.*value = "/, ""); exit !($1 + 0 > low && $1 + 0 < high) }
		END { if (!found) exit 1 }' "$scratch.out" ||
		complain "$1 at $2 GB/s: $(grep -A 1 dma.efficiency "$scratch.out")"
}
copy 'Tesla P100-SXM2-16GB' 12.15 0.84 0.85
copy 'Tesla P100-SXM2-16GB' 12.89 0.89 0.90
copy 'NVIDIA A100-SXM4-80GB' 25.1 0.86 0.88
verdict 'published.copies'
