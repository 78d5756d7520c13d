#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a terminal, tables fit its width and --wide prints them in one piece. Elsewhere they are whole.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

if ! script -qec true /dev/null >/dev/null 2>&1; then
	echo '  skipped: this machine gives no pseudo-terminal (mount devpts at /dev/pts)'
	exit 77
fi

# Prints the longest line of a comparison, which has more columns than 80 characters can show.
longest() {
	awk '{ if (length($0) > most) most = length($0) } END { print most }'
}
compare="$FARWIRE compare ddl-host ddl-calico --draws 2 --quiet"

on_terminal() {
	COLUMNS=$1 script -qec "$2" /dev/null | tr -d '\r' | longest
}

[ "$(on_terminal 80 "$compare")" -le 80 ] || complain 'a line is longer than the terminal'
[ "$(on_terminal 20 "$compare")" -gt 20 ] || complain 'a terminal of 20 columns counts as less than 80'
[ "$(on_terminal 80 "$compare --wide")" -gt 80 ] || complain '--wide does not print whole lines'
[ "$($compare | longest)" -gt 80 ] || complain 'the lines of a pipe are broken'
verdict terminal.tables_fit_the_width
