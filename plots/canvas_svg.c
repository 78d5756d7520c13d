/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SVG output: one element per shape, with texts as text elements. So a page with many figures stays
 * small, its words can be searched and read aloud, and the bytes depend on no library and no font.
 * cairo's SVG draws every letter as a curve and repeats the definitions of letters in each file.
 *
 * textLength gives each text the width computed by the layout, whatever font the reader has.
 * Numbers have two decimals, which is a hundredth of a point. */
#include "plots/shapes.h"
#include "sim/base/utf8.h"

/* ---- attributes ---- */

/* Writes "-0.5", "12.25" or "7": the shortest form with at most two decimals. */
static void put_number(FILE *out, double value)
{
	char text[64];
	int length = snprintf(text, sizeof text, "%.2f", value);
	FW_ASSERT(length > 3 && (size_t)length < sizeof text);
	while (text[length - 1] == '0')
		length--;
	if (text[length - 1] == '.')
		length--;
	text[length] = '\0';
	fputs(strcmp(text, "-0") == 0 ? "0" : text, out);
}

static void put_attribute(FILE *out, const char *name, double value)
{
	fprintf(out, " %s=\"", name);
	put_number(out, value);
	fputc('"', out);
}

/* name is "fill" or "stroke" */
static void put_paint(FILE *out, const char *name, struct paint paint)
{
	fprintf(out, " %s=\"#%06x\"", name, (unsigned)paint.rgb);
	if (paint.alpha < 1)
		fprintf(out, " %s-opacity=\"%.3g\"", name, paint.alpha);
}

static void end_filled(FILE *out, struct paint paint)
{
	put_paint(out, "fill", paint);
	fputs("/>\n", out);
}

static void put_point(FILE *out, char letter, double x, double y)
{
	fputc(letter, out);
	put_number(out, x);
	fputc(' ', out);
	put_number(out, y);
}

/* Characters that XML does not allow become U+FFFD: control characters, invalid UTF-8, U+FFFE and
 * U+FFFF. */
static bool is_allowed(const unsigned char *at, size_t length)
{
	bool control = *at < 32 || *at == 127;
	return length > 0 && !control &&
	       !(length == 3 && memcmp(at, "\xEF\xBF", 2) == 0 && at[2] > 0xBD);
}

static void put_escaped(FILE *out, const char *text)
{
	const unsigned char *start = (const unsigned char *)text, *at = start;
	while (*at) {
		size_t length = utf8_length(at);
		if (!is_allowed(at, length))
			fputs(UTF8_REPLACEMENT, out);
		else if (utf8_invisible(at))
			fprintf(out, "\\u%04x", (unsigned)utf8_invisible(at));
		else if (*at == ' ' && (at == start || at[-1] == ' '))
			/* viewers would merge several ordinary blanks into one */
			fputs("\xC2\xA0", out);
		else if (*at == '&')
			fputs("&amp;", out);
		else if (*at == '<')
			fputs("&lt;", out);
		else if (*at == '>')
			fputs("&gt;", out);
		else
			fwrite(at, 1, length, out);
		at += length ? length : 1;
	}
}

/* ---- shapes ---- */

static void put_rectangle(FILE *out, const double *at)
{
	fputs("<rect", out);
	put_attribute(out, "x", at[0]);
	put_attribute(out, "y", at[1]);
	put_attribute(out, "width", at[2]);
	put_attribute(out, "height", at[3]);
}

static void put_points(FILE *out, const struct shape *shape)
{
	fputs("<path d=\"", out);
	for (size_t i = 0; i < shape->point_count; i++)
		put_point(out, i ? 'L' : 'M', shape->points[2 * i], shape->points[2 * i + 1]);
}

static void put_stroke_points(FILE *out, const struct shape *shape)
{
	put_points(out, shape);
	fputc('"', out);
	put_paint(out, "stroke", shape->paint);
	put_attribute(out, "stroke-width", shape->at[4]);
	if (shape->style != DASH_SOLID) {
		const double *lengths = dash_lengths((enum dash)shape->style);
		fprintf(out, " stroke-dasharray=\"%g %g\"", lengths[0], lengths[1]);
	}
	fputs("/>\n", out);
}

static void put_hatch_line(void *ctx, const double *ends)
{
	FILE *out = ctx;
	bool level = ends[1] == ends[3], upright = ends[0] == ends[2];
	put_point(out, 'M', ends[0], ends[1]);
	if (!level && !upright) {
		put_point(out, 'L', ends[2], ends[3]);
		return;
	}
	fputc(level ? 'h' : 'v', out);
	put_number(out, level ? ends[2] - ends[0] : ends[3] - ends[1]);
}

