#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The numbers that some 250 short commands print without draws are those of tests/recorded/answers.txt: a
# checksum for each command, over all numbers with their JSON keys. The commands use each runtime, exchange, kind
# of collective, form of plan and setting of a model server at least once. Labels, names of files
# and resolved parameters are left out, so that words may change. tests/long/answers does the same for
# topologies, datasets and what-ifs.
#
#   tests/recorded/answers.sh           compares
#   tests/recorded/answers.sh --write   writes the list again, after a mechanism was corrected or a line
#                                       was added (CHANGELOG.md says which numbers moved and why)
#   tests/recorded/answers.sh --print   prints the lines for commands from its input
# The program is $FARWIRE (build/farwire).
set -u
cd "$(dirname "$0")/../.." || exit 2
program=${FARWIRE:-build/farwire}
list=tests/recorded/answers.txt
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

# The checksum of one command's numbers. Exit code 3 says that a stated bound is broken. A number
# without an interval counts as one whose interval has no width.
answer() {
	echo "$1 --draws 0 --quiet --format json" | xargs "$program" >"$folder/out" 2>&1
	sed -e '/"parameters": \[/,/^ *\]/d' \
		-e 's/"value": \([^,]*\), "low": null, "high": null/"value": \1, "low": \1, "high": \1/g' \
		"$folder/out" |
		grep -oE '"[^"]*": *(\{"value": *)?(-?[0-9][0-9.eE+-]*|null|true|false)' \
			>"$folder/numbers"
	if ! [ -s "$folder/numbers" ]; then
		cat "$folder/out" >&2
		echo "FAIL answers: no number comes from: $1" >&2
		exit 1
	fi
	printf '%s %s\n' "$(cksum <"$folder/numbers" | tr ' ' '/')" "$1"
}
answers() {
	while read -r command; do
		answer "$command" || exit 1
	done
}

if [ "${1-}" = --print ]; then
	answers
	exit
fi
cut -d ' ' -f 2- "$list" | answers >"$folder/list" || exit 1
if [ "${1-}" = --write ]; then
	cp "$folder/list" "$list"
elif diff "$list" "$folder/list" >"$folder/difference"; then
	echo 'ok answers.numbers_of_short_commands_are_unchanged'
else
	cat "$folder/difference"
	echo "FAIL answers.numbers_are_unchanged: the lines differ (< $list, > now)"
	exit 1
fi
