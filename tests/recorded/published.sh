#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Shipped GPUs agree with the tables of facts: each row has a file in topologies/gpus/ with the
# same numbers, marked as published. A profile from a recording of this GPU has the same name.
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
		complain "$1: $2 is '$got', but $facts has $3"
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
	grep -q "\"$file\"" sim/gpu/gpu_models.def || complain "$file is not in sim/gpu/gpu_models.def"
	file=topologies/gpus/$file.cfg
	same "$file" fp32 "$fp32"
	same "$file" fp16 "$fp16"
	same "$file" memory_bandwidth "$bandwidth"
	same "$file" memory "$memory"
done <$facts
[ "$rows" -ge 9 ] || complain "only $rows rows of $facts"
verdict 'published.gpus_match_the_table_of_facts'

# Slots and NVLinks of the GPUs in a shipped machine (no machine has an H200), and the PCIe
# generation that a recording without one gets.
links=calib/measured/facts_links.tsv
number() { # TOPOLOGY PATTERN: sum over links of a whole number
	"$FARWIRE" explain --topology "$1" link 2>/dev/null | awk -v pattern="$2" '$1 ~ pattern { sum += $2 } END { print sum + 0 }'
}
while IFS="$(printf '\t')" read -r name file topology slot; do
	said=$(awk -F'\t' -v name="$name" '$1 == name { print $6 }' $facts)
	generation=$(echo "$said" | sed -n 's/PCIe gen\([0-9]\) x16.*/\1/p')
	[ -n "$generation" ] || complain "$facts: no slot of $name: '$said'"
	grep -q "\"$file\", $generation, " sim/gpu/gpu_models.def || complain "$file: gpu_models.def does not have PCIe gen$generation"
	[ -n "$topology" ] || continue
	[ "$(number "$topology" "^link\\.$slot\\.generation\$")" = "$generation" ] || complain "$topology: $slot is not PCIe gen$generation"
	[ "$(number "$topology" "^link\\.$slot\\.lanes\$")" = 16 ] || complain "$topology: $slot does not have 16 lanes"
	nvlink=$(echo "$said" | sed -n 's/.*NVLink gen\([0-9]\) x\([0-9]*\).*/\1 \2/p')
	[ "$(number "$topology" '^link\.nv0(-[0-9]+)?\.links$')" = "${nvlink#* }" ] || [ -z "$nvlink" ] ||
		complain "$topology: the NVLinks of gpu0 are not those of '$said'"
	"$FARWIRE" explain --topology "$topology" link 2>/dev/null | awk -v wanted="${nvlink% *}" \
		'$1 ~ /^link\.nv0(-[0-9]+)?\.generation$/ && $2 != wanted { bad = 1 } END { exit bad }' ||
		complain "$topology: the generation of NVLink is not that of '$said'"
	grep -rq "\"$file\"" topologies/*.cfg topologies/machines || complain "no machine has a $file"
done <<'END'
GTX 1050 Ti	gtx-1050ti	t320-same-lan	slot
GTX 1080	gtx-1080	closer2018-gtx1080	slot0
K80 (one die)	k80	gce-8xk80	slot0
P100-SXM2	p100-sxm2	dgx1-p100	slot0
P100-PCIe	p100-pcie	vm-p100-roce	slot
V100-SXM2-16GB	v100-sxm2	dgx1-v100	slot0
A100-SXM4-80GB	a100-sxm4-80	dgx-a100	slot0
H100-SXM5-80GB	h100-sxm5	dgx-h100	slot0
H200-SXM	h200-sxm
END
# shellcheck disable=SC2046
set -- $(awk -F'\t' '/^NVLink links per GPU/ { gsub("/", " ", $2); print $2 }' $links)
for topology in dgx1-p100 dgx1-v100 dgx-a100 dgx-h100; do
	[ "$(number $topology '^link\.nv0(-[0-9]+)?\.links$')" = "$1" ] || complain "$topology: $links has $1 NVLinks"
	shift
done
[ "$(number c4140-m '^link\.nv0-1\.links$')" = "$(awk -F'\t' '/^C4140-M/ { print $2 }' $links)" ] || complain 'c4140-m: the number of links of nv0-1 differs'
# Header sizes of overlays, which also disable segmentation offload.
# shellcheck disable=SC2046
set -- $(awk -F'\t' '/^VXLAN/ { gsub("/", " ", $2); print $2 }' $links)
[ "$(grep -c "tcp.encapsulation=$1 B.*offload=false" calib/measured/closer2018_gtx1080.cfg)" -ge 1 ] || complain "VXLAN does not have $1 B without offload"
grep -q "offload=false.*tcp.encapsulation=$2 B" topologies/cases/ddl-calico.cfg || complain "IPIP does not have $2 B without offload"
verdict 'published.links_match_the_table_of_facts'

# Published bandwidths of copies over PCIe in GB/s, compared with what a link of that generation
# carries with the packet sizes of the fits. The copies must fit, and an engine must reach most
# of the link. P100 gen3 x16: 12.15 and 12.89; A100 gen4 x16: 25.1
# (calib/measured/facts_links.tsv).
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
verdict 'published.copy_efficiency_is_plausible'
