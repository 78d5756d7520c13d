#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `plot` and `report` refuse files that they cannot use: exit code 2 with the place, and no
# image.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
printf 'case = { topology = "t320-same-esxi"; batch = 8; };\n' >case.cfg
farwire run case.cfg -q --draws 0 --format json -o good.json
[ "$code" = 0 ] || complain "the run failed: $(cat "$scratch.err")"

expect 2 'missing\.json: ' plot missing.json -o x.svg
mkdir folder.json
expect 2 'folder\.json: ' plot folder.json -o x.svg
printf '{\n' >bad.json
expect 2 '^bad\.json:2: the file is not JSON' plot bad.json -o x.svg
head -c 3000 good.json >bad.json
expect 2 '^bad\.json:[0-9]+: the file is not JSON' plot bad.json -o x.svg
echo '[]' >bad.json
expect 2 '^bad\.json: the file contains no prediction' plot bad.json -o x.svg
echo '[{"case": 5}]' >bad.json
expect 2 "^bad\.json:1: prediction 1: 'case' must be a text" plot bad.json -o x.svg
sed 's/"verdict": "ok"/"verdict": "good"/' good.json >bad.json
expect 2 "^bad\.json:[0-9]+: prediction 1: 'verdict'" plot bad.json -o x.svg
# A row has a sed command that breaks the result, and the expected message.
while IFS='|' read -r edit message; do
	sed "$edit" good.json >bad.json
	expect 2 "^bad\.json:[0-9]+: prediction 1: $message" plot bad.json -o x.svg
done <<'END'
s/"throughput": {/"throughput": 3, "was": {/|'throughput' must be an object with value, low and high$
s/"throughput": {"value": [^,]*/"throughput": {"value": "fast"/|'value' must be a number$
s/"seed": [0-9]*/"seed": -1/|'seed' must be a whole number$
END
expect 2 'needs an image file' plot good.json
expect 2 'must end in \.svg, \.pdf or \.png' plot good.json -o x.gif
expect 1 "cannot write 'no-folder/x.svg'" plot good.json -o no-folder/x.svg
[ ! -e x.svg ] || complain 'plot wrote a file after an error'
farwire plot good.json -o x.svg
[ "$code" = 0 ] || complain "ended with $code: $(cat "$scratch.err")"
grep -q '</svg>' x.svg || complain 'the valid result was not drawn'
verdict 'saved_results.malformed_results_are_not_plotted'

expect 2 '^missing\.cfg: cannot be read' report missing.cfg -o x.html
expect 2 "'flexdirect_1050t' is neither a case nor a dataset \(did you mean" report flexdirect_1050t -q -o x.html
expect 2 'must end in \.html' report case.cfg -q -o x.txt
expect 1 "cannot write 'no-folder/x.html'" report case.cfg -q --draws 0 -o no-folder/x.html
[ ! -e x.html ] || complain 'report wrote a file after an error'
verdict 'saved_results.unknown_files_are_not_reported'
