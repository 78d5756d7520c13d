#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python package: its functions and results. Needs python3 from 3.11 on. tests/long/notebooks
# runs its notebooks.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
	echo '  skipped: python3 (3.11 or newer) is not installed'
	exit 77
}
PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

python3 tests/python/test_farwire.py
