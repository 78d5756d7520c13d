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
