/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants of collectives for each generation of GPUs (`collectives.GENERATION.*`). They say how
 * far measured times are from NCCL's own model. They are fitted to nccl-tests of NCCL 2.27 inside
 * one machine (calib/profiles/collectives-GENERATION.cfg), and act between machines, too. NCCL does
 * not use them when it chooses, so they change times, but not the algorithm, protocol or number of
 * channels. Before Ampere no measurement set them, and the model's own numbers apply. */
#pragma once

#include "sim/collective/library.h"

struct collective_constants {
	double start_ll_ratio, start_ll128_ratio, start_simple_ratio;
	double hop_ll_ratio, hop_ll128_ratio, hop_simple_ratio;
	double nvlink_ratio, pci_ratio, ll_data_ratio;
	double block_ll_ratio, block_ll128_ratio, block_simple_ratio, block_copy_Bps;
	double message_s, message_simple_s;
	double nvls_start_ratio, nvls_ratio;
	double one_shot_ratio, two_shot_ratio, shot_ratio;
};
extern const struct param_table collective_table;

/* Returns the algorithm by which a model server adds such a buffer, or NULL if it leaves it to the
 * library. */
const struct algorithm *shots_find(const struct library_params *lib, const struct comm_shape *shape,
				   double size_B);
/* Sets everything that follows from one_shot or two_shot. */
void shots_settle(const struct library_params *lib, const struct comm_shape *shape,
		  struct collective_choice *choice);

/* Sets the choice among NCCL's kernels for buffers in symmetric windows (library.symmetric), and
 * applies library_reach. Returns false if they do not serve this collective of these ranks. */
bool windows_choose(struct library_params *lib, const struct comm_shape *shape,
		    enum collective collective, double size_B, struct collective_choice *choice);

/* Returns the algorithm of library.experts, which is not EXPERTS_LIBRARY. Nodes of different sizes
 * get their messages directly. */
const struct algorithm *experts_find(const struct library_params *lib,
				     const struct comm_shape *shape);
/* Sets everything that follows from it: a buffer has a row for each expert of each token. */
void experts_settle(const struct library_params *lib, const struct comm_shape *shape,
		    struct collective_choice *choice);

/* Applies the constants of the GPUs' generation to parameters that were resolved for them. */
void library_reach(struct library_params *lib, const struct comm_shape *shape);
