#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in a page are what its commands print.
#
#   tests/recorded/questions.sh [PAGE...]            compares (default: docs/questions.md)
#   tests/recorded/questions.sh --write [PAGE...]    puts the outputs into the pages, after a
#                                                    change that is meant
#
# Each block of ```sh is a command, the block behind it its output. The program is
# $FARWIRE, or build/farwire. Plots are drawn and thrown away: tools/images keeps them.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${FARWIRE:=build/farwire}"
[ -x "$FARWIRE" ] || exit 77
case $FARWIRE in /*) ;; *) FARWIRE=$PWD/$FARWIRE ;; esac
export FARWIRE
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/plots"

# Runs the page's commands: output.1, output.2 ... in $work; false if one prints nothing.
run_commands() {
	awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$1" |
		sed 's/^build\/farwire /"$FARWIRE" /' >"$work/commands"
	count=0
	while read -r line; do
		count=$((count + 1))
		(cd "$work/plots" && sh -c "$line --quiet" </dev/null) | tr -d '\r' | sed 's/ *$//' >"$work/output.$count"
		[ -s "$work/output.$count" ] || {
			echo "no output of: $line"
			return 1
		}
		image=$(echo "$line" | sed -n 's/.*--plot \([^ ]*\).*/\1/p')
		[ -z "$image" ] || grep -qF "(images/$image)" "$1" || {
			echo "$1 does not show $image"
			return 1
		}
	done <"$work/commands"
	[ "$count" -gt 3 ] || {
		echo "$1 has $count commands"
		return 1
	}
}

mode=compare
[ "${1-}" != --write ] || { mode=write && shift; }
[ $# -gt 0 ] || set -- docs/questions.md
failed=0
for page; do
	name=questions.$(basename "$page" .md)
	run_commands "$page" || {
		echo "FAIL $name"
		failed=1
		continue
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
	if [ $mode = write ]; then
		cat "$work/page" >"$page"
	elif diff "$page" "$work/page"; then
		echo "ok $name"
	else
		echo "FAIL $name: tests/recorded/questions.sh --write $page puts the new outputs into it"
	fi
done
exit $failed
