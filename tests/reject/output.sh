#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Results that cannot be written: exit code 1 and one line with the reason. A file is written
# atomically: the old content remains, and the attempt leaves nothing.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
printf 'case = { topology = "t320-same-esxi"; batch = 8; };\n' >case.cfg
printf 'case = { topology = "t320-same-esxi"; bach = 8; };\n' >bad.cfg
one='run case.cfg -q --draws 0'

# Checks that stdout is empty and that no other files exist than the two cases and the named
# ones.
only() {
	[ ! -s "$scratch.out" ] || complain "$*: results on stdout, too"
	found=$(find . -type f | sort | tr '\n' ' ')
	[ "$found" = "./bad.cfg ./case.cfg $*" ] || complain "files remain: $found"
}

# shellcheck disable=SC2086 # words of a command
{
	expect 1 "cannot write 'no-folder/x.json': No such file" $one -o no-folder/x.json
	only
	mkdir folder
	expect 1 "cannot write 'folder': Is a directory" $one -o folder
	only
	expect 2 '--output must not be empty' $one -o ''
	expect 1 "cannot write 'case.cfg/x': Not a directory" $one -o case.cfg/x
	only
	# The error comes before the work, because its results would be lost.
	expect 1 "cannot write 'no-folder/x.json': No such file" $one --trace no-folder/x.json
	only
	for verb in run 'compare case.cfg' scale 'sweep --vary case.batch=8,16' \
		"solve --target ratio>=0.9 --for case.batch" sensitivity; do
		expect 1 "cannot write 'no-folder/x.svg': No such file" $verb case.cfg -q \
			--draws 0 --plot no-folder/x.svg
		only
	done
	expect 1 "cannot write 'no-folder/x.svg': No such file" validate flexdirect_1050ti -q \
		--draws 0 --plot no-folder/x.svg
	only
	expect 1 "cannot write into the folder 'no-folder': No such file" fit -q -o no-folder
	expect 1 "cannot write into the folder 'case.cfg': Not a directory" fit -q -o case.cfg
}
verdict 'output.missing_folders_are_reported_before_the_work'

# shellcheck disable=SC2086
if [ -c /dev/full ]; then
	expect 1 "cannot write '/dev/full': No space left" $one -o /dev/full
	for words in "$one" "$one --format json" 'compare case.cfg case.cfg -q --draws 0' \
		'sweep case.cfg -q --vary case.batch=8,16' 'explain case.cfg' 'check case.cfg' \
		list 'list --plain' --help 'run --help' --version; do
		code=0
		"$FARWIRE" $words >/dev/full 2>"$scratch.err" || code=$?
		[ "$code" = 1 ] || complain "$words: ended with $code on a full disk"
		[ "$(wc -l <"$scratch.err")" = 1 ] || complain "$words: $(wc -l <"$scratch.err") lines of error"
		grep -q 'standard output: No space left' "$scratch.err" ||
			complain "$words: the error is $(cat "$scratch.err")"
	done
	verdict 'output.full_disk_ends_with_1'
fi

# The limit on the size of files is reached in the middle of writing.
echo 'old content' >old.json
(
	ulimit -f 1
	"$FARWIRE" run case.cfg -q --draws 0 --format json -o old.json >"$scratch.out" 2>"$scratch.err" </dev/null
	echo $? >"$scratch.code"
)
[ "$(cat "$scratch.code")" = 1 ] || complain "over the limit: ended with $(cat "$scratch.code")"
grep -q "cannot write 'old.json': File too large" "$scratch.err" || complain "the error is $(cat "$scratch.err")"
[ "$(cat old.json)" = 'old content' ] || complain 'the old file has changed'
only './old.json '
expect 2 "unknown key 'bach'" run bad.cfg -o old.json
[ "$(cat old.json)" = 'old content' ] || complain 'the old file is gone after bad input'
expect 2 "unknown key 'bach'" run case.cfg bad.cfg -q --draws 0 -o new.json
only './old.json '
verdict 'output.old_file_remains_after_an_error'

farwire run case.cfg -q --draws 0 --format json -o old.json
[ "$code" = 0 ] || complain "ended with $code"
only './old.json '
"$FARWIRE" run case.cfg -q --draws 0 --format json | cmp -s - old.json || complain 'file and stdout differ'
mv old.json target.json
ln -s target.json link.json
farwire run case.cfg -q --draws 0 -o link.json
[ -L link.json ] || complain 'the symbolic link was replaced'
grep -q '^resnet50 on' target.json || complain 'the target of the symbolic link was not written'
verdict 'output.file_equals_stdout_and_links_are_followed'

