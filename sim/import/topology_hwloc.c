/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads XML of hwloc (lstopo x.xml), formats 1 to 3, with expat: the libhwloc of Debian 12 does not
 * read format 3, and gives no lines for messages.
 *
 *   <object type="Package"> <object type="Bridge" pci_busid= pci_link_speed= (GB/s)>
 *     <object type="PCIDev" pci_type="0302 [10de:1db8] ..."> <object type="OSDev" name="nvml0">
 *   <distances2hetero name="NVLinkBandwidth"> <indexes> <u64values> (MB/s)
 *
 * Bridges without a GPU or an adapter below them are left out. Source: hwloc, topology-xml.c. */
#include "sim/cfg/xml.h"
#include "sim/import/topology.h"

enum { DEPTH_MAX = 64, ENDS_MAX = 512 };

struct level {
	size_t part;            /* NO_PART: not added, or the level is not a part */
	bool bridge;            /* may become a part */
	struct machine_part as; /* the bridge */
};

struct end { /* an object that distances can name */
	double index;
	size_t part;
	bool nvswitch;
};

struct hwloc {
	struct machine_read *machine;
	struct level levels[DEPTH_MAX + 1];
	size_t depth, socket;
	VEC(struct end) ends;
	double thread_count, core_count;
	bool links; /* inside NVLinkBandwidth */
	struct origin links_origin;
	VEC(double) indexes, values;
};

/* Reads the speed of a whole link in GB/s into generation and lanes. Those of PCIe 3 with 8 lanes
 * and of PCIe 2 with 16 differ by 1.5 %. */
static void read_speed(const char *text, struct machine_part *part)
{
	static const double lane_GBps[] = {0.25, 0.5, 0.984615, 1.969231, 3.938462, 7.876923};
	static const double order[] = {3, 4, 5, 6, 2, 1};
	double speed;
	if (!number_parse(text, &speed) || speed <= 0)
		return;
	for (double lanes = 16; lanes >= 1; lanes /= 2)
		for (size_t i = 0; i < 6; i++) {
			double wanted = lanes * lane_GBps[(size_t)order[i] - 1];
			if (fabs(speed - wanted) < 0.005 * wanted) {
				part->generation = order[i];
				part->lanes = lanes;
				return;
			}
		}
}

/* Adds the bridges above the next part, and returns its parent. */
static size_t parent_of(struct hwloc *h)
{
	size_t parent = h->socket;
	for (size_t i = 0; i < h->depth; i++) {
		struct level *level = &h->levels[i];
		if (level->bridge && level->part == NO_PART) {
			level->part = topology_part(h->machine, PART_BRIDGE, level->as.label,
						    parent, level->as.origin);
			struct machine_part *part = &h->machine->parts.items[level->part];
			part->generation = level->as.generation;
			part->lanes = level->as.lanes;
		}
		if (level->part != NO_PART)
			parent = level->part;
	}
	if (parent == NO_PART)
		parent = h->socket = topology_part(h->machine, PART_SOCKET, "no Package", NO_PART,
						   h->levels[0].as.origin);
	return parent;
}

static bool is_adapter(const char *type)
{
	return strncmp(type, "0207", 4) == 0 ||
	       (strncmp(type, "02", 2) == 0 && (strstr(type, "[15b3:") || strstr(type, "[1d0f:")));
}

static size_t take_device(struct hwloc *h, const struct xml_element *e)
{
	const char *type = xml_attribute(e, "pci_type");
	const char *nvidia = strstr(type, "[10de:");
	bool gpu = strncmp(type, "03", 2) == 0 && nvidia && strchr(type, '[') == nvidia;
	if (!gpu && !is_adapter(type))
		return NO_PART;
	size_t index = topology_part(h->machine, gpu ? PART_GPU : PART_NIC,
				     xml_attribute(e, "pci_busid"), parent_of(h), e->origin);
	struct machine_part *part = &h->machine->parts.items[index];
	read_speed(xml_attribute(e, "pci_link_speed"), part);
	const char *vendor = strchr(type, '['), *device = vendor ? strchr(vendor, ':') : NULL;
	topology_pci(part, strtoul(type, NULL, 16), vendor ? strtoul(vendor + 1, NULL, 16) : 0,
		     device ? strtoul(device + 1, NULL, 16) : 0);
	return index;
}

/* The same GPU has an object for each interface (cuda0, nvml0), and an adapter, too (mlx5_0, ib0).
 */
static size_t take_interface(struct hwloc *h, const struct xml_element *e)
{
	size_t part = h->depth ? h->levels[h->depth - 1].part : NO_PART;
	const char *name = xml_attribute(e, "name");
	bool number = strncmp(name, "nvml", 4) == 0 || strncmp(name, "cuda", 4) == 0;
	if (part != NO_PART && number && h->machine->parts.items[part].kind == PART_GPU)
		h->machine->parts.items[part].order = strtod(name + 4, NULL);
	if (part != NO_PART && h->machine->parts.items[part].kind == PART_NIC)
		topology_device(h->machine, part, name);
	return part;
}

