#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A fit does not see the profile that an earlier fit wrote: with another value in the old profile,
# it writes the same bytes.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
profile=calib/profiles/v100-sxm2.cfg
cp -R topologies models calib "$scratch"
FARWIRE_DATA=$scratch
sed -i 's|^parameters = ($|&\n\t{ path = "efficiency.v100-sxm2.resnet50.half_work"; fit = { value = "9e9 flop"; }; },|' \
	"$scratch/$profile"
cmp -s "$scratch/$profile" "$profile" && complain "$profile was not changed"
farwire fit v100 -q
[ "$code" = 0 ] || complain "fit: ended with $code, $(cat "$scratch.err")"
diff "$scratch/$profile" "$profile" >"$scratch.diff" || complain "differs: $(cat "$scratch.diff")"
verdict 'fit_again.old_profile_does_not_change_the_fit'
