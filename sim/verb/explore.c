/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire explore: serves a page on this machine on which the settings of a case can be moved.
 *
 * The page offers controls, each with a list of values, which are derived from the case. Options of
 * cases are controls if the case can be read with another value. Numbers that the case states in
 * its groups case, serve and plan are controls, and so are the bandwidths and latencies of links
 * between hosts. The option --for adds further parameters. A request can choose only among the
 * listed values. So no text of a request becomes a setting or the name of a file.
 *
 * The page asks /answer for the answer of its state, first without and then with intervals, and
 * /curve for the curve over one number. Both return a part of the page, made as in a report. */
#include "sim/analysis/solve.h"
#include "sim/cfg/text.h"
#include "sim/report/report.h"
#include "sim/verb/http.h"
#include "sim/verb/options.h"
#include "sim/verb/verbs.h"

struct control {
	const char *key;         /* "link.wire.latency", its name in links and requests */
	const char *label;       /* "one-way latency of wire" */
	const char *const *keys; /* parameters that get the value: key, and those of equal links */
	size_t key_count;
	const char *const *texts; /* values as users write them: "20 us" */
	size_t count, initial;    /* initial: index of the case's own value */
	bool number;
};
struct controls {
	const struct control *items;
	size_t count;
};

struct setting_list {
	VEC(struct setting) list;
};

/* A number has values from a hundredth to a thousand times its own, which few points show. */
static const double LEAST_FACTOR = 100;

struct maker {
	struct arena *arena;
	const struct command *command;
	const struct scenario *scenario;
	VEC(struct control) items;
};

/* Returns the control with this key, or NULL. */
static const struct control *control_find(const struct controls *controls, const char *key)
{
	for (size_t i = 0; i < controls->count; i++)
		if (strcmp(controls->items[i].key, key) == 0)
			return &controls->items[i];
	return NULL;
}

/* Returns the index of the value with this text, or SIZE_MAX. */
static size_t control_value(const struct control *control, const char *text)
{
	for (size_t i = 0; i < control->count; i++)
		if (strcmp(control->texts[i], text) == 0)
			return i;
	return SIZE_MAX;
}

/* Adds the settings that give the control its value with this index. */
static void control_set(struct arena *arena, const struct control *control, size_t value,
			struct setting_list *settings)
{
	for (size_t i = 0; i < control->key_count; i++)
		*VEC_PUSH(arena, &settings->list) = (struct setting){
			arena_printf(arena, "%s=%s", control->keys[i], control->texts[value]),
			{"--set", 0}};
}

/* ---- values ---- */

/* Returns the next value of the series 1, 2, 5, 10 ..., or of 1, 2, 3, 4, 6, 8, 12 ... for whole
 * numbers. */
static double after(double value, bool whole)
{
	if (whole) {
		double power = exp2(floor(log2(value * 1.0001)));
		return value < 1.49 * power && power > 1 ? 1.5 * power : 2 * power;
	}
	double power = pow(10, floor(log10(value * 1.0001)));
	double digit = value / power;
	return power * (digit < 1.5 ? 2 : digit < 4 ? 5 : 10);
}

/* Returns whether the row belongs to a kind of links between hosts. */
static bool is_of_network(const struct param_row *row)
{
	for (size_t i = 0; i < link_kind_count(); i++) {
		const struct link_kind *kind = link_kind_at(i);
		if (!kind->inside_host && row >= kind->table->rows &&
		    row < kind->table->rows + kind->table->count)
			return true;
	}
	return false;
}

/* Returns a number, which counts in Gbit/s if it is the bandwidth of a network. */
static const char *number_text(struct maker *m, const struct cfg_param *param, bool Gbit,
			       double value)
{
	return Gbit ? arena_printf(m->arena, "%.6g Gbit/s", value)
		    : cfg_param_text(m->arena, param, value);
}

/* Fills the values of a number: a series around its own value, which is one of them. */
static void number_values(struct maker *m, const struct cfg_param *param, struct control *control)
{
	const double GBIT_BPS = 1.25e8;
	VEC(const char *) texts = {0};
	struct solve_range range;
	bool whole = param->row->whole, has_own = false;
	bool Gbit = param->row->quantity == QUANTITY_RATE && is_of_network(param->row);
	double unit = Gbit ? GBIT_BPS : 1, own = param->value / unit;
	if (!solve_range_of(param, &range))
		range = solve_range_between(param, param->value, param->value);
	double low = fmax(range.low / unit, own / LEAST_FACTOR), high = range.high / unit;
	double least = low > 0 ? low : high / LEAST_FACTOR;
	double value = whole ? 1 : pow(10, floor(log10(least)));
	for (;; value = after(value, whole)) {
		bool beyond = value > high * 1.0001;
		if (!has_own && (beyond || value > own * 0.9999)) {
			has_own = true;
			control->initial = texts.count;
			*VEC_PUSH(m->arena, &texts) = number_text(m, param, Gbit, own);
		}
		if (beyond)
			break;
		if (value > low * 0.9999 && fabs(value - own) > 1e-4 * value)
			*VEC_PUSH(m->arena, &texts) = number_text(m, param, Gbit, value);
	}
	control->number = true;
	control->texts = texts.items;
	control->count = texts.count;
}

