/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/xml.h"

#include <expat.h>

enum { DEPTH_MAX = 64, ELEMENTS_MAX = 200000, TEXT_MAX_B = 1 << 20 };

struct walk {
	struct arena *arena;
	struct diag *diag;
	const struct xml_reader *reader;
	const char *path;
	XML_Parser parser;
	size_t depth, count;
	VEC(char) text;
};

static struct origin here(const struct walk *walk)
{
	return (struct origin){walk->path, (int)XML_GetCurrentLineNumber(walk->parser)};
}

static void stop(struct walk *walk, const char *why)
{
	if (why)
		diag_error(walk->diag, here(walk), "%s", why);
	XML_StopParser(walk->parser, XML_FALSE);
}

static void XMLCALL on_open(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct walk *walk = data;
	struct xml_element element = {name, (const char *const *)attributes, here(walk)};
	walk->text.count = 0;
	if (++walk->depth > DEPTH_MAX || ++walk->count > ELEMENTS_MAX)
		stop(walk,
		     "the file has more than 64 levels or 200,000 elements (name another file)");
	else
		walk->reader->open(walk->reader->ctx, &element);
	if (diag_count(walk->diag))
		stop(walk, NULL);
}

static void XMLCALL on_close(void *data, const XML_Char *name)
{
	struct walk *walk = data;
	walk->depth--;
	*VEC_PUSH(walk->arena, &walk->text) = '\0';
	if (walk->reader->close)
		walk->reader->close(walk->reader->ctx, name, walk->text.items);
	walk->text.count = 0;
	if (diag_count(walk->diag))
		stop(walk, NULL);
}

static void XMLCALL on_text(void *data, const XML_Char *text, int length)
{
	struct walk *walk = data;
	for (int i = 0; i < length && walk->text.count < TEXT_MAX_B; i++)
		*VEC_PUSH(walk->arena, &walk->text) = text[i];
}

/* Entities can make a small file very large, and the formats that farwire reads have none. */
static void XMLCALL on_entity(void *data, const XML_Char *name, int is_parameter,
			      const XML_Char *value, int length, const XML_Char *base,
			      const XML_Char *system, const XML_Char *public,
			      const XML_Char *notation)
{
	stop(data, "the file declares an entity (write its text in place)");
}

bool xml_read(struct arena *arena, struct diag *diag, const char *path, const char *text,
	      size_t size_B, const struct xml_reader *reader)
{
	struct walk walk = {.arena = arena, .diag = diag, .reader = reader, .path = path};
	walk.parser = XML_ParserCreate(NULL);
	FW_ASSERT(walk.parser);
	XML_SetUserData(walk.parser, &walk);
	XML_SetElementHandler(walk.parser, on_open, on_close);
	XML_SetCharacterDataHandler(walk.parser, on_text);
	XML_SetEntityDeclHandler(walk.parser, on_entity);
	if (XML_Parse(walk.parser, text, (int)size_B, XML_TRUE) != XML_STATUS_OK &&
	    diag_count(diag) == 0)
		diag_error(diag, here(&walk), "this is not XML: %s (correct the file)",
			   XML_ErrorString(XML_GetErrorCode(walk.parser)));
	XML_ParserFree(walk.parser);
	return diag_count(diag) == 0;
}

const char *xml_attribute(const struct xml_element *element, const char *name)
{
	for (const char *const *at = element->attributes; at[0]; at += 2)
		if (strcmp(at[0], name) == 0)
			return at[1];
	return "";
}
