/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire list: lists the shipped files and the built-in kinds, one per line. */
#include "sim/import/importer.h"
#include "sim/base/lines.h"
#include "sim/base/table.h"
#include "sim/cfg/cfg.h"
#include "sim/gpu/gpu.h"
#include "sim/scenario/wiring.h"
#include "sim/training/plan.h"
#include "sim/verb/verbs.h"

/* Facts about a shipped GPU, machine, network or topology, computed from its file: the group under
 * which `farwire list` shows it, and one line of numbers. */

struct facts {
	const char *group;  /* "" if the file has none */
	double group_order; /* smaller values come first */
	double order;       /* order within a group; smaller values come first */
	const char *text;   /* "" if nothing is computed */
	bool beside_help; /* the file's own description has more information and is shown before the
			     facts */
};

/* Returns group.key as text, also of a group { value = ...; }; NULL if it is missing. */
static const char *value_of(struct arena *arena, const struct cfg_node *group, const char *key)
{
	const struct cfg_node *node = cfg_child(group, key);
	if (node && cfg_is_group(node))
		node = cfg_child(node, "value");
	return node ? cfg_scalar_text(arena, node) : NULL;
}

/* Appends an item to a list with commas. */
static const char *with(struct arena *arena, const char *list, const char *item)
{
	return *list ? arena_printf(arena, "%s, %s", list, item) : item;
}

/* Appends `before` value `after`, if the key has a value. */
static const char *with_value(struct arena *arena, const char *list, const struct cfg_node *group,
			      const char *key, const char *before, const char *after)
{
	const char *value = value_of(arena, group, key);
	return value ? with(arena, list, arena_printf(arena, "%s%s%s", before, value, after))
		     : list;
}

/* ---- GPUs ---- */

/* Generations are in the order of their age. */
static double generation_order(const char *generation)
{
	int i = 0;
	while (i < GENERATION_COUNT &&
	       strcmp(gpu_generation_name((enum gpu_generation)i), generation) != 0)
		i++;
	return i;
}

static struct facts facts_of_gpu(struct arena *arena, const struct cfg_node *gpu)
{
	static const char *const peaks[] = {"fp32", "tf32", "fp16", "fp8"};
	const char *generation = value_of(arena, gpu, "generation");
	const char *text = with_value(arena, "", gpu, "multiprocessors", "", " SMs");
	text = with_value(arena, text, gpu, "boost_clock", "", "");
	for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++)
		text = with_value(arena, text, gpu, peaks[i], arena_printf(arena, "%s ", peaks[i]),
				  "");
	text = with_value(arena, text, gpu, "memory", "", "");
	const char *bandwidth = value_of(arena, gpu, "memory_bandwidth");
	if (bandwidth)
		text = arena_printf(arena, "%s at %s", text, bandwidth);
	return (struct facts){.group = generation ? generation : "",
			      .group_order = generation ? generation_order(generation) : 0,
			      .text = text};
}

/* ---- machines ---- */

/* Counts GPUs by profile, in the order of their first use: "8 x v100-sxm2". */
static const char *gpus_of(struct arena *arena, const struct cfg_node *node)
{
	const struct cfg_node *gpus = cfg_child(node, "gpus");
	const char *text = "";
	size_t count = gpus ? cfg_count(gpus) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *profile = value_of(arena, cfg_at(gpus, i), "profile");
		size_t equal = 0, earlier = 0;
		for (size_t j = 0; j < count && profile; j++) {
			const char *other = value_of(arena, cfg_at(gpus, j), "profile");
			bool same = other && strcmp(profile, other) == 0;
			equal += same;
			earlier += same && j < i;
		}
		if (equal && !earlier)
			text = with(arena, text, arena_printf(arena, "%zu x %s", equal, profile));
	}
	return text;
}

