/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies: chunks on the wire, at the server and on PCIe. The GPU starts copies at once here; a
 * chunk of 1000 B takes 0.1 on PCIe. Times are in microseconds. */
#include "sim/base/num.h"
#include "sim/fabric/link.h"
#include "tests/remoting_world.h"

static void presets(struct remote_world *w, const char *policy)
{
	remote_world_presets(w, policy);
	w->world.gpu_params.launch_latency_s = 0;
	w->world.gpu_params.kernel_gap_s = 0;
}

static void add_copy(struct remote_world *w, size_t thread, enum call_kind kind, double payload_B)
{
	script_add(&w->scripts[thread], 0, kind)->payload_B = payload_B;
}

static int64_t took_ps(struct remote_world *w, enum call_kind kind, double payload_B)
{
	remote_world_build(w);
	add_copy(w, 0, kind, payload_B);
	remote_world_run(w);
	CHECK(w->failures_count == 0);
	int64_t time_ps = script_took_ps(w, 0, 0);
	struct remote_counters counters = remote_counters(w->remote);
	CHECK(counters.calls_count[CLASS_BULK] == 1);
	CHECK((payload_B <= counters.sent_B) ==
	      (kind == CALL_MEMCPY_H2D || kind == CALL_MEMCPY_H2D_ASYNC));
	CHECK((payload_B <= counters.received_B) ==
	      (kind == CALL_MEMCPY_D2H || kind == CALL_MEMCPY_D2H_ASYNC));
	remote_world_release(w);
	return time_ps;
}

/* Chunks of 1100 B are delivered from 12.35 on, 2.1 apart (1.1 wire, 1 marshalling). The server
 * takes 5 for the call and 6 in the driver for each of nine chunks, until 71.35. The last chunk
 * waits for its copy: 6 + 0.1 + 1.5; 10.55 back. */
static void upload_overlaps_wire_and_driver(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D, 10000), 89.5);
}

/* Only the wire's part: accepted at 2.35 + 9 x 2.1. */
static void asynchronous_upload_returns_when_accepted(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D_ASYNC, 10000), 21.25);
	/* If everything is answered, the copy returns when the last chunk has started. */
	presets(&w, "synchronous");
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D_ASYNC, 10000), 71.35 + 6 + 10.55);
	presets(&w, "flexdirect");
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D_ASYNC, 10000), 71.35 + 6 + 10.55);
}

/* Each chunk waits for the previous one: copied in 7.6, acknowledged 10.05 later, 1.5 of client
 * work, 11.1 on the wire: 30.25. The first takes 5 longer at the server, and at the client its own
 * marshalling: 36.5. Chunk 10 leaves at 36.5 + 8 x 30.25 = 278.5; then 11.1, 7.6, 10.55. */
static void stop_and_go_upload_sends_one_chunk_at_a_time(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.pipelined = false;
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D, 10000), 307.75);
}

static void two_chunks_are_copied(void *ctx, uint64_t arg)
{
	const struct remote_world *w = ctx;
	int to_host = fabric_link_resource(w->world.fabric, 0, 1);
	CHECK_NEAR(fabric_carried(w->world.fabric, to_host), 2000, 1e-9);
}

/* The request arrives at 11.35; 5 of service; then a chunk takes 7.6, more than the 1.05 of the
 * wire. The last one needs 11.05 and 0.5 more. */
static void download_overlaps_driver_and_wire(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	CHECK_US(took_ps(&w, CALL_MEMCPY_D2H, 10000), 16.35 + 76 + 11.55);
	/* With a wire of 105 us per chunk: all chunks follow the first copy. While it is sent the
	 * second buffer is full. */
	presets(&w, "asynchronous");
	w.line.rate_Bps = 1e7;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_D2H, 10000);
	engine_at(w.world.engine, ps_from_s(120 * US), two_chunks_are_copied, &w, 0);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 1.25 + 10 + 10 + 5 + 7.6 + 1050 + 10.5);
	remote_world_release(&w);
}

/* Copy 7.6, wire 11.05, client 1.5, acknowledgement 10.1: 30.25 each. */
static void stop_and_go_download_sends_one_chunk_at_a_time(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.pipelined = false;
	CHECK_US(took_ps(&w, CALL_MEMCPY_D2H, 10000), 16.35 + 9 * 30.25 + 7.6 + 11.55);
}

