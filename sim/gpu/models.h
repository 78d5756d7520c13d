/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPUs that have a file in topologies/gpus/, by the name that the driver gives them and by
 * their PCI device number. All importers and fits use this one table (gpu_models.def). A name has
 * to be the whole name of a GPU: "RTX 4090 Laptop GPU" and "RTX 4090 D" are other GPUs than "RTX
 * 4090". */
#pragma once

struct arena;

struct gpu_model {
	const char *name, *profile;
	double pcie_generation, pcie_lanes;
	double nvlink_generation; /* 0: the GPU has no NVLinks */
	unsigned long device;
};

/* Each function returns NULL if the table has no such GPU. Upper and lower case are equal. A name
 * is that of the driver or of a profile. */
const struct gpu_model *gpu_model_by_name(const char *name);
const struct gpu_model *gpu_model_by_device(unsigned long device);
const struct gpu_model *gpu_model_by_profile(const char *profile);

/* Returns the profile of the GPU whose name is nearest to this one. */
const char *gpu_model_nearest(const char *name);
/* Returns why a name is not that of a GPU in the table, and the nearest one that is: "a laptop GPU
 * has a lower clock; the nearest profile is rtx-4090". */
const char *gpu_model_refusal(struct arena *arena, const char *name);
