/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/base/utf8.h"

size_t utf8_length(const unsigned char *text)
{
	if (text[0] < 0x80)
		return 1;
	size_t length = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
	if (text[0] < 0xC2 || text[0] > 0xF4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xC0) != 0x80)
			return 0;
	if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
	    (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
		return 0;
	return length;
}

uint32_t utf8_invisible(const unsigned char *text)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0x80, 0x9F},      {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},
		      {0x115F, 0x1160},  {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F},
		      {0x2028, 0x202E},  {0x2060, 0x206F}, {0x3164, 0x3164}, {0xFE00, 0xFE0F},
		      {0xFEFF, 0xFEFF},  {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0x1D173, 0x1D17A},
		      {0xE0000, 0xE0FFF}};
	size_t length = utf8_length(text);
	if (length < 2)
		return 0;
	uint32_t code = text[0] & (0x7Fu >> length);
	for (size_t i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3F);
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return code;
	return 0;
}