/* Adds names to the values, and keeps the index of the parameter's own one. */
static void word_values(struct maker *m, const struct cfg_param *param, const char *const *names,
			size_t count, struct control *control)
{
	const char **texts = ARENA_ARRAY(m->arena, count + 1, const char *);
	control->initial = count;
	for (size_t i = 0; i < count; i++) {
		texts[i] = names[i];
		if (strcmp(names[i], param->text) == 0)
			control->initial = i;
	}
	control->count = count;
	if (control->initial == count)
		texts[control->count++] = param->text;
	control->texts = texts;
}

/* Returns the names that a row's completion lists: "names:runtimes none", "words:a b". */
static size_t completed(struct maker *m, const char *complete, const char *const **names)
{
	VEC(const char *) all = {0};
	const char *words = strchr(complete, ':') + 1, *const *shipped = NULL;
	size_t length = strcspn(words, " "), count = 0;
	const char *table = arena_printf(m->arena, "%.*s", (int)length, words);
	if (strncmp(complete, "names:", 6) == 0) {
		for (size_t i = 0; i < FOLDER_COUNT && !count; i++)
			if (strcmp(shipped_folders[i].name, table) == 0)
				count = data_names(m->arena, m->command->data_root,
						   shipped_folders[i].path, &shipped);
		if (!count && strcmp(table, transport_kind_registry.listed) == 0) {
			shipped = registry_names(m->arena, &transport_kind_registry, NULL);
			count = transport_kind_count();
		}
		words += length;
	}
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(m->arena, &all) = shipped[i];
	for (words += strspn(words, " "); *words; words += length, words += strspn(words, " ")) {
		length = strcspn(words, " ");
		*VEC_PUSH(m->arena, &all) = arena_printf(m->arena, "%.*s", (int)length, words);
	}
	*names = all.items;
	return all.count;
}

/* ---- controls ---- */

static bool is_given(const struct cfg_param *param)
{
	return param->source == CFG_SOURCE_FILE || param->source == CFG_SOURCE_SET;
}

/* Returns whether a parameter other than the one with this path differs. */
static bool differs(const struct cfg_resolution *a, const struct cfg_resolution *b,
		    const char *path)
{
	for (size_t i = 0; i < cfg_param_count(a); i++) {
		const struct cfg_param *one = cfg_param_at(a, i);
		const struct cfg_param *other = cfg_param_find(b, one->path);
		if (strcmp(one->path, path) != 0 && (!other || other->value != one->value))
			return true;
	}
	return cfg_param_count(a) != cfg_param_count(b);
}

/* Returns whether the case can be read with another value of the control. A word names a file, from
 * which other parameters then come. */
static bool is_accepted(const struct maker *m, const struct control *control)
{
	struct arena *scratch = arena_new();
	struct setting_list settings = {0};
	const struct case_request request = command_case(m->command, 0);
	control_set(scratch, control, control->initial ? control->initial - 1 : 1, &settings);
	const struct case_request with =
		request_with(scratch, &request, settings.list.items, settings.list.count);
	const struct scenario *other = case_read(scratch, diag_new(scratch), &with);
	bool good = other && (control->number ||
			      differs(m->scenario->resolution, other->resolution, control->key));
	arena_free(scratch);
	return good;
}

/* Adds a control of these parameters, which have equal values. complete: the names of a text; NULL:
 * none. */
static void add(struct maker *m, const struct cfg_param *const *params, size_t count,
		const char *complete, bool given)
{
	const struct cfg_param *param = params[0];
	struct control control = {.key = param->path, .key_count = count};
	const char **keys = ARENA_ARRAY(m->arena, count, const char *), *const * names;
	const struct controls made = {m->items.items, m->items.count};
	if (control_find(&made, param->path))
		return;
	for (size_t i = 0; i < count; i++)
		keys[i] = params[i]->path;
	control.keys = keys;
	control.label = cfg_param_words(m->arena, param->path, param->row);
	if (count > 1)
		control.label = arena_printf(m->arena, "%s and %zu equal link%s", control.label,
					     count - 1, count > 2 ? "s" : "");
	if (param->row->kind == PARAM_KIND_NUMBER) {
		number_values(m, param, &control);
	} else if (complete && strncmp(complete, "files:", 6) != 0 && *param->text) {
		size_t named = completed(m, complete, &names);
		word_values(m, param, names, named, &control);
	}
	if (control.count > 1 && (given || is_accepted(m, &control)))
		*VEC_PUSH(m->arena, &m->items) = control;
}

