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
		{ name = "wire"; kind = "ethernet"; ends = ["vm", "old"]; bandwidth = "10 Gbit/s"; } );
};
END
# row CELL...: the table of links has a row with these cells.
row() {
	pattern='<tr>'
	for cell; do pattern="$pattern<td[^>]*>$cell</td>"; done
	tr -d '\n' <page.html | grep -q "$pattern" || complain "no row: $*"
}
page --topology two.cfg --gpu g --runtime none --program box
row b 'g (gtx-1080)' 1 pcie '15.75 GB/s, [^<]*' –
row vm old 1 ethernet '10 Gbit/s, [^<]*' –
page --topology two.cfg --gpu g --runtime asynchronous --program vm --server old
row 'vm (program)' 'old (server)' 1 ethernet '10 Gbit/s, [^<]*' '[0-9.]*[^0-9]*%'
# Equal links of all machines are one row, with their number, and with what runs at the ends.
page --topology dgx-h100 --gpus 384 --set cluster.count=48 --collective all_reduce --exchange nccl-2.18
row 'n\* (ranks)' 'n\*\.cpu\*' 96 socket '[^<]*' '[^<]*'
row 'n\*\.plx\*' 'n\*\.gpu\* (h100-sxm5)' 384 pcie '[^<]*' '[^<]*'
row 'n\*\.nic\*' 'fabric\.rail\*\.\*' 384 infiniband '400 Gbit/s, 400 ns' '[0-9.]*[^0-9]*%'
# Links of machines that a job leaves idle have a row of their own.
page --topology dgx-h100 --gpus 8 --set cluster.count=3 --collective all_reduce --exchange nccl-2.18
row 'n\*' 'n\*\.cpu\*' 4 socket '[^<]*' '[^<]*'
row 'n\* (ranks)' 'n\*\.cpu\*' 2 socket '[^<]*' '[^<]*'
verdict 'report_figures.links_of_a_topology_have_rows_with_numbers_and_roles'

# The first client is "a". The tracks of "ab" belong to another client.
cat >pool.cfg <<'END'
case = { name = "pool"; topology = "gpu-pool"; stack = "tf-1.12"; model = "resnet50"; batch = 32; runtime = "asynchronous"; transport = "tcp";
	clients = ( { name = "a"; program = "client1"; gpu = "gpu1"; }, { name = "ab"; program = "client2"; gpu = "gpu2"; } ); };
END
page pool.cfg
labels | grep -q '^a&gt;server1 0' && ! labels | grep -q '^ab&gt;server' || complain "tracks: $(labels | grep server)"
sed 's/name = "a"/name = "b"/' pool.cfg >last.cfg
page last.cfg
labels | grep -q '^b&gt;server1 0' && ! labels | grep -q '^ab&gt;server' || complain "tracks of b: $(labels | grep server)"
# With eight ranks all tracks are shown, those of the ranks' host work included. With more, the first eight ranks are.
page --topology dgx1-v100 --gpus 8 --model resnet50
labels | grep -qx 'rank 7 host' && ! grep -q 'The figure shows 8 of' page || complain 'eight ranks are not shown as a whole'
page --topology dgx1-v100 --gpus 9 --model resnet50 --set cluster.count=2 --set case.gpus_per_machine=5
grep -q 'The figure shows 8 of 9 ranks' page || complain "nine ranks: $(grep -o 'The figure shows [^.]*' page)"
verdict 'report_figures.timeline_shows_the_first_client_and_eight_ranks'
