/* SPDX-License-Identifier: GPL-3.0-or-later */
/* argv -> struct command. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plots/canvas.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/verb/verbs.h"

enum option_kind {
	OPTION_FLAG,
	OPTION_VALUE,
	OPTION_CASE /* stands for --set case.<name>=value, unless the verb has its own */
};

struct option_row {
	const char *name;
	enum option_kind kind;
	const char *value; /* what its value is called */
	const char *help;
};

static const struct option_row option_rows[] = {
	{"topology", OPTION_CASE, "NAME", "machines and wires"},
	{"model", OPTION_CASE, "NAME", "network"},
	{"calls", OPTION_CASE, "FILE", "a recorded program in place of model and stack"},
	{"stack", OPTION_CASE, "NAME", "framework and benchmark code"},
	{"runtime", OPTION_CASE, "NAME", "remoting runtime; none: the local driver"},
	{"transport", OPTION_CASE, "NAME", "tcp, rdma or shm"},
	{"profile", OPTION_CASE, "NAME", "fitted parameters"},
	{"program", OPTION_CASE, "GUEST", "where the program runs (default: beside the GPU)"},
	{"server", OPTION_CASE, "GUEST", "where the runtime's server runs, on the GPU's host"},
	{"gpu", OPTION_CASE, "GPU", "which GPU"},
	{"batch", OPTION_CASE, "N", "images of a step"},
	{"fraction", OPTION_CASE, "X", "share of the GPU"},
	{"copies", OPTION_CASE, "N", "how many such clients"},
	{"gpus", OPTION_CASE, "N", "a training job on so many GPUs"},
	{"exchange", OPTION_CASE, "NAME", "how the job exchanges gradients"},
	{"collective", OPTION_CASE, "NAME", "a collective alone, repeated: all_reduce ..."},
	{"gpus", OPTION_VALUE, "1,2,4,...", "on how many GPUs (default: 1, 2, 4 ... to all)"},
	{"set", OPTION_VALUE, "KEY=VALUE", "sets any parameter; repeatable"},
	{"vary", OPTION_VALUE, "KEY=a,b,c|lo:hi:logN|lo:hi:linN", "varies a parameter; repeatable"},
	{"target", OPTION_VALUE, "NUMBER>=VALUE", "what shall hold: 'ratio>=0.95', 'step<=250 ms'"},
	{"of", OPTION_VALUE, "NUMBER",
	 "which number (default: ratio, efficiency or bus bandwidth)"},
	{"for", OPTION_VALUE, "KEY", "of which parameter; where several are meant, repeatable"},
	{"between", OPTION_VALUE, "LO:HI", "where to search (default: around the present value)"},
	{"samples", OPTION_VALUE, "N", "points behind each index (default 128; 0: no indices)"},
	{"vary-all", OPTION_VALUE, "PERCENT", "moves every number by so much: elasticities"},
	{"format", OPTION_VALUE, "table|csv|json|jsonl", "how results are written"},
	{"output", OPTION_VALUE, "FILE", "where to (-o; whole or not at all; - is stdout)"},
	{"plot", OPTION_VALUE, "FILE.svg|pdf|png", "draws the result"},
	{"trace", OPTION_VALUE, "FILE.json", "writes a timeline for Perfetto"},
	{"title", OPTION_VALUE, "TEXT", "the question, for reports and plots"},
	{"seed", OPTION_VALUE, "N", "seed of losses and draws (default 1)"},
	{"draws", OPTION_VALUE, "N", "draws behind an interval (default 24, of sweeps 0: none)"},
	{"jobs", OPTION_VALUE, "N", "threads (default: the machine's cores)"},
	{"color", OPTION_VALUE, "auto|always|never", "colours on a terminal"},
	{"only", OPTION_VALUE, "TEST,TEST,...", "which measurements (default: all)"},
	{"quick", OPTION_FLAG, NULL, "measures in a minute or two (default)"},
	{"full", OPTION_FLAG, NULL, "measures more points, more often, in minutes"},
	{"budget", OPTION_VALUE, "SECONDS", "how long measuring may last"},
	{"continue", OPTION_VALUE, "FILE", "goes on with an interrupted recording"},
	{"scratch", OPTION_VALUE, "FOLDER|FILE", "where to make a file to read, or which to read"},
	{"server", OPTION_VALUE, "ADDRESS[:PORT]", "serves one peer's measurements of the network"},
	{"connect", OPTION_VALUE, "ADDRESS[:PORT]", "measures the network to that server"},
	{"quiet", OPTION_FLAG, NULL, "no messages but errors"},
	{"plain", OPTION_FLAG, NULL, "names only, one a line"},
};
enum { OPTION_COUNT = sizeof option_rows / sizeof option_rows[0] };

