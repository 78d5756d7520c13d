/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the values of a GPU's file with each other. `farwire check` reports values that no GPU
 * of that generation has: mostly typing errors, peaks with sparsity, and peaks of another data
 * type. Other verbs accept them, because a user may describe a GPU that does not exist. */
#pragma once

struct arena;
struct cfg_node;
struct diag;

/* group is the group `gpu` of the file, which was read without errors. */
void check_gpu(struct arena *arena, struct diag *diag, const struct cfg_node *group);
