/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine as files of other tools describe it: a tree of PCI devices below sockets, and NVLinks.
 * Each reader adds what its file holds; topology.c completes it with assumptions and writes it. */
#pragma once

#include "sim/import/reading.h"

enum part_kind { PART_SOCKET, PART_BRIDGE, PART_GPU, PART_NIC };
#define NO_PART SIZE_MAX

struct machine_part {
	enum part_kind kind;
	const char *name;  /* "gpu0", for the written file */
	const char *label; /* what the file calls it: bus id or label */
	struct origin origin;
	size_t parent;
	double generation, lanes;     /* of the PCIe link to the parent; 0: unknown */
	const char *profile;          /* GPUs: file of topologies/gpus; NULL: unknown */
	const char *guess;            /* GPUs: likely profile by the number of NVLinks, or NULL */
	unsigned long device;         /* GPUs: PCI device number; 0: unknown */
	double order;                 /* GPUs and NICs: number that the file gives; -1: none */
	size_t number;                /* of its name */
	double speed_bps;             /* NICs; 0: unknown */
	size_t nets;                  /* NICs: elements <net> */
	const char *link;             /* NICs: kind of link, or "efa"; NULL: unknown */
	double cpu_count, memory_Bps; /* sockets; 0: unknown */
};

struct nvlink {
	size_t a, b;     /* parts; b can be NO_PART, which means the NVSwitches */
	const char *bus; /* of the other end, until topology.c finds it; NULL: b is known */
	double count;    /* links */
	struct origin origin;
};

struct device_name { /* of an adapter in the operating system: "mlx5_0" */
	size_t part;
	const char *name;
};

struct machine_read {
	struct reading *reading;
	VEC(struct machine_part) parts;
	VEC(struct nvlink) nvlinks;
	VEC(struct device_name) devices;
	VEC(const char *) gpu_names;        /* of nvidia-smi -L, by number */
	bool threads;                       /* cpu_count are hardware threads */
	double generation;                  /* of PCIe, the highest of its GPUs */
	const char *network, *network_path; /* group of a fabric that was read, and its file */
};

/* Adds a part with the defaults of an unknown one, and returns its index. Reports an error if there
 * are too many. */
size_t topology_part(struct machine_read *machine, enum part_kind kind, const char *label,
		     size_t parent, struct origin origin);
void topology_nvlink(struct machine_read *machine, struct nvlink link);
/* Gives an adapter its name in the operating system. Names such as rocep12s0 also say the kind of
 * an adapter of which nothing else is known. */
void topology_device(struct machine_read *machine, size_t part, const char *name);
/* Sets the sort of an adapter by its PCI class and vendor, or the profile of a GPU of NVIDIA by its
 * PCI device number, if that is known. */
void topology_pci(struct machine_part *part, unsigned long class, unsigned long vendor,
		  unsigned long device);

/* ---- the readers ---- */

void topology_read_nccl(struct machine_read *machine, const char *path, const char *text,
			size_t size_B);
void topology_read_smi(struct machine_read *machine, const char *path, const char *text);
void topology_read_hwloc(struct machine_read *machine, const char *path, const char *text,
			 size_t size_B);
void topology_read_fabric(struct machine_read *machine, const char *path, const char *text);
