/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PDF and PNG output. This is the only file that uses cairo. */
#include <cairo-pdf.h>
#include <cairo.h>

#include "plots/shapes.h"

#define PIXELS_PER_POINT 2.0
/* A PDF contains its creation date, and the same drawing must give the same bytes. */
#define PDF_DATE "2000-01-01T00:00:00Z"

/* Read by the leak checker if it is linked: fontconfig keeps its font cache until the process ends,
 * and cairo has no function to free it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig";
}

static void path(cairo_t *cairo, const double *points, size_t count)
{
	cairo_new_path(cairo);
	for (size_t i = 0; i < count; i++)
		cairo_line_to(cairo, points[2 * i], points[2 * i + 1]);
}

static void stroke_points(cairo_t *cairo, const struct shape *shape)
{
	path(cairo, shape->points, shape->point_count);
	if (shape->style != DASH_SOLID)
		cairo_set_dash(cairo, dash_lengths((enum dash)shape->style), 2, 0);
	cairo_set_line_width(cairo, shape->at[4]);
	cairo_stroke(cairo);
	cairo_set_dash(cairo, NULL, 0, 0);
}

static void add_line(void *ctx, const double *ends)
{
	cairo_t *cairo = ctx;
	cairo_move_to(cairo, ends[0], ends[1]);
	cairo_line_to(cairo, ends[2], ends[3]);
}

static void draw_pattern(cairo_t *cairo, const struct shape *shape)
{
	cairo_new_path(cairo);
	cairo_set_line_width(cairo, hatch_lines(shape, add_line, cairo));
	cairo_stroke(cairo);
}

static void draw_sign(cairo_t *cairo, const struct shape *shape)
{
	double half = shape->at[2] / 2;
	enum marker marker = (enum marker)shape->style;
	cairo_new_path(cairo);
	if (marker == MARKER_CIRCLE) {
		cairo_arc(cairo, shape->at[0], shape->at[1], half, 0, 4 * acos(0.0));
		cairo_fill(cairo);
		return;
	}
	const struct marker_outline *outline = marker_outline(marker);
	for (size_t i = 0; i < outline->count; i++) {
		if (outline->strokes && i % 2 == 0)
			cairo_new_sub_path(cairo);
		cairo_line_to(cairo, shape->at[0] + half * outline->points[2 * i],
			      shape->at[1] + half * outline->points[2 * i + 1]);
	}
	if (outline->strokes) {
		cairo_set_line_width(cairo, shape->at[2] * MARKER_STROKE);
		cairo_stroke(cairo);
	} else {
		cairo_fill(cairo);
	}
}

static void show_text(cairo_t *cairo, const struct shape *shape)
{
	cairo_select_font_face(cairo, PLOT_FONT, CAIRO_FONT_SLANT_NORMAL,
			       shape->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cairo, shape->at[2]);
	cairo_text_extents_t extents;
	cairo_text_extents(cairo, shape->text, &extents);
	double width = text_width(shape->text, shape->at[2], shape->bold);
	double squeeze = extents.x_advance > 1.02 * width ? width / extents.x_advance : 1;
	static const double shares[] = {
		[ANCHOR_START] = 0, [ANCHOR_MIDDLE] = 0.5, [ANCHOR_END] = 1};
	cairo_save(cairo);
	cairo_translate(cairo, shape->at[0], shape->at[1]);
	if (shape->kind == SHAPE_TEXT_UP)
		cairo_rotate(cairo, -acos(0.0));
	cairo_scale(cairo, squeeze, 1);
	cairo_move_to(cairo, -shares[shape->style] * extents.x_advance, 0);
	cairo_show_text(cairo, shape->text);
	cairo_restore(cairo);
}

static void draw_shape(cairo_t *cairo, const struct shape *shape)
{
	const double *at = shape->at;
	cairo_set_source_rgba(cairo, (shape->paint.rgb >> 16 & 0xFF) / 255.0,
			      (shape->paint.rgb >> 8 & 0xFF) / 255.0,
			      (shape->paint.rgb & 0xFF) / 255.0, shape->paint.alpha);
	switch (shape->kind) {
	case SHAPE_RECTANGLE:
		cairo_rectangle(cairo, at[0], at[1], at[2], at[3]);
		cairo_fill(cairo);
		break;
	case SHAPE_HATCH:
		draw_pattern(cairo, shape);
		break;
	case SHAPE_LINE:
	case SHAPE_POLYLINE:
		stroke_points(cairo, shape);
		break;
	case SHAPE_POLYGON:
		path(cairo, shape->points, shape->point_count);
		cairo_close_path(cairo);
		cairo_fill(cairo);
		break;
	case SHAPE_MARKER:
		draw_sign(cairo, shape);
		break;
	case SHAPE_TEXT:
	case SHAPE_TEXT_UP:
		show_text(cairo, shape);
		break;
	case SHAPE_HINT:
		break;
	}
}

static void draw_page(cairo_t *cairo, const struct drawing *drawing)
{
	cairo_font_options_t *options = cairo_font_options_create();
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	cairo_set_font_options(cairo, options);
	cairo_font_options_destroy(options);
	cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
	cairo_set_source_rgb(cairo, 1, 1, 1);
	cairo_paint(cairo);
	for (size_t i = 0; i < drawing->shapes.count; i++)
		draw_shape(cairo, &drawing->shapes.items[i]);
	cairo_show_page(cairo);
}

static cairo_status_t write_bytes(void *closure, const unsigned char *data, unsigned int length)
{
	return fwrite(data, 1, length, closure) == length ? CAIRO_STATUS_SUCCESS
							  : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_surface_t *surface_new(enum image_format format, const struct drawing *drawing,
				    FILE *out)
{
	cairo_surface_t *surface = NULL;
	switch (format) {
	case IMAGE_SVG: /* handled by canvas_svg.c */
		break;
	case IMAGE_PDF:
		surface = cairo_pdf_surface_create_for_stream(write_bytes, out, drawing->width,
							      drawing->height);
		/* Later versions compress objects, which makes the file hard to inspect. */
		cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_4);
		cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, PDF_DATE);
		cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_MOD_DATE, PDF_DATE);
		break;
	case IMAGE_PNG:
		surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24,
						     (int)ceil(drawing->width * PIXELS_PER_POINT),
						     (int)ceil(drawing->height * PIXELS_PER_POINT));
		break;
	}
	return surface;
}

