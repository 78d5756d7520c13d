/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a case is from the measurements that set parameters (docs/models/intervals.md).
 *
 * Evidence describes a case by properties that its measurements would depend on: topology, GPU,
 * network, library, stack, network and number type. Fits write the evidence of their rows into
 * profiles (`fitted_on`), and that of all fits into the profile MODEL_ERROR. The distance of a case
 * follows from a comparison with them. Names of cases, datasets and profiles have no influence; the
 * name of a system only says which rows to leave out.
 *
 * A prediction has up to two parts with distances of their own: the time of one GPU, and what
 * several GPUs, a collective or forwarding add to it. */
#pragma once

#include "sim/scenario/scenario.h"

enum evidence_word {
	EVIDENCE_KIND,       /* "training": the case_kind */
	EVIDENCE_TOPOLOGY,   /* name of the topology's file */
	EVIDENCE_GPU,        /* "v100-sxm2" */
	EVIDENCE_GENERATION, /* "volta" */
	EVIDENCE_LINKS,      /* kinds of links between the ranks' machines, or inside one */
	EVIDENCE_LIBRARY,    /* name of the exchange or runtime, "horovod-0.19" */
	EVIDENCE_FAMILY,     /* its first part, "horovod" */
	EVIDENCE_STACK,      /* "tf-1.14-fp16" */
	EVIDENCE_FRAMEWORK,  /* its first part, "tf" */
	EVIDENCE_NUMBERS,    /* number type of products, "fp16" */
	EVIDENCE_MODEL,      /* the neural network */
	EVIDENCE_SYSTEM,     /* table of measurements and GPU, "c4140_v100 v100-sxm2" */
	EVIDENCE_WORD_COUNT,
};
/* Words without a meaning for the kind of case are "". */
struct evidence {
	const char *words[EVIDENCE_WORD_COUNT];
};
const char *evidence_key(enum evidence_word word); /* key in profiles, "generation" */

struct evidence evidence_of(struct arena *arena, const struct scenario *scenario);
/* A prediction may leave out a system (case_request.without): parameters that were fitted to its
 * rows, and their evidence. With EVIDENCE_BEYOND behind the name, those fitted only to rows of one
 * local GPU stay. */
#define EVIDENCE_BEYOND ", beyond one GPU"
/* Returns true if the name of a system, of rows of one GPU or beyond, is left out. */
bool evidence_is_left_out(const char *without, const char *system);
/* Reads the list `node` of a profile, which may be NULL. */
size_t evidence_read(struct arena *arena, const struct cfg_node *node, const char *without,
		     const struct evidence **list);
/* Copies the evidence on other GPU generations than that of `own`; returns its count. */
size_t evidence_of_other_generations(struct arena *arena, const struct evidence *own,
				     const struct evidence *list, size_t count,
				     const struct evidence **others);
bool evidence_is_equal(const struct evidence *a, const struct evidence *b);

/* Returns the distance of a part of a case. `used` is the evidence of the profiles that the case
 * uses, `all` that of all fits. */
enum distance evidence_distance(const struct evidence *evidence, enum case_part part,
				const struct evidence *used, size_t used_count,
				const struct evidence *all, size_t all_count);
