/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The complete lists of single faults that `diagnose` tries on small systems. */
#include "sim/analysis/suspects.h"
#include "sim/scenario/case.h"
#include "tests/own_folder.h"

static const char *const collective[] = {"case.topology=workstation-2",
					 "case.gpus=3",
					 "case.collective=all_reduce",
					 "case.exchange=nccl-2.18",
					 "case.degrade=nic0=0.5",
					 "case.fail=n1.gpu1",
					 NULL};
static const char *const trunks[] = {"case.topology=dgx-h100-fat-tree-2to1", "case.gpus=32",
				     "case.gpus_per_machine=1", "case.collective=all_reduce", NULL};
static const char *const step[] = {
	"case.topology=dgx1-v100-roce", "case.gpus=16",      "case.model=alexnet",
	"case.stack=pytorch",           "case.exchange=ddp", NULL};

/* Returns the settings of all suspects of a case, one on each line, when each link carries a byte.
 * "again": the same fault as on the line before. */
static const char *listed(enum measured measured, const char *const *settings, bool words)
{
	struct setting list[12];
	struct case_request request = {.data_root = data_root_find(arena), .settings = list};
	for (; settings[request.setting_count]; request.setting_count++)
		list[request.setting_count] =
			(struct setting){settings[request.setting_count], {"a test", 0}};
	diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	if (!CHECK(scenario != NULL))
		return "";
	double *carried_B = ARENA_ARRAY(arena, scenario->topology.link_count, double);
	for (size_t i = 0; i < scenario->topology.link_count; i++)
		carried_B[i] = 1;
	size_t count;
	const struct suspect *suspects = suspects_of(arena, scenario, measured, carried_B, &count);
	const char *text = "";
	for (size_t i = 0; i < count; i++)
		text = arena_printf(arena, "%s%s%s\n", text, suspects[i].again ? "again " : "",
				    words ? suspects[i].what : suspects[i].setting);
	return text;
}
/* Each class of alike links has a fault of one link, and one of all. Faults that are known already
 * are added. All ports have their whole names, because a fault of an adapter would be one of its
 * slot, too. */
static void all_faults_of_a_collective_are_listed(void)
{
	CHECK_TEXT(listed(MEASURED_COLLECTIVE, collective, false),
		   "\n"
		   "case.degrade=n0.slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.slot0=0.25,nic0=0.5\n"
		   "case.degrade=slot0=0.5,slot1=0.5,nic0=0.5\n"
		   "case.degrade=n0.bus=0.5,nic0=0.5\n"
		   "case.degrade=n0.bus=0.25,nic0=0.5\n"
		   "case.degrade=bus=0.5,nic0=0.5\n"
		   "case.degrade=n0.nic-slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.nic-slot0=0.25,nic0=0.5\n"
		   "case.degrade=nic-slot0=0.5,nic0=0.5\n"
		   "case.fail=n0.os-host,n1.gpu1\n"
		   "case.degrade=n0.os-host=0.5,nic0=0.5\n"
		   "case.degrade=os-host=0.5,nic0=0.5\n"
		   "case.fail=fabric.n0.nic0,n1.gpu1\n"
		   "again case.fail=fabric.n1.nic0,n1.gpu1\n"
		   "case.degrade=fabric.n0.nic0=0.5,nic0=0.5\n"
		   "case.degrade=fabric.n0.nic0=0.25,nic0=0.5\n"
		   "case.degrade=fabric.n0.nic0=0.5,fabric.n1.nic0=0.5,nic0=0.5\n"
		   "case.fail=n0.nic0,n1.gpu1\n"
		   "again case.fail=n1.nic0,n1.gpu1\n"
		   "case.adapters=nic0\n"
		   "case.fail=fabric.file-server,n1.gpu1\n"
		   "case.degrade=fabric.file-server=0.5,nic0=0.5\n"
		   "case.degrade=file-server=0.5,nic0=0.5\n"
		   "again case.degrade=fabric.switch=0.5,nic0=0.5\n"
		   "case.degrade=n0.gpu0=0.5,nic0=0.5\n"
		   "library.p2p_level=loc\n"
		   "library.p2p_level=nvl\n"
		   "library.net_gdr_level=loc\n"
		   "library.acs=true\n"
		   "case.transport=tcp\n"
		   "library.pxn=false\n"
		   "library.cross_nic=0\n"
		   "library.algorithm=ring\n"
		   "library.algorithm=double_tree\n"
		   "library.nvls=false\n"
		   "library.protocol=ll\n"
		   "library.protocol=ll128\n"
		   "library.protocol=simple\n"
		   "library.channels=1\n"
		   "library.channels=2\n"
		   "library.channels=4\n"
		   "library.latency_scale=2\n"
		   "link.*.mtu=512B\n");
}

