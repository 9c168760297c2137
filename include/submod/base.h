/* Status codes, memory, threads, cancelling, sorting.
 *
 * Conventions of all headers:
 *   - Every call that can fail returns a submod_status: 0 on success, negative on error, positive
 *     for a usable result that is less accurate than requested. submod_last_error() explains it.
 *     After an error, values, losses and info structs are unchanged; the contents of output arrays
 *     are unspecified. Inputs never change.
 *   - Arguments come in this order: handle, inputs, outputs, settings, info, workspace.
 *   - Settings are plain structs filled by ..._defaults(); NULL means the defaults.
 *   - Pointers to inputs are borrowed for the duration of the call, unless a comment says that the
 *     data are copied. An object from ..._create() or a constructor is freed by the matching
 *     ..._free(), which accepts NULL.
 *   - Every pointer must have the alignment of its type (not checked). gpu.h states where it needs
 *     more.
 *   - Elements of a ground set of size n are the int32_t numbers 0 .. n-1, so n <= 2^31 - 1.
 *   - Nothing here prints, exits or aborts. Handles marked immutable may be shared by threads.
 *
 * Results that are reproducible bit by bit, for the same library version, inputs and settings,
 * without a time limit. "yes" means identical bits, "last bits" identical up to rounding.
 *
 *   over                     number of  instruction sets      gcc and    CPU and GPU
 *                            threads    (submod_isa), CPUs    clang      (gpu.h)
 *   Lovász losses and
 *   gradients, dataset
 *   histograms
 *     of logits              yes        avx2, avx512, ARM:    yes        gradients: yes, where the
 *                                       yes; baseline of                 CPU fuses; sums of losses:
 *                                       x86-64: last bits                last bits
 *     of probabilities,      yes        yes                   yes        gradients: yes; sums of
 *     and the hinge                                                      losses: last bits
 *     with pixel weights     as without them: sums of weights are exact (loss.h)
 *   baseline losses          yes        as above              yes        not there
 *   metrics, sorting         yes        yes                   yes        not there
 *   decisions                yes        yes (1); on ARM last  yes (1)    not there
 *                                       bits of expectations
 *   set functions, Lovász
 *   extension, prox,         yes        yes (1)               yes (1)    Jaccard prox: other bins,
 *   minimisation, optimisers                                             up to both deltas
 *     log-det, max-affine  yes (2)    last bits (2)         last bits    not there
 *
 * The x86-64 baseline has no fused multiply-add (a * b + c rounded once); all others, GPUs too, do.
 * (1) Functions and user callbacks that call exp, log, log1p, hypot or pow also need the same libm.
 * (2) OpenBLAS computes large matrix products. Their last bits may depend on its version and on the
 * CPU. From about 100 elements on, log-det functions and functions built on them also depend on the
 * number of threads. With -DSUBMOD_BLAS=OFF the line above applies to them, too.
 */
#ifndef SUBMOD_BASE_H
#define SUBMOD_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SUBMOD_API __attribute__((visibility("default")))
#else
#define SUBMOD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ---- */

#define SUBMOD_VERSION_MAJOR 0        /* of this header */
#define SUBMOD_VERSION_MINOR 3        /* incremented for new features */
#define SUBMOD_VERSION_PATCH 0        /* incremented for bug fixes */
#define SUBMOD_VERSION_STRING "0.3.0" /* all three as text */
/* One number to compare with: major * 10000 + minor * 100 + patch. */
#define SUBMOD_VERSION \
    (SUBMOD_VERSION_MAJOR * 10000 + SUBMOD_VERSION_MINOR * 100 + SUBMOD_VERSION_PATCH)

/* Returns the version of the running library, such as "0.3.0", which may differ from the macros of
 * this header. Never NULL. */
SUBMOD_API const char *submod_version(void);

/* ---- instruction set ---- */

/* Returns the name of the instruction set in use, the largest that the machine has: "avx512",
 * "avx2" or "baseline" on x86-64, "baseline" elsewhere. Never NULL. The environment variable
 * SUBMOD_ISA, read once, may hold one of these names as an upper bound. */
SUBMOD_API const char *submod_isa(void);

/* ---- status and errors ---- */

