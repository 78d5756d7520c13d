#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep that is killed: the points that it keeps, its continuation, and journals that it
# refuses.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END_OF_CASE'
case = { topology = "t320-same-esxi"; program = "client"; server = "server";
	runtime = "flexdirect-1.11"; batch = 8; };
END_OF_CASE
how=
# sweep FILE OPTIONS...: the sweep of all these tests, 50 points.
sweep() {
	file=$1
	shift
	# shellcheck disable=SC2086 # a word or none
	$how "$FARWIRE" sweep case.cfg -q --draws 0 --format csv -o "$file" "$@" \
		--vary 'link.vswitch.latency=1 us:1 ms:log25' --vary case.batch=8,16
}
lines() {
	if [ -e grid.csv.journal ]; then wc -l <grid.csv.journal; else echo 0; fi
}
# kill_after N: begins the sweep and kills it when its journal has more than N lines. Returns
# false if it finished before.
kill_after() {
	(how=exec && sweep grid.csv --jobs 2) &
	while kill -0 $! && [ "$(lines)" -le "$1" ]; do sleep 0.01; done
	kill -9 $!
	wait $!
	[ -e grid.csv.journal ]
} 2>/dev/null

sweep whole.csv --jobs 1 || complain "the sweep failed"
[ ! -e whole.csv.journal ] || complain 'the journal remains'
for points in 5 15 30; do
	kill_after $points || complain "the sweep finished before its journal had $points lines"
	[ ! -e grid.csv ] || complain 'a killed sweep left a result'
done
kept=$(lines)
expect 2 'grid.csv.journal: the file is the journal of another sweep, because the settings changed' \
	sweep case.cfg -q --draws 0 --seed 2 --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log25' --vary case.batch=8,16
expect 2 'another sweep, because the settings changed' \
	sweep case.cfg -q --draws 2 --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log25' --vary case.batch=8,16
expect 2 'grid.csv.journal: the file is the journal of another sweep, because the axes changed' \
	sweep case.cfg -q --draws 0 --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log25' --vary case.batch=16,8
sed -i 's/batch = 8/steps = 7; batch = 8/' case.cfg
expect 2 'another sweep, because the files that it reads changed' sweep case.cfg -q --draws 0 --format csv -o grid.csv \
	--vary 'link.vswitch.latency=1 us:1 ms:log25' --vary case.batch=8,16
sed -i 's/steps = 7; //' case.cfg
[ "$(lines)" = "$kept" ] || complain 'a refused journal was changed'
printf '{"point":0' >>grid.csv.journal # a cut line
"$FARWIRE" sweep case.cfg --draws 0 --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log25' \
	--vary case.batch=8,16 2>said.txt || complain "continuing failed: $(cat said.txt)"
grep -q "^continuing after $((kept - 1)) of 50 points in grid.csv.journal" said.txt ||
	complain "it did not continue after the $kept lines of the journal: $(cat said.txt)"
cmp -s whole.csv grid.csv || complain 'the result of the continued sweep differs'
[ ! -e grid.csv.journal ] || complain 'the journal remains'
verdict 'sweep_journal.killed_sweep_continues_to_the_same_result'

# Killed after the last point, before the result is written; then continued in another format.
kill_after 49
if [ -e grid.csv.journal ]; then
	sweep grid.csv || complain 'the last step failed'
	cmp -s whole.csv grid.csv || complain 'the result differs'
fi
kill_after 25
sweep grid.csv --format json || complain 'json failed'
sweep whole.json --format json
cmp -s whole.json grid.csv || complain 'the JSON of the continued sweep differs'
verdict 'sweep_journal.complete_journal_only_needs_writing'

# The files of all values count, not only those of the first and the last ones.
for profile in 1 2 3; do cp "$FARWIRE_DATA/calib/profiles/flexdirect-1050ti.cfg" $profile.cfg; done
set -- sweep case.cfg -q --draws 0 --format csv -o grid.csv --vary case.profile=./1.cfg,./2.cfg,./3.cfg --vary 'link.vswitch.latency=1 us:1 ms:log20'
"$FARWIRE" "$@" --jobs 1 &
while kill -0 $! && [ "$(lines)" -le 5 ]; do sleep 0.01; done 2>/dev/null
{ kill -9 $! && wait $!; } 2>/dev/null
[ -e grid.csv.journal ] || complain 'the sweep finished too early'
sed -i 's/value = "1.75773"/value = "1.75774"/' 2.cfg
expect 2 'another sweep, because the files that it reads changed' "$@"
sed -i 's/value = "1.75774"/value  =  "1.75773"/; $s/$/\n# A comment changes no value./' 2.cfg
farwire sweep case.cfg --draws 0 --format csv -o grid.csv --vary case.profile=./1.cfg,./2.cfg,./3.cfg --vary 'link.vswitch.latency=1 us:1 ms:log20'
grep -q '^continuing after' "$scratch.err" || complain "a comment voided the journal: $(head -n 2 "$scratch.err")"
verdict 'sweep_journal.a_changed_value_of_any_file_is_noticed_and_a_changed_comment_is_not'

