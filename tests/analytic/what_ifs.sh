#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of the what-if pages must be what their own commands print.
#
#   tests/analytic/what_ifs.sh            compares
#   tests/analytic/what_ifs.sh --write    writes the results into the pages, after an intended
#                                         change
#
# The commands are the blocks of ```sh, in their order. If all heads of a table except the first
# name quantities (images/s, efficiency, step ...), each row shows one result. In any other table
# each cell shows the next result: the quantity that the first head names, otherwise the step.
# Cells under "by hand" are kept, and so are tables in sections without commands. A failed case
# shows the first words of its reason. The program is $FARWIRE, or build/farwire.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${FARWIRE:=build/farwire}"
export FARWIRE
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# One line for each result: the quantities in the order of `names` below, then the verdict.
cat >"$work/results.sh" <<'END'
results() {
	"$FARWIRE" "$@" --quiet --format csv >"$0.csv" || exit 1
	awk -F, '
		function first(a, b, c) { # the first column that exists
			return (a in at) ? $at[a] : (b in at) ? $at[b] : (c in at) ? $at[c] : ""
		}
		function plain(text,    out, i, c, inside) { # commas in quotes do not separate
			for (i = 1; i <= length(text); i++) {
				c = substr(text, i, 1)
				if (c == "\"") inside = !inside
				else out = out (inside && c == "," ? ";" : c)
			}
			return out
		}
		{ sub(/\r$/, ""); $0 = plain($0) }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ word = $at["verdict"]; sub(/:.*/, "", word)
		  printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", first("step_s", "time_s"), first("ratio", "efficiency"),
			first("samples_per_s", "throughput_samples_per_s"), first("efficiency", "ratio"), first("speedup"),
			first("exposed_s", "collective_exposed_s"), first("input_wait_s"), first("training_s"),
			first("bus_bandwidth_Bps"), word }' "$0.csv"
}
END

page() { # FILE
	cp "$work/results.sh" "$work/run"
	awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$1" | sed 's/build\/farwire /results /' >>"$work/run"
	sh -f "$work/run" >"$work/results" && [ -s "$work/results" ] || return 1
	awk -F'\t' -v page="$1" '
	function time(s) {
		if (s < 1) return sprintf("%.0f ms", s * 1000)
		return sprintf(s < 10 ? "%.2f s" : s < 100 ? "%.1f s" : "%.0f s", s)
	}
	function shown(name,    value) {
		if (result[at, 10] != "ok") return result[at, 10]
		value = result[at, index_of[name]]
		if (value == "") return "?"
		if (name == "step") return time(value)
		if (name == "exposed" || name == "input wait") return sprintf("%.1f ms", value * 1000)
		if (name == "ratio" || name == "efficiency") return sprintf("%.3f", value)
		if (name == "images/s") return sprintf(value < 1000 ? "%.1f" : "%.0f", value)
		if (name == "speed-up") return sprintf(value < 100 ? "%.2f" : "%.0f", value)
		if (name == "training") return sprintf("%.2f h", value / 3600)
		return sprintf("%.1f GB/s", value / 1e9)
	}
	function trimmed(text) { gsub(/^ +| +$/, "", text); return text }
	# The quantity that the first head names.
	function named(text,    k) {
		for (k = 2; k in names; k++) if (index(text, names[k])) return names[k]
		return names[1]
	}
	BEGIN {
		split("step|ratio|images/s|efficiency|speed-up|exposed|input wait|training|GB/s", names, "|")
		for (i in names) index_of[names[i]] = i
	}
	FNR == NR { n++; for (i = 1; i <= 10; i++) result[n, i] = $i; next }
	/^## / { commands = 0 }
	/^```sh/ { commands = 1 }
	!/^\|/ || !commands { row = 0; print; next }
	{
		count = split($0, cells, /\|/)
		if (++row == 1) {
			quantity = named(cells[2])
			lines = 1
			for (i = 3; i < count; i++) lines = lines && (trimmed(cells[i]) in index_of)
			for (i = 2; i < count; i++) {
				head[i] = trimmed(cells[i])
				skip[i] = i == 2 || cells[i] ~ /by hand/
			}
		}
		if (row <= 2) { print; next }
		line = ""
		if (lines) at++
		for (i = 2; i < count; i++) {
			if (!lines && !skip[i]) at++
			line = line "|" (skip[i] ? cells[i] : " " shown(lines ? head[i] : quantity) " ")
		}
		print line "|"
	}
	END {
		if (at == n) exit
		print "  " page ": the commands have " n + 0 " results, the tables take " at + 0 >"/dev/stderr"
		exit 1
	}
	' "$work/results" "$1" >"$work/page"
}

mode=check
case ${1-} in --write)
	mode='write'
	shift
	;;
esac
[ $# = 0 ] && set -- docs/models/what-ifs.md docs/models/what-ifs-training.md
for file; do
	name=what_ifs.$(basename "$file" .md | tr A-Z- a-z_)
	if ! page "$file"; then
		echo "FAIL $name: a command of $file failed, or its tables do not fit them"
	elif [ $mode = write ]; then
		cat "$work/page" >"$file"
	elif diff "$file" "$work/page"; then
		echo "ok $name"
	else
		echo "FAIL $name: tests/analytic/what_ifs.sh --write puts the new results into $file"
	fi
done
