/* What every part of libsubmod shares.
 *
 * Conventions, valid for all headers:
 *   - Every call that can fail returns a submod_status: 0 on success, negative on error (the
 *     outputs are then untouched, unless a function says otherwise), positive for a usable result
 *     that is less than what was asked for. submod_last_error() says what was wrong.
 *   - Arguments come in this order: handle, inputs, outputs, settings, info, workspace.
 *   - Settings are plain structs filled by ..._defaults(); NULL means the defaults. Fill them
 *     first, then change fields: settings that never saw ..._defaults() are refused.
 *   - Structs that grow. Programs and the shared library may come from different versions. A
 *     settings struct begins with struct_size, its size when the program was compiled: fields that
 *     it does not have keep their defaults. A struct_size of 0, or larger than the library knows,
 *     is SUBMOD_EINVAL. submod_run_settings, which lies inside other structs, and what the library
 *     writes (..._info, ..._report, metrics, results) have reserved words at the end instead, all
 *     0, for fields to come. Tables of callbacks begin with struct_size, too. All other structs,
 *     such as views, keep their size.
 *     For whoever adds a field to settings: append it beyond the old sizeof, never in padding, and
 *     let its default mean what was done before. The old ..._defaults() returns the short struct:
 *     keep it under its symbol version (cmake/submod.map), and give the new one a new version.
 *   - Pointers: inputs are const and borrowed for the duration of the call, unless a comment says
 *     that they are copied. Nobody may change them meanwhile. What ..._create() or a constructor
 *     hands out is freed by the matching ..._free(), which accepts NULL.
 *   - Alignment: every pointer is aligned as C wants it for what it points to, inputs, outputs and
 *     handles alike: to 8 bytes for double, int64_t, uint64_t, size_t and structs, to 4 for float
 *     and int32_t, to 2 for float16 and bfloat16; uint8_t may lie anywhere. Arrays in C and from
 *     malloc, NumPy and PyTorch are, unless they were cut out of bytes (packed structs, files with
 *     headers): copy those first. This is not checked. gpu.h asks for more where it says so.
 *   - Elements of a ground set of size n are the int32_t numbers 0 .. n-1, so n <= 2^31 - 1.
 *   - Nothing here prints, exits or aborts. Handles marked immutable may be shared by threads.
 *
 * Which results are the same, bit by bit. One version of the library, the same inputs and settings
 * and no time limit are understood. yes: the same bits. last bits: the same up to rounding.
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
 *
 * The baseline of x86-64 has no instruction that rounds a * b + c once; all others have, GPUs too.
 * (1) Where a function calls exp, log, log1p, hypot or pow, the same libm is needed too; so it is
 * for the user's own callbacks.
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

#define SUBMOD_VERSION_MAJOR 0        /* of this header, as are the others */
#define SUBMOD_VERSION_MINOR 3        /* grows when something is added */
#define SUBMOD_VERSION_PATCH 0        /* incremented for bug fixes */
#define SUBMOD_VERSION_STRING "0.3.0" /* all three as text */
/* One number to compare with: major * 10000 + minor * 100 + patch. */
#define SUBMOD_VERSION \
    (SUBMOD_VERSION_MAJOR * 10000 + SUBMOD_VERSION_MINOR * 100 + SUBMOD_VERSION_PATCH)

/* The version of the library that is running, which may differ from the macros of this header. */
SUBMOD_API int submod_version(void);
/* The same as text, such as "0.3.0"; never NULL. */
SUBMOD_API const char *submod_version_string(void);

/* ---- instruction set ---- */

/* Loops are compiled for several instruction sets, and the first call picks the largest that the
 * machine has: "avx512", "avx2" or "baseline" on x86-64, "baseline" elsewhere. This is its name,
 * never NULL. The environment variable SUBMOD_ISA, read once, is one of these names and the upper
 * bound of the choice. Other words are ignored. */
SUBMOD_API const char *submod_isa(void);

/* ---- status and errors ---- */

/* What a call returns. */
typedef enum submod_status {
    SUBMOD_OK = 0, /* done as asked */

    /* Usable, but less than asked for. */
    SUBMOD_TIMELIMIT = 1,  /* stopped by the time limit */
    SUBMOD_MAXITER = 2,    /* stopped by the limit on iterations */
    SUBMOD_INACCURATE = 3, /* no further progress: the tolerance asked for is not met */
    SUBMOD_CANCELLED = 4,  /* stopped by the flag of submod_set_cancel_flag */

    /* Errors. */
    SUBMOD_EINVAL = -1,       /* an argument is NULL, out of range, duplicated, contradictory */
    SUBMOD_ENONFINITE = -2,   /* an input holds NaN or Inf */
    SUBMOD_ENOMEM = -3,       /* memory could not be had, or its size overflows size_t */
    SUBMOD_ECALLBACK = -4,    /* a user's callback failed or returned NaN or Inf */
    SUBMOD_ENUMERIC = -5,     /* numerical breakdown: not positive definite, overflow to Inf */
    SUBMOD_EUNSUPPORTED = -6, /* this function, size or build has no way to do it */
    SUBMOD_ECANCELLED = -7,   /* the flag came before there was anything to hand back */
    SUBMOD_ECOMM = -8,        /* other processes could not be reached (dist.h) */
    SUBMOD_EFILE = -9         /* a file cannot be read or written, or holds something else */
} submod_status;

/* A short constant text for any value, known or not. Never NULL. */
SUBMOD_API const char *submod_status_string(int status);

/* The error message of the last call of this thread that failed, such as
 * "submod_lovasz: x[17] is nan", or that found that F is not submodular (submod_prox and submod_sfm
 * with SUBMOD_INACCURATE). "" before the first failure. Never NULL; valid until the next failure in
 * the same thread. */
