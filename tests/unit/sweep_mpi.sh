#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Sweeps, searches of plans and layouts, and validations over several processes with MPI give the
# same file as without, also after a rank was killed. Errors are printed once, also if MPI is missing.
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

# If one rank is killed, all end, and the next run continues. A script replaces the third rank
# and kills it when some points are kept.
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
wait $! && complain 'the sweep succeeded without one of its ranks'
[ -e grid.csv.journal ] && [ ! -e grid.csv ] || complain 'the journal is missing, or there is a result'
kept=$(($(wc -l <grid.csv.journal) - 1))
# shellcheck disable=SC2086
ranks 2 "$@" $vary -o grid.csv || complain "continuing failed: $(head -n 3 "$scratch.err")"
[ $kept -ge 39 ] || # the last line may be cut
	grep -qE "^continuing after ($kept|$((kept - 1))) of 40 points" "$scratch.err" ||
	complain "it did not continue after $kept points: $(cat "$scratch.err")"
cmp -s whole.csv grid.csv || complain 'the result of the continued sweep differs'
verdict 'sweep_mpi.sweep_with_a_killed_rank_continues'

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
same plan.csv plan --topology dgx-h100 --model llama3-8b --stack pytorch-fsdp-bf16 --exchange nccl-2.18 \
	--gpus 8 --draws 0 --format csv --vary plan.micro_batch=1,2 \
	--plan global_batch=8,tp=8,pp=1,sharding=none,chunks=1,schedule=auto
same layouts.csv plan --topology dgx-h100 --gpus 2 --model llama3-8b --engine vllm --draws 0 --format csv \
	--serve "prompt=256,output=20,first_slo=500 ms,between_slo=30 ms,requests=50" \
	--set serve.batch=64 --set serve.tokens=2048
verdict 'sweep_mpi.ranks_do_not_change_draws_plans_and_layouts'

# A validation continues from the journal of each dataset.
validate='validate flexdirect_1050ti kernels_2017 --draws 0 -q --format csv'
# shellcheck disable=SC2086
same errors.csv ${validate% -q*} --format csv
sed "s/grid.csv.journal/grid.csv.journal.flexdirect_1050ti/g" dies.sh >fails.sh
rm -f grid.csv
# shellcheck disable=SC2086
ranks 2 $validate -o grid.csv : -n 1 sh fails.sh "$FARWIRE" $validate -o grid.csv &
wait $! && complain 'the validation succeeded without one of its ranks'
[ -s grid.csv.journal.flexdirect_1050ti ] && [ ! -e grid.csv ] || complain 'the journal is missing, or a result was written'
kept=$(($(wc -l <grid.csv.journal.flexdirect_1050ti) - 1))
all=$(sed -nE '1s/.*"points":([0-9]+).*/\1/p' grid.csv.journal.flexdirect_1050ti)
# shellcheck disable=SC2086
expect 2 'because the list of points changed' $validate --set gpu.gtx1050ti.memory=3GiB -o grid.csv
# shellcheck disable=SC2086
expect 2 'because the settings changed' $validate --seed 2 -o grid.csv
# shellcheck disable=SC2086
ranks 2 ${validate% -q*} --format csv -o grid.csv || complain "continuing failed: $(head -n 3 "$scratch.err")"
# on a busy machine the rank may be killed after the last row, and then nothing is left to continue
[ "$kept" = "$all" ] || grep -q "^continuing after $kept of $all cases" "$scratch.err" ||
	complain "it did not continue after $kept of $all: $(cat "$scratch.err")"
cmp -s one.errors.csv grid.csv || complain 'the result of the continued validation differs'
[ -z "$(ls grid.csv.journal* 2>/dev/null)" ] || complain 'a journal remains'
verdict 'sweep_mpi.validation_with_a_killed_rank_continues'

ranks 3 "$@" -q --vary case.batch=8,0 -o bad.csv && complain 'an invalid value was accepted'
[ "$(grep -c 'case.batch = "0" is out of range' "$scratch.err")" = 1 ] ||
	complain "the error is not printed once: $(cat "$scratch.err")"
ranks 3 "$@" -q --vary case.batch=8: -o bad.csv && complain 'an invalid value was accepted'
[ "$(grep -c 'is not a variation' "$scratch.err")" = 1 ] || complain "the error is not printed once: $(cat "$scratch.err")"
verdict 'sweep_mpi.errors_are_printed_once'
