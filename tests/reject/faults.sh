#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Disturbances from outside: signals, closed streams, a full disk, truncated files, folders
# instead of files, a locale with decimal commas, links that lose packets. A program that a
# signal ends leaves no file except the journal of a sweep.
cd "$(dirname "$0")/../.." || exit 2
profiles=$PWD/calib/profiles
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
printf 'case = { topology = "t320-same-esxi"; batch = 8; };\n' >case.cfg

set -- sweep ddl-host --format csv --jobs 2 --vary case.batch=8:64:lin57 --draws 2
# Starts the sweep and sends a signal when its journal has more than three lines.
interrupt() { # SIGNAL CODE ARGS...
	signal=$1
	wanted=$2
	shift 2
	mkdir "$signal"
	env --default-signal=INT,TERM "$FARWIRE" "$@" -q -o "$signal/x.csv" >"$scratch.out" 2>&1 &
	while kill -0 $! && ! [ "$(wc -l <"$signal/x.csv.journal")" -gt 3 ]; do sleep 0.01; done
	kill -s "$signal" $!
	wait $!
	ended=$?
	[ $ended = "$wanted" ] || complain "$signal: ended with $ended"
	[ "$(ls "$signal")" = x.csv.journal ] || complain "$signal: other files remain: $(ls "$signal")"
	[ ! -s "$scratch.out" ] || complain "$signal: unexpected output $(head -n 1 "$scratch.out")"
} 2>/dev/null
interrupt INT 130 "$@"
interrupt TERM 143 "$@"
# Other verbs leave no files, except for validate's journal of finished rows.
mkdir ended
for words in 'run ddl-host --draws 20000 --format json -o ended/x.json --trace ended/t.json --plot ended/p.svg' \
	'validate ddl_p100 --draws 2000 --format csv -o ended/x.csv' 'report ddl-host --draws 20000 -o ended/x.html' \
	'sensitivity ddl-host --draws 20000 --format csv -o ended/x.csv' 'fit flexdirect-1050ti -o ended'; do
	for signal in TERM HUP; do
		# shellcheck disable=SC2086 # words of a command
		"$FARWIRE" $words -q >"$scratch.out" 2>&1 &
		sleep 0.2
		kill -s $signal $!
		wait $!
		ended=$?
		case $words in validate*) rm -f ended/x.csv.journal.ddl_p100 ;; esac
		[ $ended = 143 ] || [ $ended = 129 ] || complain "$words: $signal: ended with $ended"
		[ -z "$(ls -A ended)" ] && [ ! -s "$scratch.out" ] || complain "$words: $signal: files or output remain: $(ls -A ended)"
	done
done 2>/dev/null
verdict faults.signal_leaves_only_a_journal

# With stderr closed, the journal gets its file descriptor. Messages must not go into the
# journal.
"$FARWIRE" "$@" -o TERM/x.csv 2>&- &
while kill -0 $! && ! grep -q '"going on' TERM/x.csv.journal && [ "$(wc -l <TERM/x.csv.journal)" -lt 30 ]; do
	sleep 0.01
done 2>/dev/null
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
if grep -v '^{' TERM/x.csv.journal; then complain 'the journal contains messages'; fi
set -- sweep case.cfg --format csv --vary 'link.vswitch.latency=1 us:1 ms:log9'
"$FARWIRE" "$@" -o whole.csv 2>whole.err || complain 'the sweep failed'
"$FARWIRE" "$@" -o closed.csv <&- >&- 2>&- || complain 'the sweep failed with closed streams'
cmp -s whole.csv closed.csv || complain 'closed streams change the result'
code=0
"$FARWIRE" run case.cfg -q --draws 0 >&- 2>"$scratch.err" || code=$?
[ $code = 1 ] || complain "with stdout closed the run ended with $code"
grep -q 'cannot write' "$scratch.err" || complain "with stdout closed the error is $(cat "$scratch.err")"
if command -v setsid >/dev/null; then
	setsid "$FARWIRE" "$@" -o lonely.csv 2>lonely.err </dev/null
	cmp -s whole.csv lonely.csv || complain 'the result differs without a terminal'
	sed s/lonely/whole/ lonely.err | cmp -s - whole.err || complain "without a terminal the messages are $(cat lonely.err)"
fi
verdict faults.closed_streams_do_not_change_results

