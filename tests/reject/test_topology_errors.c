/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies, faults and choices of devices that cannot be simulated: the place and the whole text
 * of the first error of each. Rows without an error are next to a limit. */
#include "tests/case_errors.h"

#define ALEXNET "topology = \"dgx1-v100\"; model = \"alexnet\";"
#define OWN     "topology = \"top.cfg\";"

static const struct row faults_and_choices_of_devices_name_parts_of_the_topology_rows[] = {
	{ALEXNET, "case.gpus=2 case.fail=n0.gpu9", NULL,
	 "case.cfg:5: topology 'dgx1-v100' has no link, GPU, adapter, "
	 "switch or host 'n0.gpu9' (did you mean 'n0.gpu0'?)"},
	{ALEXNET, "case.gpus=2 case.fail=x", NULL,
	 "case.cfg:5: topology 'dgx1-v100' has no link, GPU, adapter, "
	 "switch or host 'x' (the first link is 'n0.memory0')"},
	{ALEXNET, "case.gpus=2 case.fail=n0.gpu7=0.5", NULL,
	 "case.cfg:5: case.fail: 'n0.gpu7=0.5' is not a name (write nv0, or "
	 "--degrade nv0=0.5 for a part of its rate)"},
	{ALEXNET, "case.gpus=2 case.degrade=n0.gpu7", NULL,
	 "case.cfg:5: case.degrade: 'n0.gpu7' is not a name with a factor "
	 "from 0.000001 to 1 (write nv0=0.5, for example, or --fail nv0)"},
	{ALEXNET, "case.gpus=2 case.degrade=n0.gpu7=x", NULL,
	 "case.cfg:5: case.degrade: 'n0.gpu7=x' is not a name with a factor "
	 "from 0.000001 to 1 (write nv0=0.5, for example, or --fail nv0)"},
	{ALEXNET, "case.gpus=2 case.degrade=n0.gpu7=1.5", NULL,
	 "case.cfg:5: case.degrade: 'n0.gpu7=1.5' is not a name with a "
	 "factor from 0.000001 to 1 (write nv0=0.5, for example, or --fail "
	 "nv0)"},
	{ALEXNET, "case.gpus=2 case.degrade=n0.gpu7=1", NULL, NULL},
	{ALEXNET, "case.gpus=2 case.degrade==0.5", NULL,
	 "case.cfg:5: case.degrade: '=0.5' is not a name with a factor from "
	 "0.000001 to 1 (write nv0=0.5, for example, or --fail nv0)"},
	{ALEXNET, "case.gpus=2 case.fail=n0.os", NULL, NULL},
	{ALEXNET, "case.gpus=2 case.adapters=^nic", NULL,
	 "case.cfg:5: case.adapters hides all 4 adapters of a machine "
	 "(leave one of them)"},
	{ALEXNET, "case.gpus=2 case.adapters=nic0,", NULL,
	 "case.cfg:5: case.adapters has an empty name (write mlx5_0,mlx5_1, "
	 "for example)"},
	{ALEXNET, "case.gpus=2 case.devices=,1", NULL,
	 "case.cfg:5: case.devices has an empty name (write 0,1, for "
	 "example)"},
	{ALEXNET, "case.gpus=2 case.devices=1,gpu1", NULL,
	 "case.cfg:5: case.devices names GPU 'gpu1' twice (write it once)"},
	{ALEXNET, "case.gpus=2 case.devices=8", NULL,
	 "case.cfg:5: no machine of topology 'dgx1-v100' has a GPU '8' "
	 "(they have: gpu0, gpu1, gpu2, gpu3, gpu4, gpu5, gpu6, gpu7)"},
	{ALEXNET, "case.gpus=2 case.adapters=mlx", NULL,
	 "case.cfg:5: no machine of topology 'dgx1-v100' has an adapter "
	 "'mlx' (they have: nic0, nic1, nic2, nic3)"},
};
static void faults_and_choices_of_devices_name_parts_of_the_topology(void)
{
	check_rows(faults_and_choices_of_devices_name_parts_of_the_topology_rows,
		   sizeof faults_and_choices_of_devices_name_parts_of_the_topology_rows /
			   sizeof faults_and_choices_of_devices_name_parts_of_the_topology_rows[0]);
}