/* A copy or a stream has one path, so each link is tried, but no GPU, switch, or adapter. */
static void all_faults_of_a_path_are_listed(void)
{
	CHECK_TEXT(listed(MEASURED_TCP, collective, false),
		   "\n"
		   "case.degrade=n0.slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.slot1=0.5,nic0=0.5\n"
		   "case.degrade=n1.slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.slot0=0.1,nic0=0.5\n"
		   "case.degrade=n0.slot1=0.1,nic0=0.5\n"
		   "case.degrade=n1.slot0=0.1,nic0=0.5\n"
		   "case.degrade=n0.bus=0.5,nic0=0.5\n"
		   "case.degrade=n1.bus=0.5,nic0=0.5\n"
		   "case.degrade=n0.bus=0.1,nic0=0.5\n"
		   "case.degrade=n1.bus=0.1,nic0=0.5\n"
		   "case.degrade=n0.nic-slot0=0.5,nic0=0.5\n"
		   "case.degrade=n1.nic-slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.nic-slot0=0.1,nic0=0.5\n"
		   "case.degrade=n1.nic-slot0=0.1,nic0=0.5\n"
		   "case.fail=n0.os-host,n1.gpu1\n"
		   "case.degrade=n0.os-host=0.5,nic0=0.5\n"
		   "case.degrade=n1.os-host=0.5,nic0=0.5\n"
		   "case.degrade=n0.os-host=0.1,nic0=0.5\n"
		   "case.degrade=n1.os-host=0.1,nic0=0.5\n"
		   "case.fail=fabric.n0.nic0,n1.gpu1\n"
		   "case.fail=fabric.n1.nic0,n1.gpu1\n"
		   "case.degrade=fabric.n0.nic0=0.5,nic0=0.5\n"
		   "case.degrade=fabric.n1.nic0=0.5,nic0=0.5\n"
		   "case.degrade=fabric.n0.nic0=0.1,nic0=0.5\n"
		   "case.degrade=fabric.n1.nic0=0.1,nic0=0.5\n"
		   "case.fail=fabric.file-server,n1.gpu1\n"
		   "case.degrade=fabric.file-server=0.5,nic0=0.5\n"
		   "case.degrade=fabric.file-server=0.1,nic0=0.5\n"
		   "link.*.mtu=1500B\n"
		   "tcp.receive_buffer=64KiB tcp.send_buffer=64KiB\n"
		   "tcp.streams=1\n"
		   "link.*.loss=1e-4\n"
		   "host.*.clock=2.25GHz host.*.turbo_clock=2.85GHz\n");
}