static void put_hatch(FILE *out, const struct shape *shape)
{
	fputs("<path d=\"", out);
	double width = hatch_lines(shape, put_hatch_line, out);
	fputc('"', out);
	put_paint(out, "stroke", shape->paint);
	put_attribute(out, "stroke-width", width);
	fputs("/>\n", out);
}

static void put_marker(FILE *out, const struct shape *shape)
{
	double half = shape->at[2] / 2;
	enum marker marker = (enum marker)shape->style;
	if (marker == MARKER_CIRCLE) {
		fputs("<circle", out);
		put_attribute(out, "cx", shape->at[0]);
		put_attribute(out, "cy", shape->at[1]);
		put_attribute(out, "r", half);
		end_filled(out, shape->paint);
		return;
	}
	const struct marker_outline *outline = marker_outline(marker);
	fputs("<path d=\"", out);
	for (size_t i = 0; i < outline->count; i++)
		put_point(out, i == 0 || (outline->strokes && i % 2 == 0) ? 'M' : 'L',
			  shape->at[0] + half * outline->points[2 * i],
			  shape->at[1] + half * outline->points[2 * i + 1]);
	fputs(outline->strokes ? "\"" : "z\"", out);
	put_paint(out, outline->strokes ? "stroke" : "fill", shape->paint);
	if (outline->strokes)
		put_attribute(out, "stroke-width", shape->at[2] * MARKER_STROKE);
	fputs("/>\n", out);
}

static void put_text(FILE *out, const struct shape *shape)
{
	static const char *const anchors[] = {
		[ANCHOR_START] = "start", [ANCHOR_MIDDLE] = "middle", [ANCHOR_END] = "end"};
	double width = text_width(shape->text, shape->at[2], shape->bold);
	if (!*shape->text)
		return;
	fputs("<text", out);
	put_attribute(out, "x", shape->at[0]);
	put_attribute(out, "y", shape->at[1]);
	if (shape->kind == SHAPE_TEXT_UP) {
		fputs(" transform=\"rotate(-90", out);
		put_point(out, ' ', shape->at[0], shape->at[1]);
		fputs(")\"", out);
	}
	put_attribute(out, "font-size", shape->at[2]);
	if (shape->bold)
		fputs(" font-weight=\"bold\"", out);
	if (shape->style != ANCHOR_START)
		fprintf(out, " text-anchor=\"%s\"", anchors[shape->style]);
	if (width > 0) {
		put_attribute(out, "textLength", width);
		fputs(" lengthAdjust=\"spacingAndGlyphs\"", out);
	}
	put_paint(out, "fill", shape->paint);
	fputc('>', out);
	put_escaped(out, shape->text);
	fputs("</text>\n", out);
}

static void put_shape(FILE *out, const struct shape *shape)
{
	switch (shape->kind) {
	case SHAPE_RECTANGLE:
		put_rectangle(out, shape->at);
		end_filled(out, shape->paint);
		break;
	case SHAPE_HATCH:
		put_hatch(out, shape);
		break;
	case SHAPE_LINE:
	case SHAPE_POLYLINE:
		put_stroke_points(out, shape);
		break;
	case SHAPE_POLYGON:
		put_points(out, shape);
		fputs("z\"", out);
		end_filled(out, shape->paint);
		break;
	case SHAPE_MARKER:
		put_marker(out, shape);
		break;
	case SHAPE_TEXT:
	case SHAPE_TEXT_UP:
		put_text(out, shape);
		break;
	case SHAPE_HINT:
		put_rectangle(out, shape->at);
		put_paint(out, "fill", shape->paint);
		fputs("><title>", out);
		put_escaped(out, shape->text);
		fputs("</title></rect>\n", out);
		break;
	}
}

void svg_write(FILE *out, const struct drawing *drawing)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
	      "xmlns=\"http://www.w3.org/2000/svg\"",
	      out);
	fputs(" width=\"", out);
	put_number(out, drawing->width);
	fputs("pt\" height=\"", out);
	put_number(out, drawing->height);
	fputs("pt\" viewBox=\"0 0", out);
	put_point(out, ' ', drawing->width, drawing->height);
	fputs("\" font-family=\"" PLOT_FONT ",Verdana,sans-serif\" fill=\"none\" "
	      "stroke-linejoin=\"round\">\n",
	      out);
	put_rectangle(out, (const double[]){0, 0, drawing->width, drawing->height});
	fputs(" fill=\"#ffffff\"/>\n", out);
	for (size_t i = 0; i < drawing->shapes.count; i++)
		put_shape(out, &drawing->shapes.items[i]);
	fputs("</svg>\n", out);
}
