/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/cublaslt.h"
#include "calib/probe/gpu.h"

#include <dlfcn.h>
#include <stdint.h>

/* Constants of the library's documented interface, unchanged since version 11. */
#define COMPUTE_32F          68
#define COMPUTE_32F_TF32     77
#define TYPE_32F             0
#define TYPE_16F             2
#define TYPE_16BF            14
#define TYPE_8F_E4M3         28
#define PRODUCT_TRANSPOSE_A  3
#define TRANSPOSE            1
#define PREFERENCE_WORKSPACE 1

struct cublaslt_choice {
	uint64_t algorithm[8];
	size_t workspace_B;
	int status;
	float waves;
	int reserved[4];
};

typedef int create_function(void **handle);
typedef int destroy_function(void *handle);
typedef int create_product_function(void **product, int compute, int scale);
typedef int create_layout_function(void **layout, int type, uint64_t rows, uint64_t columns,
				   int64_t leading);
typedef int set_function(void *object, int attribute, const void *value, size_t size);
typedef int choose_function(void *handle, void *product, void *a, void *b, void *c, void *d,
			    void *preference, int most, struct cublaslt_choice *choices,
			    int *given);
typedef int run_function(void *handle, void *product, const void *alpha, const void *a,
			 void *a_layout, const void *b, void *b_layout, const void *beta,
			 const void *c, void *c_layout, void *d, void *d_layout,
			 const void *algorithm, void *workspace, size_t workspace_B, void *stream);

struct cublaslt {
	void *library, *handle;
	create_function *create, *create_preference;
	destroy_function *destroy, *destroy_product, *destroy_layout, *destroy_preference;
	create_product_function *create_product;
	create_layout_function *create_layout;
	set_function *set_preference, *set_product;
	choose_function *choose;
	run_function *run;
	void *product, *layouts[3], *preference;
	struct cublaslt_choice choice;
	struct cublaslt_product what;
};

static bool find(struct cublaslt *library)
{
	const struct {
		const char *name;
		void *place;
	} names[] = {
		{"cublasLtCreate", &library->create},
		{"cublasLtDestroy", &library->destroy},
		{"cublasLtMatmulDescCreate", &library->create_product},
		{"cublasLtMatmulDescDestroy", &library->destroy_product},
		{"cublasLtMatmulDescSetAttribute", &library->set_product},
		{"cublasLtMatrixLayoutCreate", &library->create_layout},
		{"cublasLtMatrixLayoutDestroy", &library->destroy_layout},
		{"cublasLtMatmulPreferenceCreate", &library->create_preference},
		{"cublasLtMatmulPreferenceDestroy", &library->destroy_preference},
		{"cublasLtMatmulPreferenceSetAttribute", &library->set_preference},
		{"cublasLtMatmulAlgoGetHeuristic", &library->choose},
		{"cublasLtMatmul", &library->run},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library->library, names[i].name);
		if (!symbol)
			return false;
		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	return true;
}

struct cublaslt *cublaslt_open(char *why, size_t room)
{
	static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
					    "libcublasLt.so.11", "libcublasLt.so",
					    "/usr/local/cuda/lib64/libcublasLt.so"};
	struct cublaslt *library = calloc(1, sizeof(*library));
	snprintf(why, room, "cuBLASLt is not installed (libcublasLt.so.11 to 13)");
	if (!library)
		return NULL;
	for (size_t i = 0; !library->library && i < sizeof(names) / sizeof(names[0]); i++)
		library->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (library->library && find(library) && library->create(&library->handle) == 0)
		return library;
	if (library->library) {
		snprintf(why, room, "cuBLASLt is installed but cannot be used");
		dlclose(library->library);
	}
	free(library);
	return NULL;
}

static void forget(struct cublaslt *library)
{
	if (library->product)
		library->destroy_product(library->product);
	for (int i = 0; i < 3; i++)
		if (library->layouts[i])
			library->destroy_layout(library->layouts[i]);
	if (library->preference)
		library->destroy_preference(library->preference);
	library->product = library->preference = NULL;
	memset(library->layouts, 0, sizeof(library->layouts));
}

void cublaslt_close(struct cublaslt *library)
{
	if (!library)
		return;
	forget(library);
	library->destroy(library->handle);
	dlclose(library->library);
	free(library);
}

int cublaslt_prepare(struct cublaslt *library, const struct cublaslt_product *product, char *why,
		     size_t room)
{
	const size_t workspace_B = CUBLASLT_WORKSPACE_B;
	const int transpose = TRANSPOSE;
	/* products of FP8 exist only with a transposed A, and have results in BF16 */
	bool fp8 = strcmp(product->type, "fp8") == 0;
	int type = strcmp(product->type, "fp16") == 0   ? TYPE_16F
		   : strcmp(product->type, "bf16") == 0 ? TYPE_16BF
		   : fp8                                ? TYPE_8F_E4M3
							: TYPE_32F;
	int compute = strcmp(product->type, "tf32") == 0 ? COMPUTE_32F_TF32 : COMPUTE_32F;
	int given = 0;
	forget(library);
	library->what = *product;
	size_t rows = fp8 ? product->k : product->m, columns = fp8 ? product->m : product->k;
	int status = library->create_product(&library->product, compute, TYPE_32F);
	if (fp8)
		GPU_THEN(status, library->set_product(library->product, PRODUCT_TRANSPOSE_A,
						      &transpose, sizeof(transpose)));
	GPU_THEN(status,
		 library->create_layout(&library->layouts[0], type, rows, columns, (int64_t)rows));
	GPU_THEN(status, library->create_layout(&library->layouts[1], type, product->k, product->n,
						(int64_t)product->k));
	GPU_THEN(status, library->create_layout(&library->layouts[2], fp8 ? TYPE_16BF : type,
						product->m, product->n, (int64_t)product->m));
	GPU_THEN(status, library->create_preference(&library->preference));
	GPU_THEN(status, library->set_preference(library->preference, PREFERENCE_WORKSPACE,
						 &workspace_B, sizeof(workspace_B)));
	GPU_THEN(status,
		 library->choose(library->handle, library->product, library->layouts[0],
				 library->layouts[1], library->layouts[2], library->layouts[2],
				 library->preference, 1, &library->choice, &given));
	if (status == 0 && given > 0)
		return 0;
	snprintf(why, room, "cuBLASLt has no %s product for this GPU (status %d)", product->type,
		 status);
	return -1;
}

int cublaslt_run(struct cublaslt *library, void *stream)
{
	const float one = 1, none = 0;
	const struct cublaslt_product *what = &library->what;
	return library->run(library->handle, library->product, &one, what->a, library->layouts[0],
			    what->b, library->layouts[1], &none, what->c, library->layouts[2],
			    what->c, library->layouts[2], library->choice.algorithm,
			    what->workspace, CUBLASLT_WORKSPACE_B, stream);
}
