#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Imports each file of tests/samples and compares the result with tests/samples/FACTS, where each row
# has a file, an importer, and the facts that are known of the file. `import_facts.sh FILE KIND`
# prints all facts that the test can compare.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples
cd "$scratch" || exit 2

# Prints the facts of an imported file, one "name=value" a line.
cat >facts.awk <<'END'
function number(key, found) { # value of a key in a line of JSON, or ""
	found = match($0, "\"" key "\": ?\\[?[-0-9.e+]+")
	return found ? substr($0, RSTART, RLENGTH) : ""
}
function value(key, text) { # the same, without the key
	text = number(key)
	sub(/.*[ :\[]/, "", text)
	return text
}
function word(key, text) {
	if (!match($0, "\"" key "\": ?\"[^\"]*"))
		return ""
	text = substr($0, RSTART, RLENGTH)
	sub(/.*"/, "", text)
	return text
}
function put(name, what) { fact[name] = what }

# standard error: the counts of records
FILENAME ~ /err$/ {
	for (i = 2; i <= NF; i++)
		if ($i ~ /^(read[:,]?|used,?|skipped)$/ && $(i - 1) ~ /^[0-9]+$|^(records|events|settings|results)$/) {
			name = $i
			gsub(/[:,]/, "", name)
			count[name] += $(i - 1) ~ /^[0-9]+$/ ? $(i - 1) : $(i - 2)
		}
	next
}
# topologies
/ profile = "/ {
	fact["gpus"]++
	match($0, /profile = "[^"]*/)
	gpu = substr($0, RSTART + 11, RLENGTH - 11)
	put("gpu", gpus > 0 && gpu != fact["gpu"] ? "several" : gpu)
	gpus++
}
/name = "slot-nic/ { fact["nics"]++ }
/name = "memory-/ { fact["sockets"]++ }
/name = "slot-gpu0"/ && match($0, /generation = [0-9]+; lanes = [0-9]+/) {
	pcie = substr($0, RSTART, RLENGTH)
	gsub(/[^0-9;]/, "", pcie)
	sub(/;/, "x", pcie)
	put("pcie", pcie)
}
/kind = "nvlink"/ {
	fact["nvlink_pairs"]++
	match($0, /links = [0-9]+/)
	fact["nvlinks"] += substr($0, RSTART + 8, RLENGTH - 8)
}
/network = / && match($0, /bandwidth = "[^"]*/) {
	speed = substr($0, RSTART + 13, RLENGTH - 13)
	sub(/ /, "", speed)
	put("network", speed)
}
# networks, and then plans
/^#   [a-z_]+ = / { put($2, $4) }
/^\t[a-z_]+ = [^;]*;/ {
	text = $3
	gsub(/[";]/, "", text)
	put($1, text)
}
# recorded samples: a fact is named as the measured thing
/^\{"format": "farwire-samples"/ { put("tool", word("tool")); put("gpu", word("name")); gsub(/ /, "_", fact["gpu"]) }
/^\{"test": / && (value("pass") == "0") {
	name = word("collective") word("direction")
	if (name == "")
		name = word("what")
	put(number("size_B") != "" ? name "@" value("size_B") : name, sprintf("%.9g", value("samples")))
	for (k = split("ranks streams", keys, " "); k > 0; k--)
		if (number(keys[k]) != "")
			put(keys[k], value(keys[k]))
}
/^\{"test": / { fact["points"]++ }
# call files
/^\{"format":"farwire-calls"/ {
	fact["recordings"]++
	if (number("ranks") != "")
		put("ranks", value("ranks"))
	put("gpu", word("gpu"))
	gsub(/ /, "_", fact["gpu"])
}
/^\{"step":/ { fact["marks"]++ }
/"kernel_s":/ && /"label":/ { fact["kernels"]++; kernel_s += value("kernel_s") }
/"copy_s":/ { fact["copies"]++ }
/"call":"nccl/ {
	fact[word("call")]++
	if (value("size_B") + 0 > bytes[word("call")] + 0)
		bytes[word("call")] = value("size_B")
}
# runs of an algorithm of MSCCL
/^collective and its algorithm/ {
	split($0, part, /[:,] /)
	put("algorithm", part[3])
	put("protocol", part[4])
}
END {
	if (kernel_s > 0)
		put("kernel_us", sprintf("%.9g", kernel_s * 1e6))
	for (name in bytes)
		put(name "_B", bytes[name])
	for (name in count)
		put(name, count[name])
	for (name in fact)
		if (name != "" && fact[name] != "")
			print name "=" fact[name]
}
END

# imported KIND FILE: imports a sample, which may be compressed; * is all files of such a name
imported() {
	kind=$1
	# shellcheck disable=SC2086
	set -- "$samples"/$2
	for file; do
		shift
		case $file in
		*.gz)
			copy=$(basename "$file" .gz)
			[ -e "$copy" ] || gunzip -c "$file" >"$copy" || complain "$file cannot be read"
			file=$copy ;;
		esac
		set -- "$@" "$file"
	done
	case $kind in
	msccl*)
		set -- "$1" $kind
		farwire run --topology dgx-h100 --exchange nccl-2.18 --draws 0 -q --set library.msccl="$1" \
			--gpus "$3" --collective "$4" --set case.collective_size="$5" ;;
	calls)
		farwire check "$1"
		cp "$1" "$scratch.out" ;;
	*) farwire import "$kind" "$@" ;;
	esac
	awk -f facts.awk "$scratch.err" "$scratch.out" >facts
}

if [ $# = 2 ]; then
	imported "$2" "$1"
	cat "$scratch.err"
	sort facts
	exit
fi

tab=$(printf '\t')
known=
while IFS="$tab" read -r sample kind facts; do
	case $sample in '#'*) continue ;; esac
	imported "$kind" "$sample"
	# shellcheck disable=SC2086
	for file in "$samples"/$sample; do
		known="$known $file"
	done
	case $facts in
	refused*)
		[ "$code" = 2 ] || complain "$sample: ended with $code, not 2"
		[ ! -s "$scratch.out" ] || complain "$sample: was refused, but wrote results"
		grep -qE -e "${facts#refused }" "$scratch.err" ||
			complain "$sample: no '${facts#refused }' in: $(head -n 2 "$scratch.err")" ;;
	*)
		[ "$code" = 0 ] || complain "$sample: ended with $code: $(head -n 2 "$scratch.err")"
		cp "$scratch.out" written.cfg
		[ "$kind" != topology ] || "$FARWIRE" check written.cfg >/dev/null ||
			complain "$sample: the written topology is wrong"
		for fact in $facts; do
			grep -qFx -e "$fact" facts ||
				complain "$sample: $fact, but imported ${fact%%=*} is '$(sed -n "s/^${fact%%=*}=//p" facts)'"
		done ;;
	esac
done <"$samples/facts.tsv"
verdict import_facts.imported_samples_have_the_listed_facts

for file in "$samples"/*/*; do
	case "$known $samples/links/ " in
	*" $file "*) ;;
	*" ${file%/*}/ "*) ;; # tests/unit/link_logs.sh
	*) [ "${file##*/}" = NOTICE ] || complain "no row of facts.tsv has ${file#"$samples/"}" ;;
	esac
done
verdict import_facts.each_sample_has_a_row