# A real file system of 16 KiB, if the machine allows to mount one.
cat >disk.sh <<'END'
mkdir disk && mount -t tmpfs -o size=16k none disk || exit 77
echo 'old content' >disk/old.html
"$FARWIRE" report case.cfg -q --draws 0 -o disk/old.html 2>said
[ $? = 1 ] && grep -q "cannot write 'disk/old.html': No space left" said || echo "report: $(cat said)"
[ "$(cat disk/old.html)" = 'old content' ] && [ "$(ls -A disk)" = old.html ] || echo "files remain: $(ls -A disk)"
"$FARWIRE" sweep case.cfg -q --draws 0 --vary 'link.vswitch.latency=1 us:1 ms:log400' -o disk/x.csv 2>said
[ $? = 1 ] && grep -q 'disk/x.csv.journal: the file cannot be written: No space left' said || echo "sweep: $(cat said)"
[ ! -e disk/x.csv ] || echo 'an incomplete sweep has a result'
END
FARWIRE=$FARWIRE unshare -rm sh disk.sh >disk.out 2>/dev/null
if [ $? = 77 ] || ! grep -q . disk.out && [ ! -e said ]; then
	echo '  skipped: no small disk can be mounted here'
else
	[ ! -s disk.out ] || complain "$(cat disk.out)"
	verdict faults.full_disk_leaves_the_old_file
fi

# A truncated profile gives an error with its place.
set -- run case.cfg --runtime flexdirect-1.11 --program client --server server --draws 0 -q --format json
"$FARWIRE" "$@" --profile flexdirect-1050ti >whole.json || complain 'the complete profile is not accepted'
profile=$profiles/flexdirect-1050ti.cfg
size=$(wc -c <"$profile")
for part in 1 2 5 10 17 29 41 50 63 75 88 96 99; do
	head -c $((size * part / 100)) "$profile" >cut.cfg
	farwire "$@" --profile ./cut.cfg
	[ $code = 2 ] && grep -qE '^(--profile: )?(\./)?cut\.cfg' "$scratch.err" ||
		complain "$part % of a profile: ended with $code: $(head -n 1 "$scratch.err")"
done
cp "$profile" cut.cfg
expect 0 '' "$@" --profile ./cut.cfg
verdict faults.truncated_profile_is_refused

mkdir folder
expect 2 'is a directory \(give a file\)' run folder
expect 2 '^--profile: there is no .*folder.' run case.cfg --profile ./folder
expect 2 '^folder: the file cannot be read: Is a directory' run case.cfg --calls folder
expect 2 "^there is no fit 'folder'" fit folder
expect 2 "^farwire: cannot read 'folder': Is a directory" import perftest folder
expect 2 "^farwire: cannot read 'folder': Is a directory" import kineto folder
expect 2 '^folder: the file cannot be read: Is a directory' plot folder -o x.svg
echo '@include "folder"' >include.cfg
expect 2 'is a directory \(give a file\)' run include.cfg
echo 'dataset = { name = "x"; title = "t"; source = "s"; table = "folder"; value = "v"; label = ["v"]; };' >set.cfg
expect 2 'folder: the file cannot be read: Is a directory' validate set.cfg
mkdir x.csv.journal
farwire sweep case.cfg -q --draws 0 --vary case.batch=8,16 -o x.csv
[ "$code" -gt 0 ] && [ ! -e x.csv ] && grep -q 'x\.csv\.journal' "$scratch.err" ||
	complain "with a folder instead of a journal the sweep ended with $code, $(cat "$scratch.err")"
verdict faults.folders_instead_of_files_are_refused

if command -v localedef >/dev/null && mkdir locales &&
	localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>/dev/null &&
	[ "$(LOCPATH=$PWD/locales LC_ALL=de_DE.UTF-8 /usr/bin/printf %.1f 1,5)" = 1,5 ]; then
	set -- --set 'link.vswitch.latency=1.5 us' --draws 2 --seed 3 -q
	for words in 'run case.cfg' 'run case.cfg --format json' 'explain case.cfg' \
		'sweep case.cfg --vary link.vswitch.latency=1us:9us:log3 --format csv' \
		'report case.cfg -o /dev/stdout'; do
		case $words in explain*) set -- ;; sweep*) set -- --draws 2 -q ;; esac
		# shellcheck disable=SC2086 # words of a command
		LC_ALL=C "$FARWIRE" $words "$@" >c.out 2>&1
		# shellcheck disable=SC2086
		LOCPATH=$PWD/locales LC_ALL=de_DE.UTF-8 "$FARWIRE" $words "$@" >de.out 2>&1
		cmp -s c.out de.out || complain "$words: the locale changes the output: $(diff c.out de.out | head -n 3)"
	done
	verdict faults.locale_with_decimal_commas_changes_nothing
else
	echo '  skipped: localedef or the locale de_DE is missing'
fi

# Each loss from 0 to 1 gives a result or a verdict with a reason.
for runtime in flexdirect-1.11 asynchronous; do
	for loss in 0 1e-12 1e-6 1e-3 0.01 0.1 0.5 0.9 0.99 0.999999 1; do
		farwire run case.cfg --program client --server server --runtime $runtime --draws 0 -q \
			--set case.steps=1 --set "link.vswitch.loss=$loss"
		[ "$code" -le 1 ] && [ -s "$scratch.out" ] || complain "$runtime, loss $loss: ended with $code"
	done
done
verdict faults.any_loss_gives_a_result_or_a_verdict
