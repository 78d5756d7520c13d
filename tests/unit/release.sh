#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A release has one version everywhere, a list of all dependencies, a Python program that reads the
# JSON, and a Debian package that can be unpacked and run.
[ -x "$FARWIRE" ] || exit 77
case $FARWIRE in /*) ;; *) FARWIRE=$PWD/$FARWIRE ;; esac
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

check() { # NAME COMMAND...
	name=$1
	shift
	if "$@" >"$work/log" 2>&1; then echo "ok release.$name"; else
		sed 's/^/  /' "$work/log"
		echo "FAIL release.$name"
	fi
}

one_version() {
	version=$(sed -n 's/^#define FARWIRE_VERSION "\(.*\)"/\1/p' sim/result/result.h)
	said=$("$FARWIRE" --version)
	[[ $said =~ ^farwire\ $version(\ \([0-9a-f]{12}(-dirty)?\))?$ ]] || { echo "--version: $said" && return 1; }
	! git rev-parse --quiet --verify HEAD >/dev/null 2>&1 || [[ $said == *\(* ]] || { echo "--version names no commit: $said" && return 1; }
	head -n 1 packaging/debian/changelog | grep -qF "farwire ($version) " || { echo "packaging/debian/changelog has not $version" && return 1; }
	grep -qxF "__version__ = \"$version\"" python/farwire/__init__.py || { echo "python/farwire/__init__.py has not $version" && return 1; }
	grep -qF "## $version" CHANGELOG.md || { echo "CHANGELOG.md has not $version" && return 1; }
	for page in docs/man/*.1; do
		grep -qF "\"farwire $version\"" "$page" || { echo "$page has not $version" && return 1; }
	done
}
dependencies_listed() {
	grep -oE '^	?need [a-z0-9+.-]+ ' tools/install-deps | awk '{print $2}' | sort >"$work/needed"
	sed -nE 's/^\| ([a-z0-9+.-]+) \| .*/\1/p' docs/dependencies.md | grep -vxE 'package|dpkg-dev|mypy|python3.*' | sort >"$work/listed"
	[ -s "$work/needed" ] && diff "$work/needed" "$work/listed" || return 1
	sed -n '/^need gcc/,/^if/p' tools/install-deps | awk '/^need/ {print $2}' >"$work/build"
	while read -r package; do
		sed -n '/^Build-Depends/,/^Standards/p' packaging/debian/control | grep -qw -- "$package" ||
			{ echo "Build-Depends in packaging/debian/control lacks $package" && return 1; }
	done <"$work/build"
}
python_reads_the_json() {
	"$FARWIRE" run ddl-calico --draws 2 --format json -o "$work/result.json" -q || return 1
	awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' docs/formats.md >"$work/read.py"
	[ -s "$work/read.py" ] && (cd "$work" && python3 read.py) >"$work/read" || return 1
	grep -E '^DDL, Calico: [0-9]+ images/s \([0-9]+ to [0-9]+\), exposed communication' "$work/read" || { cat "$work/read" && return 1; }
}
# BUILD is the folder of the program; make finds it up to date.
package_runs() {
	build=${FARWIRE%/farwire}
	[ "$build" = "$PWD/build" ] || return 0 # other builds make no package
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL packaging/debian/rules BUILD=build WORK="$work/deb" TO="$work" || return 1
	dpkg-deb -x "$work"/farwire_*.deb "$work/root" && (cd / && "$work/root/usr/bin/farwire" run --topology t320-same-lan --draws 0) || return 1
	for file in man/man1/farwire.1.gz bash-completion/completions/farwire doc/farwire/copyright doc/farwire/changelog.gz; do
		[ -s "$work/root/usr/share/$file" ] || { echo "the package has no $file" && return 1; }
	done
	! command -v python3 >/dev/null || (cd / && PYTHONPATH=$work/root/usr/lib/python3/dist-packages FARWIRE=$work/root/usr/bin/farwire \
		python3 -c 'import farwire; print(farwire.run("c4140-tcp-10", draws=0).throughput)') || return 1
	(cd "$work/root" && mkdir control && dpkg-deb -e "$work"/farwire_*.deb control && md5sum -c --quiet control/md5sums) || return 1
	! command -v lintian >/dev/null || lintian --allow-root --fail-on error,warning "$work"/farwire_*.deb
}

check one_version_is_named_everywhere one_version
check every_dependency_is_listed_with_its_licence dependencies_listed
if command -v python3 >/dev/null; then check python_example_reads_a_result python_reads_the_json; fi
if command -v dpkg-shlibdeps >/dev/null; then check debian_package_can_be_unpacked_and_run package_runs; fi