static const struct registry_row verb_rows[] = {
#define VERB(name) REGISTRY_ROW(name),
#include "sim/verb/verbs.def"
#undef VERB
};
const struct registry verb_registry = REGISTRY("verb", "verbs", verb_rows);

struct parser {
	struct arena *arena;
	struct command *command;
	VEC(const char *) words;
	VEC(struct setting) settings;
	VEC(const char *) vary;
	VEC(const char *) keys;
	int argc;
	char **argv;
	int next;
	bool wrong;
};

static void usage(FILE *out)
{
	fprintf(out,
		"farwire %s: what does a GPU at the far end of a wire cost?\n\nUsage: farwire VERB "
		"...\n\n",
		FARWIRE_VERSION);
	for (size_t i = 0; i < verb_count(); i++)
		fprintf(out, "  %-11s %-14s %s\n", verb_at(i)->name, verb_at(i)->words,
			verb_at(i)->help);
	fprintf(out, "\n`farwire VERB --help` says more. Exit: 0 done, 1 the simulation failed, 2 "
		     "bad usage or\n"
		     "configuration, 3 a stated bound is broken.\n");
}

static bool names(const char *options, const char *option)
{
	const char *found = strstr(options, option);
	for (; found; found = strstr(found + 1, option)) {
		char after = found[strlen(option)];
		if ((found == options || found[-1] == ' ') && (after == ' ' || after == '\0'))
			return true;
	}
	return false;
}

static bool takes(const struct verb *verb, const struct option_row *row)
{
	bool own = names(verb->options, row->name);
	if (row->kind != OPTION_CASE)
		return own;
	return verb->settings ? names(verb->settings, row->name) : verb->cases && !own;
}

static void verb_help(const struct verb *verb)
{
	printf("farwire %s %s\n  %s\n\nOptions:\n", verb->name, verb->words, verb->help);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (takes(verb, &option_rows[i])) {
			const struct option_row *row = &option_rows[i];
			printf("  --%s%s%s\n      %s\n", row->name, row->value ? " " : "",
			       row->value ? row->value : "", row->help);
		}
	printf("\nExamples:\n%s", verb->examples);
}

static void wrong(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct parser *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("farwire: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	p->wrong = true;
}

static void add_setting(struct parser *p, const char *text, const char *from)
{
	struct setting *setting = VEC_PUSH(p->arena, &p->settings);
	*setting = (struct setting){text, {from, 0}};
}

static uint64_t count_of(struct parser *p, const char *name, const char *value, uint64_t max)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (errno || *end || end == value || value[0] == '-' || number > max) {
		wrong(p, "--%s %s: write a whole number from 0 to %llu", name, value,
		      (unsigned long long)max);
		return 0;
	}
	return number;
}

static const struct option_row *find_option(struct parser *p, const char *name)
{
	const char *names[OPTION_COUNT];
	size_t count = 0;
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!takes(p->command->verb, &option_rows[i]))
			continue;
		if (strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
		names[count++] = option_rows[i].name;
	}
	const char *near = diag_nearest(name, names, count);
	wrong(p, "`farwire %s` takes no option --%s%s%s%s", p->command->verb->name, name,
	      near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
	return NULL;
}

static double seconds_of(struct parser *p, const char *name, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	if (end == value || *end || !(number > 0 && number <= 1e6))
		wrong(p, "--%s %s: write seconds, more than 0 and at most 1000000", name, value);
	return number;
}

static size_t choice_of(struct parser *p, const char *name, const char *value,
			const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		if (strcmp(choices[i], value) == 0)
			return i;
	wrong(p, "--%s %s: write %s", name, value, find_option(p, name)->value);
	return 0;
}

