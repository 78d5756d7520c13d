#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of docs/models/what-ifs.md are what its own commands print.
#
# Every cell but a row's first and those of columns "by hand" is the next result
# of the commands: the ratio where the table's first head says so, else the step;
# what timed out where it failed.
# After a change that is meant: FARWIRE=build/farwire tests/analytic/what_ifs.sh --write
set -u
page=docs/models/what-ifs.md
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Rows of "step ratio verdict".
cat >"$work/run" <<'END'
results() {
	"$FARWIRE" "$@" --quiet --format csv | awk -F, '
		{ sub(/\r$/, "") }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ word = $at["verdict"]; sub(/^"/, "", word); sub(/:.*/, "", word)
		  print $at["step_s"] "\t" $at["ratio"] "\t" word }'
}
END
awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$page" | sed 's/build\/farwire /results /' >>"$work/run"
sh -f "$work/run" >"$work/results" || exit 1

awk -F'\t' '
function step(s) {
	if (s < 1) return sprintf("%.0f ms", s * 1000)
	return sprintf(s < 10 ? "%.2f s" : s < 100 ? "%.1f s" : "%.0f s", s)
}
function next_cell() {
	at++
	if (word[at] != "ok") return word[at]
	return by_ratio ? sprintf("%.3f", ratio[at]) : step(seconds[at])
}
FNR == NR { n++; seconds[n] = $1; ratio[n] = $2; word[n] = $3; next }
!/^\|/ { row = 0; print; next }
{
	count = split($0, cells, /\|/)
	if (++row == 1) {
		by_ratio = cells[2] ~ /ratio/
		for (i = 2; i < count; i++) skip[i] = i == 2 || cells[i] ~ /by hand/
	}
	if (row <= 2) { print; next }
	line = ""
	for (i = 2; i < count; i++) line = line "|" (skip[i] ? cells[i] : " " next_cell() " ")
	print line "|"
}
END { if (at != n) print "the commands have " n " results, the tables " at " cells" }
' "$work/results" "$page" >"$work/page"

if [ "${1-}" = --write ]; then
	cp "$work/page" "$page"
elif diff "$page" "$work/page"; then
	echo "ok what_ifs"
else
	echo "FAIL what_ifs: --write puts the new results into the page"
fi
