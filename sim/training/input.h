/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input pipeline of a rank: read -> decode -> prefetch queue -> copy to the
 * GPU, each stage working on its own batch, so that together they overlap the
 * step until the slowest of them binds.
 *
 *   read     from a storage (sim/host/storage.h), bytes of an encoded image each
 *   decode   core-seconds an image (JPEG decoding, cropping, distortion) on the
 *            cores that the guest may use, by at most so many threads
 *   prefetch holds that many decoded batches in host memory
 *   copy     to the GPU, pinned or pageable, the next batch while the GPU
 *            computes (staged), or only when the step begins
 * Sources: none (synthetic on the GPU: no pipeline at all), host (synthetic in
 * host memory: the copy alone), or a storage.
 *
 * Ranks of one host process share its copying threads (struct input_process):
 * with fewer threads than ranks they copy in turn. TensorFlow's replicated
 * training is one process for all GPUs of a machine, Horovod's one for each.
 *
 * LOCKSTEP: the stages are ops of the same call of the framework (session.run) that
 * computes the step of all the process's GPUs. Then decoding the batch after next,
 * copying the next one and computing this one begin together, and none of them goes
 * on to another batch before all are over on all ranks of the process. In front of
 * each such call one thread prepares it, session_s for each image: a graph that has
 * ops of its own for each image costs that much, and every GPU waits.
 */
#ifndef FARWIRE_TRAINING_INPUT_H
#define FARWIRE_TRAINING_INPUT_H

#include "sim/base/param.h"
#include "sim/host/storage.h"
#include "sim/transport/dma.h"

struct input_params {
	const char *source;          /* "gpu", "host", or a storage of models/storages/ */
	double image_B;              /* encoded, mean */
	double decode_s;             /* core-seconds an image at the reference clock */
	bool distortions;            /* the colours of images are distorted, too */
	double distort_spB;          /* ... at this work per byte of fp32 pixels */
	double decode_threads_count; /* most of a rank; 0: all cores it may use */
	double prefetch_count;       /* batches */
	double element_B;            /* of a decoded pixel's channel as it is copied: 4 (fp32) */
	bool staged;                 /* the next batch is copied while the GPU computes */
	bool pinned;
	double copy_threads_count; /* of the process: ranks beyond them wait for one; 0: one
				      for each rank */
	bool one_process;          /* the ranks of a machine are one process */
	double feed_s;             /* host work of handing over each batch */
	bool lockstep;             /* a process's stages begin and end with its step */
	double session_s; /* ... and this work of one thread for each image is before them */
};
extern const struct param_table input_table;

/* A host process: ranks of one share its copying threads, its reader, its lockstep. */
struct input_process;
struct input_process *input_process_new(struct arena *arena, const struct input_params *params);

struct input;
struct input_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name; /* trace group */
	const struct input_params *params;
	struct input_process *process; /* NULL: the rank is a process of its own */
	struct storage *storage;       /* NULL for "host" */
	unsigned reader;               /* of the storage: one number for each process */
	struct guest *guest;           /* which decodes */
	struct cpu *core;              /* which hands batches over and stages copies */
	const struct dma_params *dma;
	const struct route *to_device;
	double batch_count;
	double batch_B;       /* decoded, of fp32 elements; params->element_B says what is copied */
	bool held;            /* begins when input_start is called */
	double shuffle_count; /* images that are read before the first batch */
};
/* Begins to fill its queue at once. A storage that does not reach the guest fails
 * the run (engine_fail); ask storage_reaches before for a verdict. */
struct input *input_new(const struct input_spec *spec);
/* Begins a held input, and calls fn when the first batch waits for the GPU. */
void input_start(struct input *input, event_fn *fn, void *ctx, uint64_t arg);
/* Calls fn when the next batch lies in GPU memory; it is taken then. One call at a
 * time. */
void input_take(struct input *input, event_fn *fn, void *ctx, uint64_t arg);

struct input_counters {
	double read_B, copied_B, decoded_count;
	double read_busy_s, decode_busy_s, copy_busy_s; /* of each stage */
};
const struct input_counters *input_counters(const struct input *input);
/* Mean time of a batch in the slowest stage, without the shuffle buffer; 0: no batch is over. */
double input_batch_s(const struct input *input);
/* A rank's step is issued by the call that delivers its batch, not before. */
bool input_is_lockstep(const struct input *input);

#endif
