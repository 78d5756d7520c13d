#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The figures of reports.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# page ARGS...: runs report, and writes `page` with bars between the cells of tables.
page() {
	farwire report "$@" --draws 0 -q -o page.html
	[ "$code" = 0 ] || complain "report $*: $(cat "$scratch.err")"
	sed 's/<\/t[dh]>/|/g; s/<[^>]*>//g' page.html | sed "s/&#39;/'/g" >page
}
# labels: the texts in the figures, one a line
labels() {
	grep -o '<text[^>]*>[^<]*<' page.html | sed 's/<text[^>]*>//; s/<$//'
}

cat >two.cfg <<'END'
topology = {
	hosts = ( { name = "a"; cores = 8; clock = "2 GHz"; turbo_clock = "3 GHz"; turbo = false; },
		{ name = "b"; cores = 8; clock = "2 GHz"; turbo_clock = "3 GHz"; turbo = true; } );
	guests = ( { name = "vm"; host = "a"; kind = "vm"; vnic = "pvrdma"; }, { name = "box"; host = "b"; kind = "container"; },
		{ name = "old"; host = "b"; kind = "vm"; vnic = "vmxnet3"; } );
	gpus = ( { name = "g"; host = "b"; profile = "gtx-1080"; } );
	links = ( { name = "slot"; kind = "pcie"; ends = ["b", "g"]; generation = 3; lanes = 16; },
		{ name = "wire"; kind = "ethernet"; ends = ["a", "b"]; bandwidth = "10 Gbit/s"; } );
};
END
# nodes OPTIONS LABEL...: the figure of the topology has these labels and those of the hosts.
nodes() {
	# shellcheck disable=SC2086 # a list of options
	page --topology two.cfg --gpu g $1
	shift
	printf '%s\n' '8 cores, 2 GHz' '8 cores, 3 GHz' "$@" | sort >wanted
	labels | grep ' cores, \|^VM, \|^container\|: ' | grep -v '^Topology' | sort -u | cmp -s - wanted ||
		complain "nodes: $(labels | grep ' cores, \|^VM, \|^container\|: ')"
}
nodes '--runtime none --program box' 'VM, PVRDMA' 'VM, VMXNET3' container 'box: program'
nodes '--runtime asynchronous --program vm --server old' 'VM, PVRDMA' 'VM, VMXNET3' container 'vm: program' 'old: server'
# Equal links of all machines are one row, with the numbers of links and of nodes at both ends.
page --topology dgx-h100 --gpus 384 --set cluster.count=48 --collective all_reduce --exchange nccl-2.18
for label in '48 × n\*: ranks' '96 × n\*\.cpu\*' '192 × n\*\.plx\*' '384 × n\*\.gpu\*' h100-sxm5 '384 × n\*\.nic\*' '48 × n\*\.nvswitch' \
	'16 × fabric.rail\*.\*' fabric.spine 'file-server: storage' '384 × infiniband 400 Gbit/s, 400 ns, [0-9.]* % used'; do
	labels | grep -qx "$label" || complain "the diagram has no '$label': $(labels | grep ' × ')"
done
# Machines that a job leaves idle are another box.
page --topology dgx-h100 --gpus 8 --set cluster.count=3 --collective all_reduce --exchange nccl-2.18
labels | grep -qx '2 × n\*' && labels | grep -qx 'n0: ranks' || complain "idle machines: $(labels | grep '^n\|× n')"
verdict 'report_figures.nodes_of_a_topology_have_their_clocks_adapters_and_roles'

# The first client is "a". The tracks of "ab" belong to another client.
cat >pool.cfg <<'END'
case = { name = "pool"; topology = "gpu-pool"; stack = "tf-1.12"; model = "resnet50"; batch = 32; runtime = "asynchronous"; transport = "tcp";
	clients = ( { name = "a"; program = "client1"; gpu = "gpu1"; }, { name = "ab"; program = "client2"; gpu = "gpu2"; } ); };
END
page pool.cfg
labels | grep -q '^a&gt;server1 0' && ! labels | grep -q '^ab&gt;server' || complain "tracks: $(labels | grep server)"
# With eight ranks all tracks are shown, those of the ranks' host work included. With more, the first eight ranks are.
page --topology dgx1-v100 --gpus 8 --model resnet50
labels | grep -qx 'rank 7 host' && ! grep -q 'The figure shows 8 of' page || complain 'eight ranks are not shown as a whole'
page --topology dgx1-v100 --gpus 9 --model resnet50 --set cluster.count=2 --set case.gpus_per_machine=5
grep -q 'The figure shows 8 of 9 ranks' page || complain "nine ranks: $(grep -o 'The figure shows [^.]*' page)"
verdict 'report_figures.timeline_shows_the_first_client_and_eight_ranks'
