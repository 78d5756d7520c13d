#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The defaults of all parameters are those of tests/recorded/defaults.txt, because a default is part
# of each prediction that does not set it. tests/recorded/defaults.sh --write records new ones.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

expect 0 '' list parameters
# joins the lines of a row, and prints its first three columns and its default
awk '
function flush() {
	if (match(row, /\((default |must be given|empty by default)[^()]*\)$/))
		print key ": " substr(row, RSTART + 1, RLENGTH - 2)
	else if (key != "")
		print key
}
NR == 1 { help = 49 }
NR <= 2 { next }
{
	text = substr($0, help)
	if ($0 ~ /^[^ ]/) {
		flush()
		key = substr($0, 1, help - 1)
		gsub(/ +/, " ", key)
		sub(/ $/, "", key)
		row = text
	} else {
		row = row " " text
	}
}
END { flush() }' "$scratch.out" >"$scratch.defaults"
recorded=tests/recorded/defaults.txt
if [ "${1-}" = --write ]; then
	cp "$scratch.defaults" "$recorded"
	exit
fi
diff "$recorded" "$scratch.defaults" >"$scratch.diff" ||
	complain "defaults changed (record them with tests/recorded/defaults.sh --write): $(head -n 5 "$scratch.diff")"
[ "$(grep -c ': default ' "$recorded")" -gt 500 ] || complain 'fewer than 500 defaults were found'
verdict defaults.all_are_as_recorded
