/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input pipeline of a rank: read -> decode -> prefetch queue -> copy to the GPU.
 *
 * Each stage works on its own batch. So the stages overlap the step, and the slowest of all
 * is the bottleneck.
 *
 *   read     image_B for each encoded image from a storage (sim/host/storage.h)
 *   decode   decode_s core-seconds for each image (JPEG decoding, cropping, distortion) on
 *            the guest's cores, with at most decode_threads_count threads
 *   prefetch holds prefetch_count decoded batches in host memory
 *   copy     to the GPU from pinned or pageable memory: the next batch while the GPU
 *            computes (staged), or each batch when its step begins
 * Sources: gpu (synthetic data on the GPU, no pipeline), host (synthetic data in host
 * memory, only the copy), or a storage.
 *
 * Ranks of one process share its copying threads (struct input_process). With fewer threads
 * than ranks, ranks copy in turn. TensorFlow's replicated training has one process for all
 * GPUs of a machine, Horovod has one for each GPU.
 *
 * LOCKSTEP: the stages are ops of the framework call (session.run) that computes the step of
 * all GPUs of the process. Decoding a batch, copying the batch before it and computing the
 * one before that begin together. The next call begins when all three have ended on all
 * ranks of the process. Before each call one thread prepares it, session_s for each image,
 * and every GPU waits. A graph with separate ops for each image has this cost.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/host/storage.h"
#include "sim/transport/dma.h"

/* The rows in input.c describe each field. */
struct input_params {
	const char *source;
	double image_B, decode_s;
	bool distortions;
	double distort_spB, decode_threads_count, prefetch_count, element_B;
	bool staged, pinned;
	double copy_threads_count;
	bool one_process;
	double feed_s;
	bool lockstep;
	double session_s;
};
extern const struct param_table input_table;

/* A host process. Its ranks share its copying threads, its reader and its lockstep. */
struct input_process;
struct input_process *input_process_new(struct arena *arena, const struct input_params *params);

struct input;
struct input_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name; /* trace group */
	const struct input_params *params;
	struct input_process *process; /* NULL: the rank is its own process */
	struct storage *storage;       /* NULL for source "host" */
	unsigned reader;               /* number of the storage's reader, one for each process */
	struct guest *guest;           /* guest that decodes */
	struct cpu *core;              /* core that hands batches over and stages pageable copies */
	const struct dma_params *dma;
	const struct route *to_device;
	double batch_count;   /* images in a batch */
	double batch_B;       /* decoded batch in fp32; element_B scales it for the copy */
	bool held;            /* the input begins when input_start is called */
	double shuffle_count; /* images that are read before the first batch */
};
/* Creates the pipeline, which begins to fill at once. If there is no route from the storage to
 * the guest, the run fails (engine_fail). Check that with storage_reaches before. */
struct input *input_new(const struct input_spec *spec);
/* Begins a held input, and calls fn when the first batch waits for the GPU. */
void input_start(struct input *input, event_fn *fn, void *ctx, uint64_t arg);
/* Takes the next batch and calls fn when the batch is in GPU memory. A second call must wait for
 * fn. */
void input_take(struct input *input, event_fn *fn, void *ctx, uint64_t arg);

struct input_counters {
	double read_B, copied_B, decoded_count;         /* decoded_count is a number of images */
	double read_busy_s, decode_busy_s, copy_busy_s; /* busy time of each stage */
};
const struct input_counters *input_counters(const struct input *input);
/* Returns the mean time of a batch in the slowest stage, without the shuffle buffer; 0: no batch
 * has ended. */
double input_batch_s(const struct input *input);
/* Returns true if the call that delivers a batch also issues the rank's step, so that the step
 * cannot be issued earlier. */
bool input_is_lockstep(const struct input *input);
