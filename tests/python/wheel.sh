#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The wheel: pip installs it without a network, and program, data and pages are inside.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
build=${FARWIRE%/farwire}
[ "$build" = "$PWD/build" ] || exit 77 # other builds make no wheel
python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
	command -v dpkg >/dev/null || {
	echo '  skipped: python3 (3.11 or newer) with python3-venv, or dpkg, is not installed'
	exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
unset FARWIRE_DATA FARWIRE PYTHONPATH
at=$scratch/venv

{
	python3 python/backend.py "$scratch" build && python3 -m venv "$at" && "$at/bin/pip" install -q --no-index --disable-pip-version-check "$scratch"/farwire-*.whl
} >"$scratch.err" 2>&1 || complain "$(tail -n 5 "$scratch.err")"
(cd / && env -i "$at/bin/farwire" run c4140-tcp-10 --draws 0) >"$scratch.out" 2>"$scratch.err" || complain "$(cat "$scratch.err")"
shows '^C4140 pair, 10 Gb/s TCP: 45[0-9][0-9] images/s'
(cd / && env -i "$at/bin/python" -c 'import farwire; print(farwire.program()); print(farwire.run("c4140-tcp-10", draws=0))') >"$scratch.out" 2>"$scratch.err" ||
	complain "$(cat "$scratch.err")"
shows "^$at/lib/python3.*/site-packages/farwire/program/bin/farwire$"
shows '^C4140 pair, 10 Gb/s TCP: 45[0-9][0-9] images/s'
[ -s "$at/share/man/man1/farwire.1" ] || complain 'there is no man page'
[ -s "$at/share/bash-completion/completions/farwire" ] || complain 'there is no completion'
verdict python.wheel_runs_in_an_empty_environment

# The program takes no shared library of the system but the C library.
inside=$(dirname "$at"/lib/python3*/site-packages/farwire/program/bin)
LD_LIBRARY_PATH=$inside/lib ldd "$inside/bin/farwire" | grep -vE "$inside/lib|/(libc|libm|ld-linux[a-z0-9-]*)\.so|linux-vdso" >"$scratch.out"
[ ! -s "$scratch.out" ] || complain "$(cat "$scratch.out")"
for library in "$inside"/lib/*.so*; do
	[ -s "$library" ] || complain 'there are no libraries'
done
for page in libcairo2 libgsl27; do
	[ -s "$inside/lib/licences/$page" ] || complain "the licence of $page is missing"
done
verdict python.wheel_has_its_libraries_with_their_licences

"$at/bin/pip" uninstall -q -y farwire >"$scratch.err" 2>&1 || complain "$(cat "$scratch.err")"
"$at/bin/pip" install -q --no-index --disable-pip-version-check --no-build-isolation -e python >"$scratch.err" 2>&1 || complain "$(tail -n 5 "$scratch.err")"
(cd / && "$at/bin/python" -c 'import farwire; print(farwire.program())') >"$scratch.out" 2>"$scratch.err" || complain "$(cat "$scratch.err")"
shows "^$PWD/build/farwire$"
verdict python.editable_package_starts_the_program_of_the_checkout
