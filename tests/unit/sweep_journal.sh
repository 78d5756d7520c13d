#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep that is killed: what it kept, how it goes on, which journals it refuses.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
cat >case.cfg <<'END_OF_CASE'
case = { topology = "t320-same-esxi"; program = "client"; server = "server";
	runtime = "flexdirect-1.11"; batch = 8; };
END_OF_CASE
how=
# The sweep of all these tests, 90 points, to the file $1 with the options after it.
sweep() {
	file=$1
	shift
	# shellcheck disable=SC2086 # a word or none
	$how "$FARWIRE" sweep case.cfg -q --format csv -o "$file" "$@" \
		--vary 'link.vswitch.latency=1 us:1 ms:log45' --vary case.batch=8,16
}
lines() {
	if [ -e grid.csv.journal ]; then wc -l <grid.csv.journal; else echo 0; fi
}
# Begins the sweep and kills it once it has kept more than $1 points; false if it
# was done before that.
kill_after() {
	(how=exec && sweep grid.csv --jobs 2) &
	while kill -0 $! && [ "$(lines)" -le "$1" ]; do sleep 0.01; done
	kill -9 $!
	wait $!
	[ -e grid.csv.journal ]
} 2>/dev/null

sweep whole.csv --jobs 1 || complain "the sweep failed"
[ ! -e whole.csv.journal ] || complain 'the journal is still there'
for points in 5 30 60; do
	kill_after $points || complain "it was done before $points points were kept"
	[ ! -e grid.csv ] || complain 'a killed sweep left a result'
done
kept=$(lines)
expect 2 'grid.csv.journal: is the journal of another sweep: the settings differ' \
	sweep case.cfg -q --seed 2 --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log45' --vary case.batch=8,16
expect 2 'grid.csv.journal: is the journal of another sweep: the axes differ' \
	sweep case.cfg -q --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log45' --vary case.batch=16,8
sed -i 's/batch = 8/steps = 7; batch = 8/' case.cfg
expect 2 'another sweep: the files that it reads differ' sweep case.cfg -q --format csv -o grid.csv \
	--vary 'link.vswitch.latency=1 us:1 ms:log45' --vary case.batch=8,16
sed -i 's/steps = 7; //' case.cfg
[ "$(lines)" = "$kept" ] || complain 'a refused journal was touched'
printf '{"crc":"0' >>grid.csv.journal # torn
"$FARWIRE" sweep case.cfg --format csv -o grid.csv --vary 'link.vswitch.latency=1 us:1 ms:log45' \
	--vary case.batch=8,16 2>said.txt || complain "going on failed: $(cat said.txt)"
grep -q "^continuing after $((kept - 1)) of 90 points in grid.csv.journal" said.txt ||
	complain "not as many points as were kept ($kept lines): $(cat said.txt)"
cmp -s whole.csv grid.csv || complain 'killed and resumed, the result differs'
[ ! -e grid.csv.journal ] || complain 'the journal is still there'
verdict 'sweep_journal.killed_and_resumed'

# killed when all points were kept, but nothing written; then in another format
kill_after 89
if [ -e grid.csv.journal ]; then
	sweep grid.csv || complain 'the last step failed'
	cmp -s whole.csv grid.csv || complain 'the result differs'
fi
kill_after 50
sweep grid.csv --format json || complain 'json failed'
sweep whole.json --format json
cmp -s whole.json grid.csv || complain 'another format of a resumed sweep differs'
verdict 'sweep_journal.nothing_left_to_compute'

echo precious >grid.csv.journal
expect 2 'grid.csv.journal: is not the journal of a sweep' sweep case.cfg -q -o grid.csv --vary case.batch=8,16
[ "$(cat grid.csv.journal)" = precious ] || complain 'a foreign file was touched'
rm grid.csv.journal
ln -s /dev/zero grid.csv.journal
expect 2 '^grid\.csv\.journal: is not a file: .* \(write another -o\)' sweep case.cfg -q -o grid.csv --vary case.batch=8,16
rm grid.csv.journal
expect 1 "cannot write 'no/grid.csv': No such file" sweep case.cfg -q -o no/grid.csv --vary case.batch=8,16
farwire sweep case.cfg -q -o /dev/null --vary case.batch=8,16
[ "$code" = 0 ] && [ ! -e /dev/null.journal ] || complain 'a journal beside a device'
if (ulimit -f 1 && sweep full.csv) 2>said.txt; then
	complain 'a full disk went unnoticed'
fi
grep -q 'full.csv.journal: cannot be written: File too large' said.txt ||
	complain "of a full disk it said $(cat said.txt)"
sweep full.csv && cmp -s whole.csv full.csv || complain 'after a full disk the result differs'
verdict 'sweep_journal.what_is_refused'

# what only the simulation can find out comes late: the journal stays
expect 2 '^--vary: case.batch = "0" is out of range' sweep case.cfg -q -o bad.csv --vary case.batch=8,16,0
[ ! -e bad.csv.journal ] || complain 'points were computed before all values were read'
expect 2 "^--vary: 'case.batch' is varied twice" sweep case.cfg -q --vary case.batch=8,16 --vary case.batch=32
expect 2 'it does not rise$' sweep case.cfg -q --vary 'link.vswitch.latency=2 us:1 us:log5'
expect 2 "'nan us' is not a number with a known unit$" sweep case.cfg -q --vary 'link.vswitch.latency=nan us:1 us:log5'
expect 2 "'8' is there twice$" sweep case.cfg -q --vary case.batch=8,16,8
verdict 'sweep_journal.bad_values_are_found_first'
