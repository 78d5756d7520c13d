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
 */
#ifndef FARWIRE_TRAINING_INPUT_H
#define FARWIRE_TRAINING_INPUT_H

#include "sim/base/param.h"
#include "sim/host/storage.h"
#include "sim/transport/dma.h"

struct input_params {
	const char *source; /* "gpu", "host", or a storage of models/storages/ */
	double image_B;     /* encoded, mean */
	double decode_s;    /* core-seconds an image at the reference clock */
	double decode_threads_count; /* most of a rank; 0: all cores it may use */
	double prefetch_count;       /* batches */
	double element_B;            /* of a decoded pixel's channel as it is copied: 4 (fp32) */
	bool staged;                 /* the next batch is copied while the GPU computes */
	bool pinned;
	double copy_threads_count;   /* threads of the host process that stage pageable copies:
					ranks of a process beyond them wait for one */
	double feed_s; /* host work of handing over each batch */
};
extern const struct param_table input_table;

struct input;
struct input_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name;
	const struct input_params *params;
	struct storage *storage; /* NULL for "host" */
	struct guest *guest;     /* which decodes */
	struct cpu *core;        /* which stages copies */
	const struct dma_params *dma;
	const struct route *to_device;
	double batch_count;
	double batch_B; /* decoded, as it is copied */
};
/* Begins to fill its queue at once. */
struct input *input_new(const struct input_spec *spec);
/* Calls fn when the next batch lies in GPU memory; it is taken then. */
void input_take(struct input *input, event_fn *fn, void *ctx, uint64_t arg);

struct input_counters {
	double read_B, copied_B, decoded_count;
	double read_busy_s, decode_busy_s, copy_busy_s; /* of each stage */
};
const struct input_counters *input_counters(const struct input *input);

#endif
