/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real input over the wire: chunks, pipelining, pageable memory, and the effect of a copy on calls
 * of the same connection.
 *
 * A P100 is behind 10 Gb/s Ethernet and VMXNET3, tuned for latency. The runtime is asynchronous,
 * the benchmark code that of 2019 (bitfusion_networks.cfg). An image is 224 x 224 x 3 x 4 B. 1448
 * of 1538 B on the wire are payload, so 1.177 GB/s: 65.5 ms for batch 128, 32.7 ms for 64, 223 us
 * for 256 KiB. */
#include "tests/case_points.h"

#define WIRE_BPS (1.25e9 * 1448 / 1538)
#define IMAGE_B  (224 * 224 * 3 * 4.0)

static const struct settings forwarded = {
	{"case.topology=vm-p100-vmxnet3", "case.model=resnet50", "case.stack=tf-1.13-2019",
	 "stack.real_input=true", "case.runtime=asynchronous", "case.transport=tcp",
	 "runtime.handoff=0 s", "runtime.unmarshal=1 us", "runtime.deserialise_byte=0 s/B",
	 "case.program=client", "case.server=server", "gpu.*.memory_efficiency=0.8"}};
static const struct settings local = {{"case.topology=vm-p100-vmxnet3", "case.model=resnet50",
				       "case.stack=tf-1.13-2019", "stack.real_input=true",
				       "case.runtime=none", "case.server=server"}};

#define BATCH_64    "case.batch=64"
#define BATCH_128   "case.batch=128"
#define MADE_ON_GPU "stack.real_input=false"
#define PAGEABLE    "stack.pinned_input=false"

/* 77 MB take 6 ms from pinned memory and at most twice as long from pageable memory. The GPU works
 * for 547 ms on the previous batch. */
static void input_of_a_local_gpu_is_hidden(void)
{
	double without = STEP_S(local, BATCH_128, MADE_ON_GPU);

	CHECK_NEAR(STEP_S(local, BATCH_128), without, 1e-3);
	CHECK_NEAR(STEP_S(local, BATCH_128, PAGEABLE), without, 1e-3);
}

/* The copy begins with the step. Its chunks and the program's calls take turns on the connection,
 * so a call waits for one chunk. The GPU has nothing to do before the 172 calls at the start of the
 * step have arrived. For 55 variables (batch norm has no L2 loss since 2018) these are 108 kernels
 * of losses, 7 sums, 2 additions and 55 products for weight decay. So the step grows by the time of
 * 172 chunks, or by the whole copy if that is shorter. */
static void calls_wait_for_chunks_of_the_input_copy(void)
{
	static const struct {
		const char *text, *batch;
		double chunk_B, images;
	} cases[] = {
		{"runtime.chunk=64 KiB", BATCH_128, 65536, 128},
		{"runtime.chunk=128 KiB", BATCH_128, 131072, 128},
		{"runtime.chunk=256 KiB", BATCH_128, 262144, 128},
		{"runtime.chunk=1 MiB", BATCH_128, 1048576, 128},
		{"runtime.chunk=128 KiB", BATCH_64, 131072, 64},
		{"runtime.chunk=256 KiB", BATCH_64, 262144, 64},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		double waits_s = 172 * cases[i].chunk_B / WIRE_BPS;
		double copy_s = cases[i].images * IMAGE_B / WIRE_BPS;
		double grown_s = STEP_S(forwarded, cases[i].batch, cases[i].text) -
				 STEP_S(forwarded, cases[i].batch, MADE_ON_GPU);
		CHECK_NEAR(grown_s, waits_s < copy_s ? waits_s : copy_s, 0.12);
	}
}

/* Stop-and-go leaves the wire free for a round trip after each chunk, in which all waiting calls
 * are sent. With a second connection calls never wait for chunks. */
static void stop_and_go_or_a_second_connection_lets_calls_pass(void)
{
	double without = STEP_S(forwarded, BATCH_128, MADE_ON_GPU);
	double chunk_s = 262144 / WIRE_BPS;

	CHECK(STEP_S(forwarded, BATCH_128) > without + 100 * chunk_s);
	CHECK(STEP_S(forwarded, BATCH_128, "runtime.pipelined=false") < without + 10 * chunk_s);
	CHECK(STEP_S(forwarded, BATCH_128, "runtime.connections=2") < without + 2 * chunk_s);
}

/* AlexNet at batch 512 needs 227 x 227 x 3 x 4 x 512 B = 316.6 MB a step: 269 ms on the link,
 * longer than its kernels' 171 ms. Stop-and-go adds a round trip of 28 us to each of 1208 chunks. A
 * round trip is two links of 4.5 us, and 30 us at 2.4 GHz or 19 us at 3.7 GHz for receiving,
 * handing to the driver, acknowledging and unpacking. */
#define ALEXNET "case.model=alexnet_tf", "case.batch=512"

static void stop_and_go_slows_a_copy_that_is_the_bottleneck(void)
{
	double pipelined = STEP_S(forwarded, ALEXNET);
	double stopping = STEP_S(forwarded, ALEXNET, "runtime.pipelined=false");
	double large = STEP_S(forwarded, ALEXNET, "runtime.pipelined=false", "runtime.chunk=1 MiB");

	CHECK_NEAR(pipelined, 316.6e6 / WIRE_BPS, 0.04);
	CHECK_NEAR(stopping - pipelined, 1208 * 28e-6, 0.25);
	CHECK(large > 316.6e6 / WIRE_BPS && large < pipelined + 0.25 * (stopping - pipelined));
}

/* A socket does not depend on the memory of the input. The staging buffers of the server do matter:
 * from pageable memory a chunk takes 22 us on PCIe and 28 us of copying, during which the service
 * thread does nothing else. With pipelining and a thread that receives ahead this hides behind 223
 * us of wire. If one thread receives and copies, it reads nothing while the first chunk waits for
 * the stream. The wire then stops when the socket is full. In stop-and-go each chunk waits for it.
 * TensorFlow's poller is off here. Its lock keeps the executor's calls behind the copy: the input
 * thread holds it until its query, which waits for the copy's chunks, is answered. */
static void pageable_memory_slows_stop_and_go_only(void)
{
	static const char staging[] = "runtime.pinned_staging=false";
	double pipelined = STEP_S(forwarded, ALEXNET);
	double stopping = STEP_S(forwarded, ALEXNET, "runtime.pipelined=false");

	CHECK_NEAR(STEP_S(forwarded, ALEXNET, PAGEABLE), pipelined, 1e-3);
	CHECK_NEAR(STEP_S(forwarded, ALEXNET, staging, "runtime.receive_thread=true"), pipelined,
		   0.01);
	CHECK(STEP_S(forwarded, ALEXNET, staging, "stack.poller=false") > pipelined + 0.02);
	CHECK(STEP_S(forwarded, ALEXNET, staging, "runtime.pipelined=false") >
	      stopping + 1208 * 50e-6);
}

static const struct test tests[] = {
	TEST(input_of_a_local_gpu_is_hidden),
	TEST(calls_wait_for_chunks_of_the_input_copy),
	TEST(stop_and_go_or_a_second_connection_lets_calls_pass),
	TEST(stop_and_go_slows_a_copy_that_is_the_bottleneck),
	TEST(pageable_memory_slows_stop_and_go_only),
};

int main(void)
{
	return TEST_MAIN(tests);
}