SUBMOD_API const char *submod_last_error(void);

/* Makes words the error message of this thread, cut after 255 bytes, and returns status. For what
 * stands on the library and reports as it does: functions of a submod_comm (dist.h), libraries of
 * your own. words may be NULL, for "", and may be those of submod_last_error(). */
SUBMOD_API submod_status submod_fail(submod_status status, const char *words);

/* ---- memory ---- */

/* Where the library gets its memory from: two functions with the signatures of C11's
 * aligned_alloc and free. */
typedef struct submod_allocator {
    void *(*alloc)(size_t alignment, size_t size); /* NULL on failure */
    void (*release)(void *memory);                 /* accepts NULL */
} submod_allocator;

/* Copies *allocator; NULL restores aligned_alloc and free. To be called while no object of the
 * library exists and no other thread is inside it.
 * SUBMOD_EINVAL when one of the two functions is missing. */
SUBMOD_API submod_status submod_set_allocator(const submod_allocator *allocator);

/* Scratch memory that a caller may keep from call to call, so that repeated calls of the same size
 * find their scratch memory ready. Wherever a submod_work is taken, NULL is fine too: the call then
 * gets and frees its own. A workspace serves one call at a time: keep one per thread. */
typedef struct submod_work submod_work;

/* An empty workspace. SUBMOD_EINVAL: NULL. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_work_create(submod_work **work);
/* Accepts NULL. */
SUBMOD_API void submod_work_free(submod_work *work);
/* Bytes kept at present. 0 for NULL. */
SUBMOD_API size_t submod_work_bytes(const submod_work *work);

/* ---- threads ---- */

/* How many threads parallel sections use, for the whole process. 0 (the default) follows OpenMP:
 * OMP_NUM_THREADS or the number of cores. At most 256 are used. SUBMOD_EINVAL for a negative count.
 * The threads are OpenMP's, whose runtime ends the process when the system refuses to start one:
 * the one thing here that the library cannot turn into a status.
 *
 * After fork: OpenMP's threads stay behind in the parent. If the thread that forks has computed in
 * parallel before, it computes alone in the child, whatever number is set there. New threads of the
 * child compute in parallel as ever. The library does not see parallel sections of your own: if the
 * thread that forks has had one, call submod_set_num_threads(1) in the child. */
SUBMOD_API submod_status submod_set_num_threads(int threads);
/* The number that this thread's next parallel section would use; at least 1. */
SUBMOD_API int submod_get_num_threads(void);

/* ---- cancelling ---- */

/* Lets what this thread calls be cancelled: long calls look at *flag on their way and end soon
 * after it is not 0. Returns the flag that was there before. NULL, as in the beginning: there is
 * none. It is the caller's and has to stay where it is until another one is set; anybody may write
 * to it at any time, such as another thread, or a signal handler:
 *
 *     static volatile sig_atomic_t stop;                     // an int where POSIX is
 *     static void on_interrupt(int number) { stop = 1; }
 *     ..
 *     signal(SIGINT, on_interrupt);
 *     submod_set_cancel_flag(&stop);
 *     status = submod_prox(..);                              // Ctrl-C: SUBMOD_CANCELLED
 *
 * It stays set until the caller clears it, so that calls made meanwhile, also by callbacks, end at
 * once. SUBMOD_CANCELLED comes with what was reached, just as SUBMOD_TIMELIMIT: from submod_prox
 * (iterative methods and decompositions), submod_prox_max_affine, submod_sfm (min-norm, and while
 * it computes a base), submod_maximize, submod_fn_check and the optimisers. SUBMOD_ECANCELLED, with
 * outputs untouched: from the rest of submod_sfm, submod_fn_minimize and submod_certificate_check.
 *
 * Nothing else looks at it, losses and metrics among them: they make a fixed number of passes over
 * their input. Looks come between calls of callbacks, chains and exact labels of a flow, none of
 * which is interrupted. A callback that hands on SUBMOD_ECANCELLED has failed: SUBMOD_ECALLBACK. */
SUBMOD_API const volatile int *submod_set_cancel_flag(const volatile int *flag);

/* ---- sorting ---- */

/* order[0 .. n-1] = the indices of x from its largest to its smallest entry, the smaller index
 * first among equals; -0 equals 0. A radix sort: O(n), and faster than comparing from some hundred
 * entries on. order may be NULL only if n = 0.
 * SUBMOD_EINVAL: NULL, n > 2^31 - 1. SUBMOD_ENONFINITE: NaN or Inf in x. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_argsort_f32(const float *x, size_t n, int32_t *order,
                                            submod_work *work);
SUBMOD_API submod_status submod_argsort_f64(const double *x, size_t n, int32_t *order,
                                            submod_work *work);

/* ---- random numbers ---- */

/* A seeded generator (xoshiro256++): the same stream on every machine, normals up to the last bits
 * of its libm. */
typedef struct submod_rng {
    uint64_t s[4]; /* its state; filled by submod_rng_seed */
} submod_rng;

/* Any seed is fine; equal seeds give equal streams. */
SUBMOD_API void submod_rng_seed(submod_rng *rng, uint64_t seed);
/* 64 random bits. */
SUBMOD_API uint64_t submod_rng_next(submod_rng *rng);
/* Uniform in [0, 1), 53 random bits. */
SUBMOD_API double submod_rng_uniform(submod_rng *rng);
/* Standard normal. */
SUBMOD_API double submod_rng_normal(submod_rng *rng);
/* Uniform in 0 .. bound-1, unbiased. bound = 0 gives 0. */
SUBMOD_API uint64_t submod_rng_below(submod_rng *rng, uint64_t bound);

#ifdef __cplusplus
}
#endif

#endif
