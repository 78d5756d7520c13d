#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Shipped files by name: `farwire list` has a line for each file, a shipped case can be given
# wherever a case file can, and `explain` shows values that a file sets without a source.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
topologies=$PWD/topologies
cd "$scratch" || exit 2

expect 0 '' list gpus runtimes
shows '^gpus +volta +v100-sxm2 +80 SMs, 1530 MHz, fp32 15.7 TFLOPS, fp16 125 TFLOPS, 16 GiB at 898 GB/s *$'
shows '^runtimes +asynchronous .*sent *$'
# NVLinks of all kinds of links are counted: a DGX-1's GPU has two single and two double ones.
expect 0 '' list machines
shows '^machines +NVIDIA +dgx1-v100 +8 x v100-sxm2, 6 NVLinks of generation 2, pcie 3 x16, 40 cores, 4 network ports *$'
shows '^machines +IBM +ac922 +4 x v100-sxm2, 3 NVLinks of generation 2, processor link of 75 GB/s, 40 cores, 2 network ports *$'
shows '^machines +any +workstation-2 +2 x rtx-4090, pcie 4 x8, 16 cores, 1 network port *$'
expect 0 '' list topologies
shows '^topologies +listed hosts +t320-same-esxi .*: 1 host, 1 x gtx-1050ti *$'
shows '^topologies +listed hosts +remote-8 .*: 3 hosts, 8 x v100-sxm2 *$'
shows '^topologies +NVIDIA +dgx-h100 +8 x h100-sxm5 a machine; 8 x infiniband 400 Gbit/s a port, rail_optimised, '
# GPUs are in the order of their generations, networks of a kind in that of their bandwidth.
expect 0 '' list gpus
sed -n 's/^gpus  *\([a-z]*\) .*/\1/p' "$scratch.out" | uniq | tr '\n' ' ' |
	grep -qE '^(fermi )?kepler (maxwell )?pascal volta turing ampere ada hopper blackwell ' || complain 'generations are not in their order'
expect 0 '' list networks
sed -nE 's/^networks +([a-z]+) +[^ ]+ +([0-9]+) Gbit.*/\1 \2/p' "$scratch.out" | awk '
	$1 == kind && $2 < last { exit 1 } { kind = $1; last = $2 } END { if (NR < 20) exit 1 }' || complain 'networks are not in their order'
expect 0 '' list
grep -n '[a-z]\. *$' "$scratch.out" && complain 'a description ends in a full stop'
grep -q '^case .* topology ' "$scratch.out" && complain 'the list has parameters, which are only printed on request'
expect 0 '' list parameters
shows '^case .* topology '
verdict shipped.list_shows_titles

expect 0 '' explain quarter-gpu case.fraction
shows '^case.fraction +0.25 .*topologies/cases/quarter-gpu.cfg:[0-9]+'
expect 0 '' run quarter-gpu --draws 0
shows '^a quarter of a V100: '
cat >quarter-gpu <<'END'
case = { topology = "t320-same-esxi"; program = "client"; runtime = "synchronous"; fraction = 0.5; };
END
expect 0 '' explain quarter-gpu case.fraction # a file of the user has priority
shows '^case.fraction +0.5 '
verdict shipped.case_is_found_by_its_name

# The asynchronous runtime's file sets the cache; "no cache" is the default's source.
expect 0 '' explain quarter-gpu --runtime asynchronous runtime.query_cache
shows '^runtime.query_cache +true +given +.*asynchronous.cfg:[0-9]+ *$'
verdict shipped.value_of_a_file_without_a_note_is_given

# Options that texts of topologies mention exist in some verb.
for verb in run scale sweep solve; do
	expect 0 '' $verb --help
	cat "$scratch.out"
done >help.txt
for option in $(grep -rhoE -e '(^|[ (])--[a-z_-]+' "$topologies" | grep -oE -e '--.*' | sort -u); do
	grep -qE -e "^ +$option( |\$)" help.txt || complain "a topology mentions the unknown option $option"
done
verdict shipped.options_in_topologies_exist

# Datasets and what-ifs have names in reports, too.
for name in ddl-storages remoting_lupine; do
	farwire report $name --draws 0 -q -o page.html
	[ "$code" = 0 ] && [ -s page.html ] || complain "report $name: $(cat "$scratch.err")"
done
# Each argument of `farwire report` names only one thing.
for what in cases datasets what-ifs; do
	expect 0 '' list $what --plain
	cat "$scratch.out"
done | sort | uniq -d >twice.txt
[ ! -s twice.txt ] || complain "these names are not unique: $(cat twice.txt)"
verdict shipped.names_are_unique

# The number of simulated machines is printed only if some represent others.
expect 0 '' explain --topology dgx-h100 --gpus 65536 --collective all_reduce \
	--exchange nccl-2.18 --set library.algorithm=ring case.symmetry
grep -q '^8192 machines of 32 classes' "$scratch.out" || complain "explain does not mention classes: $(cat "$scratch.out")"
expect 0 '' explain --topology dgx-h100 --gpus 64 --collective all_reduce --exchange nccl-2.18 case.symmetry
! grep -q classes "$scratch.out" || complain "64 GPUs are folded: $(cat "$scratch.out")"
verdict shipped.explain_counts_classes_of_equal_machines

# The calls of PyTorch around launches record an event, which the server's program has, too.
for stack in pytorch pytorch-amp pytorch-compile pytorch-cuda-graphs; do
	expect 0 '' run --topology dgx-a100-40 --model llama3-8b --stack $stack \
		--serve rate=2,prompt=64,output=16,requests=5 --draws 0
done
verdict shipped.model_servers_run_with_stacks_of_pytorch
