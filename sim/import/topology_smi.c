/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads `nvidia-smi topo -m`, and the lines of `nvidia-smi -L` beside it.
 *
 *           GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity
 *     GPU0   X    NV12  PIX   0-55,112-167  0
 *     NIC0  PIX   SYS    X
 *   GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)
 *
 * PIX and PXB mean a common PCIe switch, PHB and NODE a common socket, SYS (SOC in old versions)
 * the link between sockets. NV# counts NVLinks. If the links to all other GPUs are more than a GPU
 * has, they go through NVSwitches, and # is the number of all links of a GPU. */
#include "sim/import/topology.h"

enum { DEVICES_MAX = 64, WORDS_MAX = 128, LINKS_MAX = 18 };

struct matrix {
	struct machine_read *machine;
	struct reading *reading;
	const char *names[DEVICES_MAX], *affinity[DEVICES_MAX];
	const char *devices[DEVICES_MAX]; /* of adapters, from the legend; NULL: not in it */
	const char *cells[DEVICES_MAX][DEVICES_MAX];
	int lines[DEVICES_MAX]; /* 0: the row is missing */
	size_t count, parts[DEVICES_MAX];
	struct origin origin; /* of the header, then of the current line */
	double last_gpu;      /* of the lines of nvidia-smi -L */
};

#define refuse(m, line, ...)                                                                       \
	diag_error((m)->reading->diag, (struct origin){(m)->origin.file, line}, __VA_ARGS__)

/* Copies a line without its escapes for underlined text, and divides it at blanks. */
static size_t words_of(struct matrix *m, const char *line, const char **words)
{
	char *copy = arena_strdup(m->reading->arena, line), *to = copy;
	for (const char *from = copy; *from; from++)
		if (*from == 0x1b && from[1] == '[')
			from += strcspn(from, "m") - (from[strcspn(from, "m")] == '\0');
		else
			*to++ = *from;
	*to = '\0';
	return lines_words(copy, " \t\r", words, WORDS_MAX);
}

static bool is_gpu(const char *name)
{
	return strncmp(name, "GPU", 3) == 0 && isdigit((unsigned char)name[3]);
}

/* Takes the names of the columns, up to "CPU Affinity". */
static void take_header(struct matrix *m, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count && strcmp(words[i], "CPU") != 0; i++) {
		if (m->count == DEVICES_MAX) {
			refuse(m, m->origin.line, "there are more than 64 devices (remove some)");
			return;
		}
		m->names[m->count++] = words[i];
	}
	m->reading->used_count++;
}

static double links_of(const char *cell)
{
	double count = strncmp(cell, "NV", 2) == 0 ? strtod(cell + 2, NULL) : 0;
	return count < 1000 ? count : 0;
}

static bool is_path(const char *cell)
{
	static const char *const codes[] = {"X", "SYS", "SOC", "NODE", "PHB", "PXB", "PIX", NULL};
	for (size_t i = 0; codes[i]; i++)
		if (strcmp(codes[i], cell) == 0)
			return true;
	return links_of(cell) > 0;
}

static void take_row(struct matrix *m, size_t row, const char *const *words, size_t count)
{
	if (count < m->count + 1) {
		refuse(m, m->origin.line,
		       "this row has fewer cells than the header (import the unchanged output of "
		       "nvidia-smi topo -m)");
		return;
	}
	for (size_t i = 0; i < m->count; i++) {
		if (!is_path(words[1 + i])) {
			refuse(m, m->origin.line,
			       "'%s' is not a kind of path such as PIX or NV4 (import "
			       "the output of nvidia-smi topo -m, not of -p2p)",
			       reading_quote(m->reading, words[1 + i]));
			return;
		}
		m->cells[row][i] = words[1 + i];
	}
	m->affinity[row] = count > m->count + 1 ? words[m->count + 1] : "";
	m->lines[row] = m->origin.line;
	m->reading->used_count++;
}

static void name_gpu(struct matrix *m, double number, const char *name)
{
	struct machine_read *machine = m->machine;
	while (number >= 0 && number < DEVICES_MAX && (double)machine->gpu_names.count <= number)
		*VEC_PUSH(m->reading->arena, &machine->gpu_names) = NULL;
	if (number >= 0 && number < DEVICES_MAX)
		machine->gpu_names.items[(size_t)number] = name;
	m->last_gpu = number;
	m->reading->used_count++;
}