/* The status of a call. */
typedef enum submod_status {
    SUBMOD_OK = 0, /* success */

    /* A usable result that is less accurate than requested. */
    SUBMOD_TIMELIMIT = 1,  /* stopped by the time limit */
    SUBMOD_MAXITER = 2,    /* stopped by the limit on iterations */
    SUBMOD_INACCURATE = 3, /* no further progress; the tolerance is not met */
    SUBMOD_CANCELLED = 4,  /* stopped by the callback of submod_set_poll */

    /* Errors. */
    SUBMOD_EINVAL = -1,       /* an argument is NULL, out of range, duplicated, contradictory */
    SUBMOD_ENONFINITE = -2,   /* an input holds NaN or Inf */
    SUBMOD_ENOMEM = -3,       /* allocation failed, or the size overflows size_t */
    SUBMOD_ECALLBACK = -4,    /* a user's callback failed or returned NaN or Inf */
    SUBMOD_ENUMERIC = -5,     /* numerical breakdown: not positive definite, overflow to Inf */
    SUBMOD_EUNSUPPORTED = -6, /* not supported for this function, size or build */
    SUBMOD_ECANCELLED = -7,   /* cancelled before there was a result */
    SUBMOD_ECOMM = -8,        /* communication with other processes failed (dist.h) */
    SUBMOD_EFILE = -9         /* a file cannot be read or written, or has other contents */
} submod_status;

/* Returns a short constant text for any value, known or not. Never NULL. */
SUBMOD_API const char *submod_status_string(int status);

/* Returns this thread's last error message, such as "submod_lovasz: x[17] is nan". Calls that fail
 * write it; so do submod_prox and submod_sfm when they return SUBMOD_INACCURATE because F is not
 * submodular. "" before the first message. Never NULL; valid until the thread's next message. */
SUBMOD_API const char *submod_last_error(void);

/* ---- memory ---- */

/* The source of the library's memory: two functions with the signatures of C11's aligned_alloc and
 * free. */
typedef struct submod_allocator {
    void *(*alloc)(size_t alignment, size_t size); /* NULL on failure */
    void (*release)(void *memory);                 /* accepts NULL */
} submod_allocator;

/* Copies *allocator; NULL restores aligned_alloc and free. Call it while no object of the library
 * exists and no other thread is inside it.
 * SUBMOD_EINVAL when one of the two functions is missing. */
SUBMOD_API submod_status submod_set_allocator(const submod_allocator *allocator);

/* Scratch memory that a caller may keep from call to call, so that repeated calls of the same size
 * allocate nothing. Where a function accepts a submod_work, NULL means that it allocates and frees
 * its own. A workspace serves one call at a time: keep one per thread. */
typedef struct submod_work submod_work;

/* Creates an empty workspace. SUBMOD_EINVAL, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_work_create(submod_work **work);
/* Accepts NULL. */
SUBMOD_API void submod_work_free(submod_work *work);

/* ---- threads ---- */

/* Sets the number of threads of parallel sections for the whole process, and of OpenBLAS during
 * calls. 0 (the default) follows OpenMP: OMP_NUM_THREADS or the number of cores. At most 256 are
 * used; one in a library built without OpenMP. SUBMOD_EINVAL for a negative number. If the system
 * cannot start a thread, OpenMP ends the process; the library cannot return a status then.
 *
 * After fork, OpenMP's threads stay in the parent. A thread that has computed in parallel before it
 * forks computes alone in the child. The library cannot detect your own parallel sections: if the
 * forking thread has run one, call submod_set_num_threads(1) in the child. */
SUBMOD_API submod_status submod_set_num_threads(int threads);
/* Returns the number of threads of this thread's next parallel section; at least 1. */
SUBMOD_API int submod_get_num_threads(void);

/* ---- cancelling ---- */

/* Sets a callback that long calls of this thread call now and then; NULL removes it. A nonzero
 * return value cancels the call. It must stay nonzero until the call has returned. A signal handler
 * can set a flag that the callback reads.
 *
 * Like SUBMOD_TIMELIMIT, SUBMOD_CANCELLED comes with the result so far. submod_prox (iterative
 * methods and decompositions), submod_prox_max_affine, submod_sfm (min-norm, and while it computes
 * a base), submod_maximize, submod_fn_check and the optimisers return it. The rest of submod_sfm
 * and submod_certificate_check return SUBMOD_ECANCELLED, without a result. Losses and metrics never
 * poll. A set function's callback that returns SUBMOD_ECANCELLED counts as failed. */
SUBMOD_API void submod_set_poll(int (*poll)(void *ctx), void *ctx);

/* ---- sorting ---- */

/* Writes the indices of x from its largest to its smallest entry to order[0 .. n-1], the smaller
 * index first among equals; -0 equals 0. A radix sort: O(n). order may be NULL only if n = 0.
 * SUBMOD_EINVAL: NULL, n > 2^31 - 1. SUBMOD_ENONFINITE: NaN or Inf in x. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_argsort(const double *x, size_t n, int32_t *order,
                                        submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
