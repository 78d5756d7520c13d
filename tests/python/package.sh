#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python package: its functions and results, and its notebooks. Needs python3 from 3.11 on;
# a notebook also runs in a kernel of Jupyter where nbclient is installed.
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

# A cell that ends with a result shows its figure. The last cell of training.ipynb catches an error.
python3 tests/python/run_notebook.py python/examples/training.ipynb plain >"$scratch.out" 2>"$scratch.err" ||
	complain "$(tail -n 5 "$scratch.err")"
[ "$(grep -c '<svg' "$scratch.out")" = 3 ] || complain "$(grep -c '<svg' "$scratch.out") figures in place of 3"
shows '^Step time: [0-9.]+ m?s \([0-9.]+ to [0-9.]+\)$'
shows '^ethernet-100 +[0-9.]+ sequences/s, +[0-9]+% of the first'
shows '^--batch \| write a whole number'
verdict python.notebook_on_training_runs_and_shows_figures

python=python3 how=plain
for each in /usr/bin/python3 python3; do
	if "$each" -c 'import nbclient, nbformat, ipykernel' 2>/dev/null; then python=$each how=kernel; fi
done
"$python" tests/python/run_notebook.py python/examples/serving.ipynb "$how" >"$scratch.out" 2>"$scratch.err" ||
	complain "$(tail -n 5 "$scratch.err")"
[ "$(grep -c '<svg' "$scratch.out")" = 2 ] || complain "$(grep -c '<svg' "$scratch.out") figures in place of 2"
shows 'meets the target .* up to [0-9.]+\.$'
shows '^split over two GPUs +first token +[0-9.]+ ms'
verdict python.notebook_on_serving_runs_and_shows_figures
