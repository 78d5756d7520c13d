#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two fits that take seconds must give their profiles of calib/profiles/ again, to the byte;
# tests/long/profiles_noise repeats all of them. Each shipped profile must come from a fit.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
farwire fit v100 mxnet -q -o "$scratch"
[ "$code" = 0 ] || complain "fit: ended with $code, $(cat "$scratch.err")"
for profile in "$scratch"/*.cfg; do
	diff "$profile" "calib/profiles/${profile##*/}" >"$scratch.diff" ||
		complain "${profile##*/} differs (< fitted now, > calib/profiles): $(cat "$scratch.diff")"
done
[ "$(find "$scratch" -name '*.cfg' | wc -l)" -ge 7 ] || complain 'fewer than seven profiles'
verdict 'profiles.fits_repeat_profiles_to_the_byte'

for profile in calib/profiles/*.cfg; do
	name=$(basename "$profile" .cfg)
	[ "$name" = model-error ] && continue # made of the errors of all fits
	grep -lE "profile = .*\"$name\"" calib/fits/*.cfg >"$scratch.fits" ||
		complain "$profile: no file of calib/fits/ names it"
done
verdict 'profiles.each_profile_has_a_fit'
