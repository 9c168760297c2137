/* The inside of a submod_fn, and calls to its callbacks, which derive missing ones from eval. */
#ifndef SUBMODI_HANDLE_H
#define SUBMODI_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <submod/function.h>

/* Consecutive ranks of an order of all elements. */
typedef struct submodi_part {
    size_t begin, end;
} submodi_part;

/* The smallest minimiser of  F(base + A) - F(base) - z(A)  within each of several disjoint parts of
 * an order; base is all that comes before the part. minimize would take one call per part and look
 * at all of base each time. parts ascend; z and in are indexed by rank; rank[order[i]] = i. */
typedef submod_status submodi_minimize_parts(const void *ctx, const int32_t *order,
                                             const int32_t *rank, const submodi_part *parts,
                                             size_t nparts, const double *z, uint8_t *in);

/* What F is on several disjoint parts of an order: A -> F(base + A) - F(base), base all that comes
 * before the part. Element i of fns[j] is order[parts[j].begin + i]. parts ascend. fns come as
 * NULL; on failure those made are left to the caller, submodi_fn_minors. */
typedef submod_status submodi_make_minors(const void *ctx, const int32_t *order,
                                          const submodi_part *parts, size_t nparts,
                                          submod_fn **fns);

/* The levels of some vector: elements with equal entries. Level k holds order[start[k]] ..
 * order[start[k + 1] - 1], and has larger entries than level k + 1. Elements that are not in order
 * have level -1; they come after all others. */
typedef struct submodi_ties {
    const int32_t *order;
    const size_t *start; /* count + 1 */
    size_t count;
    const int32_t *level; /* of each element */
} submodi_ties;

/* Joins the elements of each level that F does not separate: those in the same connected component
 * of A -> F(S + A) - F(S), A within the level, S all that comes before it. inseparable.h has
 * forests and the call for functions without one of these. */
typedef submod_status submodi_join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                                   submod_work *work);

/* The smallest and the largest minimiser of F - z (n flags each), and a base s of F - z that proves
 * it: the minimum is the sum of min(s_i, 0), up to rounding. *size: the size of the terms that the
 * value at a minimiser is a sum of. smallest, largest and s may be NULL. One solution serves all,
 * where minimize would take two calls and give no base. */
typedef submod_status submodi_minimum(const void *ctx, const double *z, uint8_t *smallest,
                                      uint8_t *largest, double *s, double *size, submod_work *work);

/* What is known about a function beyond its callbacks. */
typedef struct submodi_traits {
    bool modular;     /* gains depend on the element alone: no order, no sort needed */
    bool cardinality; /* F(A) = h(|A|) + w(A), h concave; modular ones (h = 0) too */
    submodi_minimize_parts *minimize_parts; /* NULL: call minimize part by part */
    /* Minors of the same kind, that cost what their own elements cost. NULL: submodi_fn_minor,
     * whose chains cost what those of F cost after base. */
    submodi_make_minors *minors;
    bool based;               /* reset pushes elements: a copy of the state is cheaper */
    submodi_join *join;       /* NULL: levels are whole, unless F is modular there */
    submodi_minimum *minimum; /* NULL: two calls of minimize, and a prox */
    /* F calls user code, at any depth. The code runs in the caller's thread only, and nothing
     * proves that F is submodular. */
    bool calls_back;
    size_t depth; /* 0, and for a combination one more than the deepest of its parts */
} submodi_traits;

struct submod_fn {
    submod_fn_ops ops; /* a copy; callbacks that the function does not have are NULL */
    submodi_traits traits;
    void *ctx;
    size_t n;
    const char *name;
    bool custom; /* callbacks are the user's: their failures need an error message */
    atomic_size_t owners;
};

/* Losses compute the Hamming function directly, without its callbacks. */
bool submodi_is_hamming(const submod_fn *fn);

/* Two sums of many numbers count as equal unless they differ by more than this times the sum of
 * the absolute values: ties in exact arithmetic should stay ties. */
#define SUBMODI_ROUNDING 1e-15

/* Makes a handle for a built-in function. A push without reset means that there is no state; traits
 * may be NULL: none. Takes over ctx, even when it fails. */
submod_status submodi_fn_new(const char *name, size_t n, const submod_fn_ops *ops,
                             const submodi_traits *traits, void *ctx, submod_fn **fn);

/* Checks shared by all constructors: n in range and a place for the result. */
submod_status submodi_require_size(const char *who, size_t n, submod_fn **fn);

/* Refuses to build a combination on a function that is nested too deep: the stack that a call needs
 * grows with the depth. */
submod_status submodi_require_depth(const char *who, size_t depth);

/* Elements in 0 .. n-1, each at most once across the two lists. who is the public function's
 * name, the other names are those of its arguments. A list may be NULL when it is empty. */
submod_status submodi_require_set(const char *who, size_t n, const char *name, const int32_t *set,
                                  size_t k);
submod_status submodi_require_disjoint_sets(const char *who, size_t n, const char *name_a,
                                            const int32_t *a, size_t ka, const char *name_b,
                                            const int32_t *b, size_t kb);

/* list = 0, 1, .., n - 1. */
static inline void submodi_ascending(int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list[i] = (int32_t)i;
    }
}

/* The callbacks, for any function: missing ones are derived from eval. Results are finite on
 * success, and every failure has an error message. Elements are not checked again. */
submod_status submodi_fn_eval(const submod_fn *fn, const int32_t *set, size_t k, double *value);
size_t submodi_fn_state_size(const submod_fn *fn);
submod_status submodi_fn_reset(const submod_fn *fn, void *state);
submod_status submodi_fn_push(const submod_fn *fn, void *state, int32_t e, double *gain);
submod_status submodi_fn_gain(const submod_fn *fn, void *state, int32_t e, double *gain);
submod_status submodi_fn_chain(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                               double *gains);
/* The gains along an order of all elements, from the empty set on. */
submod_status submodi_fn_greedy(const submod_fn *fn, void *state, const int32_t *order,
                                double *gains);
/* Only for functions that have the callback. */
submod_status submodi_fn_tied(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                              double *gains);
submod_status submodi_fn_minimize(const submod_fn *fn, const int32_t *base, size_t nbase,
                                  const int32_t *block, size_t nblock, const double *z, int largest,
                                  uint8_t *in);
submod_status submodi_fn_minimize_parts(const submod_fn *fn, const int32_t *order,
                                        const int32_t *rank, const submodi_part *parts,
                                        size_t nparts, const double *z, uint8_t *in);

/* The minors of an F that can make them of its own kind. All or none: on failure there is nothing
 * to free. */
submod_status submodi_fn_minors(const submod_fn *fn, const int32_t *order,
                                const submodi_part *parts, size_t nparts, submod_fn **fns);
/* The function of one part of an order, as in submodi_make_minors, for any F. */
submod_status submodi_fn_minor(const submod_fn *f, const int32_t *order, submodi_part part,
                               submod_fn **fn);
/* Frees the first count functions. */
static inline void submodi_fn_free_all(submod_fn *const *fns, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        submod_fn_free(fns[j]);
    }
}

#endif
