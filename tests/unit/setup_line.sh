#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each verb says in its first lines, in JSON and on the page of a report, what the result is about: network, stack and
# number type, runtime, exchange and library, transport.
set -u
cd "$(dirname "$0")/../.." || exit 2
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

# check NAME TEXT FILE: the text is in the first five lines of the file.
check() {
	if head -5 "$3" | tr '\n' ' ' | grep -qF "$2"; then
		echo "ok setup_line.$1"
	else
		head -5 "$3"
		echo "FAIL setup_line.$1"
	fi
}

training='--topology dgx1-v100 --model resnet50 --stack pytorch-amp --exchange ddp --gpus 2'
setup='setup: network resnet50; stack pytorch-amp (fp16); exchange ddp (NCCL)'
"$FARWIRE" run $training --draws 0 >"$scratch/run"
check run_names_stack_number_type_and_library "$setup" "$scratch/run"
"$FARWIRE" scale $training --draws 0 -q >"$scratch/scale"
check scale_names_what_all_points_share "$setup" "$scratch/scale"
"$FARWIRE" sweep --topology dgx1-v100 --vary case.stack=pytorch,pytorch-amp -q >"$scratch/sweep"
check sweep_names_each_different_stack 'stack pytorch (fp32) / pytorch-amp (fp16)' "$scratch/sweep"
"$FARWIRE" solve $training --target 'efficiency>=0.5' --for case.batch --between 16:32 --draws 0 -q >"$scratch/solve"
check solve_names_the_setup "$setup" "$scratch/solve"
"$FARWIRE" run --topology t320-same-esxi --program client --runtime asynchronous --stack pytorch --draws 0 \
	>"$scratch/remote"
check run_names_runtime_and_transport \
	"setup: network resnet50; stack pytorch (fp32); runtime asynchronous; transport tcp; compared with a local gtx-1050ti in host 'esxi1'" \
	"$scratch/remote"
"$FARWIRE" run --topology dgx1-v100 --collective all_reduce --exchange ddp-gloo --gpus 2 --draws 0 >"$scratch/gloo"
check run_names_the_library_of_a_collective 'setup: exchange ddp-gloo (Gloo)' "$scratch/gloo"
"$FARWIRE" scale $training --draws 0 -q --format json >"$scratch/json"
check json_of_a_table_has_the_setup "\"setup\": \"${setup#setup: }\"" "$scratch/json"
"$FARWIRE" report $training --draws 0 -q -o "$scratch/page.html"
grep -oF "S${setup#s}" "$scratch/page.html" >"$scratch/page" || :
sed -i 's/^S/s/' "$scratch/page"
check report_has_the_setup "$setup" "$scratch/page"

# The title of a case without a name states the networks and batches of its clients.
cat >"$scratch/clients.cfg" <<'END'
case = { topology = "gpu-pool"; runtime = "asynchronous"; stack = "pytorch"; clients = (
	{ program = "client1"; gpu = "gpu1"; model = "googlenet"; batch = 16; },
	{ program = "client2"; gpu = "gpu2"; model = "alexnet"; batch = 32; } ); };
END
"$FARWIRE" run "$scratch/clients.cfg" --draws 0 -q >"$scratch/clients"
check title_states_the_networks_of_the_clients 'googlenet, alexnet on gpu-pool, batches of 16 to 32: ' "$scratch/clients"
check run_names_one_of_several_local_runs "compared with a local v100-sxm2 in host 'desk1' (and 1 more)" "$scratch/clients"
