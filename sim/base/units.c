/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/units.h"

#include <locale.h>
#include "sim/base/base.h"

enum { SMALL = 1, LARGE = 2, BINARY = 4 };

/* Prefixes in ascending order, by set. Quantities are not written with those that are only read. */
static const struct prefix {
	const char *text;
	/* Two factors, so that "4.5 us" is computed as 4.5 / 1e6 and is rounded once. */
	double mul, div;
	int sets;
	bool only_read;
} prefixes[] = {
	{"p", 1, 1e12, SMALL, false},      {"n", 1, 1e9, SMALL, false},
	{"u", 1, 1e6, SMALL, false},       {"m", 1, 1e3, SMALL, false},
	{"", 1, 1, SMALL | LARGE, false},  {"k", 1e3, 1, LARGE, false},
	{"M", 1e6, 1, LARGE, false},       {"G", 1e9, 1, LARGE, false},
	{"T", 1e12, 1, LARGE, false},      {"P", 1e15, 1, LARGE, false},
	{"E", 1e18, 1, LARGE, false},      {"Ki", 0x1p10, 1, BINARY, false},
	{"Mi", 0x1p20, 1, BINARY, false},  {"Gi", 0x1p30, 1, BINARY, false},
	{"Ti", 0x1p40, 1, BINARY, false},  {"Pi", 0x1p50, 1, BINARY, true},
	{"\xc2\xb5", 1, 1e6, SMALL, true}, /* the two Unicode forms of mu */
	{"\xce\xbc", 1, 1e6, SMALL, true},
};
enum { PREFIX_COUNT = sizeof prefixes / sizeof prefixes[0] };

struct unit_name {
	enum quantity quantity;
	const char *text;
	double mul, div; /* factors to SI */
	int prefixes;
};

static const struct unit_name units[] = {
	{QUANTITY_RATIO, "%", 1, 100, 0},
	{QUANTITY_TIME, "s", 1, 1, SMALL},
	{QUANTITY_TIME, "min", 60, 1, 0},
	{QUANTITY_TIME, "h", 3600, 1, 0},
	{QUANTITY_BYTES, "B", 1, 1, LARGE | BINARY},
	{QUANTITY_BYTES, "bit", 1, 8, LARGE | BINARY},
	{QUANTITY_RATE, "B/s", 1, 1, LARGE | BINARY},
	{QUANTITY_RATE, "bit/s", 1, 8, LARGE | BINARY},
	{QUANTITY_RATE, "b/s", 1, 8, LARGE | BINARY},
	{QUANTITY_RATE, "bps", 1, 8, LARGE},
	{QUANTITY_FREQUENCY, "Hz", 1, 1, LARGE},
	{QUANTITY_FREQUENCY, "1/s", 1, 1, 0},
	{QUANTITY_FREQUENCY, "/s", 1, 1, LARGE},
	{QUANTITY_FLOP_RATE, "FLOPS", 1, 1, LARGE},
	{QUANTITY_FLOP_RATE, "FLOP/s", 1, 1, LARGE},
	{QUANTITY_FLOP_RATE, "flop/s", 1, 1, LARGE},
	{QUANTITY_FLOP, "flop", 1, 1, LARGE},
	{QUANTITY_FLOP, "FLOP", 1, 1, LARGE},
	{QUANTITY_POWER, "W", 1, 1, LARGE},
};

struct quantity_kind {
	const char *noun, *unit, *example;
	int prefixes; /* with which numbers are written; 0: none */
};

static const struct quantity_kind kinds[] = {
	[QUANTITY_COUNT] = {"a plain number", "", "8", 0},
	[QUANTITY_RATIO] = {"a ratio", "", "3 %", 0},
	[QUANTITY_TIME] = {"a time", "s", "4.5 us", SMALL},
	[QUANTITY_BYTES] = {"a size", "B", "64 MiB", LARGE},
	[QUANTITY_RATE] = {"a bandwidth", "B/s", "25 Gbit/s", LARGE},
	[QUANTITY_FREQUENCY] = {"a frequency", "Hz", "1.5 GHz", LARGE},
	[QUANTITY_FLOP_RATE] = {"an arithmetic rate", "FLOP/s", "9.5 TFLOP/s", LARGE},
	[QUANTITY_FLOP] = {"a number of operations", "flop", "7.7 Gflop", LARGE},
	[QUANTITY_POWER] = {"a power", "W", "300 W", LARGE},
	[QUANTITY_TIME_PER_BYTE] = {"a time per byte", "s/B", "0.4 ns/B", SMALL},
};

