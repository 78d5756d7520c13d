#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Algorithms of MSCCL take the time of the same algorithms of the library. import_facts.sh reads the
# other samples.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/workloads
cd "$scratch" || exit 2
job='--topology dgx-a100-40 --exchange nccl-2.18 --draws 0'

# step_us ARGUMENT...: the step time of a run
step_us() {
	"$FARWIRE" run $job --format csv "$@" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { print $column * 1e6 }'
}

# A ring in MSCCL's form takes the time of the library's own ring on one channel. Both are LL128.
all_reduce_us() {
	step_us --gpus 8 --collective all_reduce --set "case.collective_size=$1" --set "$2" \
		--set library.algorithm=ring --set library.protocol=ll128
}
for size in 8KiB 1MiB 32MiB; do
	all_reduce_us $size library.msccl="$samples/msccl-ring-8.xml"
	all_reduce_us $size library.channels=1
done | awk '{ us[NR] = $1 } END {
	if (NR != 6) exit 1
	for (i = 1; i < 6; i += 2) {
		ratio = us[i] / us[i + 1]
		if (ratio < 0.999 || ratio > 1.001) exit 1 } }' ||
	complain "MSCCL's ring does not take the time of the library's ring"
# Above maxBytes the library takes its own algorithm.
farwire run $job --gpus 8 --collective all_gather --set library.msccl="$samples/msccl-allgather-8n.xml" \
	--set 'case.collective_size=8 KiB'
shows 'all_gather, 8 KiB: msccl, LL'
farwire run $job --gpus 8 --collective all_gather --set library.msccl="$samples/msccl-allgather-8n.xml" \
	--set 'case.collective_size=16 KiB'
shows 'all_gather, 16 KiB: all_gather, LL'
expect 2 'library.msccl: the file has an algorithm of all_gather' run $job --gpus 8 \
	--collective all_reduce --set library.msccl="$samples/msccl-allgather-8n.xml"
expect 2 "library.msccl: '.*msccl-allgather-8n.xml' has the steps of 8 GPUs, but the job has 4 .write case.gpus=8" \
	run $job --gpus 4 --collective all_gather --set 'case.collective_size=8 KiB' \
	--set library.msccl="$samples/msccl-allgather-8n.xml"
verdict msccl.algorithms_of_msccl_replace_those_of_the_library
