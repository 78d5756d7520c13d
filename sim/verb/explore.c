/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire explore: serves a page on this machine on which the settings of a case can be moved.
 *
 * The page asks /answer for the answer of its state, first without and then with intervals, and
 * /curve for the curve over one number. Both return a part of the page, made as in a report. */
#include "sim/cfg/text.h"
#include "sim/report/report.h"
#include "sim/verb/controls.h"
#include "sim/verb/http.h"
#include "sim/verb/verbs.h"

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
	fputs("<div class=\"control\"><label for=\"over\">curve over</label>\n<select id=\"over\">",
	      out);
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
	.words_min = 1,
	.cases = true,
	.run = run,
};
