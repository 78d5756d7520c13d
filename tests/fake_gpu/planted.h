/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a fake device (planted.def), read from a file with lines `key = value`; #
 * starts a comment. Times of copies are piecewise linear segments:
 *
 *   copy.h2d.pinned = 0:4e-6:0 32768:4.2e-6:4e-11
 *
 * means 4 us from 0 bytes on, and 4.2 us plus 0.04 ns per byte from 32 KiB on.
 */
#pragma once

#include <stddef.h>

#define PLANTED_SEGMENTS 5

struct planted_line {
	struct {
		double from_B, start_s, byte_spB;
	} segments[PLANTED_SEGMENTS];
	size_t count;
};

enum planted_copy {
	PLANTED_H2D,
	PLANTED_D2H,
	PLANTED_H2D_PAGEABLE,
	PLANTED_D2H_PAGEABLE,
	PLANTED_MEMSET,
	PLANTED_COPIES,
};

struct planted {
#define PLANT(key, field, preset) double field;
#include "tests/fake_gpu/planted.def"
#undef PLANT
	struct planted_line copies[PLANTED_COPIES];
};

/* Sets the defaults and then the values of the file, if path is not NULL. Returns -1, with the
 * reason and line in why, after an error. */
int planted_read(struct planted *planted, const char *path, char *why, size_t room);
double planted_copy_s(const struct planted *planted, enum planted_copy copy, double size_B);