/* Sums NVLinks of the first GPU, and finds the PCIe generation of its slot. */
static const char *links_of_gpu(struct arena *arena, const struct cfg_node *machine)
{
	const struct cfg_node *gpus = cfg_child(machine, "gpus");
	const struct cfg_node *links = cfg_child(machine, "links");
	const char *gpu =
		gpus && cfg_count(gpus) ? cfg_text(cfg_child(cfg_at(gpus, 0), "name")) : NULL;
	const char *text = "", *generation = "", *own = NULL;
	double nvlinks = 0;
	for (size_t i = 0; gpu && links && i < cfg_count(links); i++) {
		const struct cfg_node *link = cfg_at(links, i);
		const struct cfg_node *ends = cfg_child(link, "ends");
		const char *kind = value_of(arena, link, "kind"), *to = NULL;
		for (size_t e = 0; ends && e < 2 && e < cfg_count(ends); e++) {
			const char *end = cfg_text(cfg_at(ends, e));
			to = end && strcmp(end, gpu) == 0 ? end : to;
		}
		if (!to || !kind)
			continue;
		const char *count = value_of(arena, link, "links");
		if (count) { /* a bundle of links, NVLink */
			nvlinks += atof(count);
			generation = value_of(arena, link, "generation");
			own = value_of(arena, link, "bandwidth");
		} else if (value_of(arena, link, "lanes")) {
			text = arena_printf(arena, "%s %s x%s", kind,
					    value_of(arena, link, "generation"),
					    value_of(arena, link, "lanes"));
		} else {
			text = with_value(arena, "", link, "bandwidth", "processor link of ", "");
		}
	}
	if (nvlinks > 0)
		text = with(arena,
			    arena_printf(arena,
					 own ? "%.0f links of %s" : "%.0f NVLinks of generation %s",
					 nvlinks,
					 own          ? own
					 : generation ? generation
						      : "?"),
			    text);
	return text;
}

static size_t ports_of(const struct cfg_node *machine)
{
	const struct cfg_node *ports = cfg_child(machine, "ports");
	return ports ? cfg_count(ports) : 0;
}

static struct facts facts_of_machine(struct arena *arena, const struct cfg_node *machine)
{
	const char *vendor = value_of(arena, machine, "vendor");
	const char *links = links_of_gpu(arena, machine);
	const char *text = gpus_of(arena, machine);
	if (*links)
		text = with(arena, text, links);
	text = with_value(arena, text, cfg_child(machine, "host"), "cores", "", " cores");
	text = with(arena, text,
		    arena_printf(arena, "%zu network port%s", ports_of(machine),
				 ports_of(machine) == 1 ? "" : "s"));
	return (struct facts){.group = vendor ? vendor : "", .text = text};
}

/* ---- networks ---- */

static struct facts facts_of_network(struct arena *arena, const struct cfg_node *wiring)
{
	static const struct {
		const char *key, *before, *after;
	} settings[] = {{"ports_per_leaf", "", " ports a leaf"},
			{"oversubscription", "", ":1 oversubscribed"},
			{"groups", "", " groups"},
			{"routers_per_group", "", " routers a group"},
			{"machines_per_router", "", " machines a router"},
			{"x", "x ", ""},
			{"y", "y ", ""},
			{"z", "z ", ""}};
	const struct cfg_node *link = cfg_child(wiring, "link");
	const char *kind = value_of(arena, link, "kind");
	const char *bandwidth = value_of(arena, link, "bandwidth");
	const char *text = with_value(arena, "", link, "bandwidth", "", " a port");
	text = with_value(arena, text, wiring, "kind", "", "");
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		text = with_value(arena, text, wiring, settings[i].key, settings[i].before,
				  settings[i].after);
	text = with_value(arena, text, link, "latency", "latency ", "");
	return (struct facts){
		.group = kind ? kind : "", .order = bandwidth ? atof(bandwidth) : 0, .text = text};
}

/* ---- topologies ---- */