/* No copies: the last chunk arrives at 31.25, and the server asks the driver whether the stream is
 * idle (2). An asynchronous copy does not ask, so a kernel before it delays it by nothing. In the
 * other direction the data leave when the stream is idle. Stop-and-go waits for the acknowledgement
 * of each chunk: 30.25 without the copy of 7.6. */
static void zero_copy_avoids_staging(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.zero_copy = true;
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D, 10000), 31.25 + 2 + 10.55);
	presets(&w, "asynchronous");
	w.runtime.zero_copy = true;
	CHECK_US(took_ps(&w, CALL_MEMCPY_D2H, 10000), 16.35 + 2 + 10 * 1.05 + 10.5);
	for (int waits = 0; waits < 2; waits++) {
		presets(&w, "asynchronous");
		w.runtime.zero_copy = true;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_LAUNCH)->duration_s = 1e-3;
		add_copy(&w, 0, waits ? CALL_MEMCPY_H2D : CALL_MEMCPY_H2D_ASYNC, 1000);
		script_add(&w.scripts[0], 0, CALL_MALLOC);
		remote_world_run(&w);
		CHECK((w.scripts[0].calls[2].complete_ps > PS_PER_S / 1000) == waits);
		remote_world_release(&w);
	}
	presets(&w, "asynchronous");
	w.runtime.zero_copy = true;
	w.runtime.pipelined = false;
	CHECK_US(took_ps(&w, CALL_MEMCPY_D2H, 10000), 16.35 + 2 + 9 * 22.65 + 11.55);
}

/* Staged through pageable memory at 5 GB/s, a chunk of 1000 B takes 0.2 longer in each copy, and
 * asynchronous copies wait for it (7.6 + 0.2). */
static void pageable_staging_slows_each_chunk(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.pinned_staging = false;
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D, 10000), 17.35 + 10 * 7.8 + 10.55);
}

/* One chunk of 1000 B takes 35.5 in either direction. Compressed to half, it is on the wire for 0.5
 * less; its sender compresses for 3 and its receiver restores it in 2. The sender serialises the
 * 500 B that it sends, or all 1000 B if nothing is compressed, in 4 ns each. */
static void compression_costs_work_and_saves_wire(void)
{
	static const enum call_kind kinds[] = {CALL_MEMCPY_H2D, CALL_MEMCPY_D2H};
	for (size_t i = 0; i < 8; i++) {
		struct remote_world w;
		presets(&w, "asynchronous");
		bool compressed = i % 2, serialised = i >= 4;
		w.runtime.serialise_byte_spB = serialised ? 4e-9 : 0;
		w.runtime.compression_ratio = compressed ? 2 : 1;
		w.runtime.compress_byte_spB = compressed ? 3e-9 : 0;
		w.runtime.decompress_byte_spB = compressed ? 2e-9 : 0;
		remote_world_build(&w);
		add_copy(&w, 0, kinds[i / 2 % 2], 1000);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0),
			 (compressed ? 40 : 35.5) + (serialised ? compressed ? 2 : 4 : 0));
		remote_world_release(&w);
	}
}

/* Half a chunk of 500 B takes 0.5 less on the wire and 0.05 less on PCIe than a chunk, so 34.95 in
 * either direction. Compressed to half, it takes 0.25 less again, and 1.5 + 1 for its bytes. */
static void a_last_part_is_compressed_by_its_own_size(void)
{
	static const enum call_kind kinds[] = {CALL_MEMCPY_H2D, CALL_MEMCPY_D2H};
	for (size_t i = 0; i < 4; i++) {
		struct remote_world w;
		presets(&w, "asynchronous");
		bool compressed = i % 2;
		w.runtime.compression_ratio = compressed ? 2 : 1;
		w.runtime.compress_byte_spB = compressed ? 3e-9 : 0;
		w.runtime.decompress_byte_spB = compressed ? 2e-9 : 0;
		remote_world_build(&w);
		add_copy(&w, 0, kinds[i / 2], 500);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0), 34.95 + (compressed ? 1.5 + 1 - 0.25 : 0));
		remote_world_release(&w);
	}
}

/* Arguments of a call are compressed, too: 1000 B of them take 0.5 on the wire, 3 at the client and
 * 2 at the server. A plain allocation takes 76.9. */
