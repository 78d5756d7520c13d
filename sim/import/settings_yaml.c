/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads YAML with libyaml's events, and JSON, which is YAML apart from rare escapes. Configurations
 * of GPT-NeoX mix both. Only scalars become settings. */
#include <yaml.h>

#include "sim/import/settings.h"

enum { DEPTH_MAX = 32, PATH_MAX_B = 512 };

struct frame {
	const char *path; /* of the mapping or list; "" for the document */
	const char *key;  /* the key whose value comes next; NULL: a key comes next */
	bool list;
	size_t count; /* elements so far */
};

struct yaml_walk {
	struct settings *settings;
	const char *path;
	struct frame frames[DEPTH_MAX];
	size_t depth;
	bool failed;
};

static void fail(struct yaml_walk *walk, size_t line, const char *why)
{
	diag_error(walk->settings->reading->diag, (struct origin){walk->path, (int)line + 1}, "%s",
		   why);
	walk->failed = true;
}

static const char *next_path(struct yaml_walk *walk)
{
	struct arena *arena = walk->settings->reading->arena;
	if (walk->depth == 0)
		return "";
	struct frame *frame = &walk->frames[walk->depth - 1];
	const char *name = frame->list ? arena_printf(arena, "%zu", frame->count++) : frame->key;
	frame->key = NULL;
	FW_ASSERT(frame->path && name);
	return frame->path[0] ? arena_printf(arena, "%s.%s", frame->path, name) : name;
}

static void open_frame(struct yaml_walk *walk, bool list, size_t line)
{
	struct frame *frame = walk->depth ? &walk->frames[walk->depth - 1] : NULL;
	if (walk->depth == DEPTH_MAX)
		fail(walk, line, "more than 32 levels are nested (write a flat configuration)");
	else if (frame && !frame->list && !frame->key)
		fail(walk, line, "a key must be a word (write key: value)");
	else {
		const char *path = next_path(walk);
		if (strlen(path) > PATH_MAX_B)
			fail(walk, line,
			     "the names of nested keys are too long (write shorter names)");
		walk->frames[walk->depth++] = (struct frame){.path = path, .list = list};
	}
}

static void take_scalar(struct yaml_walk *walk, const char *text, size_t line)
{
	struct frame *frame = walk->depth ? &walk->frames[walk->depth - 1] : NULL;
	if (!frame)
		fail(walk, line, "a configuration has keys (write key: value)");
	else if (!frame->list && !frame->key)
		frame->key = arena_strdup(walk->settings->reading->arena, text);
	else
		settings_add(walk->settings, next_path(walk),
			     arena_strdup(walk->settings->reading->arena, text),
			     (struct origin){walk->path, (int)line + 1});
}

static void take_event(struct yaml_walk *walk, const yaml_event_t *event)
{
	size_t line = event->start_mark.line;
	switch (event->type) {
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		open_frame(walk, event->type == YAML_SEQUENCE_START_EVENT, line);
		break;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		walk->depth--;
		break;
	case YAML_SCALAR_EVENT:
		take_scalar(walk, (const char *)event->data.scalar.value, line);
		break;
	case YAML_ALIAS_EVENT:
		take_scalar(walk, "${alias}", line);
		break;
	default:
		break;
	}
}

void settings_read_yaml(struct settings *settings, const char *path, const char *text,
			size_t size_B)
{
	struct yaml_walk walk = {.settings = settings, .path = path};
	yaml_parser_t parser;
	FW_ASSERT(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size_B);
	for (bool ended = false; !ended && !walk.failed;) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			fail(&walk, parser.problem_mark.line,
			     arena_printf(settings->reading->arena,
					  "this is neither JSON nor YAML: %s (correct the file)",
					  parser.problem ? parser.problem : "no memory"));
			break;
		}
		take_event(&walk, &event);
		ended = event.type == YAML_STREAM_END_EVENT ||
			diag_count(settings->reading->diag) > 0;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
}
