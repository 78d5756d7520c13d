#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every shipped GPU, machine, topology and network gives plausible results: rates of GPUs below
# their peaks, memory that fits, bus bandwidths of collectives below the rates of the links.
# Bounds come from the facts of `farwire list` and from rates of links that stand below.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
results=$scratch/results

for kind in gpus machines networks topologies; do
	"$FARWIRE" list $kind | awk '/^---/ { body = 1; next } body' >"$scratch/$kind.facts"
	# the place of a rank without a GPU, and the machines that have only such places
	"$FARWIRE" list $kind --plain | grep -vxE 'none|cpu-ethernet' >"$scratch/$kind.names"
done

# A line for each result: name, verdict, value, why it failed.
result() {
	name=$1
	shift
	"$FARWIRE" run "$@" --draws 0 --quiet --format json </dev/null 2>&1 | awk -v name="$name" '
		/"verdict"/ && !verdict { verdict = $2; gsub(/[",]/, "", verdict) }
		/"reason"/ && !reason { reason = $0; sub(/.*"reason": /, "", reason) }
		/"throughput"/ && value == "" { value = $3; sub(/,/, "", value) }
		END { print name, verdict == "" ? "refused" : verdict, value + 0, reason }'
}

# complaints AWK-PROGRAM: each line that it prints is a complaint.
complaints() {
	awk "$@" >"$scratch/wrong"
	while read -r line; do complain "$line"; done <"$scratch/wrong"
}

# ---- files ----

for kind in gpus machines networks; do
	[ "$(wc -l <"$scratch/$kind.names")" -ge 30 ] || complain "$kind: only $(wc -l <"$scratch/$kind.names") files"
done
for folder in gpus machines networks; do
	for file in topologies/$folder/*.cfg; do
		case $folder in
		machines) grep -q '^machine = {' "$file" || continue ;; # settings to include
		esac
		echo "$file"
	done
done >"$scratch/files"
# shellcheck disable=SC2046
expect 0 '' check $(cat "$scratch/files") $(find topologies -maxdepth 1 -name '*.cfg')
verdict hardware.check_finds_no_errors_in_shipped_files

complaints '$2 !~ /^(kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell)$/ { print "no generation: " $0 }' "$scratch/gpus.facts"
complaints '/settings to include/ { next } !/ x .*cores, [0-9]+ network port/ { print "no facts: " $0 }' "$scratch/machines.facts"
complaints '!/ [0-9.]+ Gbit\/s a port, / { print "no facts: " $0 }' "$scratch/networks.facts"
complaints '!/ [0-9]+ x [a-z]/ { print "no facts: " $0 }' "$scratch/topologies.facts"
verdict hardware.list_shows_facts_of_every_file

# ---- GPUs: ResNet-50 in fp32, of 4.1 G multiply-adds an image forward and twice that backward ----

while read -r gpu; do
	result "$gpu" --topology workstation-2 --gpus 1 --set "gpu.*.profile=$gpu" --model resnet50 --stack tf-1.12 --batch 16
done <"$scratch/gpus.names" >"$results"
# shellcheck disable=SC2016
complaints '
	FNR == NR { # what, generation, name, facts
		for (i = 4; i < NF; i++) if ($i ~ /^(fp32|tf32)$/ && $(i + 1) + 0 > peak[$3]) peak[$3] = $(i + 1) + 0
		for (i = 4; i < NF; i++) if ($i == "fp32") fp32[$3] = $(i + 1) + 0
		next
	}
	{ reached = $3 * 3 * 2 * 4.1e9 / 1e12 }
	$2 != "ok" || !peak[$1] { print "GPU " $0; next }
	reached > peak[$1] { print "GPU " $1 ": " reached " TFLOPS exceed the peak of " peak[$1] }
	reached < 0.03 * fp32[$1] { print "GPU " $1 ": " reached " TFLOPS of " fp32[$1] " are too few" }' "$scratch/gpus.facts" "$results"
[ "$(wc -l <"$results")" = "$(wc -l <"$scratch/gpus.names")" ] || complain 'a GPU gave no result'
verdict hardware.rates_of_gpus_are_below_their_peaks

while read -r gpu; do
	result "$gpu" --topology workstation-2 --gpus 1 --set "gpu.*.profile=$gpu" --model resnet50 --batch 8192
done <"$scratch/gpus.names" >"$results"
# Its activations take over 100 MB an image.
complaints '!/ fail .*out of GPU memory/ { print "a batch of 8192 fits: " $0 }' "$results"
verdict hardware.memory_of_gpus_bounds_the_batch

# ---- topologies: all-reduce inside a machine, and between two ----

# GB/s in one direction, of one link: NVLink by generation, and a lane of PCIe.
rates='BEGIN { split("20 25 25 26.5625 53.125", nvlink, " "); split("0.25 0.5 0.985 1.969 3.938 7.375", lane, " ") }'
# shellcheck disable=SC2016
awk "$rates"' # machine, GPUs, GB/s of the links of the first GPU
	match($0, /[0-9]+ x /) { gpus = substr($0, RSTART, RLENGTH) + 0 } !gpus { next }
	{
		for (name = 1; name < NF && $(name + 1) != gpus; name++);
		own = 0
		if (match($0, /[0-9]+ NVLinks of generation [0-9]/)) { split(substr($0, RSTART, RLENGTH), part, " "); own += part[1] * nvlink[part[5]] }
		if (match($0, /[0-9]+ links of [0-9]+ GB/)) { split(substr($0, RSTART, RLENGTH), part, " "); own += part[1] * part[4] }
		if (match($0, /pcie [0-9] x[0-9]+/)) { split(substr($0, RSTART, RLENGTH), part, " "); sub(/x/, "", part[3]); own += lane[part[2]] * part[3] }
		if (match($0, /processor link of [0-9]+/)) { split(substr($0, RSTART, RLENGTH), part, " "); own += part[4] }
		print $name, gpus, own
		gpus = 0
	}' "$scratch/machines.facts" >"$scratch/machines.bounds"
while read -r topology; do
	machine=$(sed -n 's/.*cluster = .*machine = "\([^"]*\)".*/\1/p' "topologies/$topology.cfg")
	[ -n "$machine" ] || continue
	awk -v topology="$topology" -v machine="$machine" '$1 == machine { print topology, $2, $3 }' "$scratch/machines.bounds"
done <"$scratch/topologies.names" >"$scratch/topologies.bounds"
[ "$(wc -l <"$scratch/topologies.bounds")" -ge 45 ] || complain "bounds of only $(wc -l <"$scratch/topologies.bounds") topologies"

reduce="--collective all_reduce --set library.algorithm=ring --set case.collective_size=256MiB"
while read -r topology gpus bound; do
	# shellcheck disable=SC2086
	result "$topology" --topology "$topology" --gpus "$gpus" $reduce | sed "s/^[^ ]*/& $bound/"
done <"$scratch/topologies.bounds" >"$results"
complaints '$3 != "ok" { print $0; next }
	$4 > $2 * 1e9 { print $1 ": " $4 / 1e9 " GB/s of bus bandwidth exceed the links of a GPU, " $2 " GB/s" }
	$4 < 0.02 * $2 * 1e9 { print $1 ": " $4 / 1e9 " GB/s of bus bandwidth are too few for links of " $2 " GB/s" }' "$results"
verdict hardware.bus_bandwidth_in_a_machine_is_below_its_links

while read -r topology gpus _; do
	ports=$(sed -nE "s/.* $topology .* ([0-9]+) x [a-z]+ ([0-9.]+) Gbit\\/s a port.*/\\1 \\2/p" "$scratch/topologies.facts")
	part=
	if [ "$gpus" -gt 16 ]; then # eight GPUs of each machine, which have an adapter each, because rings of 144 take 6 s
		part='--set case.gpus_per_machine=8' ports="8 ${ports#"$gpus "}" gpus=8
	fi
	# shellcheck disable=SC2086
	result "$topology" --topology "$topology" --gpus $((2 * gpus)) $reduce $part | sed "s/^[^ ]*/& $ports/"
done <"$scratch/topologies.bounds" >"$results"
# L40S without peer access are slower in the machine than their adapters (kernels_collectives)
# shellcheck disable=SC2016
complaints '{ bound = $2 * $3 / 8 }
	$4 != "ok" || !bound { print $0; next }
	$5 > bound * 1e9 { print $1 ": " $5 / 1e9 " GB/s of bus bandwidth exceed the adapters, " bound " GB/s" }
	$5 < 0.02 * bound * 1e9 && $1 != "l40s-8gpu" { print $1 ": " $5 / 1e9 " GB/s of bus bandwidth are too few for adapters of " bound " GB/s" }' "$results"
verdict hardware.bus_bandwidth_between_machines_is_below_their_adapters

# ---- networks: between two DGX-1 with four adapters of 16 lanes of PCIe gen 3 ----

while read -r network; do
	port=$(sed -nE "s/.* $network +([0-9.]+) Gbit\\/s a port.*/\\1/p" "$scratch/networks.facts")
	# shellcheck disable=SC2086
	result "$network" --topology dgx1-v100-torus --set "cluster.network=$network" --gpus 16 $reduce | sed "s/^[^ ]*/& $port/"
done <"$scratch/networks.names" >"$results"
# shellcheck disable=SC2016
complaints '{ bound = 4 * ($2 / 8 < 15.754 ? $2 / 8 : 15.754) }
	$3 != "ok" || !bound { print $0; next }
	$4 > bound * 1e9 { print $1 ": " $4 / 1e9 " GB/s of bus bandwidth exceed the network, " bound " GB/s" }
	$4 < 0.02 * bound * 1e9 { print $1 ": " $4 / 1e9 " GB/s of bus bandwidth are too few for a network of " bound " GB/s" }' "$results"
[ "$(wc -l <"$results")" = "$(wc -l <"$scratch/networks.names")" ] || complain 'a network gave no result'
verdict hardware.bus_bandwidth_of_networks_is_below_their_rate
