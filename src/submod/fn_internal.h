/* The inside of a submod_fn, and calls to its callbacks, which derive missing ones from eval. */
#ifndef SUBMODI_FN_INTERNAL_H
#define SUBMODI_FN_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <submod/function.h>

/* Elements order[begin] .. order[end - 1] of an order of all elements. The function on a part is
 * A -> F(base + A) - F(base), where base is all elements before the part; its element i is
 * order[begin + i]. Several parts are disjoint and ascend. */
typedef struct submodi_part {
    size_t begin, end;
} submodi_part;

/* Finds the smallest minimiser of F on each part less z. minimize would need one call per part and
 * process all of base each time. z and in are indexed by rank; rank[order[i]] = i. */
typedef submod_status submodi_minimize_parts(const void *ctx, const int32_t *order,
                                             const int32_t *rank, const submodi_part *parts,
                                             size_t nparts, const double *z, uint8_t *in);

/* Makes the functions on the parts. fns is all NULL on entry; on failure the caller frees the
 * functions made so far. */
typedef submod_status submodi_make_minors(const void *ctx, const int32_t *order,
                                          const submodi_part *parts, size_t nparts,
                                          submod_fn **fns);

/* The levels of a vector, which are sets of elements with equal entries. Level k,
 * order[start[k]] .. order[start[k + 1] - 1], has larger entries than level k + 1. Elements that
 * are not in order come after all others and have level -1. */
typedef struct submodi_ties {
    const int32_t *order;
    const size_t *start; /* count + 1 */
    size_t count;
    const int32_t *level; /* of each element */
} submodi_ties;

/* Joins the elements of each level that F does not separate: those in the same connected component
 * of A -> F(S + A) - F(S), where A is within the level and S is all elements before it. */
typedef submod_status submodi_join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                                   submod_work *work);

/* The kind of a function. */
typedef enum submodi_fn_kind {
    SUBMODI_CUSTOM, /* only a table of callbacks */
    SUBMODI_COUNTS,
    SUBMODI_MODULAR,
    SUBMODI_CONCAVE,
    SUBMODI_CUT,
    SUBMODI_LOGDET,
    SUBMODI_COMBINATION
} submodi_fn_kind;

/* A term of a combination, coefficient * [fn(base + those inner[j] with outer[j] in A) - offset].
 * inner is NULL exactly if the term has all elements of fn. */
typedef struct submodi_term {
    const submod_fn *fn; /* no combination */
    double coefficient;  /* > 0 */
    double offset;       /* fn(base) in a contraction, else 0 */
    const int32_t *base;
    size_t nbase;
    const int32_t *outer, *inner; /* NULL means j: all elements of the combination or of fn */
    size_t count;
    size_t state_at, list_at; /* for combine.c: where its state and its elements begin */
} submodi_term;

/* F = the terms + a modular part (NULL means 0) + a constant, borrowed from F. Other functions than
 * combinations are their own single term; only then can a term be modular. */
typedef struct submodi_terms {
    size_t n, count;
    const submodi_term *terms;
    const double *modular;
    double constant;
} submodi_terms;

submodi_terms submodi_fn_terms(const submod_fn *fn);

struct submod_fn {
    submod_fn_ops ops; /* a copy; callbacks that the function does not have are NULL */
    submodi_fn_kind kind;
    bool modular;     /* gains depend on the element alone, so no sort is needed */
    bool cardinality; /* F(A) = h(|A|) + w(A), h concave; modular ones (h = 0) too */
    bool based;       /* reset adds elements: a copy of the state is cheaper */
    /* F calls user code. The code runs in the caller's thread only, and nothing proves that F is
     * submodular. */
    bool calls_user_code;

    /* Routes of built-in functions only; NULL if there is none. */
    submodi_minimize_parts *minimize_parts; /* else minimize part by part */
    submodi_make_minors *minors; /* of the same kind, at the cost of their own elements; else
                                    submodi_fn_minor, whose chains begin with all of base */
    submodi_join *join;          /* else levels are whole, unless F is modular there */

    void *ctx;
    size_t n;
    submodi_term itself; /* the function as a term */
    atomic_size_t owners;
};