static const struct cfg_node *shipped(struct arena *arena, const char *root, const char *folder,
				      const char *name, const char *group)
{
	const char *path = arena_printf(arena, "%s/topologies/%s/%s.cfg", root, folder, name);
	return cfg_child(cfg_read(arena, diag_new(arena), path), group);
}

static struct facts facts_of_topology(struct arena *arena, const char *root,
				      const struct cfg_node *topology)
{
	const struct cfg_node *cluster = cfg_child(topology, "cluster");
	const struct cfg_node *hosts = cfg_child(topology, "hosts");
	size_t host_count = hosts ? cfg_count(hosts) : 0;
	const char *machine_name = value_of(arena, cluster, "machine");
	const char *network_name = value_of(arena, cluster, "network");
	if (!machine_name || !network_name)
		return (struct facts){.group = "listed hosts",
				      .text = arena_printf(arena, "%zu host%s, %s", host_count,
							   host_count == 1 ? "" : "s",
							   gpus_of(arena, topology)),
				      .beside_help = true};
	const struct cfg_node *machine = shipped(arena, root, "machines", machine_name, "machine");
	const struct cfg_node *wiring = shipped(arena, root, "networks", network_name, "wiring");
	struct facts facts = facts_of_machine(arena, machine);
	const struct facts network = facts_of_network(arena, wiring);
	facts.text = arena_printf(arena, "%s a machine; %zu x %s %s", gpus_of(arena, machine),
				  ports_of(machine), network.group, network.text);
	return facts;
}

/* Computes facts from the file's group of that name: "gpu", "machine", "wiring" or "topology".
 * node may be NULL. Files of other groups have no facts. */
static struct facts facts_of(struct arena *arena, const char *root, const char *name,
			     const struct cfg_node *node)
{
	struct facts none = {.group = "", .text = ""};
	if (!node && strcmp(name, "machine") == 0)
		none.group = "settings to include";
	if (!node)
		return none;
	if (strcmp(name, "gpu") == 0)
		return facts_of_gpu(arena, node);
	if (strcmp(name, "machine") == 0)
		return facts_of_machine(arena, node);
	if (strcmp(name, "wiring") == 0)
		return facts_of_network(arena, node);
	if (strcmp(name, "topology") == 0)
		return facts_of_topology(arena, root, node);
	return none;
}

enum { LINE_WIDTH = 100 };

const struct folder shipped_folders[FOLDER_COUNT] = {
	{"topologies", "topologies", "topology"},
	{"machines", "topologies/machines", "machine"},
	{"networks", "topologies/networks", "wiring"},
	{"gpus", "topologies/gpus", "gpu"},
	{"models", "models/networks", "network"},
	{"stacks", "models/stacks", "stack"},
	{"engines", "models/engines", "engine"},
	{"programs", "models/programs", "program"},
	{"runtimes", "models/runtimes", "runtime"},
	{"profiles", "calib/profiles", "parameters"},
	{"datasets", "calib/measured", "dataset"},
	{"fits", "calib/fits", "fit"},
	{"cases", "topologies/cases", "case"},
	{"what-ifs", "topologies/what-ifs", "dataset"},
	{"exchanges", "models/exchanges", "exchange"},
	{"storages", "models/storages", "storage"},
	{"prices", "models/prices", "parameters"},
};

static const struct registry *const registries[] = {
	&link_kind_registry,
	&wiring_kind_registry,
	&transport_kind_registry,
	&policy_registry,
	&framework_registry,
	&algorithm_registry,
	&collective_kind_registry,
	&exchange_policy_registry,
	&pipeline_schedule_registry,
	&importer_registry,
	&verb_registry,
};

enum { REGISTRY_COUNT = sizeof registries / sizeof registries[0] };

