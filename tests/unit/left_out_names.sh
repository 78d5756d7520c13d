#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# With the name of a dataset, --leave-out-systems prints only its systems, with the same numbers.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cp -R topologies models calib "$scratch"
for file in "$scratch"/calib/measured/*.cfg; do
	case $file in */remoting_lupine.cfg | */openmpi_tcp.cfg) ;; *) rm "$file" ;; esac
done
FARWIRE_DATA=$scratch
farwire validate --leave-out-systems -q --format csv
grep '^remoting_lupine' "$scratch.out" >"$scratch.expected"
grep -q '^openmpi_tcp' "$scratch.out" || complain "no row of openmpi_tcp: $(cat "$scratch.out" "$scratch.err")"
[ -s "$scratch.expected" ] || complain 'no row of remoting_lupine'
farwire validate remoting_lupine --leave-out-systems -q --format csv
sed 1d "$scratch.out" >"$scratch.got"
diff "$scratch.expected" "$scratch.got" >"$scratch.diff" || complain "differs: $(cat "$scratch.diff")"
verdict 'left_out_names.named_dataset_has_the_rows_of_the_whole_table'
farwire validate no_such --leave-out-systems -q
[ "$code" = 2 ] || complain "ended with $code"
verdict 'left_out_names.unknown_dataset_is_refused'
