/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire explain: lists the parameters of a case with value, interval, origin and source. */
#include "sim/base/table.h"
#include "sim/json/write.h"
#include "sim/report/caption.h"
#include "sim/verb/verbs.h"

struct explanation {
	const struct command *command;
	const char *hash;        /* of all parameters of the case */
	const struct fold *fold; /* classes of equal machines; NULL: all machines are simulated */
	const char *not_folded;
	const char *transport; /* that `auto` selects; NULL: none */
	VEC(const struct cfg_param *) params;
};

static const char *interval_of(struct arena *arena, const struct cfg_param *param)
{
	if (!cfg_param_varies(param))
		return "";
	return arena_printf(arena, "%s .. %s", cfg_param_text(arena, param, param->low),
			    cfg_param_text(arena, param, param->high));
}

/* Returns the source of the interval's width. */
static const char *spread_of(struct arena *arena, const struct cfg_param *param)
{
	if (!cfg_param_varies(param))
		return "";
	if (param->prior)
		return arena_printf(arena, "prior: %s", prior_name(param->prior));
	return param->freedom_count > 0
		       ? arena_printf(arena, "%s, t of %g", param->status, param->freedom_count)
		       : param->status;
}

static const char *origin_of(struct arena *arena, const struct cfg_param *param)
{
	if (!param->origin.file)
		return "built in";
	return param->origin.line
		       ? arena_printf(arena, "%s:%d", param->origin.file, param->origin.line)
		       : param->origin.file;
}

static void write_table(FILE *out, const void *ctx)
{
	const struct explanation *e = ctx;
	struct arena *arena = e->command->arena;
	struct table *table =
		table_new(arena, "parameter|value>|90 % interval|interval from|status|origin|note",
			  command_line_width(e->command));
	for (size_t i = 0; i < e->params.count; i++) {
		const struct cfg_param *p = e->params.items[i];
		table_cells(table, CELLS(p->path, cfg_param_text(arena, p, p->value),
					 interval_of(arena, p), spread_of(arena, p), p->status,
					 origin_of(arena, p), p->note));
	}
	table_print(table, out);
	for (size_t i = 0; i < e->params.count; i++) {
		const struct cfg_param *p = e->params.items[i];
		if (strcmp(p->path, "case.transport") == 0 && e->transport &&
		    strcmp(p->text, "auto") == 0)
			fprintf(out, "\n%s: auto is %s here\n", p->path, e->transport);
	}
	if (e->params.count == 1)
		fprintf(out, "\n%s: %s\n", e->params.items[0]->path, e->params.items[0]->row->help);
	if (e->fold)
		fprintf(out,
			"\n%zu machines of %zu class%s: one of each is simulated%s "
			"(case.symmetry)\n",
			e->fold->machine_count, e->fold->class_count,
			e->fold->class_count == 1 ? "" : "es",
			e->fold->near ? ", as they are nearly alike" : "");
	if (e->params.count > 1)
		fprintf(out,
			"\nconfiguration %s (hash of all parameters; captions of plots name it)\n",
			e->hash);
	if (e->not_folded)
		fprintf(out, "\nall machines are simulated: %s (case.symmetry)\n", e->not_folded);
}

static void write_param(struct json_writer *json, const struct explanation *e,
			const struct cfg_param *p)
{
	bool number = p->row->kind == PARAM_KIND_NUMBER;
	jw_open(json, NULL, '{');
	jw_text(json, "key", p->path);
	if (number)
		jw_real(json, "value", p->value);
	else if (p->row->kind == PARAM_KIND_BOOL)
		jw_flag(json, "value", p->value != 0);
	else
		jw_text(json, "value", p->text);
	jw_real(json, "low", number ? p->low : NAN);
	jw_real(json, "high", number ? p->high : NAN);
	jw_text(json, "prior", p->prior ? prior_name(p->prior) : NULL);
	jw_text(json, "unit", number ? quantity_unit(p->row->quantity) : "");
	jw_text(json, "status", p->status);
	jw_text(json, "origin", origin_of(e->command->arena, p));
	jw_text(json, "note", p->note);
	jw_text(json, "help", p->row->help);
	jw_close(json);
}

static void write_json(FILE *out, const void *ctx)
{
	const struct explanation *e = ctx;
	struct json_writer json = jw_begin(out, JSON_PRETTY);
	jw_open(&json, NULL, '[');
	for (size_t i = 0; i < e->params.count; i++)
		write_param(&json, e, e->params.items[i]);
	jw_close(&json);
	jw_end(&json);
}