/* Adds the options of cases. A topology is left out, because it replaces the case. */
static void add_options(struct maker *m)
{
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		if (option->kind != OPTION_CASE || strcmp(option->name, "topology") == 0)
			continue;
		const struct cfg_param *param = cfg_param_find(
			m->scenario->resolution, arena_printf(m->arena, "case.%s", option->name));
		if (param && (is_given(param) || param->value > 0 || param->text))
			add(m, &param, 1, option->complete, is_given(param));
	}
}

/* Adds numbers that the case states. */
static void add_stated(struct maker *m)
{
	static const char *const groups[] = {"case.", "serve.", "plan."};
	const struct cfg_resolution *resolution = m->scenario->resolution;
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
			if (param->row->kind == PARAM_KIND_NUMBER && is_given(param) &&
			    strncmp(param->path, groups[g], strlen(groups[g])) == 0)
				add(m, &param, 1, NULL, true);
	}
}

/* Adds the bandwidth or the latency of links between hosts. Those with one kind and one value are
 * one control. */
static void add_links(struct maker *m, const char *key)
{
	const struct cfg_resolution *resolution = m->scenario->resolution;
	VEC(const struct cfg_param *) params = {0};
	char name[64];
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		param_key(param->row, name, sizeof name);
		if (strncmp(param->path, "link.", 5) == 0 && strcmp(name, key) == 0 &&
		    is_of_network(param->row))
			*VEC_PUSH(m->arena, &params) = param;
	}
	bool *taken = ARENA_ARRAY(m->arena, params.count + 1, bool);
	for (size_t i = 0; i < params.count; i++) {
		VEC(const struct cfg_param *) equal = {0};
		for (size_t k = i; k < params.count; k++)
			if (!taken[k] && params.items[k]->row == params.items[i]->row &&
			    params.items[k]->value == params.items[i]->value) {
				taken[k] = true;
				*VEC_PUSH(m->arena, &equal) = params.items[k];
			}
		if (equal.count)
			add(m, equal.items, equal.count, NULL, true);
	}
}

/* Returns the controls of the case. Adds an error to diag if --for names no number of the case. */
static struct controls controls_of(const struct command *command, struct diag *diag,
				   const struct scenario *scenario)
{
	struct maker m = {.arena = command->arena, .command = command, .scenario = scenario};
	add_links(&m, "bandwidth");
	add_links(&m, "latency");
	add_options(&m);
	add_stated(&m);
	for (size_t i = 0; i < command->keys.count; i++) {
		const char *key = command->keys.items[i];
		const struct cfg_param *param = cfg_param_find(scenario->resolution, key);
		if (param && param->row->kind == PARAM_KIND_NUMBER)
			add(&m, &param, 1, NULL, true);
		else
			diag_error(diag, (struct origin){"--for", 0},
				   "'%s' is not a number of this case (`farwire explain CASE` "
				   "lists its parameters)",
				   key);
	}
	return (struct controls){m.items.items, m.items.count};
}

struct explorer {
	const struct command *command;
	const struct scenario *scenario;
	struct controls controls;
};

/* ---- the page ---- */

static void write_control(FILE *out, const struct control *control, size_t index)
{
	fprintf(out, "<div class=\"control\"><label for=\"c%zu\">", index);
	html_text(out, control->label);
	fprintf(out, "</label>\n<select id=\"c%zu\" name=\"", index);
	html_text(out, control->key);
	fputs("\">", out);
	for (size_t i = 0; i < control->count; i++) {
		fprintf(out, "<option%s>", i == control->initial ? " selected" : "");
		html_text(out, control->texts[i]);
		fputs("</option>", out);
	}
	fputs("</select>\n", out);
	if (control->number) {
		fprintf(out,
			"<input type=\"range\" data-of=\"c%zu\" max=\"%zu\" value=\"%zu\" "
			"aria-label=\"",
			index, control->count - 1, control->initial);
		html_text(out, control->label);
		fputs("\">", out);
	}
	fputs("</div>\n", out);
}

