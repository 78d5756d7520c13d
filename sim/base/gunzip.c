/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/gunzip.h"

#include <errno.h>
#include <sys/types.h>
#include <zlib.h>
#include "sim/base/base.h"

/* A file may unpack to 1 GiB and 64 times its size. Call files of the samples shrink to between a
 * tenth and a fortieth, and a file of equal bytes to a thousandth. */
#define LEAST_ALLOWED_B ((uint64_t)1 << 30)
enum { ALLOWED_RATIO = 64, BLOCK_B = 1 << 16, WINDOW_AND_GZIP = MAX_WBITS + 16 };

/* Reads the two bytes of gzip. Returns false if the file begins otherwise, which has both again. */
static bool takes_mark(FILE *in)
{
	int first = getc(in), second = first == 0x1f ? getc(in) : EOF;
	if (second == 0x8b)
		return true;
	if (first == 0x1f && second != EOF)
		fseek(in, 0, SEEK_SET); /* no format that farwire reads begins so */
	else if (first != EOF)
		ungetc(first, in);
	return false;
}

/* Unpacks what zlib has been given. Returns why it fails, or NULL. */
static const char *unpack_block(z_stream *z, FILE *out, int *code)
{
	unsigned char block[BLOCK_B];
	do {
		if (*code == Z_STREAM_END)
			inflateReset(z); /* the next member */
		z->next_out = block;
		z->avail_out = sizeof block;
		*code = inflate(z, Z_NO_FLUSH);
		if (*code == Z_BUF_ERROR && z->avail_in == 0)
			*code = Z_OK; /* it waits for more input */
		if (*code != Z_OK && *code != Z_STREAM_END)
			return "it is damaged (pack it again with gzip)";
		size_t size_B = sizeof block - z->avail_out;
		if (fwrite(block, 1, size_B, out) != size_B)
			return strerror(errno);
	} while (z->avail_in > 0 || (*code == Z_OK && z->avail_out == 0));
	return NULL;
}

/* Unpacks a file whose mark was read. Returns why it fails, or NULL. */
static const char *unpack(z_stream *z, FILE *in, FILE *out)
{
	unsigned char packed[BLOCK_B] = {0x1f, 0x8b};
	uint64_t read_B = 0;
	size_t had_B = 2, got_B;
	int code = Z_OK;
	const char *why = NULL;
	while (!why && (got_B = had_B + fread(packed + had_B, 1, sizeof packed - had_B, in)) > 0) {
		z->next_in = packed;
		z->avail_in = (unsigned)got_B;
		read_B += got_B;
		had_B = 0;
		why = unpack_block(z, out, &code);
		if (!why && (uint64_t)ftello(out) > LEAST_ALLOWED_B + ALLOWED_RATIO * read_B)
			why = "it unpacks to more than 1 GiB and 64 times its size (unpack it with "
			      "gunzip)";
	}
	if (!why && ferror(in))
		why = strerror(errno);
	if (!why && code != Z_STREAM_END)
		why = "it ends too early (copy or record it again)";
	return why;
}

FILE *gunzip_open(struct diag *diag, struct origin origin, FILE *in)
{
	z_stream z = {0};
	if (!takes_mark(in))
		return in;
	FILE *out = tmpfile();
	const char *why = out && inflateInit2(&z, WINDOW_AND_GZIP) == Z_OK ? NULL : strerror(errno);
	if (!why) {
		why = unpack(&z, in, out);
		inflateEnd(&z);
	}
	fclose(in);
	if (!why && fflush(out) == 0) {
		rewind(out);
		return out;
	}
	if (out)
		fclose(out);
	return diag_null(diag, origin, "the compressed file cannot be unpacked: %s",
			 why ? why : strerror(errno));
}