# Input files and files of another output option are not overwritten. A symbolic link without a
# target is not replaced.
cp case.cfg kept.cfg
echo '# nothing fitted' >profile.cfg
ln -s kept.cfg other-name.cfg
cp "$FARWIRE_DATA"/topologies/t320-same-esxi.cfg own-topology.cfg
printf 'batch = 8;\n' >part.cfg
mkdir below
printf '# only an include\n@include "part.cfg"\n' >middle
printf 'case = { topology = "../own-topology.cfg";\n@include "../middle"\n};\n' >below/case.cfg
cp below/case.cfg below/case
ln own-topology.cfg hard-link.cfg
ln -s nowhere.json dangling.json
# shellcheck disable=SC2086
{
	expect 2 '^farwire: --output case.cfg: refusing to overwrite an input file' $one -o case.cfg
	expect 2 'refusing to overwrite an input file' run kept.cfg -q --draws 0 -o ./other-name.cfg
	expect 2 '^farwire: --output and --plot name the same file .x.svg. \(write two different names\)' $one -o x.svg --plot x.svg
	expect 2 '^farwire: --output and --plot name the same file .x.svg.' $one -o ./x.svg --plot x.svg
	expect 2 '^farwire: --output and --trace name the same file' $one -o target.json --trace ./target.json
	"$FARWIRE" $one -o /dev/null --trace /dev/null 2>"$scratch.err" || complain "a device for two outputs: $(cat "$scratch.err")"
	expect 2 'refusing to overwrite an input file' $one --profile ./profile.cfg -o profile.cfg
	expect 2 'refusing to overwrite an input file' $one --set 'case.profile = "profile.cfg"' -o profile.cfg
	for target in own-topology.cfg ./below/../own-topology.cfg hard-link.cfg part.cfg middle; do
		expect 2 'refusing to overwrite an input file' run below/case.cfg -q --draws 0 -o $target
		expect 2 'refusing to overwrite an input file' run below/case -q --draws 0 -o $target
	done
	expect 1 "cannot write 'dangling.json': No such file" $one -o dangling.json
}
cmp -s own-topology.cfg hard-link.cfg && grep -q batch part.cfg || complain 'a file that the case names was overwritten'
cmp -s case.cfg kept.cfg && grep -q '^# nothing' profile.cfg && [ ! -e x.svg ] || complain 'an input file was overwritten'
[ -L dangling.json ] && [ ! -e nowhere.json ] || complain 'the symbolic link without a target was replaced'
farwire run case.cfg -q --draws 0 -o target.json --trace trace.json --format json
[ "$code" = 0 ] && [ -s trace.json ] || complain "two outputs: ended with $code"
# Names in settings of a case, in lists of --vary, in cells of a table, and with a tab.
printf 'time\tprompt\toutput\n0\t10\t5\n' >requests.csv
printf 'case = { topology = "dgx-h100"; model = "llama3-8b"; settings = ["serve.list=requests.csv"]; };\nserve = { };\n' >serve.cfg
cp "$FARWIRE_DATA"/topologies/cases/recorded-rank.jsonl 'a	tab.jsonl'
printf 'net\tms\nown-topology.cfg\t1\n' >lab.tsv
cat >lab.cfg <<'END'
dataset = { name = "lab"; title = ""; source = ""; table = "lab.tsv"; value = "ms"; role = "test"; label = ["net"];
	columns = ( { column = "net"; setting = "case.topology"; } ); };
