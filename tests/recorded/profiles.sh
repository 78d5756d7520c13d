#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire fit` gives every profile of calib/profiles/ again, to the byte.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
farwire fit -q -o "$scratch"
[ "$code" = 0 ] || complain "fit: ended with $code, $(cat "$scratch.err")"
diff -r "$scratch" calib/profiles >"$scratch.diff" ||
	complain "differs (< fitted now, > calib/profiles): $(cat "$scratch.diff")"
[ "$(find "$scratch" -name '*.cfg' | wc -l)" -ge 3 ] || complain 'fewer than three profiles'
verdict 'profiles.come_again_to_the_byte'