# A table of requests is read while requests arrive, and counts, too.
printf '0\t512\t16\n' >requests.tsv
set -- sweep --topology dgx-h100 --model llama3-8b --serve list=requests.tsv --draws 0 -q --format csv -o grid.csv \
	--vary stack.session=1us:1ms:log100
"$FARWIRE" "$@" --jobs 1 &
while kill -0 $! && [ "$(lines)" -le 5 ]; do sleep 0.01; done 2>/dev/null
{ kill -9 $! && wait $!; } 2>/dev/null
[ -e grid.csv.journal ] || complain 'the sweep finished too early'
printf '0\t512\t17\n' >requests.tsv
expect 2 'another sweep, because the files that it reads changed' "$@"
rm grid.csv.journal
verdict 'sweep_journal.a_changed_table_of_requests_is_noticed'

echo precious >grid.csv.journal
expect 2 'grid.csv.journal: the file is not the journal of a sweep' sweep case.cfg -q -o grid.csv --vary case.batch=8,16
[ "$(cat grid.csv.journal)" = precious ] || complain 'another file was changed'
rm grid.csv.journal
ln -s /dev/zero grid.csv.journal
expect 2 '^grid\.csv\.journal: this is not a regular file.* \(write another -o\)' sweep case.cfg -q -o grid.csv --vary case.batch=8,16
rm grid.csv.journal
expect 1 "cannot write 'no/grid.csv': No such file" sweep case.cfg -q -o no/grid.csv --vary case.batch=8,16
farwire sweep case.cfg -q -o /dev/null --vary case.batch=8,16
[ "$code" = 0 ] && [ ! -e /dev/null.journal ] || complain 'a sweep to a device left a journal'
if (ulimit -f 1 && sweep full.csv) 2>said.txt; then
	complain 'a full disk was not reported'
fi
grep -q 'full.csv.journal: the file cannot be written: File too large' said.txt ||
	complain "the error of a full disk is $(cat said.txt)"
sweep full.csv && cmp -s whole.csv full.csv || complain 'after a full disk the result differs'
verdict 'sweep_journal.other_files_and_full_disks_are_refused'

# Two folders have a dataset of one name. The second one has a row less.
mkdir one two
cp "$FARWIRE_DATA"/calib/measured/flexdirect_1050ti.* one/
cp one/* two/
sed -i '$d' two/flexdirect_1050ti.tsv
for each in one two; do
	farwire validate $each/flexdirect_1050ti.cfg --draws 0 -q --format csv
	grep '^flexdirect_1050ti,' "$scratch.out"
done >each.csv
farwire validate one/flexdirect_1050ti.cfg two/flexdirect_1050ti.cfg --draws 0 -q --format csv -o errors.csv
[ "$code" = 0 ] || complain "ended with $code: $(cat "$scratch.err")"
grep '^flexdirect_1050ti,' errors.csv | cmp -s - each.csv || complain 'two datasets do not have the rows of each'
[ -z "$(ls errors.csv.journal* 2>/dev/null)" ] || complain 'a journal remains'
verdict 'sweep_journal.datasets_of_one_name_have_their_own_journals'

# All values are read before the first point is computed.
expect 2 '^--vary: case.batch = "0" is out of range' sweep case.cfg -q -o bad.csv --vary case.batch=8,16,0
[ ! -e bad.csv.journal ] || complain 'points were computed before all values were read'
# 256 of 300 values are read, and the last one is among them.
expect 2 '^--vary: case.fraction = "1.01" is out of range' sweep case.cfg -q -o bad.csv --vary case.fraction=0.01:1.01:lin300
[ ! -e bad.csv.journal ] || complain 'points were computed before the last value was read'
expect 2 "^--vary: 'case.batch' is varied twice" sweep case.cfg -q --draws 0 --vary case.batch=8,16 --vary case.batch=32
expect 2 'the high end must be above the low end$' sweep case.cfg -q --draws 0 --vary 'link.vswitch.latency=2 us:1 us:log5'
expect 2 "'nan us' is not a number with a known unit$" sweep case.cfg -q --draws 0 --vary 'link.vswitch.latency=nan us:1 us:log5'
expect 2 "'8' is listed twice$" sweep case.cfg -q --draws 0 --vary case.batch=8,16,8
verdict 'sweep_journal.invalid_values_are_refused_before_the_work'
