/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/notes.h"
#include "sim/base/base.h"

/* A phrase has at most this number of bytes; a longer clause says too little in a cell. */
enum { PHRASE_MOST = 36 };

/* Returns the length of the reason's first clause, or 0 if it is too long for a cell. */
static size_t phrase_length(const char *reason)
{
	static const char *const ends[] = {":", " (", ",", ";", " '", " from '", " of '", " on '"};
	size_t length = strlen(reason);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		const char *at = strstr(reason, ends[i]);
		if (at && (size_t)(at - reason) < length)
			length = (size_t)(at - reason);
	}
	return length <= PHRASE_MOST ? length : 0;
}

static const char *skip_varied(const char *text)
{
	text += strspn(text, "0123456789.");
	return *text == '(' ? text + strcspn(text, ")") : text;
}

/* Compares two reasons without their numbers and without text between parentheses. */
static bool alike(const char *a, const char *b)
{
	for (a = skip_varied(a), b = skip_varied(b); *a && *a == *b;) {
		a = skip_varied(a + 1);
		b = skip_varied(b + 1);
	}
	return *a == *b;
}

const char *notes_cell(struct arena *arena, struct notes *notes, const char *reason)
{
	size_t index = 0;
	reason = reason ? reason : "no reason given";
	while (index < notes->list.count && !alike(notes->list.items[index].reason, reason))
		index++;
	if (index == notes->list.count)
		*VEC_PUSH(arena, &notes->list) = (struct note){arena_strdup(arena, reason), 1};
	else if (strcmp(notes->list.items[index].reason, reason) != 0)
		notes->list.items[index].count++;
	int length = (int)phrase_length(reason);
	return arena_printf(arena, "failed%s%.*s [%zu]", length ? ": " : "", length, reason,
			    index + 1);
}

const char *notes_text(struct arena *arena, const struct notes *notes, size_t index)
{
	const struct note *note = &notes->list.items[index];
	return arena_printf(arena, "[%zu] %s%s", index + 1, note->reason,
			    note->count > 1 ? "; other rows have other numbers" : "");
}