/* Writes a PDF or PNG. Returns the message of an error, or NULL. */
static const char *render(FILE *out, enum image_format format,
			  const struct drawing *const *drawings, size_t count)
{
	cairo_surface_t *surface = surface_new(format, drawings[0], out);
	cairo_t *cairo = cairo_create(surface);
	if (format == IMAGE_PNG)
		cairo_scale(cairo, PIXELS_PER_POINT, PIXELS_PER_POINT);
	for (size_t i = 0; i < count; i++) {
		if (format == IMAGE_PDF)
			cairo_pdf_surface_set_size(surface, drawings[i]->width,
						   drawings[i]->height);
		draw_page(cairo, drawings[i]);
	}
	cairo_status_t status = cairo_status(cairo);
	cairo_destroy(cairo);
	if (status == CAIRO_STATUS_SUCCESS && format == IMAGE_PNG)
		status = cairo_surface_write_to_png_stream(surface, write_bytes, out);
	cairo_surface_finish(surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(surface);
	cairo_surface_destroy(surface);
	return status == CAIRO_STATUS_SUCCESS ? NULL : cairo_status_to_string(status);
}

unsigned char *image_render(struct arena *arena, enum image_format format,
			    const struct drawing *const *drawings, size_t count, size_t *size,
			    const char **message)
{
	FW_ASSERT(count >= 1 && (count == 1 || format == IMAGE_PDF));
	char *bytes = NULL;
	const char *wrong = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);
	FW_ASSERT(out);
	if (format == IMAGE_SVG)
		svg_write(out, drawings[0]);
	else
		wrong = render(out, format, drawings, count);
	FW_ASSERT(fclose(out) == 0);
	unsigned char *image = wrong ? NULL : arena_alloc(arena, length);
	if (image) {
		memcpy(image, bytes, length);
		*size = length;
	} else {
		*message = wrong;
	}
	free(bytes);
	return image;
}