static void arguments_are_compressed_too(void)
{
	struct remote_world w;
	presets(&w, "synchronous");
	w.runtime.compression_ratio = 2;
	w.runtime.compress_byte_spB = 3e-9;
	w.runtime.decompress_byte_spB = 2e-9;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC)->arguments_B = 1000;
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 76.9 + 0.5 + 3 + 2);
	remote_world_release(&w);
}

/* Messages of each kind have their label in traces. */
static void messages_are_labelled_by_kind(void)
{
	struct remote_world w;
	presets(&w, "synchronous");
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_H2D, 2000);
	add_copy(&w, 0, CALL_MEMCPY_D2H, 2000);
	remote_world_run(&w);
	static const char *const labels[] = {"chunk", "chunk", "answer", "request", "data", "data"};
	CHECK(w.log_count == 6);
	for (size_t i = 0; i < 6 && i < w.log_count; i++)
		CHECK_TEXT(w.log[i].label, labels[i]);
	remote_world_release(&w);
}

/* Two chunks are compressed one by one. The first leaves after 0.25 + 1 + 3 and takes 0.1 + 0.5 on
 * the wire; the second takes 1 + 3 and 0.6 more. */
static void each_chunk_is_compressed_before_it_leaves(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.compression_ratio = 2;
	w.runtime.compress_byte_spB = 3e-9;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_H2D_ASYNC, 2000);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 4.25 + 0.6 + 4 + 0.6);
	remote_world_release(&w);
}

/* A copy of 1500 B has a second part of 500 B, which takes 0.05 on PCIe. To the host it leaves
 * after 7.55, and its bytes take 0.05 + 0.5 on the wire. To the device the server reads it after 5
 * + 6 for the first part, and waits for its copy: 6 + 0.05 + 1.5. Before it leaves, 1 + 1.5
 * compress it to 250 B, which take 0.1 + 0.25. */
static void the_shorter_last_part_costs_its_own_bytes(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	CHECK_US(took_ps(&w, CALL_MEMCPY_D2H, 1500), 16.35 + 7.6 + 7.55 + 0.55 + 10.5);
	presets(&w, "asynchronous");
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D, 1500), 12.35 + 5 + 6 + 7.55 + 10.55);
	presets(&w, "asynchronous");
	w.runtime.compression_ratio = 2;
	w.runtime.compress_byte_spB = 3e-9;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_H2D_ASYNC, 1500);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 4.25 + 0.6 + 2.5 + 0.35);
	remote_world_release(&w);
}

/* An empty copy is an ordinary answered call: 6 in the driver and, because the driver waits for it,
 * 1.5. */
static void empty_copies_take_the_time_of_a_call(void)
{
	static const enum call_kind kinds[] = {CALL_MEMCPY_H2D, CALL_MEMCPY_D2H};
	for (size_t i = 0; i < 2; i++) {
		struct remote_world w;
		presets(&w, "asynchronous");
		remote_world_build(&w);
		add_copy(&w, 0, kinds[i], 0);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0), 11.35 + 5 + 7.5 + 10.55);
		remote_world_release(&w);
	}
}

/* While thread 0 copies 100 kB, a launch of thread 1 waits for at most one chunk. */
static void other_calls_are_sent_between_chunks(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_H2D, 100000);
	for (int i = 0; i < 20; i++)
		script_add(&w.scripts[1], 3.7, CALL_LAUNCH);
	remote_world_run(&w);
	int64_t longest_ps = 0;
	for (size_t i = 0; i < 20; i++) {
		int64_t time_ps = script_took_ps(&w, 1, i);
		longest_ps = time_ps > longest_ps ? time_ps : longest_ps;
	}
	CHECK(longest_ps > ps_from_s(1.35 * US)); /* some launches had to wait */
	CHECK(longest_ps <= ps_from_s((1.35 + 1.1) * US));
	CHECK(w.scripts[0].calls[0].complete_ps > w.scripts[1].calls[19].complete_ps);
	remote_world_release(&w);
}

/* Chunks to the GPU need credits: with two, each pair waits for the report on the pair before. */
static void chunks_need_credits(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.outstanding_count = 2;
	/* Two are posted at 1.25 and 3.35 and executed by 20.35 (12.35 + 2 + 6) and 26.35. Each is
	 * reported (half of two) and known 10.05 later. The third leaves at 30.4; the fourth (ready
	 * at 32.5) at 36.4 and is accepted 1.1 later. */
	CHECK_US(took_ps(&w, CALL_MEMCPY_H2D_ASYNC, 4000), 37.5);
}

