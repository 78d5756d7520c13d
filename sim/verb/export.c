/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire export: writes a machine for other tools. */
#include <stdio.h>

#include "sim/base/diag.h"
#include "sim/import/topology.h"
#include "sim/verb/verbs.h"

struct exported {
	const struct command *command;
	const struct scenario *scenario;
};

static void write_machine(FILE *out, const void *ctx)
{
	const struct exported *exported = ctx;
	topology_write_nccl(out, exported->command->arena, exported->scenario);
}

static int run(const struct command *command)
{
	struct diag *diag = diag_new(command->arena);
	struct case_request request = command_case(command, 0);
	const struct exported exported = {command, case_read(command->arena, diag, &request)};
	return exported.scenario ? command_write(command, write_machine, &exported, NULL)
				 : command_failed(diag, NULL);
}

const struct verb verb_export = {
	.name = "export",
	.words = "CASE",
	.help = "writes the first machine of a case as a topology file of NCCL (NCCL_TOPO_FILE)",
	.examples = "  farwire export --topology dgx-h100 --gpus 16 -o dgx-h100.xml\n",
	.options = "set plan serve output quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