/* Returns the first sentence of the file's first comment, without the full stop. */
static const char *first_sentence(struct arena *arena, const char *path)
{
	const char *sentence = "";
	char line[512], *stop = NULL;
	const char *why;
	FILE *file = file_once(path, &why);
	while (file && !stop && fgets(line, sizeof line, file)) {
		if (strstr(line, "SPDX"))
			continue;
		if (line[0] != '#' || line[1] != ' ')
			break;
		line[strcspn(line, "\n")] = '\0';
		char *text =
			arena_printf(arena, "%s%s%s", sentence, *sentence ? " " : "", line + 2);
		stop = strstr(text, ". ");
		if (stop)
			*stop = '\0';
		sentence = text;
	}
	if (file)
		fclose(file);
	size_t length = strlen(sentence);
	length -= length && sentence[length - 1] == '.';
	return arena_printf(arena, "%.*s", (int)length, sentence);
}

/* Returns the description of a file: help, title or source of its group, otherwise the first
 * sentence of its first comment. */
static const char *help_of(const struct command *command, const char *path,
			   const struct cfg_node *node)
{
	static const char *const keys[] = {"help", "title", "source"};
	for (size_t i = 0; i < 3; i++) {
		const char *text = cfg_text(cfg_child(node, keys[i]));
		if (text)
			return text;
	}
	return first_sentence(command->arena, path);
}

static void add(const struct command *command, struct table *table, const char *what,
		const char *group, const char *name, const char *help)
{
	if (command->plain) {
		printf("%s\n", name);
		return;
	}
	table_cells(table, CELLS(what, group, name, help));
}

struct shipped {
	const char *name, *text;
	struct facts facts;
};

static int by_group(const void *a, const void *b)
{
	const struct shipped *one = a, *other = b;
	int groups = strcmp(one->facts.group, other->facts.group),
	    names = strcmp(one->name, other->name);
	int then = groups ? groups : ORDER_THEN(one->facts.order, other->facts.order, names);
	return ORDER_THEN(one->facts.group_order, other->facts.group_order, then);
}

/* Describes a file by the facts that are computed from it, or by its own description. */
static struct shipped shipped_file(const struct command *command, const struct folder *folder,
				   const char *name)
{
	struct arena *arena = command->arena;
	const char *path =
		arena_printf(arena, "%s/%s/%s.cfg", command->data_root, folder->path, name);
	const struct cfg_node *node =
		cfg_child(cfg_read(arena, diag_new(arena), path), folder->group);
	struct shipped file = {.name = name, .text = help_of(command, path, node)};
	file.facts = facts_of(arena, command->data_root, folder->group, node);
	if (file.facts.beside_help && *file.text)
		file.text = arena_printf(arena, "%s: %s", file.text, file.facts.text);
	else if (*file.facts.text)
		file.text = file.facts.text;
	return file;
}

/* Scripts get names in alphabetical order; readers get groups of files. */
static void list_folder(const struct command *command, struct table *table,
			const struct folder *folder)
{
	const char *const *names;
	size_t count = data_names(command->arena, command->data_root, folder->path, &names);
	if (command->plain) {
		for (size_t i = 0; i < count; i++)
			add(command, table, folder->name, "", names[i], "");
		return;
	}
	VEC(struct shipped) files = {0};
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(command->arena, &files) = shipped_file(command, folder, names[i]);
	if (files.count)
		qsort(files.items, files.count, sizeof *files.items, by_group);
	for (size_t i = 0; i < files.count; i++)
		add(command, table, folder->name, files.items[i].facts.group, files.items[i].name,
		    files.items[i].text);
}

static void list_kinds(const struct command *command, struct table *table,
		       const struct registry *registry)
{
	for (size_t i = 0; i < registry->count; i++)
		add(command, table, registry->listed, "", *registry->rows[i].name,
		    *registry->rows[i].help);
}

static void list_rows(const struct command *command, struct table *table,
		      const struct param_table *params)
{
	for (size_t i = 0; i < params->count; i++) {
		const struct param_row *row = &params->rows[i];
		char key[80];
		param_key(row, key, sizeof key);
		const char *preset = "must be given";
		if (row->preset)
			preset = row->preset[0]
					 ? arena_printf(command->arena, "default %s", row->preset)
					 : "empty by default";
		add(command, table, params->name, "",
		    command->plain ? arena_printf(command->arena, "%s.%s", params->name, key) : key,
		    arena_printf(command->arena, "%s (%s)", row->help, preset));
	}
}

