#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in docs/questions.md are what their commands print.
#
#   tests/recorded/questions.sh            compares
#   tests/recorded/questions.sh --write    puts the outputs into the page, after a change
#                                          that is meant
#
# Each block of ```sh is a command, the block behind it its output. The program is
# $FARWIRE, or build/farwire.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${FARWIRE:=build/farwire}"
[ -x "$FARWIRE" ] || exit 77
export FARWIRE
page=docs/questions.md
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$page" |
	sed 's/^build\/farwire /"$FARWIRE" /' >"$work/commands"
count=0
while read -r line; do
	count=$((count + 1))
	sh -c "$line --quiet" </dev/null | tr -d '\r' | sed 's/ *$//' >"$work/output.$count"
	[ -s "$work/output.$count" ] || {
		echo "FAIL questions: no output of: $line"
		exit 1
	}
done <"$work/commands"
[ "$count" -gt 3 ] || {
	echo "FAIL questions: $page has $count commands"
	exit 1
}
awk -v work="$work" '
/^```sh/ { print; inside = 1; commands++; next }
inside == 1 && /^```/ { print; inside = 2; next }
inside == 2 && /^```/ {
	print
	file = work "/output." commands
	while ((getline line < file) > 0) print line
	inside = 3
	next
}
inside == 3 && !/^```/ { next }
inside == 3 { inside = 0 }
{ print }' "$page" >"$work/page"
if [ "${1-}" = --write ]; then
	cat "$work/page" >"$page"
elif diff "$page" "$work/page"; then
	echo "ok questions"
else
	echo "FAIL questions: tests/recorded/questions.sh --write puts the new outputs into $page"
fi