END
mkdir -p data/models
ln -s "$FARWIRE_DATA"/topologies "$FARWIRE_DATA"/calib data/
ln -s "$FARWIRE_DATA"/models/[!e]* data/models/
cp -r "$FARWIRE_DATA"/models/engines data/models/
md5sum requests.csv 'a	tab.jsonl' own-topology.cfg data/models/engines/vllm.cfg >sums
FARWIRE_DATA=$scratch/data expect 2 'refusing to overwrite an input file' run serve.cfg --engine vllm -q --draws 0 -o data/models/engines/vllm.cfg
expect 2 'refusing to overwrite an input file' run serve.cfg -q --draws 0 -o requests.csv
expect 2 'refusing to overwrite an input file' run serve.cfg -q --draws 0 --plot requests.svg
expect 2 'refusing to overwrite an input file' run --topology dgx1-v100 --calls 'a	tab.jsonl' -q --draws 0 -o 'a	tab.jsonl'
expect 2 'refusing to overwrite an input file' sweep case.cfg -q --vary case.topology=dgx2,own-topology.cfg -o own-topology.cfg
expect 2 'refusing to overwrite an input file' validate lab.cfg -q -o own-topology.cfg
md5sum -c --quiet sums || complain 'a file that was named indirectly was overwritten'
rm -f requests.csv serve.cfg 'a	tab.jsonl' lab.tsv lab.cfg sums
rm -rf below data own-topology.cfg hard-link.cfg part.cfg middle
rm -f kept.cfg profile.cfg other-name.cfg dangling.json trace.json
verdict 'output.input_files_are_not_overwritten'

# A profile of a fit has the name of the fit's own file.
sed '/flexdirect-1050ti"/,$d; s/profile = "[^"]*"/profile = "fit"/' "$FARWIRE_DATA"/calib/fits/flexdirect-1050ti.cfg |
	sed '$s/,$/ ); };/' >fit.cfg
cp fit.cfg kept.cfg
expect 2 "refusing to overwrite './fit.cfg', which is not a profile" fit fit.cfg -q -o .
cmp -s fit.cfg kept.cfg || complain 'the fit has overwritten its own file'
mkdir profiles
farwire fit fit.cfg -q -o profiles
farwire fit fit.cfg -q -o profiles
[ "$code" = 0 ] && grep -q '^parameters' profiles/fit.cfg || complain "the profile was not written again: $code"
rm -rf fit.cfg kept.cfg profiles
verdict 'output.fit_overwrites_only_profiles'

# A reader closes the pipe early: no message and no signal.
for words in "$one --format json" 'explain case.cfg' list --help; do
	for reader in 'head -n 1' true; do
		# shellcheck disable=SC2086
		{ "$FARWIRE" $words 2>"$scratch.err"; echo $? >"$scratch.code"; } | $reader >/dev/null
		[ ! -s "$scratch.err" ] || complain "$words | $reader: the error is $(cat "$scratch.err")"
		[ "$(cat "$scratch.code")" -le 1 ] || complain "$words | $reader: ended with $(cat "$scratch.code")"
	done
done
verdict 'output.closed_pipe_gives_no_message'

# Numbers and words do not depend on the locale, and files have no colours.
LC_ALL=C "$FARWIRE" run case.cfg -q --draws 0 >plain.txt 2>&1
for locale in de_DE.UTF-8 de_DE.utf8 fr_FR.UTF-8 tr_TR.UTF-8; do
	LC_ALL=$locale LC_NUMERIC=$locale LANG=$locale "$FARWIRE" run case.cfg -q --draws 0 \
		--set 'link.vswitch.latency=1.5 us' >local.txt 2>&1
	LC_ALL=C "$FARWIRE" run case.cfg -q --draws 0 --set 'link.vswitch.latency=1.5 us' >c.txt 2>&1
	cmp -s local.txt c.txt || complain "$locale: $(head -n 3 local.txt)"
done
NO_COLOR=1 "$FARWIRE" run case.cfg -q --draws 0 >colour.txt 2>&1
cmp -s plain.txt colour.txt || complain 'NO_COLOR changes the output to a file'
NO_COLOR=1 "$FARWIRE" run bad.cfg >colour.txt 2>&1
"$FARWIRE" run bad.cfg --color never >>colour.txt 2>&1
if grep -q "$(printf '\033')" plain.txt colour.txt; then complain 'a file has colours'; fi
verdict 'output.files_have_no_locale_and_no_colours'

# Spreadsheets would run a name that begins like a formula.
cp "$FARWIRE_DATA/models/networks/resnet50.cfg" '=1+2.cfg'
expect 0 '' run --topology t320-same-esxi --model '=1+2.cfg' --batch 8 -q --draws 0 --format csv
grep -q "^\"'=1+2.cfg on t320-same-esxi, batch 8\",ok," "$scratch.out" || complain "the name is written as $(sed -n 2p "$scratch.out" | cut -c 1-40)"
verdict 'output.names_in_csv_are_no_formulas'
