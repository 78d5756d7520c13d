/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan of one GPU, and a network whose plans can be counted by hand. */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/plan.h"

/* 2 blocks of 8 features, 4 heads and an MLP of 32 features; 16 tokens; 12 words */
static inline const struct network *read_tiny(struct arena *arena)
{
	static const char tiny[] =
		"network = { name = \"tiny\"; sequence = 16; vocabulary = 12; source = \"by "
		"hand\";\n"
		"layers = (\n"
		"{ name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 2; layers = (\n"
		"  { name = \"n\"; op = \"layer_norm\"; bias = false; },\n"
		"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; },\n"
		"  { name = \"s\"; op = \"add\"; from = [\"b\", \"a\"]; },\n"
		"  { name = \"m\"; op = \"mlp\"; hidden = 32; activation = \"gelu\"; },\n"
		"  { name = \"t\"; op = \"add\"; from = [\"s\", \"m\"]; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"x\"; op = \"cross_entropy\"; } ); };\n";
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file = cfg_read_text(arena, diag, "tiny.cfg", tiny);
	return network_read(arena, diag, file, 0);
}

static const struct plan_params one_gpu = {
	.tp_count = 1,
	.cp_count = 1,
	.pp_count = 1,
	.ep_count = 1,
	.replicas_count = 1,
	.chunks_count = 1,
	.micro_batch_count = 1,
	.sequence_parallel = true,
	.schedule = "auto",
	.order = "tp-cp-dp-pp",
	.layout = "",
	.recompute_modules = "core_attn",
	.bucket_count = 1,
	.gradient_element_B = 4,
	.imbalance_ratio = 1,
	.fragmentation_ratio = 1,
};
