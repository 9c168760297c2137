/* What the proxes of functions of two counts share: their problem, sorted lists of foreground and
 * background, and sums over the result. */
#ifndef SUBMODI_PROX_TWO_COUNTS_TWO_KINDS_H
#define SUBMODI_PROX_TWO_COUNTS_TWO_KINDS_H

#include <stdbool.h>

#include "base/sort.h"
#include "prox/gap.h"
#include <submod/measure.h>

/* How the caller hands out u and s. */
typedef enum submodi_u_form {
    SUBMODI_U_PLAIN,
    SUBMODI_U_HINGE, /* the prox of f(max(u, 0)) */
    SUBMODI_U_FLOAT  /* u will be rounded to float; here it is not yet */
} submodi_u_form;

/* u in the form that f is taken at. */
static inline double submodi_argument(double u, submodi_u_form form)
{
    double kept = u > 0 ? u : 0;
    return form == SUBMODI_U_HINGE ? kept : form == SUBMODI_U_FLOAT ? (double)(float)u : u;
}

typedef struct submodi_two_kinds_problem {
    const char *who;               /* the public function, for error messages */
    size_t n;                      /* at most 2^31 - 1 */
    const double *x;               /* finite */
    const uint32_t *mask;          /* foreground: bit i % 32 of word i / 32 */
    const double *multiplicity;    /* > 0: the pixels of each point; NULL: 1 each */
    const submod_measure *measure; /* checked; NULL: Jaccard */
    double lambda;                 /* > 0, finite */
    submodi_u_form form;           /* of u and s, and of what is measured */
} submodi_two_kinds_problem;

/* Number of 32-bit words in a mask for n points. */
static inline size_t submodi_mask_words(size_t n)
{
    return n / 32 + 1;
}

void submodi_mask_fill(const uint8_t *foreground, size_t n, uint32_t *mask);

typedef struct submodi_prox_pair {
    double u, s;
} submodi_prox_pair;

/* A point with value x in this form. */
static inline submodi_prox_pair submodi_in_form(submodi_prox_pair pair, double x, double lambda,
                                                submodi_u_form form)
{
    if (form == SUBMODI_U_HINGE) {
        double most = lambda * (x > 0 ? x : 0);
        double s = pair.s > 0 ? pair.s : 0;
        double least = x < 0 ? x : 0;
        pair.s = s < most ? s : most;
        pair.u = pair.u > least ? pair.u : least;
    }
    return pair;
}

/* Copies u and s to the caller, who may want one of them only: the other is NULL. */
void submodi_pairs_out(const submodi_prox_pair *pair, size_t n, double *u, double *s);

/* Points of one label, in descending order of their values. */
typedef struct submodi_point_list {
    const double *value;
    size_t count;         /* at most 2^31 - 1 */
    const double *before; /* count + 1 sums of multiplicities; NULL: each point is one pixel */
} submodi_point_list;

static inline double submodi_pixels_before(const submodi_point_list *list, size_t rank)
{
    /* Signed, because that converts in one instruction. */
    return list->before ? list->before[rank] : (double)(int64_t)rank;
}

/* The pixels of one point. */
static inline double submodi_pixels_of(const submodi_point_list *list, size_t rank)
{
    return list->before ? list->before[rank + 1] - list->before[rank] : 1;
}

/* Where the points of a sorted list came from. */
typedef struct submodi_origin {
    const uint64_t *record; /* with the index in its low bits */
    uint64_t mask;          /* of these bits */
} submodi_origin;

submodi_origin submodi_origin_of(const submodi_sorted *sorted);

/* The list of a kind with its sorted values, in memory that the sort no longer needs. */
submodi_point_list submodi_sorted_points(const submodi_two_kinds_problem *p,
                                         const submodi_sorted *sorted, size_t count);

/* Adds sums of multiplicities to a list. false: memory ran out. */
bool submodi_sum_pixels(const submodi_two_kinds_problem *p, const submodi_sorted *sorted,
                        submodi_point_list *list, submod_work *w);

/* SUBMOD_ENUMERIC unless the sum of |x|, 1 / lambda, and lambda times the range of x are finite. */
submod_status submodi_require_range(const submodi_two_kinds_problem *p, double low, double high);

/* The sums over all pixels; they do not depend on the number of threads. */
submodi_pair_sums submodi_sum_pairs(const submodi_two_kinds_problem *p,
                                    const submodi_prox_pair *pair);

bool submodi_extension_finite(const submodi_extension *f);

#endif
