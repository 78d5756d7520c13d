/* SPDX-License-Identifier: Apache-2.0 */
/* libfarwire-libraries.so: records calls of cuBLAS, cuDNN, cuFFT, cuRAND, cuSOLVER, cuSPARSE and
 * NCCL, which CUPTI does not report.
 *
 * The dynamic linker loads the library named by LD_AUDIT (rtld-audit(7)). It calls la_objopen for
 * each object of the program, and the enter and exit functions around each call from one object to
 * another that goes through the procedure linkage table. These functions pass the call to the
 * recorder (libfarwire-trace.so), which has the clock and the file. Calls inside a library are not
 * recorded, because only calls from other objects are bound. Neither are calls that a program makes
 * through pointers of dlsym.
 *
 * The functions need no signatures: the linker copies FRAME_B bytes of arguments on the stack, and
 * the longest list, of cublasGemmStridedBatchedEx, has 17 arguments there. x86-64 only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { FRAME_B = 512, NESTED_MAX = 16 };

typedef uint64_t library_called_fn(const char *function, uint64_t start_ns);

static struct link_map *_Atomic recorder;
static _Atomic(library_called_fn *) called;
static _Thread_local uint64_t starts_ns[NESTED_MAX];
static _Thread_local unsigned depth;

#define EXPORTED __attribute__((visibility("default")))

EXPORTED unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* Calls to the libraries are of interest, and calls from all other objects. */
EXPORTED unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	static const char *const names[] = {"libcublas",   "libcudnn",    "libcufft", "libcurand",
					    "libcusolver", "libcusparse", "libnccl"};
	const char *slash = strrchr(map->l_name, '/');
	const char *name = slash ? slash + 1 : map->l_name;
	(void)space;
	(void)cookie;
	if (strcmp(name, "libfarwire-trace.so") == 0)
		atomic_store(&recorder, map);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return LA_FLG_BINDTO;
	return LA_FLG_BINDFROM;
}

EXPORTED uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
				unsigned *flags, const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	if (strncmp(name, "cu", 2) != 0 && strncmp(name, "nccl", 4) != 0)
		*flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
	return symbol->st_value;
}

/* Tells the recorder of a call that ends, or of none. Returns the time, or 0 if the recorder has
 * not begun or has ended. */
static uint64_t tell(const char *function, uint64_t start_ns)
{
	library_called_fn *fn = atomic_load(&called);
	struct link_map *map = atomic_load(&recorder);
	if (!fn && map) {
		void *found = dlsym(map, "farwire_library_called");
		memcpy(&fn, &found, sizeof fn);
		atomic_store(&called, fn);
	}
	return fn ? fn(function, start_ns) : 0;
}

EXPORTED Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *symbol, unsigned index, uintptr_t *from,
					   uintptr_t *to, La_x86_64_regs *registers,
					   unsigned *flags, const char *name, long *frame_B)
{
	(void)index;
	(void)from;
	(void)to;
	(void)registers;
	(void)flags;
	(void)name;
	*frame_B = FRAME_B;
	if (depth < NESTED_MAX)
		starts_ns[depth] = tell(NULL, 0);
	depth++;
	return symbol->st_value;
}

EXPORTED unsigned la_x86_64_gnu_pltexit(Elf64_Sym *symbol, unsigned index, uintptr_t *from,
					uintptr_t *to, const La_x86_64_regs *before,
					La_x86_64_retval *after, const char *name)
{
	(void)symbol;
	(void)index;
	(void)from;
	(void)to;
	(void)before;
	(void)after;
	if (depth > 0 && --depth < NESTED_MAX && starts_ns[depth] > 0)
		(void)tell(name, starts_ns[depth]);
	return 0;
}