/* Lists every key of every group. The list is long, so it is printed only on request. */
static void list_parameters(const struct command *command, struct table *table)
{
	static const struct param_table *const tables[] = {
		&case_table,     &host_table,        &guest_table,   &gpu_table,
		&kernel_table,   &efficiency_table,  &law_table,     &stack_table,
		&runtime_table,  &driver_table,      &dma_table,     &exchange_table,
		&library_table,  &input_table,       &storage_table, &calls_table,
		&serve_table,    &plan_table,        &longrun_table, &cost_table,
		&gpu_cost_table, &machine_cost_table};
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		list_rows(command, table, tables[i]);
	for (size_t i = 0; i < transport_kind_count(); i++)
		list_rows(command, table, transport_kind_at(i)->table);
	for (size_t i = 0; i < link_kind_count(); i++)
		list_rows(command, table, link_kind_at(i)->table);
}

/* Returns whether a list was asked for by name. Without words, all lists but `parameters` are. */
static bool wanted(const struct command *command, const char *name)
{
	for (size_t i = 0; i < command->word_count; i++)
		if (strcmp(command->words[i], name) == 0)
			return true;
	return command->word_count == 0 && strcmp(name, "parameters") != 0;
}

/* Returns EXIT_USAGE, with an error, if no list has this name. */
static int check_name(const struct command *command, const char *word)
{
	const char *names[FOLDER_COUNT + REGISTRY_COUNT + 1] = {"parameters"}, *all = "parameters";
	for (size_t i = 0; i < FOLDER_COUNT; i++)
		names[1 + i] = shipped_folders[i].name;
	for (size_t i = 0; i < REGISTRY_COUNT; i++)
		names[1 + FOLDER_COUNT + i] = registries[i]->listed;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(word, names[i]) == 0)
			return EXIT_DONE;
		all = i > 0 ? arena_printf(command->arena, "%s, %s", all, names[i]) : all;
	}
	const char *near = diag_nearest(word, names, sizeof names / sizeof names[0]);
	return command_stop(EXIT_USAGE, "list: '%s' is not a list (%s%s%s)", word,
			    near ? "did you mean '" : "there are ", near ? near : all,
			    near ? "'?" : "");
}

static int run(const struct command *command)
{
	for (size_t i = 0; i < command->word_count; i++)
		if (check_name(command, command->words[i]) != EXIT_DONE)
			return EXIT_USAGE;
	bool parameters = command->word_count == 1 && strcmp(command->words[0], "parameters") == 0;
	/* Other lists are broken only on a terminal, so that grep finds whole lines. */
	size_t width = command_line_width(command);
	struct table *table = table_new(command->arena, "what|group|name",
					width || !parameters ? width : LINE_WIDTH);
	table_column(table, "", false);
	for (size_t i = 0; i < FOLDER_COUNT; i++)
		if (wanted(command, shipped_folders[i].name))
			list_folder(command, table, &shipped_folders[i]);
	for (size_t i = 0; i < REGISTRY_COUNT; i++)
		if (wanted(command, registries[i]->listed))
			list_kinds(command, table, registries[i]);
	if (wanted(command, "parameters"))
		list_parameters(command, table);
	if (!command->plain)
		table_print(table, stdout);
	return EXIT_DONE;
}

const struct verb verb_list = {
	.name = "list",
	.words = "[WHAT...]",
	.help = "lists the shipped topologies, models, runtimes, kinds of links and more",
	.examples = "  farwire list\n  farwire list topologies --plain\n"
		    "  farwire list parameters   # all keys of configuration files\n",
	.options = "plain quiet color",
	.run = run,
};
