/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PyTorch that does not issue the next step in advance. */
#include "sim/training/framework.h"

static const struct program *program(struct arena *arena, const struct step_spec *spec)
{
	return framework_pytorch.program(arena, spec);
}

const struct framework framework_toy = {
	.name = "toy",
	.help = "a framework of tests/toys",
	.program = program,
};