/* A plot's kind is in its name, which is better known before the long work. */
static const char *plot_of(struct parser *p, const char *value)
{
	enum image_format format;
	if (!image_format_of(value, &format))
		wrong(p, "--plot %s: the name must end in .svg, .pdf or .png", value);
	return value;
}

/* Those of measurements; false: it is none of them. */
static bool take_measuring(struct parser *p, const char *name, const char *value)
{
	struct command *c = p->command;
	const struct {
		const char *name, **field;
	} texts[] = {{"only", &c->only},
		     {"server", &c->server},
		     {"connect", &c->connect},
		     {"scratch", &c->scratch},
		     {"continue", &c->resume}};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(texts[i].name, name) == 0) {
			*texts[i].field = value;
			return true;
		}
	if (strcmp(name, "budget") != 0)
		return false;
	c->budget_s = seconds_of(p, name, value);
	return true;
}

static double part_of(struct parser *p, const char *name, const char *value)
{
	double part = 0;
	if (quantity_parse(p->arena, QUANTITY_RATIO, value, &part) || !(part > 0 && part < 1))
		wrong(p, "--%s %s: write a part, more than 0 and less than all, such as 10%%", name,
		      value);
	return part;
}

/* Those of questions about a parameter; false: it is none of them. */
static bool take_asking(struct parser *p, const char *name, const char *value)
{
	struct command *c = p->command;
	if (strcmp(name, "target") == 0) {
		c->target = value;
	} else if (strcmp(name, "between") == 0) {
		c->between = value;
	} else if (strcmp(name, "of") == 0) {
		c->of = value;
	} else if (strcmp(name, "for") == 0) {
		const char **slot = VEC_PUSH(p->arena, &p->keys);
		*slot = value;
	} else if (strcmp(name, "samples") == 0) {
		c->sample_count = (size_t)count_of(p, name, value, 100000);
	} else if (strcmp(name, "vary-all") == 0) {
		c->vary_all_ratio = part_of(p, name, value);
	} else {
		return false;
	}
	return true;
}

static void take_value(struct parser *p, const char *name, const char *value)
{
	static const char *const formats[] = {"table", "csv", "json", "jsonl", NULL};
	static const char *const colors[] = {"auto", "always", "never", NULL};
	struct command *c = p->command;
	if (take_measuring(p, name, value) || take_asking(p, name, value))
		return;
	if (strcmp(name, "set") == 0) {
		add_setting(p, value, "--set");
	} else if (strcmp(name, "vary") == 0) {
		const char **slot = VEC_PUSH(p->arena, &p->vary);
		*slot = value;
	} else if (strcmp(name, "format") == 0) {
		c->format = (enum output_format)choice_of(p, name, value, formats);
	} else if (strcmp(name, "output") == 0) {
		c->output = value;
	} else if (strcmp(name, "plot") == 0) {
		c->plot = plot_of(p, value);
	} else if (strcmp(name, "trace") == 0) {
		c->trace = value;
	} else if (strcmp(name, "title") == 0) {
		c->title = value;
	} else if (strcmp(name, "gpus") == 0) {
		c->gpus = value;
	} else if (strcmp(name, "seed") == 0) {
		c->seed = count_of(p, name, value, UINT64_MAX / 2);
	} else if (strcmp(name, "draws") == 0) {
		c->draws = (size_t)count_of(p, name, value, 100000);
		c->draws_given = true;
	} else if (strcmp(name, "jobs") == 0) {
		c->jobs = (unsigned)count_of(p, name, value, 1024);
		c->jobs_given = true;
	} else {
		size_t color = choice_of(p, name, value, colors);
		c->color_always = color == 1;
		c->color = color == 1 || (color == 0 && c->color);
	}
}

static void take_option(struct parser *p, char *word)
{
	char *name = arena_strdup(p->arena, word), *value = strchr(name, '=');
	if (value)
		*value++ = '\0';
	const struct option_row *row = find_option(p, name);
	if (!row)
		return;
	if (row->kind == OPTION_FLAG && value) {
		wrong(p, "--%s takes no value", name);
		return;
	}
	if (row->kind == OPTION_FLAG) {
		if (strcmp(name, "full") == 0 || strcmp(name, "quick") == 0)
			p->command->full = name[0] == 'f';
		p->command->quiet |= strcmp(name, "quiet") == 0;
		p->command->plain |= strcmp(name, "plain") == 0;
		return;
	}
	if (!value && p->next < p->argc)
		value = p->argv[p->next++];
	if (!value)
		wrong(p, "--%s needs a value (%s)", name, row->value);
	else if (row->kind == OPTION_CASE)
		add_setting(p, arena_printf(p->arena, "case.%s=%s", name, value),
			    arena_printf(p->arena, "--%s", name));
	else
		take_value(p, name, value);
}

