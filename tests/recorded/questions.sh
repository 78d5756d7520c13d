#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in a page must be what its commands print.
#
#   tests/recorded/questions.sh [PAGE...]            compares (default: docs/questions.md)
#   tests/recorded/questions.sh --write [PAGE...]    writes the outputs into the pages, after an
#                                                    intended change
#
# Each block of ```sh is a command in one line, and the next block is its output. A block of ```cfg
# is a file, named in its first line: "# my-cluster.cfg". The program is $FARWIRE, or build/farwire.
# Plots are drawn and deleted: tools/images keeps them.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${FARWIRE:=build/farwire}"
[ -x "$FARWIRE" ] || exit 77
case $FARWIRE in /*) ;; *) FARWIRE=$PWD/$FARWIRE ;; esac
export FARWIRE
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/plots"
ln -s "$PWD/tests" "$work/plots/tests" # for logs that commands read

# Runs the commands of the page and writes output.1, output.2 ... into $work. Returns false if a
# command prints nothing.
run_commands() {
	awk -v work="$work/plots" '/^```cfg/ { getline; file = work "/" $2; next }
		/^```/ { file = "" } file { print >file }' "$1"
	sed -n '/^```sh/,/^```/ { /^```/d; s/build\/farwire /"$FARWIRE" /g; p }' "$1" >"$work/commands"
	count=0
	while read -r line; do
		count=$((count + 1))
		(cd "$work/plots" && sh -c "$line" </dev/null 2>../messages) | tr -d '\r' | sed 's/ *$//' >"$work/output.$count"
		[ -s "$work/output.$count" ] || {
			echo "this command prints nothing: $line" && cat "$work/messages"
			return 1
		}
		image=$(echo "$line" | sed -n 's/.*--plot \([^ ]*\).*/\1/p')
		[ -z "$image" ] || grep -qF "(images/$image)" "$1" || {
			echo "$1 does not show $image"
			return 1
		}
	done <"$work/commands"
	[ "$count" -gt 3 ] || {
		echo "$1 has only $count commands"
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
		echo "FAIL $name: tests/recorded/questions.sh --write $page writes the new outputs into it"
	fi
done
exit $failed
