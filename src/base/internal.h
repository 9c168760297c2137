/* Declarations that every file uses: errors, argument checks, memory, cancelling, threads. */
#ifndef SUBMODI_INTERNAL_H
#define SUBMODI_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <submod/base.h>
#include <submod/extend.h>

/* ---- errors ---- */

/* Writes the error message for submod_last_error and returns status. Messages inside the library do
 * not name the public function; submodi_return adds its name. */
submod_status submodi_fail(submod_status status, const char *format, ...) SUBMOD_PRINTF(2, 3);
/* Returns SUBMOD_ENOMEM with a message. */
static inline submod_status submodi_out_of_memory(void)
{
    submodi_fail(SUBMOD_ENOMEM, "out of memory");
    return SUBMOD_ENOMEM; /* repeated for static analysis */
}

/* Prepends the public function's name to the error message of the present call. If the message
 * starts with another public function's name, replaces that name. */
void submodi_name_message(const char *caller, submod_status status);

/* Does the same, and returns status. */
static inline submod_status submodi_return(const char *caller, submod_status status)
{
    submodi_name_message(caller, status);
    return status;
}

/* Returns the status of a call from the present function unless it is SUBMOD_OK. Use it only where
 * nothing has to be cleaned up: public functions open a scope, call a function that uses TRY, and
 * close the scope. */
#define TRY(call) \
    do { \
        submod_status try_status = (call); \
        if (try_status != SUBMOD_OK) { \
            return try_status; \
        } \
    } while (0)

/* Check an argument and name it in the message: a pointer that must not be NULL, a finite
 * number > 0 or >= 0, an array of finite numbers or of finite numbers >= 0. */
static inline submod_status submodi_check_given(const char *name, const void *argument)
{
    if (argument) {
        return SUBMOD_OK;
    }
    submodi_fail(SUBMOD_EINVAL, "%s is NULL", name);
    return SUBMOD_EINVAL; /* repeated for static analysis */
}
submod_status submodi_check_positive(const char *name, double x);
submod_status submodi_check_nonnegative(const char *name, double x);
submod_status submodi_check_finite(const char *name, const double *x, size_t n);
submod_status submodi_check_all_nonnegative(const char *name, const double *x, size_t n);
/* Checks lists of numbers in 0 .. below-1, one after the other: list i is items[start[i] ..
 * start[i+1]-1]. items may be NULL when all lists are empty. */
submod_status submodi_check_lists(size_t lists, const size_t *start, const char *name,
                                  const int32_t *items, size_t below);

/* Returns whether all of x[0 .. n-1] are finite. */
bool submodi_all_finite(const double *x, size_t n);
/* Returns the index of the first NaN or Inf in x[0 .. n-1], or n if there is none. */
size_t submodi_first_nonfinite(const double *x, size_t n);

/* ---- memory ---- */

/* A cache line, and the widest SIMD register in use. */
#define SUBMODI_ALIGN ((size_t)64)

static inline size_t submodi_round_up(size_t size)
{
    return (size + SUBMODI_ALIGN - 1) & ~(SUBMODI_ALIGN - 1);
}

/* Returns a * b, or SIZE_MAX on overflow, which no allocation can satisfy. Use it for all products
 * of sizes that a caller chooses. */
static inline size_t submodi_times(size_t a, size_t b)
{
    return a && b > SIZE_MAX / a ? SIZE_MAX : a * b;
}

/* Returns a * b as a stride of a dense array, or PTRDIFF_MAX on overflow, which submodi_reachable
 * rejects for more than one element. */
static inline ptrdiff_t submodi_dense_stride(size_t a, size_t b)
{
    size_t stride = submodi_times(a, b);
    return stride < PTRDIFF_MAX ? (ptrdiff_t)stride : PTRDIFF_MAX;
}

/* Returns whether all elements of a strided array lie within PTRDIFF_MAX bytes of its first one, so
 * that no offset overflows. True for an empty array. */
bool submodi_reachable(const size_t count[3], const ptrdiff_t stride[3], size_t size);

/* Adds count * size, rounded up to SUBMODI_ALIGN, to *bytes; false on overflow. For laying out
 * several arrays in one block. */
bool submodi_add_size(size_t *bytes, size_t count, size_t size);

/* Allocates count * size bytes, aligned, not cleared; NULL on overflow or when memory runs out. At
 * least one byte is allocated, so NULL always means failure. */
void *submodi_alloc(size_t count, size_t size);
void submodi_free(void *memory);

