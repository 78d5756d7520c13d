#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A log of nccl-tests gives the parameters of the library on a topology. The test writes a log
# of simulated times with planted parameters. The fit must find them, with intervals that
# contain them, and the profile must reproduce the log.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

ranks=4
system="--topology dgx-a100-40 --exchange nccl-2.18"
# shellcheck disable=SC2086 # a list of words
simulated() { # ARGS...: prints size, time and bus bandwidth of each point
	farwire sweep $system --collective all_reduce --gpus $ranks --draws 0 --format csv -q \
		--vary 'case.collective_size=4 KiB:1 GiB:log10' "$@"
	tr -d '\r' <"$scratch.out" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		NR > 1 { printf "%.0f %.9g %.9g\n", $1, $column["time_s"], $column["bus_bandwidth_Bps"] }'
}
as_log() {
	echo "# nThread 1 nGpus $ranks minBytes 4096 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20 validation: 1"
	for rank in $(seq 0 $((ranks - 1))); do
		echo "#  Rank  $rank Group  0 Pid  11 on  node device  $rank [0x07] NVIDIA A100-SXM4-40GB"
	done
	echo '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong'
	awk -v n=$ranks '{ bus = $3 / 1e9; alg = bus * n / 2 / (n - 1)
		printf "%d %d float sum -1 %.3f %.3f %.3f 0 %.3f %.3f %.3f 0\n", $1, $1 / 4, $2 * 1e6, alg, bus, $2 * 1e6, alg, bus }'
}

simulated --set library.channel_start=2us --set library.nvlink_efficiency=0.7 >"$scratch/planted"
as_log <"$scratch/planted" >"$scratch/log"
farwire import nccl-tests "$scratch/log" -o "$scratch/x.jsonl"
# shellcheck disable=SC2086
farwire fit "$scratch/x.jsonl" $system -o "$scratch/x.cfg"
[ "$code" = 0 ] || complain "fit: ended with $code: $(cat "$scratch.err")"
shows '^held-out sizes: median error 0\.[0-9] % over 3 sizes'
near() { # PATH PLANTED PERCENT
	awk -v path="$1" -v planted="$2" -v allowed="$3" '
		index($0, "\"" path "\"") { found = 1 }
		found && /value = / {
			split($0, part, "\"")
			exit !(part[2] + 0 > planted * (1 - allowed / 100) && part[2] + 0 < planted * (1 + allowed / 100) &&
				part[4] + 0 <= planted * 1.001 && part[6] + 0 >= planted * 0.999)
		}
		END { if (!found) exit 1 }' "$scratch/x.cfg" || complain "$1 is not $2, or its interval does not contain this value: $(cat "$scratch/x.cfg")"
}
near library.channel_start 2e-6 3
near library.nvlink_efficiency 0.7 2
# The residuals are smaller than measurements scatter. So intervals are those of the scatter.
! grep -q 'freedom' "$scratch/x.cfg" || complain "intervals shrink with the residuals: $(grep freedom "$scratch/x.cfg")"
verdict 'collectives.finds_planted_parameters'

simulated --profile "$scratch/x.cfg" >"$scratch/again"
paste -d' ' "$scratch/planted" "$scratch/again" | awk '
	{ off = $5 / $2 - 1; if (off > 0.02 || off < -0.02) { print "  " $0; bad = 1 } n++ }
	END { exit bad || n != 10 }' || complain 'the profile does not reproduce the log'
verdict 'collectives.reproduces_the_log'

# No parameters explain times of which every second one is four times as long. Seven sizes show it.
awk 'NR <= 7 { print $1, NR % 2 ? 4 * $2 : $2, NR % 2 ? $3 / 4 : $3 }' "$scratch/planted" | as_log >"$scratch/rough.log"
farwire import nccl-tests "$scratch/rough.log" -o "$scratch/rough.jsonl"
# shellcheck disable=SC2086
expect 3 'held-out sizes: median error [2-9][0-9]+\.[0-9] % over 2 sizes \(at most 10 % is allowed\)' \
	fit "$scratch/rough.jsonl" $system -o "$scratch/rough.cfg" # writes the profile all the same
[ -s "$scratch/rough.cfg" ] || complain 'the fit wrote no profile'
shows '^collectives: rms error [2-9][0-9]\.[0-9]* % on 5 rows'
verdict 'collectives.poor_fit_ends_with_3'

# shellcheck disable=SC2086
{
	expect 2 'a fit to a topology needs six' fit tests/recorded/calibration/fake.jsonl $system
	expect 2 "topology 'nowhere'|nowhere" fit "$scratch/x.jsonl" --topology nowhere
	expect 2 'gpus|GPUs' fit "$scratch/x.jsonl" --topology t320-same-lan
	expect 2 'only with recordings' fit nccl-a100 --topology dgx-a100-40
	expect 2 'cannot be used with a topology' fit "$scratch/x.jsonl" $system --plot "$scratch/x.svg"
}
verdict 'collectives.wrong_arguments_are_refused'
