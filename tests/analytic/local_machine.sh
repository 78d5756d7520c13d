#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The ratio of forwarded calls compares with the same GPU in the client's machine, or in the server's
# (case.local). Here the server's processor has half the clock of the client's, and the program is
# limited by its processor. So each ratio must equal that of two throughputs, which other runs give. The
# driver in the server works beside the program, so forwarded calls can take a little less time than local ones.
set -u
cd "$(dirname "$0")/../.." || exit 2
FARWIRE=${FARWIRE:-build/farwire}
. tests/check.sh

# number KEY ARGUMENTS: a number of a result.
number() {
	key=$1
	shift
	"$FARWIRE" run --topology vm-p100-vmxnet3 --stack pytorch --batch 8 --set gpu.gpu0.profile=h100-sxm5 \
		--draws 0 --format csv --quiet "$@" | sed 's/"[^"]*"/text/g' | awk -F, -v name="$key" '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
NR == 2 { print $column }'
}
slow() {
	number "$@" --set host.esxi2.clock=1.2GHz --set host.esxi2.turbo=false
}
far() {
	slow "$@" --runtime ideal --transport tcp --set case.program=client --set case.server=server
}
# near WHAT IS SHOULD
near() {
	awk "BEGIN { exit !(($2) / ($3) > 0.9999 && ($2) / ($3) < 1.0001) }" || complain "$1: $2, not $3"
}

remote=$(far throughput_samples_per_s)
slow_local=$(slow throughput_samples_per_s)
fast_local=$(number throughput_samples_per_s)
near "in the server" "$(far ratio --set case.local=server)" "$remote / $slow_local"
near "in the client" "$(far ratio)" "$remote / $fast_local"
awk "BEGIN { exit !($remote > 1.1 * $slow_local && $remote < 1.1 * $fast_local) }" ||
	complain "the processors do not limit: $remote $slow_local $fast_local"
verdict local_machine.ratio_is_that_to_the_gpu_in_the_named_machine

for machine in client:esxi1 server:esxi2; do
	expect 0 '' run --topology vm-p100-vmxnet3 --runtime ideal --draws 0 --quiet --set case.program=client \
		--set "case.local=${machine%:*}"
	shows "^setup: .*compared with a local p100-sxm2 in host '${machine#*:}'"
done
expect 0 '' run --topology vm-p100-vmxnet3 --runtime ideal --draws 0 --quiet --set case.program=client --format json
shows '"local": *"p100-sxm2 in host .esxi1."'
verdict local_machine.result_names_gpu_and_host_of_the_local_run

for case in '--topology vm-p100-vmxnet3' '--topology dgx-h100 --gpus 2'; do
	# shellcheck disable=SC2086
	expect 0 '' run $case --draws 0 --set case.local=server
	shows '^changes nothing here: --set case.local=server$'
done
verdict local_machine.local_without_forwarded_calls_is_named

# Two clients that share a GPU differ only in their stacks. The ratio of each is its throughput divided by that of a run
# in which its stack has a whole GPU, in any order of the clients, with draws and without them.
cat >"$scratch.train" <<'END'
{ name = "train"; stack = "pytorch"; }
END
cat >"$scratch.infer" <<'END'
{ name = "infer"; stack = "pytorch-inference"; }
END
client() { # FILE NAME KEY: the value of a key of that client
	grep "\"client\": \"$2\"" "$1" | sed "s/.*\"$3\": {\"value\": \([0-9.e+-]*\),.*/\1/"
}
shared='topology = "gpu-pool"; gpu = "gpu1"; model = "resnet50"; batch = 8;'
for draws in 0 2; do
	for order in 'train infer' 'infer train'; do
		# shellcheck disable=SC2086 # two names
		set -- $order
		printf 'case = { %s settings = ["gpu.*.sharing=mps", "case.fraction=0.5"]; clients = ( %s, %s ); };\n' "$shared" \
			"$(cat "$scratch.$1")" "$(cat "$scratch.$2")" >"$scratch.cfg"
		"$FARWIRE" run "$scratch.cfg" --draws $draws -q --format json | tr -d '\n' | sed 's/"client":/\n&/g' >"$scratch.two"
		for name in train infer; do
			printf 'case = { %s clients = ( %s ); };\n' "$shared" "$(cat "$scratch.$name")" >"$scratch.cfg"
			"$FARWIRE" run "$scratch.cfg" --draws $draws -q --format json | tr -d '\n' | sed 's/"client":/\n&/g' >"$scratch.one"
			near "the ratio of $name in $order" "$(client "$scratch.two" $name ratio)" \
				"$(client "$scratch.two" $name throughput) / $(client "$scratch.one" $name throughput)"
		done
	done
done
verdict local_machine.each_client_is_compared_with_its_own_stack