static void write_controls(FILE *out, const struct explorer *e)
{
	for (size_t i = 0; i < e->controls.count; i++)
		write_control(out, &e->controls.items[i], i);
	fputs("<div class=\"control\"><label for=\"over\">curve over</label>\n", out);
	fputs("<select id=\"over\">", out);
	for (size_t i = 0; i < e->controls.count; i++) {
		if (!e->controls.items[i].number)
			continue;
		fputs("<option value=\"", out);
		html_text(out, e->controls.items[i].key);
		fputs("\">", out);
		html_text(out, e->controls.items[i].label);
		fputs("</option>", out);
	}
	fputs("</select></div>\n", out);
}

/* Writes a file of the page, with the case in place of its marks. */
static unsigned write_file_of(const struct explorer *e, const char *name, FILE *out)
{
	static const char title[] = "@title@", controls[] = "@controls@";
	struct arena *arena = e->command->arena;
	const char *wrong, *path = arena_printf(arena, "%s/models/%s", e->command->data_root, name);
	struct cfg_file_identity identity;
	const char *text = cfg_file_load(arena, path, &identity, &wrong);
	if (!text) {
		fprintf(out, "%s: %s\n", name, wrong);
		return 500;
	}
	for (; *text; text++) {
		if (strncmp(text, title, strlen(title)) == 0) {
			html_text(out, e->scenario->name);
			text += strlen(title) - 1;
		} else if (strncmp(text, controls, strlen(controls)) == 0) {
			write_controls(out, e);
			text += strlen(controls) - 1;
		} else {
			fputc(*text, out);
		}
	}
	return 200;
}

/* ---- the answers ---- */

struct state { /* of the page */
	struct explorer *explorer;
	const struct http_request *request;
	struct command command; /* with the settings of the state */
	size_t *values;         /* of each control */
	const struct control *over;
	bool interval;
};

/* Reads the state of the page. Returns false after it has written what is wrong. */
static bool read_state(struct state *s, FILE *out)
{
	const struct controls *controls = &s->explorer->controls;
	struct arena *arena = s->command.arena;
	struct setting_list settings = {0};
	s->values = ARENA_ARRAY(arena, controls->count + 1, size_t);
	for (size_t i = 0; i < controls->count; i++)
		s->values[i] = controls->items[i].initial;
	for (size_t i = 0; i < s->request->count; i++) {
		const char *name = s->request->names[i], *value = s->request->values[i];
		bool over = strcmp(name, "over") == 0;
		const struct control *control = control_find(controls, over ? value : name);
		size_t chosen = control && !over ? control_value(control, value) : 0;
		if (strcmp(name, "interval") == 0) {
			s->interval = true;
		} else if (!control || chosen == SIZE_MAX || (over && !control->number)) {
			fputs("<p class=\"answer alarm\">This page has no setting ", out);
			html_text(out,
				  text_visible(arena, arena_printf(arena, "%s=%s", name, value)));
			fputs(" (choose one of its values).</p>\n", out);
			return false;
		} else if (over) {
			s->over = control;
		} else {
			s->values[control - controls->items] = chosen;
		}
	}
	for (size_t i = 0; i < s->command.setting_count; i++)
		*VEC_PUSH(arena, &settings.list) = s->command.settings[i];
	for (size_t i = 0; i < controls->count; i++)
		if (s->values[i] != controls->items[i].initial)
			control_set(arena, &controls->items[i], s->values[i], &settings);
	s->command.settings = settings.list.items;
	s->command.setting_count = settings.list.count;
	s->command.draws = s->interval ? s->command.draws : 0;
	return true;
}

/* Returns a word in the notation of a shell. */
static const char *shell_word(struct arena *arena, const char *word)
{
	const char *text = "";
	if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,") ==
	    strlen(word))
		return word;
	for (size_t length; length = strcspn(word, "'"), word[length]; word += length + 1)
		text = arena_printf(arena, "%s%.*s'\\''", text, (int)length, word);
	return arena_printf(arena, "'%s%s'", text, word);
}

static void write_command(FILE *out, const struct state *s)
{
	const struct command *c = &s->command;
	struct arena *arena = c->arena;
	const char *text = "farwire run";
	if (c->word_count) {
		const char *name = command_base_name(c, c->words[0]);
		const char *shipped =
			arena_printf(arena, "%s/topologies/cases/%s.cfg", c->data_root, name);
		bool is_shipped = strcmp(shipped, c->words[0]) == 0;
		text = arena_printf(arena, "%s %s%s", text, c->words[0][0] == '-' ? "./" : "",
				    shell_word(arena, is_shipped ? name : c->words[0]));
	}
	for (size_t i = 0; i < c->setting_count; i++)
		text = arena_printf(arena, "%s --set %s", text,
				    shell_word(arena, c->settings[i].text));
	if (command_gave(c, "seed"))
		text = arena_printf(arena, "%s --seed %llu", text, (unsigned long long)c->seed);
	if (command_gave(c, "draws"))
		text = arena_printf(arena, "%s --draws %llu", text,
				    (unsigned long long)s->explorer->command->draws);
	fputs("<p class=\"command\"><code id=\"command\" tabindex=\"0\">", out);
	html_text(out, text_visible(arena, text));
	fputs("</code> <button type=\"button\" id=\"copy\">Copy command</button></p>\n", out);
}