static void all_faults_of_copies_and_messages_are_listed(void)
{
	CHECK_TEXT(listed(MEASURED_COPY, collective, false),
		   "\n"
		   "case.degrade=n0.slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.slot1=0.5,nic0=0.5\n"
		   "case.degrade=n1.slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.slot0=0.25,nic0=0.5\n"
		   "case.degrade=n0.slot1=0.25,nic0=0.5\n"
		   "case.degrade=n1.slot0=0.25,nic0=0.5\n"
		   "case.degrade=slot0=0.5,slot1=0.5,nic0=0.5\n"
		   "case.degrade=n0.bus=0.5,nic0=0.5\n"
		   "case.degrade=n1.bus=0.5,nic0=0.5\n"
		   "case.degrade=n0.bus=0.25,nic0=0.5\n"
		   "case.degrade=n1.bus=0.25,nic0=0.5\n"
		   "case.degrade=bus=0.5,nic0=0.5\n"
		   "case.degrade=n0.nic-slot0=0.5,nic0=0.5\n"
		   "case.degrade=n1.nic-slot0=0.5,nic0=0.5\n"
		   "case.degrade=n0.nic-slot0=0.25,nic0=0.5\n"
		   "case.degrade=n1.nic-slot0=0.25,nic0=0.5\n"
		   "case.fail=n0.os-host,n1.gpu1\n"
		   "case.degrade=n0.os-host=0.5,nic0=0.5\n"
		   "case.degrade=n1.os-host=0.5,nic0=0.5\n"
		   "case.degrade=os-host=0.5,nic0=0.5\n"
		   "case.degrade=fabric.n0.nic0=0.5,nic0=0.5\n"
		   "case.degrade=fabric.n1.nic0=0.5,nic0=0.5\n"
		   "case.degrade=fabric.n0.nic0=0.5,fabric.n1.nic0=0.5,nic0=0.5\n"
		   "case.degrade=fabric.file-server=0.5,nic0=0.5\n");
	CHECK(strstr(listed(MEASURED_RDMA, collective, false),
		     "case.fail=fabric.file-server,n1.gpu1\n"
		     "case.degrade=fabric.file-server=0.5,nic0=0.5\nlink.*.mtu=512B\n"
		     "rdma.queue=1\n"));
}

/* 0.7 of 300 W, 1.53 GHz and 898 GB/s; half of 2.2 and 3.6 GHz, 16 lanes and 32 images. */
static void all_faults_of_a_step_follow_those_of_its_links(void)
{
	CHECK(strstr(listed(MEASURED_STEP, step, false),
		     "case.degrade=n0.gpu0=0.5\nlibrary.p2p_level=loc\nlibrary.net_gdr_level=loc\n"
		     "case.transport=tcp\nexchange.overlap=false\n"
		     "exchange.bucket=1MiB exchange.fusion=1MiB\ncase.straggler=1.2\n"
		     "stack.precision=fp32\ninput.source=hdd\n"
		     "input.source=memory input.decode_threads=1\ngpu.*.power=210W\n"
		     "gpu.*.boost_clock=1.071GHz\ngpu.*.memory_bandwidth=628.6GB/s\n"
		     "host.*.clock=1.1GHz host.*.turbo_clock=1.8GHz\nlink.*.lanes=8\n"
		     "case.batch=16\ncase.batch=64\n"));
}

/* A leaf has 32 ports to machines, and half as many cables to the spine. */
static void faults_state_links_and_cables(void)
{
	const char *text = listed(MEASURED_COLLECTIVE, trunks, true);
	CHECK(strstr(text, "no fault\nhost memory of n0.memory0 on the other socket (NUMA)\n"
			   "link n0.memory0 (socket, one of 64 alike) at half its rate\n"));
	CHECK(strstr(text, "link fabric.leaf0-spine (infiniband, one of 9 alike) missing\n"
			   "again link fabric.leaf8-spine (infiniband, one of 9 alike) missing\n"
			   "link fabric.leaf0-spine (infiniband, one of 9 alike) at half its rate\n"
			   "all links like fabric.leaf0-spine (infiniband, 9) use 8 of 16 equal "
			   "cables: flows collide"));
	CHECK(strstr(text, "(infiniband, 9) use 4 of 16 equal cables: flows collide"));
	CHECK(strstr(text, "\nadapter n0.nic0 is not used\nagain adapter n31.nic7 is not used\n"
			   "only adapter nic0 of each machine is used\n"));
	CHECK(strstr(text, "\nswitch file-server (one of 11) at half its rate\n"
			   "again switch fabric.leaf8 (one of 11) at half its rate\n"));
	text = listed(MEASURED_COLLECTIVE, step, true);
	CHECK(strstr(text,
		     "all links like fabric.n0.nic0 (roce, 8) stopped by pause frames (PFC)"));
}

static const struct test tests[] = {
	TEST(all_faults_of_a_collective_are_listed),
	TEST(all_faults_of_a_path_are_listed),
	TEST(all_faults_of_copies_and_messages_are_listed),
	TEST(all_faults_of_a_step_follow_those_of_its_links),
	TEST(faults_state_links_and_cables),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int code = TEST_MAIN(tests);
	folder_end();
	return code;
}