/* A function of counts (counts.c). */
typedef struct submodi_counts {
    submod_measure measure; /* checked; tversky(1, 1) is Jaccard */
    double P, N;            /* foreground and background in all */
    double *weight;         /* of each element; NULL means ones */
    uint32_t foreground[];  /* element e is bit e % 32 of entry e / 32 */
} submodi_counts;

static inline bool submodi_in_foreground(const submodi_counts *c, int32_t e)
{
    return c->foreground[e >> 5] >> (e & 31) & 1;
}

static inline double submodi_element_weight(const submodi_counts *c, int32_t e)
{
    return c->weight ? c->weight[e] : 1;
}

/* Returns NULL for functions of other kinds. Borrowed from fn. */
const submodi_counts *submodi_counts_of(const submod_fn *fn);

/* Losses compute the Hamming function directly, without its callbacks. */
bool submodi_is_hamming(const submod_fn *fn);

/* Two sums of many numbers count as equal unless they differ by more than this times the sum of
 * the absolute values: ties in exact arithmetic should stay ties. */
#define SUBMODI_ROUNDING 1e-15

/* Makes a handle for a function; of *like, owners and itself are not read. Takes ownership of ctx,
 * for built-in functions even on failure. */
submod_status submodi_fn_new(const submod_fn *like, submod_fn **fn);

/* Checks that n is in range and that fn is not NULL. */
submod_status submodi_check_size(size_t n, submod_fn **fn);

/* Checks that the elements are in 0 .. n-1, each at most once. The second one also marks them as
 * bits in seen, and rejects those already marked. */
submod_status submodi_check_elements(const char *name, const int32_t *set, size_t k, size_t n);
submod_status submodi_mark_elements(const char *name, const int32_t *set, size_t k, size_t n,
                                    uint32_t *seen);

/* Checks a concave function. Kinds for whole numbers require that the weights, the argument `name`,
 * are NULL. */
submod_status submodi_check_concave(const submod_concave *g, const char *name,
                                    const double *weight);

/* list = 0, 1, .., n - 1. */
static inline void submodi_ascending(int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list[i] = (int32_t)i;
    }
}

/* Writes the minimisers of A -> -z(A) over sets of k elements, and its base -z; each may be
 * NULL. */
static inline void submodi_minimize_modular(const double *z, size_t k, uint8_t *smallest,
                                            uint8_t *largest, double *s)
{
    for (size_t i = 0; i < k; i++) {
        if (smallest) {
            smallest[i] = z[i] > 0;
        }
        if (largest) {
            largest[i] = z[i] >= 0;
        }
        if (s) {
            s[i] = -z[i];
        }
    }
}

/* The callbacks of any function: missing ones are derived from eval, except tied, minimize and
 * prox. Results are finite on success, and every failure has an error message. Elements are not
 * checked again. */
submod_status submodi_fn_eval(const submod_fn *fn, const int32_t *set, size_t k, double *value);
size_t submodi_fn_state_size(const submod_fn *fn);
submod_status submodi_fn_reset(const submod_fn *fn, void *state);
submod_status submodi_fn_gain(const submod_fn *fn, void *state, int32_t e, double *gain);
submod_status submodi_fn_chain(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                               double *gains);
/* The gains along an order of all elements, from the empty set on. */
submod_status submodi_fn_greedy(const submod_fn *fn, void *state, const int32_t *order,
                                double *gains);
submod_status submodi_fn_tied(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                              double *gains);
/* Calls minimize. The flags are 0 or 1; base is all NaN if the callback has none. */
submod_status submodi_fn_minimize(const submod_fn *fn, const submod_minor *minor, const double *z,
                                  uint8_t *smallest, uint8_t *largest, double *base);
submod_status submodi_fn_minimize_parts(const submod_fn *fn, const int32_t *order,
                                        const int32_t *rank, const submodi_part *parts,
                                        size_t nparts, const double *z, uint8_t *in);
/* Calls prox, which may also return statuses > 0 with usable u and s. */
submod_status submodi_fn_prox(const submod_fn *fn, const double *x, double lambda, double *u,
                              double *s);