static const struct verb *find_verb(const char *name)
{
	const struct verb *verb = verb_find(name);
	if (verb)
		return verb;
	struct arena *scratch = arena_new();
	const char *near =
		diag_nearest(name, registry_names(scratch, &verb_registry, NULL), verb_count());
	fprintf(stderr, "farwire: there is no verb '%s'%s%s%s (see farwire --help)\n", name,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	arena_free(scratch);
	return NULL;
}

static bool parse_words(struct parser *p)
{
	while (p->next < p->argc) {
		char *word = p->argv[p->next++];
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			verb_help(p->command->verb);
			return false;
		}
		if (strncmp(word, "--", 2) == 0 && word[2]) {
			take_option(p, word + 2);
		} else if (strcmp(word, "-o") == 0 || strcmp(word, "-q") == 0) {
			char *full = arena_strdup(p->arena, word[1] == 'o' ? "output" : "quiet");
			take_option(p, full);
		} else if (word[0] == '-' && word[1]) {
			wrong(p, "'%s' is no option (see farwire %s --help)", word,
			      p->command->verb->name);
		} else {
			const char **slot = VEC_PUSH(p->arena, &p->words);
			*slot = word;
		}
	}
	return true;
}

/* A case may be named as `farwire list cases` does; a file of that name goes before. */
static const char *shipped_case(const struct command *c, const char *word)
{
	if (strchr(word, '/') || access(word, F_OK) == 0)
		return word;
	const char *path = arena_printf(c->arena, "%s/topologies/cases/%s.cfg", c->data_root, word);
	return access(path, R_OK) == 0 ? path : word;
}

static bool has_topology(const struct command *c)
{
	for (size_t i = 0; i < c->setting_count; i++)
		if (strncmp(c->settings[i].text, "case.topology=", 14) == 0)
			return true;
	return false;
}

/* Complains of a name under which no case ships, where the word must be a case: with a
 * topology those of explain are keys. */
static void check_case(struct parser *p, const char *word)
{
	const struct command *c = p->command;
	bool cases_alone = strspn(c->verb->words, "CASE. ") == strlen(c->verb->words);
	bool case_first = strncmp(c->verb->words, "CASE ", 5) == 0 && word == p->words.items[0];
	if (!(cases_alone || (case_first && !has_topology(c))) || strpbrk(word, "/.") ||
	    access(word, F_OK) == 0)
		return;
	if (access(arena_printf(p->arena, "%s/topologies/%s.cfg", c->data_root, word), R_OK) == 0) {
		wrong(p, "'%s' is a topology, no case (write --topology %s)", word, word);
		return;
	}
	struct diag *diag = diag_new(p->arena);
	data_path(p->arena, diag, (struct origin){"farwire", 0}, c->data_root, "topologies/cases",
		  "case", word, NULL);
	diag_print(diag, stderr);
	p->wrong = true;
}

static void check_words(struct parser *p)
{
	const struct command *c = p->command;
	bool topology = has_topology(c);
	bool flags = c->verb->cases && c->verb->words_min == 1; /* may stand for the case */
	if (c->word_count < c->verb->words_min && !(flags && topology))
		wrong(p, "`farwire %s` needs %s%s", c->verb->name, c->verb->words,
		      flags ? " or --topology NAME (see farwire list topologies)" : "");
	if (c->word_count > 0 && !*c->verb->words)
		wrong(p, "`farwire %s` takes no words, such as '%s'", c->verb->name, c->words[0]);
	else if (c->word_count > 1 && !strstr(c->verb->words, "..."))
		wrong(p, "`farwire %s` takes one %s", c->verb->name, c->verb->words);
}

