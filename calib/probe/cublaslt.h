/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products with cuBLASLt, which is loaded at run time: C = A B in column-major order,
 * without transposition except for FP8. Only the few functions needed for this are declared. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUBLASLT_WORKSPACE_B ((size_t)32 << 20)

struct cublaslt;
struct cublaslt_product {
	const char *type; /* "fp32", "tf32", "fp16", "bf16", "fp8" (E4M3) */
	size_t m, n, k;
	const void *a, *b;
	void *c, *workspace; /* in GPU memory */
};

/* Returns NULL, with the reason in why, if the library is missing. */
struct cublaslt *cublaslt_open(char *why, size_t room);
void cublaslt_close(struct cublaslt *library);
/* Chooses the algorithm. Returns -1, with the reason in why, if there is none for the product. */
int cublaslt_prepare(struct cublaslt *library, const struct cublaslt_product *product, char *why,
		     size_t room);
int cublaslt_run(struct cublaslt *library, void *stream); /* 0, or the library's status */

#ifdef __cplusplus
}
#endif