static void take_object(struct hwloc *h, const struct xml_element *e, struct level *level)
{
	struct reading *reading = h->machine->reading;
	const char *type = xml_attribute(e, "type");
	double index;
	if (strcmp(type, "Package") == 0 || strcmp(type, "Socket") == 0) {
		level->part = h->socket =
			topology_part(h->machine, PART_SOCKET, "Package", NO_PART, e->origin);
	} else if (strcmp(type, "Bridge") == 0) {
		level->bridge = strcmp(xml_attribute(e, "bridge_type"), "1-1") == 0;
		level->as.label = arena_strdup(reading->arena, xml_attribute(e, "pci_busid"));
		read_speed(xml_attribute(e, "pci_link_speed"), &level->as);
	} else if (strcmp(type, "PCIDev") == 0) {
		level->part = take_device(h, e);
	} else if (strcmp(type, "OSDev") == 0) {
		level->part = take_interface(h, e);
	} else if (strcmp(type, "PU") == 0 || strcmp(type, "Core") == 0) {
		h->thread_count += strcmp(type, "PU") == 0;
		h->core_count += strcmp(type, "Core") == 0;
	} else {
		reading->used_count--;
		reading->skipped_count++;
	}
	bool nvswitch = strcmp(xml_attribute(e, "subtype"), "NVSwitch") == 0;
	if (number_parse(xml_attribute(e, "gp_index"), &index) &&
	    (level->part != NO_PART || nvswitch))
		*VEC_PUSH(reading->arena, &h->ends) = (struct end){index, level->part, nvswitch};
}

static void on_open(void *ctx, const struct xml_element *e)
{
	struct hwloc *h = ctx;
	struct reading *reading = h->machine->reading;
	struct level *level = &h->levels[h->depth];
	*level = (struct level){.part = NO_PART, .as = {.origin = e->origin}};
	if (strcmp(e->name, "object") == 0) {
		reading->used_count++;
		take_object(h, e, level);
	} else if (strncmp(e->name, "distances2", 10) == 0) {
		h->links = strcmp(xml_attribute(e, "name"), "NVLinkBandwidth") == 0;
		h->links_origin = e->origin;
		*(h->links ? &reading->used_count : &reading->skipped_count) += 1;
	}
	h->depth++;
}

static const struct end *end_of(const struct hwloc *h, double index)
{
	for (size_t i = 0; i < h->ends.count; i++)
		if (!(h->ends.items[i].index < index) && !(h->ends.items[i].index > index))
			return &h->ends.items[i];
	return NULL;
}

/* Adds the links of the matrix. Links of a GPU to NVSwitches are added up later. */
static void add_links(struct hwloc *h)
{
	size_t count = h->indexes.count;
	if (count > ENDS_MAX || h->values.count != count * count) {
		diag_error(
			h->machine->reading->diag, h->links_origin,
			"NVLinkBandwidth has %zu values for %zu objects, not their square (write "
			"the file again with lstopo)",
			h->values.count, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			const struct end *a = end_of(h, h->indexes.items[i]);
			const struct end *b = end_of(h, h->indexes.items[j]);
			double MBps = h->values.items[i * count + j];
			if (i == j || MBps <= 0 || !a || !b || a->part == NO_PART ||
			    h->machine->parts.items[a->part].kind != PART_GPU)
				continue;
			const char *profile = h->machine->parts.items[a->part].profile;
			double each = profile && strstr(profile, "p100") ? 20000 : 25000;
			topology_nvlink(h->machine,
					(struct nvlink){.a = a->part,
							.b = b->nvswitch ? NO_PART : b->part,
							.count = round(MBps / each),
							.origin = h->links_origin});
		}
}

static void on_close(void *ctx, const char *name, const char *text)
{
	struct hwloc *h = ctx;
	bool indexes = strcmp(name, "indexes") == 0;
	h->depth--;
	if (h->links && (indexes || strcmp(name, "u64values") == 0))
		while (*(text += strspn(text, " \t\r\n"))) {
			const char *colon = text + strcspn(text, ": \t\r\n");
			const char *number = indexes && *colon == ':' ? colon + 1 : text;
			*(indexes ? VEC_PUSH(h->machine->reading->arena, &h->indexes)
				  : VEC_PUSH(h->machine->reading->arena, &h->values)) =
				strtod(number, NULL);
			text += strcspn(text, " \t\r\n");
		}
	if (h->links && strncmp(name, "distances2", 10) == 0) {
		h->links = false;
		add_links(h);
	}
}

void topology_read_hwloc(struct machine_read *machine, const char *path, const char *text,
			 size_t size_B)
{
	struct hwloc *h = ARENA_NEW(machine->reading->arena, struct hwloc);
	h->machine = machine;
	h->socket = NO_PART;
	struct xml_reader reader = {on_open, on_close, h};
	size_t before = machine->parts.count;
	if (!xml_read(machine->reading->arena, machine->reading->diag, path, text, size_B, &reader))
		return;
	machine->threads |= h->thread_count > h->core_count;
	for (size_t i = before; i < machine->parts.count; i++)
		if (machine->parts.items[i].kind == PART_SOCKET) {
			machine->parts.items[i].cpu_count = h->thread_count;
			break;
		}
}
