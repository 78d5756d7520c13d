# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Functions that shell tests of the program share. Source this file at the root of the tree:
[ -x "$FARWIRE" ] || exit 77
case $FARWIRE in /*) ;; *) FARWIRE=$PWD/$FARWIRE ;; esac
: "${FARWIRE_DATA:=$PWD}"
export FARWIRE_DATA
check_folder=$(mktemp -d) || exit 2
trap 'rm -rf "$check_folder"' EXIT
trap 'exit 130' INT TERM
scratch=$check_folder/here
mkdir "$scratch"
code=0

farwire() {
	code=0
	"$FARWIRE" "$@" >"$scratch.out" 2>"$scratch.err" </dev/null || code=$?
}

# A file notes the complaint, because parts of a pipeline run in shells of their own.
complain() {
	echo "  $*"
	: >"$check_folder/bad"
}

# expect CODE PATTERN ARGS...: runs farwire and checks its exit code and its messages. After an
# error stdout must be empty, after success not. If PATTERN is empty, stderr must be empty, too.
expect() {
	wanted=$1
	pattern=$2
	shift 2
	farwire "$@"
	[ "$code" = "$wanted" ] || complain "farwire $*: ended with $code, not $wanted"
	if [ "$wanted" = 2 ]; then
		[ ! -s "$scratch.out" ] || complain "farwire $*: wrote results in spite of an error"
	elif [ "$wanted" = 0 ]; then
		[ -s "$scratch.out" ] || complain "farwire $*: wrote nothing"
	fi
	if [ -z "$pattern" ]; then
		[ ! -s "$scratch.err" ] || complain "farwire $*: printed $(head -n 1 "$scratch.err")"
	elif ! grep -qE -e "$pattern" "$scratch.err"; then
		complain "farwire $*: no '$pattern' in: $(head -n 3 "$scratch.err")"
	fi
}

# shows PATTERN: checks that the results match the pattern.
shows() {
	grep -qE -e "$1" "$scratch.out" ||
		complain "no '$1' in the results: $(head -n 5 "$scratch.out")"
}

verdict() {
	if [ -e "$check_folder/bad" ]; then echo "FAIL $1"; else echo "ok $1"; fi
	rm -f "$check_folder/bad"
}