/* The status of the folder that a path lies in; the name there. NULL: no such folder. */
static const char *folder_status(struct arena *arena, const char *path, struct stat *status)
{
	const char *slash = strrchr(path, '/');
	const char *folder =
		slash ? arena_printf(arena, "%.*s", (int)(slash + 1 - path), path) : ".";
	return stat(folder, status) == 0 ? (slash ? slash + 1 : path) : NULL;
}

/* Also of files that are still to be. */
static bool is_same_file(struct arena *arena, const char *a, const char *b)
{
	struct stat x, y;
	if (stat(a, &x) == 0)
		return stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
		       x.st_ino == y.st_ino;
	const char *name_a = folder_status(arena, a, &x), *name_b = folder_status(arena, b, &y);
	return name_a && name_b && strcmp(name_a, name_b) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* What a setting is set to: a file, if it is one that names one. */
static const char *set_to(struct arena *arena, const char *setting)
{
	const char *value = strchr(setting, '=');
	if (!value)
		return "";
	value += 1 + strspn(value + 1, " \"");
	return arena_printf(arena, "%.*s", (int)strcspn(value, "\""), value);
}

static void check_not_read(struct parser *p, const char *option, const char *path, const char *read)
{
	if (access(read, F_OK) == 0 && is_same_file(p->arena, path, read))
		wrong(p, "%s %s would be written over what is read there", option, path);
}

/* Nothing that was asked for, or is read, is lost under another output. */
static void check_outputs(struct parser *p)
{
	const struct command *c = p->command;
	const char *const paths[] = {c->output, c->plot, c->trace};
	const char *const options[] = {"--output", "--plot", "--trace"};
	for (size_t i = 0; i < 3; i++) {
		if (!paths[i] || strcmp(paths[i], "-") == 0)
			continue;
		for (size_t k = 0; k < i; k++)
			if (paths[k] && is_same_file(p->arena, paths[i], paths[k]))
				wrong(p, "%s and %s are both '%s' (write two names)", options[k],
				      options[i], paths[i]);
		for (size_t k = 0; k < c->word_count; k++)
			check_not_read(p, options[i], paths[i], c->words[k]);
		for (size_t k = 0; k < c->setting_count; k++)
			check_not_read(p, options[i], paths[i],
				       set_to(p->arena, c->settings[k].text));
	}
}

const struct command *command_parse(struct arena *arena, int argc, char **argv, int *exit_code)
{
	*exit_code = EXIT_USAGE;
	if (argc == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 ||
	    strcmp(argv[0], "help") == 0) {
		usage(argc ? stdout : stderr);
		*exit_code = argc ? EXIT_DONE : EXIT_USAGE;
		return NULL;
	}
	if (strcmp(argv[0], "--version") == 0) {
		printf("farwire %s\n", FARWIRE_VERSION);
		*exit_code = EXIT_DONE;
		return NULL;
	}
	struct parser p = {.arena = arena, .argc = argc, .argv = argv, .next = 1};
	struct command *c = p.command = ARENA_NEW(arena, struct command);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	*c = (struct command){.arena = arena,
			      .output = "-",
			      .seed = 1,
			      .draws = 24,
			      .sample_count = 128,
			      .jobs = cores > 0 ? (unsigned)cores : 1,
			      .color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR")};
	c->verb = find_verb(argv[0]);
	if (!c->verb)
		return NULL;
	if (!parse_words(&p)) {
		*exit_code = EXIT_DONE;
		return NULL;
	}
	c->words = p.words.items;
	c->word_count = p.words.count;
	c->settings = p.settings.items;
	c->setting_count = p.settings.count;
	c->vary = p.vary.items;
	c->vary_count = p.vary.count;
	if (c->vary_count && !c->draws_given)
		c->draws = 0; /* of many points, intervals are computed where they are asked for */
	c->keys = p.keys.items;
	c->key_count = p.keys.count;
	c->data_root = data_root_find(arena);
	if (!c->data_root)
		wrong(&p, "the shipped topologies and models are not beside the program (set "
			  "FARWIRE_DATA to their folder)");
	check_words(&p);
	check_outputs(&p);
	for (size_t i = 0; c->verb->cases && c->data_root && i < p.words.count; i++) {
		p.words.items[i] = shipped_case(c, p.words.items[i]);
		check_case(&p, p.words.items[i]);
	}
	if (p.wrong)
		return NULL;
	c->baselines = baselines_new();
	return c;
}