/* Takes "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)", or a name in its place. */
static bool take_name(struct matrix *m, const char *line)
{
	char *copy = arena_strdup(m->reading->arena, line), *after;
	if (strncmp(copy, "GPU ", 4) != 0)
		return false;
	double number = strtod(copy + 4, &after);
	if (after == copy + 4 || *after != ':')
		return false;
	after += 1 + strspn(after + 1, " \t");
	char *end = strstr(after, " (UUID");
	if (!end)
		end = after + strlen(after);
	while (end > after && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	if (!*after)
		return false;
	name_gpu(m, number, after);
	return true;
}

/* Takes "  MIG 1g.10gb     Device  0: (UUID: MIG-...)" below the line of a GPU. */
static bool take_slice(struct matrix *m, const char *const *words, size_t count)
{
	double gpu = m->last_gpu;
	if (count < 3 || strcmp(words[0], "MIG") != 0 || strcmp(words[2], "Device") != 0 ||
	    !(gpu >= 0 && gpu < (double)m->machine->gpu_names.count))
		return false;
	const char *name = m->machine->gpu_names.items[(size_t)gpu];
	if (!strstr(name, " MIG "))
		name_gpu(m, gpu, arena_printf(m->reading->arena, "%s MIG %s", name, words[1]));
	return true;
}

/* Takes "NIC0: mlx5_0" of the legend. */
static bool take_device(struct matrix *m, const char *const *words, size_t count)
{
	for (size_t i = 0; count == 2 && i < m->count; i++) {
		size_t length = strlen(m->names[i]);
		if (is_gpu(m->names[i]) || strncmp(words[0], m->names[i], length) != 0 ||
		    strcmp(words[0] + length, ":") != 0)
			continue;
		m->devices[i] = words[1];
		m->reading->used_count++;
		return true;
	}
	return false;
}

static void take_line(struct matrix *m, const char *line)
{
	const char *words[WORDS_MAX];
	size_t count, row = 0;
	if (take_name(m, line) || (count = words_of(m, line, words)) == 0)
		return;
	if (m->count == 0 && is_gpu(words[0]) &&
	    (count == 1 || is_gpu(words[1]) || !is_path(words[1]))) {
		if (count > 1 && isdigit((unsigned char)words[1][0]))
			refuse(m, m->origin.line,
			       "this table has affinities but no paths between GPUs (import the "
			       "unchanged output of nvidia-smi topo -m)");
		else
			take_header(m, words, count);
		return;
	}
	if (take_slice(m, words, count) || take_device(m, words, count))
		return;
	while (row < m->count && strcmp(m->names[row], words[0]) != 0)
		row++;
	if (row < m->count && m->lines[row] == 0)
		take_row(m, row, words, count);
	else
		m->reading->skipped_count++; /* the legend */
}

static void check(struct matrix *m)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->lines[i] == 0) {
			refuse(m, m->origin.line,
			       "the row of %s is missing (import the unchanged output)",
			       reading_quote(m->reading, m->names[i]));
			return;
		}
		for (size_t j = 0; j < i; j++)
			if (strcmp(m->cells[i][j], m->cells[j][i]) != 0) {
				refuse(m, m->lines[i],
				       "the path to %s is %s, but %s in line %d (import "
				       "the unchanged output)",
				       reading_quote(m->reading, m->names[j]), m->cells[i][j],
				       m->cells[j][i], m->lines[j]);
				return;
			}
	}
}

/* ---- parts ---- */

static bool on_one_switch(const char *cell)
{
	return strcmp(cell, "PIX") == 0 || strcmp(cell, "PXB") == 0;
}

static bool on_one_socket(const struct matrix *m, size_t i, size_t j)
{
	const char *cell = m->cells[i][j];
	if (is_gpu(m->names[i]) && is_gpu(m->names[j]) && m->affinity[i][0])
		return strcmp(m->affinity[i], m->affinity[j]) == 0;
	return on_one_switch(cell) || strcmp(cell, "PHB") == 0 || strcmp(cell, "NODE") == 0;
}

static void join_groups(const struct matrix *m, size_t *first, size_t from, size_t to)
{
	for (size_t k = 0; k < m->count; k++)
		if (first[k] == from || first[k] == to)
			first[k] = from < to ? from : to;
}

