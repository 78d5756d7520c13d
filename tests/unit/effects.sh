#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire run` names the settings of its command line that change no number of the result. Each of
# them is a different reason: nothing travels, memory is large enough, a link has no traffic, a run
# is shorter than a limit. Settings with an effect, and those that repeat a default, are not named.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# names TEXT ARGS...: the line of settings without effect is TEXT; '' means no line
names() {
	wanted=$1
	shift
	farwire run --draws 0 "$@"
	found=$(sed -n 's/^changes nothing here: //p' "$scratch.out")
	[ "$code" = 0 ] && [ "$found" = "$wanted" ] || complain "farwire run $*: names '$found', not '$wanted'"
}

job='--topology dgx-h100 --model gpt2 --stack pytorch-bf16-adamw --batch 2'
# shellcheck disable=SC2086 # a list of words
{
	names '--transport rdma' $job --gpus 2 --transport rdma
	names '' $job --gpus 2 --set case.steps=4
	names '' $job --gpus 2 --set library.channels=2
	names '--set library.net_gdr_level=loc' $job --gpus 2 --set library.net_gdr_level=loc
}
verdict effects.settings_of_a_network_that_carries_nothing_are_named

remote='--topology vm-p100-vmxnet3 --runtime asynchronous --program client --model resnet50 --stack tf-1.12'
# shellcheck disable=SC2086
{
	names '--set gpu.p100-sxm2.memory=100 GiB' $remote --set 'gpu.p100-sxm2.memory=100 GiB'
	names '' $remote --set 'runtime.marshal=3 us'
	names '--set runtime.call_timeout=50 s' $remote --set 'runtime.call_timeout=50 s'
}
verdict effects.unreached_limits_are_named

# With one micro-batch of each rank, all schedules of one stage are alike, and two sequences are the default.
names '--exchange nccl-2.18, --plan schedule=gpipe, --plan global_batch=2' --topology dgx-h100 --gpus 2 --model gpt2 \
	--stack pytorch-bf16-adamw --exchange nccl-2.18 --plan tp=1,pp=1,schedule=gpipe,global_batch=2
verdict effects.keys_of_a_plan_are_named_as_they_were_written

# A repeated default is not named, and quiet runs do not try anything.
# shellcheck disable=SC2086
{
	names '' $job --gpus 2 --transport auto
	names '' $job --gpus 2 --transport rdma --quiet
	farwire run $job --gpus 2 --transport rdma --draws 0 --format json
	grep -q '"without_effect": "--transport rdma"' "$scratch.out" || complain "JSON does not name the transport"
}
verdict effects.repeated_defaults_and_quiet_runs_name_nothing

# These keys belong to another sort of case than a program with one GPU, a model server, or a job.
for row in '--transport rdma|--topology t320-same-esxi' \
	'--exchange ddl|--topology t320-same-esxi' \
	'--set case.images=1000|--topology t320-same-esxi' \
	'--set case.symmetry=off|--topology t320-same-esxi' \
	'--set case.steps_warmup=2|--topology l40s-8gpu --model gpt2 --serve rate=1,requests=20' \
	'--set case.server=n0.os|--topology dgx-h100 --gpus 2'; do
	# shellcheck disable=SC2086
	names "${row%|*}" ${row#*|} ${row%|*}
done
verdict effects.keys_of_another_sort_of_case_are_named

# The time of the training is a result: 15e12 tokens take other days than no tokens.
# shellcheck disable=SC2086
names '' $job --gpus 2 --tokens 15e12
verdict effects.numbers_of_trainings_are_results

# Values of a case file are tried as options are: those of its groups, of its list of settings, and
# of a key that sets several parameters at once. Links and
# the launch of kernels have an effect; the adapters and the virtual network have none.
cat >job.cfg <<'END'
case = { topology = "dgx-h100"; model = "gpt2"; gpus = 2; batch = 2;
	symmetry = "off";
	settings = ["library.net_gdr_level=loc", "link.*.latency=2 us",
		"guest.*.vnic_latency=9 us"];
};
driver = { launch = "9 us"; };
END
file='case.symmetry=off (job.cfg:2), guest.os.vnic_latency=9 us (job.cfg:4), library.net_gdr_level=loc (job.cfg:3)'
names "$file" job.cfg
names "--transport tcp, $file" job.cfg --transport tcp
names '' job.cfg --quiet
names '' serve-resnet50-t4 # a shipped case
verdict effects.values_of_case_files_without_effect_are_named_with_their_place

# A sweep compares its points. Both transports give the same numbers for each batch on the GPUs of
# one machine, and other batches give other numbers.
# shellcheck disable=SC2086
{
	farwire sweep $job --gpus 2 --vary case.transport=tcp,rdma --vary case.batch=1,2
	shows '^changes nothing here: case\.transport$'
	farwire sweep $job --draws 0 --gpus 16 --vary case.transport=tcp,rdma
	! grep -q '^changes nothing' "$scratch.out" || complain "the network of 2 machines has an effect"
	expect 0 '^farwire: changes nothing here: case\.transport$' \
		sweep $job --draws 0 --gpus 2 --vary case.transport=tcp,rdma --format csv
	expect 0 '' sweep $job --draws 0 --gpus 2 --vary case.transport=tcp,rdma --format csv --quiet
	farwire sweep $job --draws 0 --gpus 2 --vary case.batch=1,2 --vary case.transport=tcp,rdma --format json
	shows '"without_effect": "case\.transport"'
	farwire sweep $job --draws 0 --gpus 2 --vary case.batch=1,2 --format json
	shows '"without_effect": null'
}
verdict effects.axes_without_effect_are_named

# Only settings without effect in all cases, or on all numbers of GPUs, are named.
# shellcheck disable=SC2086
{
	farwire scale $job --gpus 1,2 --transport rdma --draws 0
	shows '^changes nothing here: --transport rdma$'
	farwire scale $job --gpus 1,16 --transport tcp --draws 0
	! grep -q '^changes nothing' "$scratch.out" || complain "--transport tcp has an effect on 16 GPUs"
	for gpus in 2 16; do
		echo "case = { topology = \"dgx-h100\"; model = \"gpt2\"; gpus = $gpus; };" >$gpus.cfg
	done
	farwire compare 2.cfg 2.cfg --transport tcp --draws 0
	shows '^changes nothing here: --transport tcp$'
	farwire compare 2.cfg 16.cfg --transport tcp --draws 0
	! grep -q '^changes nothing' "$scratch.out" || complain "--transport tcp has an effect in 16.cfg"
}
verdict effects.settings_without_effect_in_all_cases_are_named
exit 0
