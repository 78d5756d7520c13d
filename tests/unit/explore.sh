#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `farwire explore`: its states and hostile requests. tests/long/explore shows it in a browser.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
if ! command -v python3 >/dev/null; then
	echo 'skipped explore: python3 is missing'
	exit 77
fi
tests=$PWD/tests/unit
export FARWIRE
cd "$scratch" || exit 2
python3 "$tests/explore.py"
