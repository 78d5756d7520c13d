/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLASLt, found when the program runs: C = A B, column by
 * column, no transposition. Nothing but the handful of calls that this takes. */
#ifndef FARWIRE_CALIB_PROBE_CUBLASLT_H
#define FARWIRE_CALIB_PROBE_CUBLASLT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUBLASLT_WORKSPACE_B ((size_t)32 << 20)

struct cublaslt;
struct cublaslt_product {
	const char *type; /* "fp32", "tf32", "fp16", "bf16" */
	size_t m, n, k;
	const void *a, *b;
	void *c, *workspace; /* on the GPU */
};

/* NULL and the reason: there is no such library. */
struct cublaslt *cublaslt_open(char *why, size_t room);
void cublaslt_close(struct cublaslt *library);
/* Chooses the algorithm; -1 and the reason: it has none for that. */
int cublaslt_prepare(struct cublaslt *library, const struct cublaslt_product *product, char *why,
		     size_t room);
int cublaslt_run(struct cublaslt *library, void *stream); /* 0, or its status */

#ifdef __cplusplus
}
#endif
#endif