/* Returns for each device the first device of its group; `same` joins two devices. */
static void join(const struct matrix *m, bool switches, size_t *first)
{
	for (size_t i = 0; i < m->count; i++)
		first[i] = i;
	for (size_t i = 0; i < m->count; i++)
		for (size_t j = 0; j < i; j++)
			if (switches ? on_one_switch(m->cells[i][j]) : on_one_socket(m, i, j))
				join_groups(m, first, first[i], first[j]);
}

/* Returns the first device of the group's GPUs; SIZE_MAX: the group has none. */
static size_t gpu_of(const struct matrix *m, const size_t *first, size_t group)
{
	for (size_t i = 0; i < m->count; i++)
		if (first[i] == group && is_gpu(m->names[i]))
			return i;
	return SIZE_MAX;
}

/* The matrix states the affinity of GPUs only. Adapters that are far from all GPUs (SYS) make a
 * second socket if all GPUs are on one. Otherwise their socket is unknown, and they join the first,
 * because each further one would be a socket of which no GPU or adapter says anything. */
static void place_far_adapters(const struct matrix *m, size_t *first)
{
	size_t own = SIZE_MAX, sockets = 0;
	for (size_t i = 0; i < m->count; i++)
		sockets += is_gpu(m->names[i]) && gpu_of(m, first, first[i]) == i;
	for (size_t i = 0; i < m->count; i++) {
		if (is_gpu(m->names[i]) || gpu_of(m, first, first[i]) != SIZE_MAX)
			continue;
		if (own == SIZE_MAX)
			own = sockets > 1 ? first[0] : first[i]; /* the first device is a GPU */
		if (sockets > 1)
			reading_note(m->reading,
				     "%s is assumed at the socket of %s, because no cell says at "
				     "which socket it is",
				     reading_quote(m->reading, m->names[i]),
				     reading_quote(m->reading, m->names[own]));
		join_groups(m, first, first[i], own);
	}
}

/* Counts the processors of "0-55,112-167". Two ranges are the threads of the same cores. */
static double cpus_of(struct machine_read *machine, const char *ranges)
{
	double count = 0;
	FW_ASSERT(ranges);
	machine->threads |= strchr(ranges, ',') != NULL;
	while (isdigit((unsigned char)*ranges)) {
		char *end;
		double low = strtod(ranges, &end), high = low;
		if (*end == '-')
			high = strtod(end + 1, &end);
		count += high >= low && high < 1e6 ? high - low + 1 : 0;
		ranges = end + (*end == ',');
	}
	return count;
}

static size_t socket_of(struct matrix *m, size_t device, const size_t *sockets,
			size_t *socket_parts)
{
	size_t first = sockets[device];
	struct origin origin = {m->origin.file, m->lines[first]};
	if (socket_parts[first] != NO_PART)
		return socket_parts[first];
	size_t index = topology_part(m->machine, PART_SOCKET, m->affinity[first], NO_PART, origin);
	m->machine->parts.items[index].cpu_count = cpus_of(m->machine, m->affinity[first]);
	return socket_parts[first] = index;
}

static void add_devices(struct matrix *m)
{
	size_t sockets[DEVICES_MAX], switches[DEVICES_MAX], sizes[DEVICES_MAX] = {0};
	size_t socket_parts[DEVICES_MAX], switch_parts[DEVICES_MAX];
	join(m, false, sockets);
	place_far_adapters(m, sockets);
	join(m, true, switches);
	for (size_t i = 0; i < m->count; i++) {
		socket_parts[i] = switch_parts[i] = NO_PART;
		sizes[switches[i]]++;
	}
	for (size_t i = 0; i < m->count; i++) {
		size_t first = switches[i], parent = socket_of(m, i, sockets, socket_parts);
		struct origin origin = {m->origin.file, m->lines[i]};
		if (sizes[first] > 1 && switch_parts[first] == NO_PART)
			switch_parts[first] = topology_part(m->machine, PART_BRIDGE, "PIX or PXB",
							    parent, origin);
		if (sizes[first] > 1)
			parent = switch_parts[first];
		m->parts[i] = topology_part(m->machine, is_gpu(m->names[i]) ? PART_GPU : PART_NIC,
					    m->names[i], parent, origin);
		struct machine_part *part = &m->machine->parts.items[m->parts[i]];
		bool numbered = is_gpu(m->names[i]) || strncmp(m->names[i], "NIC", 3) == 0;
		if (numbered)
			part->order = strtod(m->names[i] + 3, NULL);
		if (part->kind == PART_NIC && (m->devices[i] || !numbered))
			topology_device(m->machine, m->parts[i],
					m->devices[i] ? m->devices[i] : m->names[i]);
	}
}