/* The request arrives at 11.35; the copy is submitted at 19.35 (2 + 6). Its 40 kB are copied at
 * 23.35, and the waiting thread wakes at 24.85. 40 chunks take 1.05 each and 10: delivered at
 * 76.85. Threads 1 and 2 query on other connections. The server's answers reach the client at 34.4
 * and 36.4 and are held. */
static void answers_are_held_until_fetched_bytes_arrive(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.connections_count = 3;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_D2H_ASYNC, 40000);
	/* a synchronisation of the device covers all streams */
	w.scripts[0].calls[0].call.stream = 1;
	script_add(&w.scripts[1], 6, CALL_STREAM_SYNCHRONIZE)->stream = 1;
	script_add(&w.scripts[2], 8, CALL_DEVICE_SYNCHRONIZE);
	script_add(&w.scripts[2], 100, CALL_STREAM_SYNCHRONIZE); /* nothing is left to wait for */
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 1.35);
	CHECK_US(w.scripts[1].calls[0].complete_ps, 76.85 + 0.5);
	CHECK_US(w.scripts[2].calls[0].complete_ps, 76.85 + 0.5);
	CHECK_US(script_took_ps(&w, 2, 1), 11.35 + 5 + 2 + 10.55);
	remote_world_release(&w);
}

/* Stop-and-go waits only for chunks of copies that are answered. The copy is submitted at 19.35.
 * The call that waits for it ends at 21.35, after the copy. Three chunks take 1.05 each and 10:
 * delivered at 34.5. The server begins the query of the same connection behind that call: 5 of
 * service, 3 in the driver and 10.55 back. */
static void asynchronous_downloads_do_not_wait_for_acknowledgements(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.pipelined = false;
	w.runtime.connections_count = 2;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_D2H_ASYNC, 3000);
	script_add(&w.scripts[0], 0, CALL_STREAM_QUERY);
	script_add(&w.scripts[1], 6, CALL_STREAM_SYNCHRONIZE);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 1.35);
	CHECK_US(w.scripts[0].calls[1].complete_ps, 21.35 + 5 + 3 + 10.55);
	CHECK_US(w.scripts[1].calls[0].complete_ps, 34.5 + 0.5);
	remote_world_release(&w);
}

/* The same with an event: its record follows the copy, so "ready" is held. An event recorded on
 * another stream is not held. The record's 2 on the server's core delay the waking thread until
 * 26.85. Thread 2 asks 4 later than thread 1, so the driver, which works for one call at a time, is
 * free. */
static void ready_events_are_held_until_fetched_bytes_arrive(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.connections_count = 3;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_D2H_ASYNC, 40000);
	script_add(&w.scripts[0], 0, CALL_EVENT_RECORD)->event = 1;
	script_add(&w.scripts[1], 20, CALL_EVENT_QUERY)->event = 1;
	struct cuda_call *other = script_add(&w.scripts[2], 0, CALL_EVENT_RECORD);
	other->event = 2;
	other->stream = 1;
	script_add(&w.scripts[2], 24, CALL_EVENT_QUERY)->event = 2;
	remote_world_run(&w);
	CHECK(w.scripts[1].calls[0].result == CALL_OK);
	CHECK_US(w.scripts[1].calls[0].complete_ps, 26.85 + 52 + 0.5);
	CHECK(w.scripts[2].calls[1].result == CALL_OK);
	CHECK_US(script_took_ps(&w, 2, 1), 29.9);
	remote_world_release(&w);
}

/* An event that was recorded before the copy does not wait for its bytes, which arrive after 76.85.
 */
static void events_before_a_copy_are_not_held(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.connections_count = 2;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_EVENT_RECORD)->event = 1;
	add_copy(&w, 0, CALL_MEMCPY_D2H_ASYNC, 40000);
	script_add(&w.scripts[1], 20, CALL_EVENT_QUERY)->event = 1;
	remote_world_run(&w);
	CHECK(w.scripts[1].calls[0].result == CALL_OK);
	CHECK(w.scripts[1].calls[0].complete_ps < ps_from_s(76.85 * US));
	remote_world_release(&w);
}

/* A copy that takes longer than call_timeout does not time out while it progresses. A wire that
 * stops in the middle does. */