/* Copies a result to the caller; `to` is NULL if the caller does not want it. */
static inline void submodi_copy_out(void *to, const void *from, size_t count, size_t size)
{
    if (to) {
        memcpy(to, from, count * size);
    }
}

/* Scratch memory for one call. Scopes can be nested. Open a scope on the caller's workspace (or
 * NULL), allocate, check once, close the scope, which releases its allocations:
 *
 *     submodi_scope scope;
 *     submod_work *w = submodi_scope_open(&scope, work);
 *     double *a = submodi_work_alloc(w, n, sizeof *a);
 *     submod_status status = submodi_work_status(w);
 *     ...
 *     submodi_scope_close(&scope);
 */
struct submod_work {
    char *block;          /* kept between calls */
    size_t capacity;      /* of block */
    bool borrowed;        /* the block is not owned and never grows */
    size_t used;          /* of block, from its start */
    struct spill *spills; /* allocations that did not fit into the block, newest first */
    size_t spilled;       /* bytes in spills */
    size_t peak;          /* largest used + spilled: the size that would have been enough */
    unsigned depth;       /* open scopes */
    bool failed;          /* an allocation failed since the outermost scope was opened */
};

typedef struct submodi_scope {
    submod_work own; /* used when the caller has no workspace */
    submod_work *work;
    size_t used; /* the workspace as it was when the scope was opened */
    struct spill *spills;
    size_t spilled;
} submodi_scope;

submod_work *submodi_scope_open(submodi_scope *scope, submod_work *work);
void submodi_scope_close(submodi_scope *scope);
/* Allocates count * size bytes within the open scope; NULL on failure, which the workspace
 * remembers. So a function can allocate several arrays and check once. */
void *submodi_work_alloc(submod_work *work, size_t count, size_t size);
/* Returns SUBMOD_ENOMEM with a message if an allocation has failed since the outermost scope was
 * opened. */
submod_status submodi_work_status(const submod_work *work);
/* Allocates n doubles for each of the vectors; NULL ends the list. false if memory ran out. */
bool submodi_take_vectors(submod_work *work, size_t n, double **const *vectors);

/* ---- cancelling and time ---- */

/* The callback of submod_set_poll. A tight loop fetches it once. */
typedef struct submodi_poll {
    int (*call)(void *ctx);
    void *ctx;
} submodi_poll;

submodi_poll submodi_get_poll(void);

/* Returns whether the caller cancels. Call it only from the thread that made the public call,
 * because each thread has its own callback. */
static inline bool submodi_polled(submodi_poll poll)
{
    return poll.call && poll.call(poll.ctx) != 0;
}

static inline bool submodi_cancelled(void)
{
    return submodi_polled(submodi_get_poll());
}

/* Returns seconds since some fixed moment. */
double submodi_seconds(void);
/* Returns the time at which a call that begins now must end, INFINITY if time_limit = 0. */
double submodi_deadline(double time_limit);
/* Returns SUBMOD_TIMELIMIT after the deadline, SUBMOD_CANCELLED if the caller cancelled, else
 * SUBMOD_OK. */
submod_status submodi_stop(double deadline);

/* ---- threads ---- */

/* Returns the number of threads for a loop: 1 for few items, where starting threads costs more than
 * it gains. A loop for one thread should not enter a parallel region. */
int submodi_threads_for(size_t items);
enum { SUBMODI_MOST_THREADS = 256 };

/* Calls run(ctx, t, n t / parts, n (t + 1) / parts) for t = 0 .. parts - 1, in parallel; one part
 * is a plain call. */
void submodi_run_parts(size_t parts, size_t n,
                       void (*run)(void *ctx, size_t part, size_t begin, size_t end), void *ctx);

/* For tests: sets the number of items from which loops use several threads, so that small problems
 * run the parallel code; 0 restores the default. Do not call it while other threads compute. */
void submodi_set_parallel_from(size_t items);
/* For tests: how often submodi_threads_for has returned more than 1. */
size_t submodi_parallel_count(void);

/* The index of this thread in a parallel section, and the number of its threads. */
#ifdef _OPENMP
static inline size_t submodi_thread_index(void)
{
    return (size_t)omp_get_thread_num();
}
static inline size_t submodi_team_size(void)
{
    return (size_t)omp_get_num_threads();
}
#else
static inline size_t submodi_thread_index(void)
{
    return 0;
}
static inline size_t submodi_team_size(void)
{
    return 1;
}
#endif

#endif