static void tell_points(void *ctx, size_t before, size_t done, size_t count)
{
	http_still_wanted(ctx);
}

static void tell_events(void *ctx, uint64_t events, uint64_t events_max)
{
	http_still_wanted(ctx);
}

/* Adds the curve over the state's number. */
static bool add_curve(struct report *report, const struct state *s, const struct case_request *base)
{
	const struct control *over = s->over;
	struct arena *arena = s->command.arena;
	const struct setting **settings = ARENA_ARRAY(arena, over->count, const struct setting *);
	for (size_t i = 0; i < over->count; i++) {
		struct setting_list one = {0};
		control_set(arena, over, i, &one);
		settings[i] = one.list.items;
	}
	const struct curve_request curve = {.key = over->key,
					    .label = over->label,
					    .texts = over->texts,
					    .settings = settings,
					    .count = over->count,
					    .setting_count = over->key_count};
	return report_curve(report, base, &curve);
}

static unsigned write_answer(const struct state *s, FILE *out)
{
	struct arena *arena = s->command.arena;
	void *ctx = (void *)(uintptr_t)s->request;
	const struct engine_watch watch = {tell_events, ctx};
	struct report_request request = {.title = s->explorer->scenario->name,
					 .caption = command_caption_of(&s->command),
					 .options = command_predict(&s->command),
					 .watch = {tell_points, ctx},
					 .data_root = s->command.data_root};
	struct case_request base = command_case(&s->command, 0);
	base.watch = &watch;
	request.options.watch = request.watch;
	request.options.remedies = s->interval;
	struct report *report = report_begin(arena, &request);
	bool good = s->over ? add_curve(report, s, &base) : report_brief(report, &base);
	for (size_t i = 0; i < diag_count(report->diag) && i < DIAG_KEPT; i++)
		report_answer(report, true, "%s", diag_at(report->diag, i));
	if (report->broken)
		report_answer(report, true, "The simulation broke an invariant: %s",
			      report->broken);
	if (!s->over)
		write_command(out, s);
	report_html_blocks(out, report);
	return good ? 200 : 400;
}

static unsigned answer(void *ctx, const struct http_request *request, FILE *out, const char **type)
{
	struct explorer *e = ctx;
	static const char *const files[][3] = {{"/", "explore.html", "text/html; charset=utf-8"},
					       {"/explore.js", "explore.js", "text/javascript"},
					       {"/explore.css", "explore.css", "text/css"},
					       {"/report.css", "report.css", "text/css"}};
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		if (strcmp(request->path, files[i][0]) == 0) {
			*type = files[i][2];
			return write_file_of(e, files[i][1], out);
		}
	bool curve = strcmp(request->path, "/curve") == 0;
	if (!curve && strcmp(request->path, "/answer") != 0) {
		fputs("This page has no such part.\n", out);
		return 404;
	}
	struct state s = {.explorer = e, .request = request, .command = *e->command};
	*type = "text/html; charset=utf-8";
	if (!read_state(&s, out))
		return 400;
	if (curve != (s.over != NULL)) {
		fputs("<p class=\"answer alarm\">A curve needs over=KEY.</p>\n", out);
		return 400;
	}
	return write_answer(&s, out);
}

static int run(const struct command *command)
{
	struct diag *diag = diag_new(command->arena);
	const struct case_request request = command_case(command, 0);
	struct explorer e = {command, case_read(command->arena, diag, &request), {0}};
	if (e.scenario)
		e.controls = controls_of(command, diag, e.scenario);
	if (diag_count(diag))
		return command_failed(diag, NULL);
	const struct http_server server = {answer, &e, (unsigned)command->port};
	return http_serve(&server) ? EXIT_DONE : EXIT_FAILED;
}

const struct verb verb_explore = {
	.name = "explore",
	.words = "CASE",
	.help = "serves a page on this machine on which the settings of a case can be moved",
	.examples = "  farwire explore c4140-tcp-10\n"
		    "  farwire explore case.cfg --for runtime.handoff --port 8080\n",
	.options = "set plan serve for port seed draws jobs",
	.run = run,
};
