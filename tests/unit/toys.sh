#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A new kind of link, transport, algorithm ... is one file and one line: tests/toys has one of
# each. This program was built with them and without a change of sim/.
cd "$(dirname "$0")/../.." || exit 2
FARWIRE=$FARWIRE-toys
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

for kinds in links wirings transports policies frameworks algorithms exchange-policies importers verbs; do
	expect 0 '' list $kinds --plain
	shows '^toy$'
done
verdict toys.kinds_are_listed

# Runs a program whose GPU is in another host.
far() {
	expect 0 '' run --topology t320-different-lan --program client --model resnet50 --batch 8 \
		--runtime synchronous --set link.router-port.loss=0 --draws 0 "$@"
	shows '  ok$'
}
far --links --set link.client-port.kind=toy
shows '^client-port client>lan-switch +[0-9.]+ % +[0-9.]+ MB'
far --set runtime.policy=toy
far --set stack.framework=toy
far --transport toy --set toy.flight='100 us'
shows '^setup: .*; transport toy(;.*)?$'
grep '^network' "$scratch.out" >slow
far --transport toy --set toy.flight='20 us'
grep '^network' "$scratch.out" | cmp -s slow && complain 'toy.flight does not change the time'
expect 0 '' run --topology gpu-pool --gpus 4 --runtime asynchronous --model resnet50 --batch 8 --draws 0 \
	--set exchange.policy=toy
shows '  ok$'
verdict toys.kinds_work_for_a_remote_gpu

job() { # TOPOLOGY OPTION...
	topology=$1
	shift
	expect 0 '' run --topology "$topology" --gpus 16 --model resnet50 --batch 8 --draws 0 "$@"
	shows '  ok$'
}
job dgx1-v100 --set library.algorithm=ring
sed 's/ring,/toy,/' "$scratch.out" >ring
job dgx1-v100 --set library.algorithm=toy
shows 'toy, '
cmp -s ring "$scratch.out" || complain 'the copy of the ring has different times'
job dgx1-v100 --set exchange.policy=toy --trace steps.json
grep '"wire"' steps.json | grep -o '"name": "[^",/]*' | grep -v communication | uniq >wires
[ "$(sed -n '1s/.*"//p' wires)" != logits ] && [ "$(sed -n '2s/.*"//p' wires)" = logits ] ||
	complain "the later half, which has not the last layer's gradients, does not go first: $(cat wires)"
expect 0 '' run --topology dgx1-v100 --gpus 16 --model resnet50 --draws 0 --set exchange.policy=toy \
	--plan dp=16,micro_batch=8,buckets=policy
shows '  ok$'
job dgx1-v100 --transport toy
printf 'wiring = { kind = "toy"; link = { kind = "toy"; }; };\n' >wires.cfg
printf 'topology = { name = "own"; cluster = { machine = "dgx1-v100"; network = "wires.cfg"; servers = []; }; };\n' >own.cfg
job own.cfg --transport tcp --links
shows '^fabric.n0.nic0 .* [0-9.]+ % +[0-9.]+ MB' # NCCL divides the gradients over four adapters
verdict toys.kinds_work_for_a_job

expect 0 '' toy bear
shows 'toy called with bear'
echo 0.5 >log
expect 0 '1 points of toy' import toy log
shows '"samples": \[0.5\]'
verdict toys.verb_and_importer_run
