/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The effect of a guest on a training job: the work of its calls, and packets that it handles
 * one by one. A desktop of closer2018_gtx1080.cfg. */
#include "tests/case_points.h"

#define JOB                                                                                        \
	"case.topology=closer2018-gtx1080", "case.stack=tf-1.4", "exchange.noise=0",               \
		"guest.*.vcpu_wake=0 s", "guest.*.interrupt=0 s"

static const struct settings one = {{JOB, "case.gpus=1", "case.model=resnet50"}};
static const struct settings two = {{JOB, "case.gpus=2", "case.gpus_per_machine=1",
				     "case.model=alexnet_tf", "case.batch=64",
				     "case.exchange=tf-parameter-server", "case.transport=tcp"}};

#define OS        "case.guest=os"
#define CONTAINER "case.guest=container"
#define VM        "case.guest=vm"
/* Its kernels take 2 us each, whatever they do. */
#define FAST_GPU                                                                                   \
	"gpu.gtx-1080.fp32=10000 TFLOPS", "gpu.gtx-1080.memory_bandwidth=1000 TB/s",               \
		"gpu.gtx-1080.kernel_floor=2 us"
#define COST(is) "guest.vm.work_cost=" is

/* A fast GPU waits for calls: where all work takes twice as long, so does the step. A GTX 1080
 * is waited for, and calls hide behind its kernels. */
static void work_in_a_guest_counts_where_calls_bind(void)
{
	double bare = STEP_S(one, OS, FAST_GPU);

	CHECK_NEAR(STEP_S(one, CONTAINER, FAST_GPU), bare, 1e-9);
	CHECK_NEAR(STEP_S(one, VM, FAST_GPU, COST("0 %")), bare, 1e-9);
	CHECK_NEAR(STEP_S(one, VM, FAST_GPU, COST("100 %")), 2 * bare, 0.02);
	CHECK_NEAR(STEP_S(one, VM, BATCH_32, COST("100 %")), STEP_S(one, OS, BATCH_32), 0.03);
}

/* FlexDirect's calls were fitted in virtual machines: nothing comes on top of them. */
static void forwarded_calls_keep_their_costs(void)
{
	double as_fitted = STEP_S(same_esxi, BATCH_16);

	CHECK(STEP_S(same_esxi, BATCH_16, "guest.*.work_cost=100 %") == as_fitted);
}

/* A sum of the parameter server is work of its guest. With 10 MB/s a core it binds. */
static void a_server_adds_in_its_guest(void)
{
	static const char slow[] = "library.cpu_reduce=10 MB/s";
	double free_s = STEP_S(two, VM, slow, COST("0 %"));

	CHECK(STEP_S(two, VM, slow, COST("100 %")) > 1.8 * free_s);
}

/* An overlay hands packets over one by one, 1398 B of data each (1500 less 50 of VXLAN and 52
 * of headers; in 1538 B on the wire). At 1 Gb/s that is hidden, and only headers count,
 * 1398/1448; at 30 us a packet, in 3.9 GHz cores 18.5 us, cores bind: 12.3 us on the wire. */
static void an_overlay_costs_headers_or_cores(void)
{
	static const char vxlan[] = "tcp.encapsulation=50 B";
	double bare = STEP_S(two, CONTAINER);
	double overlay = STEP_S(two, CONTAINER, vxlan);

	CHECK_NEAR(overlay / bare, 1448.0 / 1398, 0.01);
	CHECK(STEP_S(two, CONTAINER, vxlan, "tcp.encapsulation_packet=30 us") > 1.3 * overlay);
	/* Without offload each packet passes the filter: 1 us in all, hidden too; 30 us
	 * are not, but in packets of 64 KiB they are. */
	CHECK_NEAR(STEP_S(two, CONTAINER, "guest.*.offload=false"), bare, 0.005);
	CHECK_NEAR(STEP_S(two, CONTAINER, "guest.*.firewall_packet=30 us"), bare, 0.01);
	CHECK(STEP_S(two, CONTAINER, "guest.*.offload=false", "guest.*.firewall_packet=30 us") >
	      1.3 * bare);
}

static const struct test tests[] = {
	TEST(work_in_a_guest_counts_where_calls_bind),
	TEST(forwarded_calls_keep_their_costs),
	TEST(a_server_adds_in_its_guest),
	TEST(an_overlay_costs_headers_or_cores),
};

int main(void)
{
	return TEST_MAIN(tests);
}