const char *quantity_unit(enum quantity quantity)
{
	return kinds[quantity].unit;
}

const char *quantity_example(enum quantity quantity)
{
	return kinds[quantity].example;
}

const char *quantity_noun(enum quantity quantity)
{
	return kinds[quantity].noun;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t digits_length(const char *text)
{
	return strspn(text, "0123456789");
}

/* Returns the length of the decimal number at the start of text, or 0 if there is none. */
static size_t number_length(const char *text)
{
	const char *at = text;
	if (*at == '+' || *at == '-')
		at++;
	size_t whole = digits_length(at), part = 0;
	at += whole;
	if (*at == '.') {
		part = digits_length(at + 1);
		at += 1 + part;
	}
	if (whole + part == 0)
		return 0;
	if (*at == 'e' || *at == 'E') {
		size_t sign = at[1] == '+' || at[1] == '-';
		size_t power = digits_length(at + 1 + sign);
		if (power)
			at += 1 + sign + power;
	}
	return (size_t)(at - text);
}

/* Numbers are read and written in the "C" locale, in whatever locale the process runs. */
static locale_t enter_c_locale(locale_t *mine)
{
	*mine = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	FW_ASSERT(*mine != (locale_t)0);
	return uselocale(*mine);
}

static void leave_c_locale(locale_t before, locale_t mine)
{
	uselocale(before);
	freelocale(mine);
}

static double read_double(const char *text)
{
	locale_t mine, before = enter_c_locale(&mine);
	double value = strtod(text, NULL);
	leave_c_locale(before, mine);
	return value;
}

bool number_parse(const char *text, double *value)
{
	while (is_blank(*text))
		text++;
	size_t length = number_length(text);
	const char *rest = text + length;
	while (is_blank(*rest))
		rest++;
	if (length == 0 || *rest)
		return false;
	double read = read_double(text);
	if (!isfinite(read))
		return false;
	*value = read;
	return true;
}

char *number_format(struct arena *arena, int digits, double value)
{
	locale_t mine, before = enter_c_locale(&mine);
	char *text = arena_printf(arena, "%.*g", digits, value);
	leave_c_locale(before, mine);
	return text;
}

/* Returns true if text[length] is this unit, with or without a prefix, and then stores its factors.
 */
static bool unit_is(const struct unit_name *unit, const char *text, size_t length,
		    struct prefix *scale)
{
	size_t own = strlen(unit->text);
	if (length < own || memcmp(text + length - own, unit->text, own) != 0)
		return false;
	size_t before = length - own;
	for (size_t i = 0; i < PREFIX_COUNT; i++) {
		const struct prefix *prefix = &prefixes[i];
		if (strlen(prefix->text) != before || memcmp(prefix->text, text, before) != 0 ||
		    (before && !(unit->prefixes & prefix->sets)))
			continue;
		scale->mul = unit->mul * prefix->mul;
		scale->div = unit->div * prefix->div;
		return true;
	}
	return false;
}

enum { UNIT_LENGTH_MAX = 32 };

static bool unit_find(const char *text, size_t length, enum quantity *quantity,
		      struct prefix *scale)
{
	if (length > UNIT_LENGTH_MAX)
		return false;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (unit_is(&units[i], text, length, scale)) {
			*quantity = units[i].quantity;
			return true;
		}
	const char *slash = memchr(text, '/', length);
	if (!slash)
		return false;
	enum quantity above, below;
	struct prefix over, under;
	size_t over_length = (size_t)(slash - text);
	if (!unit_find(text, over_length, &above, &over) || above != QUANTITY_TIME ||
	    !unit_find(slash + 1, length - over_length - 1, &below, &under) ||
	    below != QUANTITY_BYTES)
		return false;
	*quantity = QUANTITY_TIME_PER_BYTE;
	scale->mul = over.mul * under.div;
	scale->div = over.div * under.mul;
	return true;
}

/* The most common mistakes get a specific hint. */
static const char *unit_hint(struct arena *arena, enum quantity wanted, const char *unit)
{
	if (strlen(unit) < UNIT_LENGTH_MAX &&
	    (strncmp(unit, "KB", 2) == 0 || strncmp(unit, "Kb", 2) == 0))
		return arena_printf(
			arena, "has the unit '%s' (k is 1000 and Ki is 1024: write k%s or Ki%s)",
			unit, unit + 1, unit + 1);
	return arena_printf(arena, "has an unknown unit '%.40s' (write for example \"%s\")", unit,
			    kinds[wanted].example);
}

const char *quantity_parse(struct arena *arena, enum quantity quantity, const char *text,
			   double *value)
{
	const struct quantity_kind *kind = &kinds[quantity];
	while (is_blank(*text))
		text++;
	size_t length = number_length(text);
	if (length == 0)
		return arena_printf(arena, "is not %s (write for example \"%s\")", kind->noun,
				    kind->example);
	double number = read_double(text);
	const char *start = text + length;
	while (is_blank(*start))
		start++;
	char *unit = arena_strdup(arena, start);
	for (size_t end = strlen(unit); end && is_blank(unit[end - 1]); end--)
		unit[end - 1] = '\0';
	if (!*unit && quantity != QUANTITY_COUNT && quantity != QUANTITY_RATIO)
		return arena_printf(arena, "has no unit (write %s such as \"%s\")", kind->noun,
				    kind->example);
	if (*unit) {
		enum quantity found;
		struct prefix scale = {0};
		if (!unit_find(unit, strlen(unit), &found, &scale))
			return unit_hint(arena, quantity, unit);
		if (found != quantity)
			return arena_printf(arena, "is %s, not %s (write for example \"%s\")",
					    kinds[found].noun, kind->noun, kind->example);
		number = number * scale.mul / scale.div;
	}
	if (!isfinite(number))
		return "is too large (write a finite number)";
	*value = number;
	return NULL;
}

/* ---- writing ---- */

/* Writes four digits with the largest prefix that leaves `like` a number of at least 1. */
static char *format_stepped(struct arena *arena, int set, double value, double like,
			    const char *unit)
{
	const struct prefix *prefix = NULL;
	double factor = 1;
	for (size_t i = 0; i < PREFIX_COUNT; i++) {
		if (!(prefixes[i].sets & set) || prefixes[i].only_read)
			continue;
		prefix = &prefixes[i];
		factor = prefix->mul / prefix->div;
		if (!(fabs(like) / factor >= 999.95))
			break;
	}
	return arena_printf(arena, "%s %s%s", number_format(arena, 4, value / factor),
			    prefix ? prefix->text : "", unit);
}

/* Uses a binary prefix if that gives a whole number and the decimal form does not; otherwise
 * returns NULL. */
static char *format_binary(struct arena *arena, double value)
{
	double decimal = fabs(value);
	while (isfinite(value) && decimal >= 1000)
		decimal /= 1000;
	for (size_t i = PREFIX_COUNT; i-- > 0 && decimal != floor(decimal);) {
		const struct prefix *prefix = &prefixes[i];
		double whole = value / prefix->mul;
		if (prefix->sets == BINARY && !prefix->only_read && fabs(whole) >= 1 &&
		    fabs(whole) < 9999.5 && whole == floor(whole))
			return arena_printf(arena, "%s %sB", number_format(arena, 4, whole),
					    prefix->text);
	}
	return NULL;
}

char *quantity_format(struct arena *arena, enum quantity quantity, double value)
{
	return quantity_format_like(arena, quantity, value, value);
}

char *quantity_format_like(struct arena *arena, enum quantity quantity, double value, double like)
{
	const struct quantity_kind *kind = &kinds[quantity];
	bool whole = quantity == QUANTITY_COUNT && value == floor(value) && fabs(value) < 1e15;
	bool time = quantity == QUANTITY_TIME;
	char *binary = quantity == QUANTITY_BYTES ? format_binary(arena, value) : NULL;
	if (!kind->prefixes)
		return number_format(arena, whole ? 15 : 4, value);
	if (time && (like == 0 || !isfinite(like)))
		return arena_printf(arena, "%s s", number_format(arena, 4, value));
	if (time && fabs(like) >= 9999.5)
		return arena_printf(arena, "%s h", number_format(arena, 4, value / 3600));
	if (quantity == QUANTITY_TIME_PER_BYTE && value == 0)
		return arena_strdup(arena, "0 s/B");
	if (quantity == QUANTITY_BYTES)
		like = value;
	return binary ? binary : format_stepped(arena, kind->prefixes, value, like, kind->unit);
}
