#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Impossible clusters: sizes that do not fit, unknown names, machines without a network. Each
# error gives the place and what to write instead.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# Writes a topology with its own machine and network, changed by the sed command in $1.
cluster_of() {
	cat >whole.cfg <<'END'
topology = {
	name = "own";
	cluster = { machine = "box.cfg"; count = 3;
		servers = ["files"];
		network = { kind = "switch"; ports = 8;
			link = { kind = "ethernet"; bandwidth = "10 Gbit/s"; }; }; };
};
END
	sed "$1" whole.cfg >own.cfg
}
machine_of() {
	cat >whole-box.cfg <<'END'
machine = {
	host = { cores = 4; };
	gpus = ( { name = "gpu0"; profile = "gtx-1080"; } );
	switches = ["nic0"];
	links = ( { name = "slot"; kind = "pcie"; ends = ["host", "gpu0"]; },
		{ name = "nic-slot"; kind = "pcie"; ends = ["host", "nic0"]; } );
	ports = ["nic0"];
};
END
	sed "$1" whole-box.cfg >box.cfg
}
own='run --topology own.cfg --set case.gpus=3 --set case.transport=tcp --draws 0 -q'

cluster_of ''
machine_of ''
# shellcheck disable=SC2086 # words of a command
expect 0 '' $own
# shellcheck disable=SC2086
expect 0 '' $own --set cluster.network=ethernet-1 --set cluster.count=4
# shellcheck disable=SC2086
expect 2 "^--set: unknown parameter 'wiring\.port' \(did you mean 'wiring\.ports'" $own --set wiring.port=9
# Two kinds of machines, the second with as many as the job still needs, and a link of the
# topology to a node of the cluster.
cluster_of 's/machine = "box.cfg"; count = 3;/machines = ( { name = "a"; machine = "box.cfg"; count = 1; }, { name = "b"; machine = "box.cfg"; } );/
	s/^};/	switches = ["store"]; links = ( { name = "far"; kind = "ethernet"; ends = ["fabric.switch", "store"]; } );\n};/'
# shellcheck disable=SC2086
expect 0 '' explain --topology own.cfg --set case.gpus=3 --set case.transport=tcp --set host.b.cores=3 --set link.b-slot.lanes=4
shows '^host\.b\.cores +3 '
shows '^host\.a\.cores +4 '
shows '^link\.b-slot\.lanes +4 '
# shellcheck disable=SC2086
expect 2 "needs 3 GPUs .* has 2" $own --set cluster.b.count=1
verdict 'clusters.valid_clusters_run'

# A row has a sed command that breaks the topology, and the expected message.
# shellcheck disable=SC2086
while IFS='|' read -r edit message; do
	cluster_of "$edit"
	expect 2 "$message" $own
done <<'END'
s/ports = 8/ports = 3/|^own\.cfg:5: network: a switch of 3 ports is too small for 4 cables
s/"switch"; ports = 8/"cable"/|^own\.cfg:5: network: a cable connects exactly two machines or servers, not 4 \(use the wiring "switch" for more\)
s/"switch"; ports = 8/"torus"; x = 3; y = 1/|^own\.cfg:5: network: a torus of 3 x 1 x 1 has 3 places, but there are 4 machines and servers
s/"switch"; ports = 8/"dragonfly"; groups = 1; routers_per_group = 1/|^own\.cfg:5: network: a dragonfly of 1 groups x 1 routers x 2 machines has 2 places, but there are 4 machines and servers
s/"switch"; ports = 8/"dragonfly"; global_latency = "1 us"/|^own\.cfg:5: network: wiring\.global_latency must exceed
s/"switch"; ports = 8/"fattree"/|^own\.cfg:5: network: no kind of wiring is called 'fattree' \(did you mean 'fat_tree'
s/ports = 8/port = 8/|^own\.cfg:5: network: unknown key 'port' \(did you mean 'ports'
s/bandwidth/bandwith/|^own\.cfg:6: link 'network': unknown key 'bandwith' \(did you mean 'bandwidth'
s/link = { .* }; }; };/}; };/|^own\.cfg:5: network: link is missing
s/count = 3/count = 3; ports = 2/|^own\.cfg:3: cluster: ports is 2, but machine 'box\.cfg' has 1
s/count = 3/cout = 3/|^own\.cfg:3: cluster: unknown key 'cout' \(did you mean 'count'
s/"box.cfg"/"dgx1-v10"/|^own\.cfg:3: there is no machine 'dgx1-v10' \(did you mean 'dgx1-v100'
s/"box.cfg"/"t320"/|t320\.cfg: machine 't320': its file has no group .machine
s/"files"/"n1"/|^own\.cfg:4: server 'n1': the name is already in use
s/name = "own"/hosts = ( { name = "n0"; } )/|^own\.cfg:3: host 'n0': the name is already in use
s/"files"/1/|^own\.cfg:4: cluster: servers must hold names \(write servers = \["file-server"\]\)
s/machine = "box.cfg"; count = 3;/machines = ( { name = "a*"; machine = "box.cfg"; } );/|^own\.cfg:3: machine 'a\*': a name must not be empty or contain
s/machine = "box.cfg"; count = 3;/machines = { name = "a"; };/|^own\.cfg:3: cluster: machines must be a list \(write machines = \( \{ name = \.\.\.; machine
END
cluster_of 's/network = {.*/network = "ethernet-11"; };/; /link = /d'
# shellcheck disable=SC2086
expect 2 "^own\.cfg:5: there is no network 'ethernet-11' \(did you mean 'ethernet-1" $own
cluster_of 's/network = {.*/network = 1; };/; /link = /d'
# shellcheck disable=SC2086
expect 2 '^own\.cfg:5: cluster: network must be a name or a group \(write network = "infiniband-edr"\)' $own
printf 'x = 1;\n' >none.cfg
cluster_of 's/network = {.*/network = "none.cfg"; };/; /link = /d'
# shellcheck disable=SC2086
expect 2 "none\.cfg: network 'none\.cfg': its file has no group \`wiring = \{ \.\.\. \}\`" $own
printf 'topology = { name = "own"; cluster = 3; };\n' >own.cfg
# shellcheck disable=SC2086
expect 2 '^own\.cfg:1: topology: cluster must be a group \(write cluster = \{ machine = \.\.\.; \}\)' $own
cluster_of '/servers/d; s/network = {.*/};/; /link = /d'
# shellcheck disable=SC2086
expect 2 '^own\.cfg:3: cluster: 3 machines need a network' $own
verdict 'clusters.impossible_clusters_are_refused_with_their_line'

cluster_of ''
# shellcheck disable=SC2086
while IFS='|' read -r edit message; do
	machine_of "$edit"
	expect 2 "$message" $own
done <<'END'
s/ports = ."nic0".;/ports = ["nic1"];/|^box\.cfg:7: machine 'box\.cfg': ports: no node is called 'nic1'
s/ports = ."nic0".;//|^own\.cfg:5: network: 'n0' has no port
s/host = { cores = 4; };/host = { core = 4; };/|box\.cfg:2: host 'host': unknown key 'core' \(did you mean 'cores'
s/ends = ."host", "gpu0"./ends = ["host", "gpu1"]/|box\.cfg:5: link 'slot': no host, guest, gpu or switch is called 'gpu1' \(did you mean 'gpu0'
s/switches/switch/|box\.cfg:4: unknown key 'switch' \(did you mean 'switches'
s/profile = "gtx-1080"/host = "host"; profile = "gtx-1080"/|box\.cfg:3: unknown key 'host'
END
verdict 'clusters.malformed_machines_are_refused_with_their_line'
