/* All memory that the library itself asks for comes through here. */
#ifndef SUBMODI_MEMORY_H
#define SUBMODI_MEMORY_H

#include <stdbool.h>
#include <string.h>

#include <submod/base.h>

/* A cache line, and the widest SIMD register in use. */
#define SUBMODI_ALIGN ((size_t)64)

static inline size_t submodi_round_up(size_t size)
{
    return (size + SUBMODI_ALIGN - 1) & ~(SUBMODI_ALIGN - 1);
}

/* a * b, or SIZE_MAX on overflow, which no allocation can satisfy. For every product of sizes that
 * a caller can choose. */
static inline size_t submodi_times(size_t a, size_t b)
{
    return a && b > SIZE_MAX / a ? SIZE_MAX : a * b;
}

/* The same for strides of dense arrays: PTRDIFF_MAX on overflow, which submodi_reachable refuses
 * for more than one element. */
static inline ptrdiff_t submodi_dense_stride(size_t a, size_t b)
{
    size_t stride = submodi_times(a, b);
    return stride < PTRDIFF_MAX ? (ptrdiff_t)stride : PTRDIFF_MAX;
}

/* Whether all elements of a strided array lie within PTRDIFF_MAX bytes of its first one, so that no
 * offset overflows. True for an empty array. */
bool submodi_reachable(const size_t count[3], const ptrdiff_t stride[3], size_t size);

/* *bytes += count * size, rounded up to SUBMODI_ALIGN; false when that overflows. For laying out
 * several arrays in one block. */
bool submodi_add_size(size_t *bytes, size_t count, size_t size);

/* count * size bytes, aligned, not cleared; NULL on overflow or when memory runs out. At least one
 * byte is allocated, so NULL always means failure. */
void *submodi_alloc(size_t count, size_t size);
void submodi_free(void *memory);

/* Copies a result to the caller, who may not want it: to is then NULL. */
static inline void submodi_copy_out(void *to, const void *from, size_t count, size_t size)
{
    if (to) {
        memcpy(to, from, count * size);
    }
}

/* Scratch memory for one call; scopes can be nested. Open a scope on the caller's workspace (or
 * NULL), take what is needed, close the scope: it releases all that was taken.
 *
 *     submodi_scope scope;
 *     submod_work *w = submodi_scope_open(&scope, work);
 *     double *a = submodi_take(w, n, sizeof *a);      NULL on failure
 *     ...
 *     submodi_scope_close(&scope);
 */
struct submod_work {
    char *block;          /* kept between calls */
    size_t capacity;      /* of block */
    bool borrowed;        /* the block belongs to somebody else and never grows */
    size_t used;          /* of block, from its start */
    struct spill *spills; /* what did not fit, newest first */
    size_t spilled;       /* bytes in spills */
    size_t peak;          /* largest used + spilled: the size that would have been enough */
    unsigned depth;       /* open scopes */
};

typedef struct submodi_scope {
    submod_work own; /* used when the caller has no workspace */
    submod_work *work;
    size_t used; /* the workspace as it was when the scope was opened */
    struct spill *spills;
    size_t spilled;
} submodi_scope;

submod_work *submodi_scope_open(submodi_scope *scope, submod_work *work);
void *submodi_take(submod_work *work, size_t count, size_t size);
/* n doubles for each of the vectors; NULL ends the list. false: memory ran out. */
bool submodi_take_vectors(submod_work *work, size_t n, double **const *vectors);
void submodi_scope_close(submodi_scope *scope);

#endif
