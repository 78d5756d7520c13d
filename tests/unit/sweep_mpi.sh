#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep over several processes by MPI: the same file as without, also killed and
# resumed; errors said once; what is said where MPI is missing.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
vary='--vary link.vswitch.latency=1us:1ms:log80 --vary case.batch=8,16'
set -- sweep --topology t320-same-esxi --program client --server server --runtime flexdirect-1.11 \
	--format csv
# shellcheck disable=SC2086 # words
OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 FARWIRE_MPI=$PWD/none.so \
	expect 2 '^farwire: 3 ranks were started, but MPI cannot be used: .*none.so.* make' "$@" -q $vary
verdict 'sweep_mpi.no_library'

if ! command -v mpirun >/dev/null || [ ! -e "${FARWIRE%/*}/libfarwire-mpi.so" ]; then
	echo 'skipped: there is no MPI (apt-get install openmpi-bin libopenmpi-dev, make mpi)'
	exit 0
fi
# a launcher that is not this MPI's: each process would think it is alone
# shellcheck disable=SC2086
PMI_SIZE=2 PMI_RANK=0 expect 2 'no MPI: the launcher is not that of' "$@" -q $vary
verdict 'sweep_mpi.another_launcher'
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
# mpirun with the count and the arguments of farwire; kept apart from what runs here
ranks() {
	count=$1
	shift
	timeout 50 mpirun --oversubscribe --bind-to none -n "$count" "$FARWIRE" "$@" \
		>"$scratch.out" 2>"$scratch.err" </dev/null
}

# shellcheck disable=SC2086
"$FARWIRE" "$@" -q $vary -o whole.csv
for count in 2 3; do
	# shellcheck disable=SC2086
	ranks $count "$@" -q $vary -o grid.csv || complain "$count ranks: $(head -n 3 "$scratch.err")"
	cmp -s whole.csv grid.csv || complain "$count ranks: another result"
	[ ! -e grid.csv.journal ] || complain 'the journal is still there'
done
# shellcheck disable=SC2086
ranks 2 "$@" --jobs 2 $vary || complain "2 ranks of 2 threads: $(head -n 3 "$scratch.err")"
cmp -s whole.csv "$scratch.out" || complain '2 ranks of 2 threads, to stdout: another result'
verdict 'sweep_mpi.the_same_file'

# One rank that is killed takes the others with it, and the next run goes on. It is
# the third one, by a script in its place once a few points are kept.
rm -f grid.csv
cat >dies.sh <<'END_OF_RANK'
"$@" &
until [ -s grid.csv.journal ] && [ "$(wc -l <grid.csv.journal)" -gt 5 ]; do
	kill -0 $! || break
	sleep 0.01
done
kill -9 $!
wait $!
END_OF_RANK
# shellcheck disable=SC2086
ranks 2 "$@" -q $vary -o grid.csv : -n 1 sh dies.sh "$FARWIRE" "$@" -q $vary -o grid.csv &
wait $! && complain 'it ended well without one of its ranks'
[ -e grid.csv.journal ] && [ ! -e grid.csv ] || complain 'no journal, or a result'
kept=$(($(wc -l <grid.csv.journal) - 1))
# shellcheck disable=SC2086
ranks 2 "$@" $vary -o grid.csv || complain "resumed: $(head -n 3 "$scratch.err")"
[ $kept -ge 159 ] || # torn or not, what there was
	grep -qE "^continuing after ($kept|$((kept - 1))) of 160 points" "$scratch.err" ||
	complain "not what was kept ($kept): $(cat "$scratch.err")"
cmp -s whole.csv grid.csv || complain 'killed and resumed, another result'
verdict 'sweep_mpi.killed_and_resumed'

ranks 3 "$@" -q --vary case.batch=8,0 -o bad.csv && complain 'no error'
[ "$(grep -c 'case.batch = "0" is out of range' "$scratch.err")" = 1 ] ||
	complain "not said once: $(cat "$scratch.err")"
ranks 3 "$@" -q --vary case.batch=8: -o bad.csv && complain 'no error'
[ "$(grep -c 'is not a variation' "$scratch.err")" = 1 ] || complain "not said once: $(cat "$scratch.err")"
verdict 'sweep_mpi.errors_once'
