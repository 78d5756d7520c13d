/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text metrics without a font: widths and line breaks. */
#include "plots/shapes.h"
#include "plots/style.h"
#include "sim/base/utf8.h"

/* Advance widths of DejaVu Sans 2.37, Book and Bold, ASCII 32..126, in
 * thousandths of the font size. */
static const short widths[2][95] = {
	{318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
	 636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
	 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
	 603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
	 500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
	 635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838},
	{348,  456, 521, 838, 696, 1002, 872, 306,  457, 457, 523, 838, 380, 415,  380, 365,
	 696,  696, 696, 696, 696, 696,  696, 696,  696, 696, 400, 400, 838, 838,  838, 580,
	 1000, 774, 762, 734, 830, 683,  683, 821,  837, 372, 372, 775, 637, 995,  837, 850,
	 733,  850, 770, 720, 682, 812,  774, 1103, 771, 724, 725, 457, 365, 457,  838, 500,
	 500,  675, 716, 593, 716, 678,  435, 716,  712, 343, 343, 665, 343, 1042, 712, 687,
	 716,  716, 493, 595, 478, 712,  652, 924,  645, 652, 582, 712, 365, 712,  838},
};

/* Returns the length of the UTF-8 character at text, or 1 if it is invalid. */
static size_t character_length(const char *text)
{
	size_t length = utf8_length((const unsigned char *)text);
	return length ? length : 1;
}

static double character_width(const char *text, size_t length, bool bold)
{
	unsigned char first = (unsigned char)text[0];
	if (length == 1)
		return first >= 32 && first <= 126 ? widths[bold][first - 32] : 0;
	static const struct {
		const char *text;
		short widths[2];
	} others[] = {
		{"·", {318, 380}}, {"–", {500, 500}}, {"—", {1000, 1000}}, {"…", {1000, 1000}},
		{" ", {318, 348}}, {"°", {500, 500}}, {"±", {838, 838}},   {"×", {838, 838}},
		{"−", {838, 838}}, {"≤", {838, 838}}, {"≥", {838, 838}},   {"→", {838, 838}},
		{"←", {838, 838}}, {"↑", {838, 838}}, {"↓", {838, 838}},   {"↔", {838, 838}}};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strlen(others[i].text) == length && memcmp(others[i].text, text, length) == 0)
			return others[i].widths[bold];
	/* two bytes: letters; more: symbols */
	return length == 2 ? (bold ? 700 : 640) : (bold ? 1000 : 960);
}

static double prefix_width(const char *text, size_t bytes, double size, bool bold)
{
	double sum = 0;
	for (size_t i = 0; i < bytes;) {
		size_t length = character_length(text + i);
		sum += character_width(text + i, length, bold);
		i += length;
	}
	return sum * size / 1000;
}

double text_width(const char *text, double size, bool bold)
{
	return prefix_width(text, strlen(text), size, bold);
}

const char *text_fit(struct arena *arena, const char *text, double size, bool bold, double width)
{
	if (text_width(text, size, bold) <= width)
		return text;
	double room = width - text_width("…", size, bold);
	size_t bytes = 0;
	while (text[bytes]) {
		size_t next = bytes + character_length(text + bytes);
		if (prefix_width(text, next, size, bold) > room)
			break;
		bytes = next;
	}
	while (bytes > 0 && text[bytes - 1] == ' ')
		bytes--;
	return arena_printf(arena, "%.*s…", (int)bytes, text);
}

/* Returns true if the blank at text[at] separates a number from its unit: "4 GiB", but not "gpus=4
 * batch". */
static bool before_unit(const char *text, size_t at)
{
	size_t start = at;
	while (start > 0 && text[start - 1] != ' ')
		start--;
	bool number = start < at && strspn(text + start, "0123456789.") >= at - start;
	return number && (isalpha((unsigned char)text[at + 1]) || text[at + 1] == '%');
}

/* Returns the number of bytes of the next line: up to the last break that fits, at least one
 * character. A number stays with its unit. */
static size_t line_length(const char *text, double size, bool bold, double width)
{
	size_t best = 0, bytes = 0;
	while (text[bytes]) {
		size_t next = bytes + character_length(text + bytes);
		if (text[bytes] == ' ' && (best == 0 || !before_unit(text, bytes)))
			best = bytes;
		if (prefix_width(text, next, size, bold) > width && bytes > 0)
			return best > 0 ? best : bytes;
		if (strchr("_/-,", text[bytes]) && text[next])
			best = next;
		bytes = next;
	}
	return bytes;
}

size_t text_wrap(struct arena *arena, const char *text, double size, bool bold, double width,
		 size_t lines_max, const char **lines)
{
	size_t count = 0;
	text += strspn(text, " ");
	while (*text && count < lines_max) {
		if (count + 1 == lines_max) {
			lines[count++] = text_fit(arena, text, size, bold, width);
			break;
		}
		size_t bytes = line_length(text, size, bold, width);
		lines[count++] = arena_printf(arena, "%.*s", (int)bytes, text);
		text += bytes;
		text += strspn(text, " ");
	}
	return count;
}

void draw_lines(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
		struct paint fill, const char *const *lines, size_t count)
{
	const double pitch = size * 1.22;
	double baseline = y + size * 0.36 - pitch * ((double)count - 1) / 2;
	for (size_t i = 0; i < count; i++)
		draw_text(drawing, x, baseline + pitch * (double)i, size, anchor, fill, false,
			  lines[i]);
}

void draw_row_label(struct drawing *drawing, double x, double y, const char *text, double width)
{
	enum { FEW = 2, MANY = 3 };
	const char *lines[MANY];
	double size = FONT_TEXT;
	size_t count = text_wrap(drawing->arena, text, size, false, width, MANY, lines);
	if (count > FEW) {
		size = FONT_LABEL;
		count = text_wrap(drawing->arena, text, size, false, width, MANY, lines);
	}
	draw_lines(drawing, x, y, size, ANCHOR_END, ink, lines, count);
}

const char *power_text(struct arena *arena, double value)
{
	const char *sign = value < 0 ? "−" : "";
	int exponent = (int)floor(log10(fabs(value)) + 1e-9);
	double mantissa = fabs(value) / pow(10, exponent);
	static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
	int size = exponent < 0 ? -exponent : exponent;
	const char *power =
		arena_printf(arena, "%s%s%s", exponent < 0 ? "⁻" : "",
			     size >= 10 ? digits[size / 10 % 10] : "", digits[size % 10]);
	if (fabs(mantissa - 1) < 1e-6)
		return arena_printf(arena, "%s10%s", sign, power);
	return arena_printf(arena, "%s%.3g·10%s", sign, mantissa, power);
}

const char *number_text(struct arena *arena, double value, int digits)
{
	if (!isfinite(value))
		return "–";
	const char *sign = value < 0 ? "−" : "";
	double size = fabs(value);
	if (size == 0)
		return "0";
	int exponent = (int)floor(log10(size) + 1e-9);
	if (exponent >= 6 || exponent < -4)
		return power_text(arena, value);
	int decimals = digits - 1 - exponent;
	return arena_printf(arena, "%s%.*f", sign, decimals > 0 ? decimals : 0, size);
}

const char *interval_text(struct arena *arena, const struct estimate *estimate)
{
	const char *value =
		isfinite(estimate->value) ? number_format(arena, 6, estimate->value) : "–";
	return has_interval(*estimate) ? arena_printf(arena, "%s (%s to %s)", value,
						      number_format(arena, 6, estimate->low),
						      number_format(arena, 6, estimate->high))
				       : value;
}
