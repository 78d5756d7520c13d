/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/recording_parts.h"

#include <math.h>
#include <stdarg.h>

#include "sim/base/arena.h"

bool reading_fail(struct reading *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (!r->failed)
		diag_error(r->diag, (struct origin){r->recording->path, r->line}, "%s",
			   arena_vprintf(r->arena, format, args));
	va_end(args);
	r->failed = true;
	return false;
}

enum jp_token reading_next(struct reading *r)
{
	enum jp_token token = jp_next(r->in);
	if (r->in->read_B - r->start_B > RECORDING_LINE_MAX_B)
		reading_fail(r, "the line is longer than 1 MiB, so this is not a recording (name a "
				"file of a probe)");
	return r->failed ? JP_ERROR : token;
}

const char *reading_text(struct reading *r, const char *what)
{
	if (reading_next(r) == JP_TEXT)
		return arena_strdup(r->arena, r->in->text);
	if (!r->in->error)
		reading_fail(r, "%s must be a text", what);
	return "";
}

double reading_number(struct reading *r, const char *what)
{
	if (reading_next(r) == JP_NUMBER && isfinite(r->in->number))
		return r->in->number;
	if (!r->in->error)
		reading_fail(r, "%s must be a finite number", what);
	return 0;
}

bool reading_flag(struct reading *r, const char *what)
{
	enum jp_token token = reading_next(r);
	if (token != JP_TRUE && token != JP_FALSE && !r->in->error)
		reading_fail(r, "%s must be true or false", what);
	return token == JP_TRUE;
}

bool reading_skip(struct reading *r)
{
	return jp_skip(r->in) && !r->failed;
}

bool reading_opens(struct reading *r, enum jp_token bracket, const char *what)
{
	if (reading_next(r) == bracket)
		return true;
	return !r->in->error && reading_fail(r, "%s must be %s", what,
					     bracket == JP_OBJECT ? "an object" : "an array");
}
