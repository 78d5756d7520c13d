/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Effect of a guest on a training job: the work of its calls, and packets that it handles one by
 * one. The machine is a desktop of closer2018-gtx1080.cfg. */
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
/* Each kernel takes 2 us. */
#define FAST_GPU                                                                                   \
	"gpu.gtx-1080.fp32=10000 TFLOPS", "gpu.gtx-1080.memory_bandwidth=1000 TB/s",               \
		"gpu.gtx-1080.kernel_floor=2 us"
#define COST(is) "guest.vm.work_cost=" is

/* A fast GPU waits for calls, so twice as much work doubles the step time. With a GTX 1080, calls
 * hide behind the kernels. */
static void guest_work_counts_if_the_gpu_waits_for_calls(void)
{
	double bare = STEP_S(one, OS, FAST_GPU);

	CHECK_NEAR(STEP_S(one, CONTAINER, FAST_GPU), bare, 1e-9);
	CHECK_NEAR(STEP_S(one, VM, FAST_GPU, COST("0 %")), bare, 1e-9);
	CHECK_NEAR(STEP_S(one, VM, FAST_GPU, COST("100 %")), 2 * bare, 0.02);
	CHECK_NEAR(STEP_S(one, VM, BATCH_32, COST("100 %")), STEP_S(one, OS, BATCH_32), 0.03);
}

/* The costs of FlexDirect's calls were fitted in virtual machines, so the guest adds no work to
 * them. */
static void forwarded_calls_get_no_extra_guest_work(void)
{
	double as_fitted = STEP_S(same_esxi, BATCH_16);

	CHECK(STEP_S(same_esxi, BATCH_16, "guest.*.work_cost=100 %") == as_fitted);
}

/* The sums of a parameter server are work of its guest. At 10 MB/s for each core they are the
 * bottleneck. */
static void parameter_server_adds_in_its_guest(void)
{
	static const char slow[] = "library.cpu_reduce=10 MB/s";
	double free_s = STEP_S(two, VM, slow, COST("0 %"));

	CHECK(STEP_S(two, VM, slow, COST("100 %")) > 1.8 * free_s);
}

/* Two GPUs of one machine use a parameter server on the same machine over the loopback device. Its
 * thread receives 61.8 million gradients of 4 B. At 100 ns/B for a clock of 2.4 GHz, and 2.7 GHz
 * here, this takes 22.0 s. Nearly at the end it receives the largest tensor, with 9216 x 4096
 * numbers. The machine's process then receives its new value in 13.4 s. */
static void server_of_one_machine_receives_over_loopback(void)
{
	static const struct settings ec2 = {
		{"case.topology=ec2-p2-8xlarge", "case.stack=tf-1.1-2017", "case.gpus=2",
		 "case.model=alexnet_tf", "case.batch=64", "exchange.noise=0",
		 "case.exchange=tf-distributed-replicated", "case.transport=tcp"}};
	CHECK_NEAR(STEP_S(ec2, "tcp.receive_byte=100 ns/B"), 22.0 + 13.4, 0.01);
	CHECK(STEP_S(ec2, "tcp.receive_byte=0 ns/B") < 3);
}

/* An overlay handles packets one by one, with 1398 B of data each: 1500 B less 50 B of VXLAN and 52
 * B of headers, in 1538 B on the wire. At 1 Gb/s the work is hidden and only the headers count,
 * 1398/1448. With 30 us of work for each packet, 18.5 us on cores of 3.9 GHz, the cores are the
 * bottleneck: a packet takes 12.3 us on the wire. */
static void overlay_costs_headers_or_core_time(void)
{
	static const char vxlan[] = "tcp.encapsulation=50 B";
	double bare = STEP_S(two, CONTAINER);
	double overlay = STEP_S(two, CONTAINER, vxlan);

	CHECK_NEAR(overlay / bare, 1448.0 / 1398, 0.01);
	CHECK(STEP_S(two, CONTAINER, vxlan, "tcp.encapsulation_packet=30 us") > 1.3 * overlay);
	/* Without offload the filter handles each packet in 1 us, which is hidden, too. 30 us would
	 * not be hidden, but packets of 64 KiB are. */
	CHECK_NEAR(STEP_S(two, CONTAINER, "guest.*.offload=false"), bare, 0.005);
	CHECK_NEAR(STEP_S(two, CONTAINER, "guest.*.firewall_packet=30 us"), bare, 0.01);
	CHECK(STEP_S(two, CONTAINER, "guest.*.offload=false", "guest.*.firewall_packet=30 us") >
	      1.3 * bare);
}

static const struct test tests[] = {
	TEST(guest_work_counts_if_the_gpu_waits_for_calls),
	TEST(forwarded_calls_get_no_extra_guest_work),
	TEST(parameter_server_adds_in_its_guest),
	TEST(server_of_one_machine_receives_over_loopback),
	TEST(overlay_costs_headers_or_core_time),
};

int main(void)
{
	return TEST_MAIN(tests);
}