static void copy_in_progress_does_not_time_out(void)
{
	for (int deaf = 0; deaf <= 1; deaf++) {
		struct remote_world w;
		presets(&w, "asynchronous");
		w.line.rate_Bps = 1e7;
		w.runtime.call_timeout_s = 500 * US;
		w.line.deaf_after_count = deaf ? 3 : 0;
		remote_world_build(&w);
		add_copy(&w, 0, CALL_MEMCPY_H2D, 10000);
		add_copy(&w, 0, CALL_MEMCPY_D2H, 10000);
		remote_world_run(&w);
		CHECK(w.failures_count == (size_t)deaf);
		if (deaf)
			CHECK_TEXT(
				w.failure,
				"call timeout: no answer to cudaMemcpyHostToDevice within 500 us");
		remote_world_release(&w);
	}
}

/* ---- over real transports ---- */

static void preset_params(struct arena *arena, const struct param_table *table, void *params)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct param_row *row = &table->rows[i];
		char *place = (char *)params + row->offset;
		if (row->kind == PARAM_KIND_NUMBER)
			CHECK(!quantity_parse(arena, row->quantity, row->preset,
					      (double *)(void *)place));
		else if (row->kind == PARAM_KIND_BOOL)
			*(bool *)place = strcmp(row->preset, "true") == 0;
	}
}

/* A step of the program below forwards the difference of two counters, over a link of 5 us. */
static void check_step(const struct remote_client *remote, const struct remote_counters *counters)
{
	const struct remote_counters before = {
		.answered_count = 1, .sent_count = 2, .sent_B = 400, .received_B = 50};
	const struct forwarded_step step = remote_step(remote, &before, counters);
	CHECK(step.answered_count == 3 * 3 - 1 && step.sent_count == 3 * 2 - 2);
	CHECK_NEAR(step.moved_B, counters->sent_B - 400 + counters->received_B - 50, 1e-12);
	CHECK_NEAR(step.round_trip_s, 10 * US, 1e-12);
	CHECK_NEAR(step.byte_spB, 1 / 1.25e9, 1e-12);
}

static void every_byte_arrives_of(const char *transport, const char *link, bool pipelined)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.pipelined = pipelined;
	w.runtime.outstanding_count = 16;
	w.runtime.connections_count = 2;
	remote_world_build(&w);
	const struct transport_kind *kind = transport_kind_find(transport);
	static double params[TRANSPORT_PARAMS_SIZE_MAX / sizeof(double)];
	preset_params(w.world.arena, kind->table, params);
	const struct link_traits traits = {
		.capacity_Bps = {1.25e9, 1.25e9},
		.latency_s = 5 * US,
		.packet_payload_B = 1500,
		.packet_overhead_B = 38,
	};
	fabric_link_add(w.world.fabric, "wire", link_kind_find(link), guest_node(w.client),
			guest_node(w.world.guest), &traits);
	const struct remote_spec spec = {
		.arena = w.remote_arena,
		.engine = w.world.engine,
		.fabric = w.world.fabric,
		.name = "real",
		.params = &w.runtime,
		.transport = kind,
		.transport_params = params,
		.client = w.client,
		.server = w.world.guest,
		.process = w.process,
		.failed = remote_world_failed,
		.failed_ctx = &w,
	};
	w.remote = remote_client_new(&spec);
	CHECK(w.remote != NULL);
	static const enum call_kind kinds[] = {CALL_MEMCPY_H2D, CALL_MEMCPY_H2D_ASYNC,
					       CALL_MEMCPY_D2H_ASYNC, CALL_MEMCPY_D2H,
					       CALL_DEVICE_SYNCHRONIZE};
	size_t kind_count = sizeof kinds / sizeof kinds[0];
	for (size_t i = 0; i < 3; i++) {
		w.scripts[i].port = remote_port(w.remote);
		for (size_t k = 0; k < kind_count; k++)
			add_copy(&w, i, kinds[k], k + 1 < kind_count ? 12345 : 0);
	}
	remote_world_run(&w);
	for (size_t i = 0; i < 3; i++)
		CHECK(w.scripts[i].calls[kind_count - 1].complete_ps > 0);
	struct remote_counters counters = remote_counters(w.remote);
	/* Thirteen chunks per copy, each with a header. In stop-and-go the client acknowledges
	 * twelve chunks of an answered copy. */
	double acks_B = pipelined ? 0 : 3 * 12 * 100;
	CHECK_NEAR(counters.sent_B, 3 * (2 * (12345 + 13 * 100) + 3 * 100) + acks_B, 1e-12);
	double answers_B = counters.received_B - 3 * 2 * (12345 + 13 * 50);
	CHECK(answers_B >= 3 * 2 * 50); /* plus the server's reports of credits */
	CHECK(fmod(answers_B, 50) == 0);
	CHECK_NEAR(fabric_carried(w.world.fabric, fabric_link_resource(w.world.fabric, 0, 0)),
		   3 * 2 * 12345, 1e-9);
	check_step(w.remote, &counters);
	remote_world_release(&w);
}