static void write_json_lines(FILE *out, const void *ctx)
{
	const struct explanation *e = ctx;
	for (size_t i = 0; i < e->params.count; i++) {
		struct json_writer json = jw_begin(out, JSON_LINE);
		write_param(&json, e, e->params.items[i]);
		jw_end(&json);
	}
}

static void write_csv(FILE *out, const void *ctx)
{
	const struct explanation *e = ctx;
	struct arena *arena = e->command->arena;
	struct result_table *table = result_table_new(arena, NULL, NULL);
	result_columns(table, "key:text|value|low|high|prior:text|unit:text|status:text|"
			      "origin:text|note:text|help:text");
	for (size_t i = 0; i < e->params.count; i++) {
		const struct cfg_param *p = e->params.items[i];
		bool number = p->row->kind == PARAM_KIND_NUMBER;
		bool flag = p->row->kind == PARAM_KIND_BOOL;
		result_row(table);
		result_text(table, p->path);
		result_cell(table, (struct result_cell){flag ? (p->value != 0 ? "true" : "false")
							     : p->text,
							estimate_exact(number ? p->value : NAN)});
		result_number(table, number ? p->low : NAN);
		result_number(table, number ? p->high : NAN);
		result_text(table, p->prior ? prior_name(p->prior) : NULL);
		result_text(table, number ? quantity_unit(p->row->quantity) : NULL);
		result_text(table, p->status);
		result_text(table, origin_of(arena, p));
		result_text(table, p->note);
		result_text(table, p->row->help);
	}
	result_table_write(out, FORMAT_CSV, table);
}

/* Returns whether a key of the user means the parameter: "tcp" means all of tcp.*, "link.*.latency"
 * that of each link, and "fitted" all fitted ones. */
static bool means(const char *key, const struct cfg_param *param)
{
	return *key && (strstr(param->path, key) || paths_match(key, param->path) ||
			strcmp(param->status, key) == 0);
}

/* Returns EXIT_USAGE, with an error, if no parameter is meant. */
static int check_key(const struct command *command, const struct cfg_resolution *resolution,
		     const char *key)
{
	size_t count = cfg_param_count(resolution);
	const char **paths = ARENA_ARRAY(command->arena, count, const char *);
	for (size_t i = 0; i < count; i++) {
		paths[i] = cfg_param_at(resolution, i)->path;
		if (means(key, cfg_param_at(resolution, i)))
			return EXIT_DONE;
	}
	const char *near = diag_nearest(key, paths, count);
	return command_stop(
		EXIT_USAGE,
		"the case has no parameter '%s' (%s%s%s`farwire explain CASE` lists them all)", key,
		near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

static int explain(const struct command *command, const char *path, const char *const *keys,
		   size_t key_count)
{
	struct diag *diag = diag_new(command->arena);
	struct case_request request = command_case(command, 0);
	request.path = path;
	const struct scenario *scenario = case_read(command->arena, diag, &request);
	if (!scenario) {
		diag_print(diag, stderr);
		return EXIT_USAGE;
	}
	struct explanation e = {.command = command,
				.fold = scenario->topology.fold,
				.not_folded = scenario->not_folded,
				.transport = scenario_transport(scenario),
				.hash = caption_hash(command->arena, &scenario->resolution, 1)};
	for (size_t k = 0; k < key_count; k++)
		if (check_key(command, scenario->resolution, keys[k]) != EXIT_DONE)
			return EXIT_USAGE;
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		bool wanted = key_count == 0;
		for (size_t k = 0; k < key_count; k++)
			wanted = wanted || means(keys[k], param);
		if (wanted)
			*VEC_PUSH(command->arena, &e.params) = param;
	}
	return command_write(command,
			     command->format == FORMAT_TABLE  ? write_table
			     : command->format == FORMAT_CSV  ? write_csv
			     : command->format == FORMAT_JSON ? write_json
							      : write_json_lines,
			     &e, NULL);
}

static int run(const struct command *command)
{
	bool has_file = command->word_count && is_file(command->words[0]);
	if (!has_file && command->word_count && strstr(command->words[0], ".cfg"))
		return command_stop(EXIT_USAGE,
				    "case '%s' cannot be read: there is no such file (`farwire "
				    "list cases` shows the shipped cases)",
				    command->words[0]);
	return explain(command, has_file ? command->words[0] : NULL, command->words + has_file,
		       command->word_count - has_file);
}

const struct verb verb_explain = {
	.name = "explain",
	.words = "CASE [KEY...]",
	.help = "lists the parameters of a case with value, interval, origin and source",
	.examples = "  farwire explain case.cfg runtime.handoff\n"
		    "  farwire explain --topology t320-same-esxi fitted\n",
	.options = "set plan serve wide format output quiet color",
	.run = run,
};
