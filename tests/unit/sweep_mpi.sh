#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Sweeps over several processes with MPI give the same file as without. Errors are printed once, also
# if MPI is missing. tests/long/sweep_mpi kills ranks, and compares searches and validations.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
vary='--vary link.vswitch.latency=1us:1ms:log20 --vary case.batch=8,16'
set -- sweep --topology t320-same-esxi --program client --server server --runtime flexdirect-1.11 \
	--draws 0 --format csv
# shellcheck disable=SC2086 # words
OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 FARWIRE_MPI=$PWD/none.so \
	expect 2 '^farwire: 3 ranks were started, but MPI cannot be used: .*none.so.* make' "$@" -q $vary
verdict 'sweep_mpi.missing_library_is_reported'

if ! command -v mpirun >/dev/null || [ ! -e "${FARWIRE%/*}/libfarwire-mpi.so" ]; then
	echo 'skipped: MPI is missing (apt-get install openmpi-bin libopenmpi-dev, make mpi)'
	exit 0
fi
# With the launcher of another MPI each process would have no peers.
# shellcheck disable=SC2086
PMI_SIZE=2 PMI_RANK=0 expect 2 'MPI cannot be used: the launcher belongs to another MPI' "$@" -q $vary
verdict 'sweep_mpi.launcher_of_another_mpi_is_refused'
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
# ranks COUNT ARGS...: runs farwire with mpirun, without binding it to cores.
ranks() {
	count=$1
	shift
	timeout -k 5 240 mpirun --oversubscribe --bind-to none -n "$count" "$FARWIRE" "$@" \
		>"$scratch.out" 2>"$scratch.err" </dev/null
}

# shellcheck disable=SC2086
"$FARWIRE" "$@" -q $vary -o whole.csv
ranks 3 "$@" -q $vary -o grid.csv || complain "3 ranks: $(head -n 3 "$scratch.err")"
cmp -s whole.csv grid.csv || complain '3 ranks change the result'
[ ! -e grid.csv.journal ] || complain 'the journal remains'
# shellcheck disable=SC2086
ranks 2 "$@" --jobs 2 $vary || complain "2 ranks with 2 threads failed: $(head -n 3 "$scratch.err")"
cmp -s whole.csv "$scratch.out" || complain '2 ranks with 2 threads change the result on stdout'
verdict 'sweep_mpi.ranks_do_not_change_the_file'

# Journals of one sweep can be joined; the second has repeated points. Others are refused.
# die AFTER ARGS...: runs farwire and kills it when its journal has AFTER lines.
die() {
	after=$1
	shift
	"$FARWIRE" "$@" &
	until [ "$(cat grid.csv.journal* 2>/dev/null | wc -l)" -ge "$after" ] || ! kill -0 $!; do sleep 0.01; done
	kill -9 $!
	wait $!
} 2>/dev/null
rm -f grid.csv
# shellcheck disable=SC2086
die 8 "$@" -q $vary -o grid.csv
mv grid.csv.journal first
# shellcheck disable=SC2086
die 12 "$@" -q $vary -o grid.csv
head -c -5 first | cat - grid.csv.journal >joined
mv joined grid.csv.journal
# shellcheck disable=SC2086
"$FARWIRE" "$@" $vary -o grid.csv 2>"$scratch.err" || complain "joined journals: $(cat "$scratch.err")"
grep -qE '^continuing after [0-9]+ of 40 points' "$scratch.err" || complain "joined journals were not read: $(cat "$scratch.err")"
cmp -s whole.csv grid.csv || complain 'the result after joined journals differs'
sed '1s/"axes":"./"axes":"x/' first | cat first - >grid.csv.journal
# shellcheck disable=SC2086
expect 2 'the file is the journal of another sweep, because the axes changed' "$@" -q $vary -o grid.csv
rm -f grid.csv.journal
verdict 'sweep_mpi.joined_journals_of_one_sweep_continue'

# same FILE ARGS...: compares one process with three.
same() {
	file=$1
	shift
	"$FARWIRE" "$@" -q -o "one.$file" || complain "$*: one process failed"
	ranks 3 "$@" -q -o "three.$file" || complain "$*: $(head -n 3 "$scratch.err")"
	cmp -s "one.$file" "three.$file" || complain "$1: three ranks change the result"
}
same drawn.csv sweep --topology dgx1-v100 --gpus 2 --collective all_reduce --exchange nccl-2.8 --format csv \
	--vary case.collective_size=1KiB:1GiB:log9
verdict 'sweep_mpi.ranks_do_not_change_draws'

ranks 3 "$@" -q --vary case.batch=8,0 -o bad.csv && complain 'an invalid value was accepted'
[ "$(grep -c 'case.batch = "0" is out of range' "$scratch.err")" = 1 ] ||
	complain "the error is not printed once: $(cat "$scratch.err")"
ranks 3 "$@" -q --vary case.batch=8: -o bad.csv && complain 'an invalid value was accepted'
[ "$(grep -c 'is not a variation' "$scratch.err")" = 1 ] || complain "the error is not printed once: $(cat "$scratch.err")"
verdict 'sweep_mpi.errors_are_printed_once'