/* In stop-and-go, threads 0 and 2 share a connection, whose server reads a request of one while it
 * waits for the other's acknowledgement. */
static void every_byte_arrives(const char *transport, const char *link)
{
	every_byte_arrives_of(transport, link, true);
	every_byte_arrives_of(transport, link, false);
}

static void every_byte_arrives_by_tcp(void)
{
	every_byte_arrives("tcp", "ethernet");
}

static void every_byte_arrives_by_rdma(void)
{
	every_byte_arrives("rdma", "roce");
}

static void every_byte_arrives_by_shared_memory(void)
{
	every_byte_arrives("shm", "shm");
}

/* Ten chunks have a header each; only the first carries the call's arguments. */
static void only_the_first_chunk_carries_arguments(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_H2D, 10000);
	w.scripts[0].calls[0].call.arguments_B = 24;
	remote_world_run(&w);
	CHECK_NEAR(remote_counters(w.remote).sent_B, 10000 + 10 * 100 + 24, 1e-12);
	CHECK_NEAR(remote_counters(w.remote).received_B, 50, 1e-12);
	remote_world_release(&w);
}

/* A chunk of 1100 B leaves at 2.35, and the answer returns the first copy at 35.5, long before the
 * wire accepts that chunk at 102.35. The acceptance must not end the second copy, which takes the
 * place of the first. Its own chunk leaves only then, and is accepted 1.1 + 100 later. */
static void late_acceptance_does_not_end_the_next_copy(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.line.accept_delay_s = 100 * US;
	remote_world_build(&w);
	add_copy(&w, 0, CALL_MEMCPY_H2D, 1000);
	add_copy(&w, 0, CALL_MEMCPY_H2D_ASYNC, 1000);
	remote_world_run(&w);
	CHECK_US(w.scripts[0].calls[0].complete_ps, 35.5);
	CHECK_US(w.scripts[0].calls[1].complete_ps, 102.35 + 101.1);
	CHECK(w.scripts[0].next == 3); /* each call has returned once */
	remote_world_release(&w);
}

static const struct test tests[] = {
	TEST(upload_overlaps_wire_and_driver),
	TEST(asynchronous_upload_returns_when_accepted),
	TEST(stop_and_go_upload_sends_one_chunk_at_a_time),
	TEST(download_overlaps_driver_and_wire),
	TEST(stop_and_go_download_sends_one_chunk_at_a_time),
	TEST(zero_copy_avoids_staging),
	TEST(pageable_staging_slows_each_chunk),
	TEST(compression_costs_work_and_saves_wire),
	TEST(a_last_part_is_compressed_by_its_own_size),
	TEST(arguments_are_compressed_too),
	TEST(messages_are_labelled_by_kind),
	TEST(each_chunk_is_compressed_before_it_leaves),
	TEST(the_shorter_last_part_costs_its_own_bytes),
	TEST(empty_copies_take_the_time_of_a_call),
	TEST(other_calls_are_sent_between_chunks),
	TEST(chunks_need_credits),
	TEST(asynchronous_downloads_do_not_wait_for_acknowledgements),
	TEST(answers_are_held_until_fetched_bytes_arrive),
	TEST(ready_events_are_held_until_fetched_bytes_arrive),
	TEST(copy_in_progress_does_not_time_out),
	TEST(every_byte_arrives_by_tcp),
	TEST(every_byte_arrives_by_rdma),
	TEST(every_byte_arrives_by_shared_memory),
	TEST(only_the_first_chunk_carries_arguments),
	TEST(events_before_a_copy_are_not_held),
	TEST(late_acceptance_does_not_end_the_next_copy),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
