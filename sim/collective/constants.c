/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/constants.h"

#define MODEL "assumption: as in NCCL's model; fitted for Ampere, Ada, Hopper and Blackwell"
#define REACHED(field_, min_, max_, help_)                                                         \
	COST_REACHED(struct collective_constants, field_, QUANTITY_RATIO, min_, max_, "1", help_,  \
		     MODEL)
#define RATIO(field_, min_, max_, help_)                                                           \
	COST_GENERATION(struct collective_constants, field_, QUANTITY_RATIO, min_, max_, "1",      \
			help_, MODEL)

static const struct param_row rows[] = {
	RATIO(start_ll_ratio, 0.05, 20,
	      "time to start a collective with LL inside a machine, divided by that of NCCL's "
	      "model"),
	RATIO(start_ll128_ratio, 0.05, 20, "the same with LL128"),
	RATIO(start_simple_ratio, 0.05, 20, "the same with Simple"),
	RATIO(hop_ll_ratio, 0.05, 20,
	      "latency of a hop with LL inside a machine, divided by that of NCCL's model"),
	RATIO(hop_ll128_ratio, 0.05, 20, "the same with LL128"),
	RATIO(hop_simple_ratio, 0.05, 20, "the same with Simple"),
	REACHED(nvlink_ratio, 0.1, 1.25,
		"part of NVLink's goodput that collectives reach, divided by "
		"library.nvlink_efficiency"),
	REACHED(pci_ratio, 0.1, 1.25,
		"part of PCIe's goodput that collectives reach, divided by library.pci_efficiency"),
	REACHED(ll_data_ratio, 0.2, 4,
		"part of the links' goodput that LL reaches, divided by that of NCCL's model"),
	REACHED(block_ll_ratio, 0.01, 10,
		"bandwidth of a channel's thread block with LL, divided by that of NCCL's model"),
	REACHED(block_ll128_ratio, 0.01, 10, "the same with LL128"),
	REACHED(block_simple_ratio, 0.01, 10, "the same with Simple"),
	COST_GENERATION(struct collective_constants, block_copy_Bps, QUANTITY_RATE, 0, 1e13,
			"0 GB/s",
			"bandwidth at which a thread block stores the last piece of its data while "
			"it sends nothing; 0 means no copy",
			MODEL "; 0 is exact, because a bandwidth near 0 would stop a collective"),
	COST_UNSEEN(0.3e-6, struct collective_constants, message_s, QUANTITY_TIME, 0, 1e-3, "0 us",
		    "extra time of an all-to-all for each peer",
		    MODEL "; draws go up to 0.6 us (95 %), the largest fitted value"),
	COST_UNSEEN(5e-6, struct collective_constants, message_simple_s, QUANTITY_TIME, 0, 1e-3,
		    "0 us", "extra time of an all-to-all with Simple",
		    MODEL "; draws go up to 10 us (95 %), the largest fitted value"),
	RATIO(nvls_start_ratio, 0.05, 20,
	      "time to start a collective with NVLink SHARP, divided by library.nvls_start"),
	REACHED(nvls_ratio, 0.1, 1.4,
		"part of NVLink's goodput that NVLink SHARP reaches, divided by "
		"library.nvls_efficiency"),
	RATIO(one_shot_ratio, 0.05, 20,
	      "time of one_shot without its bytes, divided by library.one_shot"),
	RATIO(two_shot_ratio, 0.05, 20, "the same of two_shot"),
	REACHED(shot_ratio, 0.05, 20,
		"bandwidth of the kernel of one_shot and two_shot, divided by library.shot"),
};
const struct param_table collective_table =
	PARAM_TABLE("collectives", struct collective_constants, rows);

void library_reach(struct library_params *lib, const struct comm_shape *shape)
{
	const struct collective_constants *k = lib->constants[shape->generation];
	if (!k)
		return;
	const double start_ratios[] = {k->start_ll_ratio, k->start_ll128_ratio,
				       k->start_simple_ratio};
	const double hop_ratios[] = {k->hop_ll_ratio, k->hop_ll128_ratio, k->hop_simple_ratio};
	struct nccl_latencies *table = &lib->latencies;
	for (size_t p = 0; p < PROTOCOL_COUNT; p++)
		for (size_t tree = 0; tree < 2; tree++) {
			table->base_s[tree][p] *= start_ratios[p];
			table->hop_s[tree][HOP_NVLINK][p] *= hop_ratios[p];
			table->hop_s[tree][HOP_PCI][p] *= hop_ratios[p];
		}
	lib->nvlink_efficiency_ratio *= k->nvlink_ratio;
	lib->pci_efficiency_ratio *= k->pci_ratio;
	lib->ll_ratio *= k->ll_data_ratio;
	lib->block_ll_ratio *= k->block_ll_ratio;
	lib->block_ll128_ratio *= k->block_ll128_ratio;
	lib->block_simple_ratio *= k->block_simple_ratio;
	if (lib->block_copy_Bps <= 0)
		lib->block_copy_Bps = k->block_copy_Bps;
	lib->message_s += k->message_s;
	lib->message_simple_s += k->message_simple_s;
	lib->one_shot_s *= k->one_shot_ratio;
	lib->two_shot_s *= k->two_shot_ratio;
	lib->shot_Bps *= k->shot_ratio;
	if (shape->node_count == 1) { /* trees of NVLink SHARP are another kernel */
		lib->nvls_start_s *= k->nvls_start_ratio;
		lib->nvls_efficiency_ratio *= k->nvls_ratio;
	}
}
