#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each fuzz target has an archive of inputs, each archive has a target, and a target replays
# exactly the inputs that tar lists.
set -u
cd "$(dirname "$0")/../.." || exit 2
programs=$(dirname "${FARWIRE:-build/farwire}")/tests/fuzz
{
	for archive in tests/fuzz/corpus/*; do
		target=$(basename "$archive" .tar)
		[ "$archive" = "tests/fuzz/corpus/$target.tar" ] && [ -f "tests/fuzz/$target.c" ] ||
			echo "  $archive is not the archive of a target"
	done
	for source in tests/fuzz/*.c; do
		target=$(basename "$source" .c)
		listed=$(tar -tf "tests/fuzz/corpus/$target.tar" 2>&1)
		[ "$("$programs/$target" --list)" = "$listed" ] ||
			echo "  $target does not replay the inputs that tar lists in its archive"
	done
} | {
	grep . && echo "FAIL fuzz.target_replays_each_input_of_its_archive" ||
		echo "ok fuzz.target_replays_each_input_of_its_archive"
}
