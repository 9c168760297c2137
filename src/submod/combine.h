/* The inside of a combination: combine.c evaluates it, flatten.c builds it. */
#ifndef SUBMODI_COMBINE_H
#define SUBMODI_COMBINE_H

#include "base/internal.h"
#include "submod/fn_internal.h"

typedef struct submodi_term_list submodi_term_list;

typedef struct submodi_weights {
    atomic_size_t owners;
    double w[];
} submodi_weights;

/* Element `element` of F is element `inner` of the function of term `term`. */
typedef struct submodi_incidence {
    int32_t element, inner;
    uint32_t term;
} submodi_incidence;

/* For each element the terms that have it, among the terms with some elements only. */
typedef struct submodi_incidences {
    size_t count;
    size_t *start;  /* n + 1: where those of each element begin; NULL means binary search */
    uint32_t *full; /* the terms with all elements */
    size_t full_count;
    submodi_incidence at[]; /* sorted by element, then by term */
} submodi_incidences;

typedef struct submodi_combination {
    size_t n, count;
    submodi_term_list *list;   /* its first count terms; NULL if there are none */
    const submodi_term *terms; /* of the list */
    submodi_weights *modular;  /* NULL means 0 */
    double constant;           /* values of terms that a restriction left without elements */
    size_t partial;            /* terms with some elements only */
    size_t incidence_count;    /* elements of those */
    size_t longest;            /* most elements of a term, those of its base included */
    bool direct;               /* all terms are direct */
    size_t state_bytes;        /* of the states of all terms */
    _Atomic(submodi_incidences *) incidences; /* NULL until they are used */
} submodi_combination;

/* Fills in the slots of a combination, fn->ctx; which of them all terms have. False if its state is
 * too large. */
bool submodi_combination_slots(submod_fn *fn, bool all_tied, bool all_minors);
submodi_make_minors submodi_combination_minors;

/* Whether a term has all elements of F, under their own numbers, from the empty set on. */
static inline bool submodi_is_direct(const submodi_term *t)
{
    return !t->outer && !t->inner && !t->nbase;
}

#endif