static const struct row clusters_have_a_network_with_room_for_their_machines_rows[] = {
	{"topology = \"dgx1-v100-torus\"; model = \"alexnet\";", "case.gpus=136", NULL,
	 "topologies/networks/torus-edr.cfg:2: network: a torus of 4 x 4 x "
	 "1 has 16 places, but there are 17 machines and servers (write "
	 "larger counts)"},
	{"topology = \"dgx1-v100-torus\"; model = \"alexnet\";",
	 "case.gpus=16 wiring.x=1e4 wiring.y=1e4", NULL,
	 "topologies/networks/torus-edr.cfg:2: network: a torus of 10000 x "
	 "10000 x 1 has 100000000 places, but there are 2 machines and "
	 "servers (write smaller counts)"},
	{"topology = \"dgx1-v100-dragonfly\"; model = \"alexnet\";",
	 "case.gpus=24 wiring.groups=1 wiring.routers_per_group=1", NULL,
	 "topologies/networks/dragonfly-edr.cfg:2: network: a dragonfly of "
	 "1 groups x 1 routers x 2 machines has 2 places, but there are 3 "
	 "machines and servers (write larger counts)"},
	{"topology = \"dgx1-v100-dragonfly\"; model = \"alexnet\";",
	 "case.gpus=16 wiring.groups=1e4 wiring.routers_per_group=1e4", NULL,
	 "topologies/networks/dragonfly-edr.cfg:2: network: a dragonfly of "
	 "10000 groups x 10000 routers x 2 machines has 200000000 places, "
	 "but there are 2 machines and servers (write smaller counts)"},
	{"topology = \"dgx1-v100-dragonfly\"; model = \"alexnet\";",
	 "case.gpus=16 wiring.global_latency=0us", NULL,
	 "topologies/networks/dragonfly-edr.cfg:2: network: "
	 "wiring.global_latency must exceed the latency of link.network, "
	 "otherwise routes through third groups would be shorter"},
	{ALEXNET, "case.gpus=16 wiring.ports_per_leaf=3", NULL,
	 "topologies/networks/infiniband-edr.cfg:2: network: a leaf of 3 "
	 "ports has no room for a machine of 4 ports (write a larger "
	 "wiring.ports_per_leaf)"},
	{ALEXNET, "case.gpus=16 wiring.ports_per_leaf=4", NULL, NULL},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\";\ncluster = { machine = \"dgx1-v100\"; }; };",
	 "top.cfg:2: cluster: 2 machines need a network (write network = "
	 "\"infiniband-edr\", or count = 1)"},
	{OWN, "case.gpus=8",
	 "topology = { name = \"t\";\ncluster = { machine = \"dgx1-v100\"; "
	 "network = \"none\"; }; };",
	 NULL},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\";\ncluster = { machine = \"dgx1-v100\"; "
	 "network = \"none\"; }; };",
	 "top.cfg:2: cluster: 2 machines need a network (write network = "
	 "\"infiniband-edr\", or count = 1)"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { machine = "
	 "\"dgx1-v100\";\nnetwork = 3; }; };",
	 "top.cfg:2: cluster: network must be a name or a group (write "
	 "network = \"infiniband-edr\")"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { machine = "
	 "\"dgx1-v100\";\nnetwork = { kind = \"switch\"; }; }; };",
	 "top.cfg:2: network: link is missing (write link = { kind = "
	 "\"ethernet\"; })"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { machine = "
	 "\"dgx1-v100\";\nnetwork = { kind = \"hub\"; }; }; };",
	 "top.cfg:2: network: no kind of wiring is called 'hub' (there are "
	 "switch, fat_tree, rail_optimised, torus, dragonfly, cable; "
	 "`farwire list wirings` shows them)"},
	{OWN, "case.gpus=24",
	 "topology = { name = \"t\"; cluster = { machine = "
	 "\"dgx1-v100\";\nnetwork = { kind = \"cable\"; link = { kind = "
	 "\"ethernet\"; }; }; }; };",
	 "top.cfg:2: network: a cable connects exactly two machines or "
	 "servers, not 3 (use the wiring \"switch\" for more)"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { machine = "
	 "\"dgx1-v100\";\nnetwork = { kind = \"switch\"; ports = 7; link = { "
	 "kind = \"ethernet\"; }; }; }; };",
	 "top.cfg:2: network: a switch of 7 ports is too small for 8 cables "
	 "(write a larger wiring.ports, or kind = \"fat_tree\")"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { machine = "
	 "\"dgx1-v100\";\nnetwork = { kind = \"switch\"; ports = 8; link = { "
	 "kind = \"ethernet\"; }; }; }; };",
	 NULL},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\";\ncluster = { machine = \"dgx1-v100\"; ports "
	 "= 5; network = \"infiniband-edr\"; }; };",
	 "top.cfg:2: cluster: ports is 5, but machine 'dgx1-v100' has 4 "
	 "ports (write that number, or 0)"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { machine = \"dgx1-v100\"; "
	 "network = \"infiniband-edr\";\nservers = [1]; }; };",
	 "top.cfg:2: cluster: servers must hold names (write servers = "
	 "[\"file-server\"])"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = {\nmachine = \"t320\"; network = "
	 "\"infiniband-edr\"; }; };",
	 "topologies/machines/t320.cfg: machine 't320': its file has no "
	 "group `machine = { ... }` (a file of settings to include is not a "
	 "template)"},
	{OWN, "case.gpus=16",
	 "topology = { name = \"t\"; cluster = { network = "
	 "\"infiniband-edr\";\nmachine = \"own\"; }; };\nmachine = { gpus = ( { "
	 "name = \"gpu0\"; profile = \"t4\"; } );\nports = [\"nic0\"]; };",
	 "top.cfg:4: machine 'own': ports: no node is called 'nic0' (write "
	 "the name of a switch or guest of the machine, for example ports = "
	 "[\"nic0\"])"},
	{OWN, "case.gpus=2",
	 "topology = { name = \"t\"; cluster = { network "
	 "=\n\"infiniband-edr\";\nmachine = \"own\"; }; };\nmachine = { gpus = ( { "
	 "name = \"gpu0\"; profile = \"t4\"; } );\nlinks = ( { name = \"slot\"; "
	 "kind = \"pcie\"; ends = [\"host\", \"gpu0\"]; } ); };",
	 "topologies/networks/infiniband-edr.cfg:2: network: 'n0' has no "
	 "port (write ports = [...] into its machine's file)"},
	{OWN, "case.gpus=16", "topology = { name = \"t\"; cluster = {\nmachines = 3; }; };",
	 "top.cfg:2: cluster: machines must be a list (write machines = ( { "
	 "name = ...; machine = ...; } ))"},
	{OWN, "case.gpus=16", "topology = { name = \"t\";\ncluster = 3; };",
	 "top.cfg:2: topology: cluster must be a group (write cluster = { "
	 "machine = ...; })"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\nlinks = ( { "
	 "name = \"l\"; kind = \"pcie\"; ends = [\"h\"]; } ); };",
	 "top.cfg:2: link 'l': it must have two ends (write ends = [\"a\", "
	 "\"b\"])"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\nlinks = ( { "
	 "name = \"l\"; kind = \"pcie\";\nends = [\"h\", \"hh\"]; } ); };",
	 "top.cfg:3: link 'l': no host, guest, gpu or switch is called 'hh'"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\nlinks = ( { "
	 "name = \"l\"; kind = \"pcie\";\nends = [\"h\", \"h\"]; } ); };",
	 "top.cfg:3: link 'l': both ends are 'h' (write the names of two "
	 "nodes)"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\nlinks = ( { "
	 "name = \"l\"; kind = \"pcie\"; } ); };",
	 "top.cfg:2: link 'l': it must have two ends (write ends = [\"a\", "
	 "\"b\"])"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\naliases = ( "
	 "{ name = \"a\"; node = \"hh\"; } ); };",
	 "top.cfg:2: alias 'a': no host, guest, gpu or switch is called "
	 "'hh' (write the name of a node)"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\naliases = ( "
	 "{ name = \"h\"; node = \"h\"; } ); };",
	 "top.cfg:2: alias 'h': the name is already in use (names of hosts, "
	 "guests, gpus, switches and links must be unique)"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\naliases = ( "
	 "{ name = \"a\"; } ); };",
	 "top.cfg:2: alias: node is missing (write node = \"...\")"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; },\n{ name = \"h\"; "
	 "} ); };",
	 "top.cfg:2: host 'h': the name is already in use (names of hosts, "
	 "guests, gpus, switches and links must be unique)"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\nswitches = "
	 "[2]; };",
	 "top.cfg:2: topology: switches must hold names (write switches = "
	 "[\"tor\"])"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\nguests = ( "
	 "{ host = \"h\"; } ); };",
	 "top.cfg:2: guest: name is missing (write name = \"...\")"},
	{OWN, "case.steps=4", "topology = { name = \"t\";\nhosts = { name = \"h\"; }; };",
	 "top.cfg:2: topology: hosts must be a list (write hosts = ( { name "
	 "= ... } ))"},
	{OWN, "case.steps=4", "topology = 3;",
	 "top.cfg: the file has no group `topology = { ... }`"},
	{OWN, "case.steps=4",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } );\ngpus = ( { "
	 "name = \"g\"; host = \"h\"; profile = \"t5\"; } ); };",
	 "top.cfg:2: there is no GPU profile 't5' (did you mean 't4'? The "
	 "name of your own file must end in .cfg)"},
};
static void clusters_have_a_network_with_room_for_their_machines(void)
{
	check_rows(clusters_have_a_network_with_room_for_their_machines_rows,
		   sizeof clusters_have_a_network_with_room_for_their_machines_rows /
			   sizeof clusters_have_a_network_with_room_for_their_machines_rows[0]);
}

static const struct test tests[] = {
	TEST(faults_and_choices_of_devices_name_parts_of_the_topology),
	TEST(clusters_have_a_network_with_room_for_their_machines),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
