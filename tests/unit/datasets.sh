#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The user's own dataset: the example of docs/datasets.md is predicted unchanged. A broken claim exits
# with 3; invalid files exit with 2 and report all their errors, each with its place.
cd "$(dirname "$0")/../.." || exit 2
page=$PWD/docs/datasets.md
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
block() { # LANGUAGE: prints the first block of the page in this language
	awk -v begin="\`\`\`$1" '$0 == begin { inside = 1; next } /^```/ && inside { exit } inside' "$page"
}
block tsv >lab.tsv
block cfg >lab.cfg

expect 0 '' check lab.cfg
expect 0 '' validate lab.cfg --draws 2 -q
shows '^roce batch=64 +test +218'
shows '^test rows: 3, absolute error: median'
shows '^holds *: +RoCE keeps the GPU busy'
mkdir elsewhere
(cd elsewhere && "$FARWIRE" validate ../lab.cfg --draws 2 -q) >elsewhere.txt
cmp -s elsewhere.txt "$scratch.out" || complain 'the result depends on the current folder'
expect 3 '' validate lab.cfg --draws 0 -q --set link.client-port.latency=100ms
shows '^BROKEN: RoCE keeps the GPU busy .*roce batch=64'
farwire report lab.cfg --draws 0 -q -o lab.html --set link.client-port.latency=100ms
[ "$code" = 3 ] || complain "the report with a broken claim ended with $code"
verdict 'datasets.example_of_the_docs_works'

refuse() { # SED PATTERN: changes lab.cfg and checks the error
	sed "$1" lab.cfg >wrong.cfg
	expect 2 "$2" validate wrong.cfg --draws 0 -q
}
refuse 's/value = "images_per_s"/value = "images_per_sec"/' "^wrong.cfg:1: .*no column 'images_per_sec' \(did you mean 'images_per_s'"
[ "$(wc -l <"$scratch.err")" = 1 ] || complain "there is more than one error: $(cat "$scratch.err")"
refuse 's/claims = /clams = /' "^wrong.cfg:16: unknown key 'clams' \(did you mean 'claims'"
refuse 's/\["roce"\]/["net=roce"]/' "^wrong.cfg:17: .*no row has a label with 'net=roce' \(a label looks like '10g batch=32'"
printf 'net\tbatch\timages_per_s\trole\n10g\t32\t19x5\ttest\nslow\t64\t215\ttest\nroce\t64\t200\ttestt\n' >lab.tsv
for error in "^lab.tsv:2: dataset: '19x5' is neither a positive number" "^lab.tsv:3: .*'net' contains 'slow'" "^lab.tsv:4: .*role 'testt'"; do
	expect 2 "$error" validate lab.cfg --draws 0 -q
done
printf 'net\tbatch\timages_per_s\trole\nroce\t64\n' >lab.tsv
expect 2 '^lab.tsv:2: the row has 2 cells, but the header names 4' validate lab.cfg --draws 0 -q
verdict 'datasets.errors_have_their_line'