/* Adds the devices of the matrix, or finds its GPUs among those of another file. */
static bool find_devices(struct matrix *m)
{
	size_t here = 0, there = 0, found = 0;
	for (size_t i = 0; i < m->count; i++)
		m->parts[i] = NO_PART, here += is_gpu(m->names[i]);
	for (size_t i = 0; i < m->machine->parts.count; i++) {
		const struct machine_part *part = &m->machine->parts.items[i];
		double number = part->order >= 0 ? part->order : (double)there;
		if (part->kind != PART_GPU)
			continue;
		there++;
		for (size_t j = 0; j < m->count; j++)
			if (is_gpu(m->names[j]) &&
			    fabs(strtod(m->names[j] + 3, NULL) - number) < 0.5)
				m->parts[j] = i;
	}
	for (size_t i = 0; i < m->count; i++)
		found += is_gpu(m->names[i]) && m->parts[i] != NO_PART;
	if (there == 0)
		add_devices(m);
	else if (here != there || found != there)
		refuse(m, m->lines[0],
		       "the matrix has %zu GPUs, but another file has %zu (name files "
		       "of one machine)",
		       here, there);
	return there == 0 || (here == there && found == there);
}

/* Returns the greatest number of NVLinks in the cells of one GPU; *most is that of one cell. */
static double links_most(const struct matrix *m, double *most)
{
	double all = 0;
	*most = 0;
	for (size_t i = 0; i < m->count; i++) {
		double sum = 0;
		for (size_t j = 0; j < m->count; j++) {
			sum += links_of(m->cells[i][j]);
			if (links_of(m->cells[i][j]) > *most)
				*most = links_of(m->cells[i][j]);
		}
		all = sum > all ? sum : all;
	}
	return all;
}

static void add_nvlinks(struct matrix *m)
{
	double most, all = links_most(m, &most);
	bool switched = all > LINKS_MAX;
	const char *profile = most > 12             ? "h100-sxm5"
			      : switched || all > 6 ? "a100-sxm4-80"
			      : all > 4             ? "v100-sxm2"
			      : all > 0             ? "p100-sxm2"
						    : NULL;
	for (size_t i = 0; i < m->count; i++) {
		struct origin origin = {m->origin.file, m->lines[i]};
		if (!is_gpu(m->names[i]))
			continue;
		struct machine_part *part = &m->machine->parts.items[m->parts[i]];
		part->guess = profile;
		if (switched)
			topology_nvlink(m->machine, (struct nvlink){.a = m->parts[i],
								    .b = NO_PART,
								    .count = most,
								    .origin = origin});
		for (size_t j = 0; j < i && !switched; j++)
			if (links_of(m->cells[i][j]) > 0)
				topology_nvlink(m->machine,
						(struct nvlink){.a = m->parts[j],
								.b = m->parts[i],
								.count = links_of(m->cells[i][j]),
								.origin = origin});
	}
}

void topology_read_smi(struct machine_read *machine, const char *path, const char *text)
{
	struct matrix *m = ARENA_NEW(machine->reading->arena, struct matrix);
	*m = (struct matrix){.machine = machine,
			     .reading = machine->reading,
			     .origin = {path, 0},
			     .last_gpu = -1};
	size_t names = machine->gpu_names.count;
	struct lines *lines = reading_lines(m->reading, path, text);
	const char *line;
	while (diag_count(m->reading->diag) == 0 && (line = lines_next(lines))) {
		m->origin = lines->origin;
		take_line(m, line);
	}
	if (diag_count(m->reading->diag))
		return;
	if (m->count == 0 && machine->gpu_names.count == names)
		refuse(m, 0,
		       "no matrix of nvidia-smi topo -m, and no other known topology was found "
		       "(name an unchanged output)");
	check(m);
	if (m->count == 0 || diag_count(m->reading->diag))
		return;
	if (!find_devices(m))
		return;
	if (machine->nvlinks.count > 0)
		reading_note(m->reading,
			     "the NVLinks of %s were skipped, because another file has "
			     "NVLinks",
			     reading_quote(m->reading, path));
	else
		add_nvlinks(m);
}