/* Makes the functions on the parts of an F that has `minors`: all, or none on failure. */
submod_status submodi_fn_minors(const submod_fn *fn, const int32_t *order,
                                const submodi_part *parts, size_t nparts, submod_fn **fns);
/* Makes the function on one part, for any F. */
submod_status submodi_fn_minor(const submod_fn *f, const int32_t *order, submodi_part part,
                               submod_fn **fn);
/* Makes the function of a term by its own elements, without coefficient. */
submod_status submodi_fn_of_term(const submodi_term *t, submod_fn **fn);

/* Frees the first count functions. */
static inline void submodi_fn_free_all(submod_fn *const *fns, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        submod_fn_free(fns[j]);
    }
}

/* ---- minimisation by trying all subsets ---- */

/* Sets of elements, a bit each. The minimisers of a submodular function are closed under
 * intersection and union: these are the smallest and the largest one. If one of them is no
 * minimiser, F is not submodular, and some minimiser takes its place. */
typedef struct submodi_minimisers {
    uint32_t smallest, largest;
    bool extreme;   /* they are the intersection and the union of all minimisers */
    uint64_t tried; /* subsets whose value was computed, also if the search failed */
} submodi_minimisers;

/* Tries all subsets of n <= SUBMOD_EXHAUSTIVE_MAX elements, one push each. Values that differ by
 * rounding only count as equal. Returns SUBMOD_TIMELIMIT without a result if submodi_seconds()
 * passes the deadline; INFINITY means none. */
submod_status submodi_try_all_subsets(const submod_fn *fn, double deadline,
                                      submodi_minimisers *found, submod_work *work);

/* ---- components of ties ---- */

/* A forest of disjoint sets: forest[e] is an element of e's set and at most e; a root, the smallest
 * of its set, is its own. Starts as submodi_ascending: every element is a set of its own. */
static inline int32_t submodi_forest_root(int32_t *forest, int32_t e)
{
    while (forest[e] != e) {
        forest[e] = forest[forest[e]];
        e = forest[e];
    }
    return e;
}

static inline void submodi_forest_join(int32_t *forest, int32_t a, int32_t b)
{
    int32_t root_a = submodi_forest_root(forest, a), root_b = submodi_forest_root(forest, b);
    forest[root_a < root_b ? root_b : root_a] = root_a < root_b ? root_a : root_b;
}

/* Joins for any function: by its own `join`, else all elements of each level on which F is not
 * modular, so none for modular functions. O(n) gains and one chain in the last case. */
submod_status submodi_fn_join(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                              submod_work *work);

/* ---- cut functions ---- */

typedef struct submodi_neighbour {
    double out, in; /* weights of the arcs to it and from it */
    int32_t vertex;
    uint32_t opposite; /* index of the same edge in the list of `vertex` */
} submodi_neighbour;

/* The paths that a graph consists of, one after the other. Arrays are indexed by position. */
typedef struct submodi_paths {
    size_t count;
    size_t *begin;    /* first position of each path, and n */
    int32_t *order;   /* vertices by position */
    bool in_order;    /* order is 0, 1, .., n - 1 */
    double *out, *in; /* weights to and from the next vertex; 0 at the end of a path */
} submodi_paths;

typedef struct submodi_cut {
    size_t n;
    size_t *start;                 /* n + 1; the neighbours of v are start[v] .. start[v + 1] - 1 */
    submodi_neighbour *neighbours; /* at most 2^32 - 2 */
    submodi_paths *paths;          /* NULL if some vertex has a third edge or lies on a circle */
    double heaviest;               /* largest sum of the weights at a vertex */
} submodi_cut;

/* Returns the graph of a cut function, NULL for others. */
static inline const submodi_cut *submodi_cut_of(const submod_fn *fn)
{
    return fn->kind == SUBMODI_CUT ? fn->ctx : NULL;
}

/* Makes the sum of cuts the cut of one graph of n vertices. Parallel edges are joined, edges
 * without weight left out. Returns SUBMOD_EUNSUPPORTED for more than 2^31 - 1 edges,
 * SUBMOD_ENUMERIC if a weight overflows. */
submod_status submodi_cut_merge(size_t n, const submod_term *cuts, size_t count, submod_fn **fn);

#endif
