/* The prox of a cut, kept from one argument to the next, and the extension of a cut. */
#ifndef SUBMODI_PROX_PROX_CUT_H
#define SUBMODI_PROX_PROX_CUT_H

#include "prox/cut_flow.h"

typedef struct submodi_cut_prox {
    submodi_partition search;
    submodi_cut_flow flow;
    size_t n;
    double *u, *s;   /* by vertex: those of the present call */
    int32_t *label;  /* vertex -> its part */
    uint32_t *limit; /* scratch of the flow, by vertex */
    int32_t *nodes;  /* scratch, n + 1 */
    submodi_open_part *parts, *old;
    size_t count;         /* of parts that are settled */
    int32_t *root, *size; /* of the groups of parts that are joined */
    int32_t *grown;       /* the last pass in which a group grew */
    double *sum, *level;  /* of x - cross / lambda, over groups and on average */
    bool solved;          /* not the first call */
} submodi_cut_prox;

/* Prepares the prox for one lambda; memory is taken from work, whose scope stays open. */
submod_status submodi_cut_prox_start(submodi_cut_prox *c, const submodi_cut *cut, double lambda,
                                     submod_prox_info *info, submod_work *work);

/* Writes the prox at x. The first call solves it from nothing. Later ones start from the parts and
 * the flow of the last one: `rounds` times at most, parts whose order is violated are joined and
 * divided again. So u may be inexact, but s is a base in any case, and s = lambda (x - u) + its
 * distance from being exact. Returns SUBMOD_TIMELIMIT and SUBMOD_CANCELLED with a valid s. */
submod_status submodi_cut_prox_solve(submodi_cut_prox *c, const double *x, size_t rounds,
                                     double deadline, double *u, double *s, submod_work *work);

/* Prepares for submodi_cut_prox_means and for another call of submodi_cut_prox_solve; work as in
 * submodi_cut_prox_start. */
submod_status submodi_cut_prox_hold(submodi_cut_prox *c, submod_work *work);

/* Replaces y on each part by its mean less `share` times that of F / lambda. share = 1: the prox of
 * F if the parts stay as they are. */
void submodi_cut_prox_means(const submodi_cut_prox *c, double share, double *y);

/* f(u) of a cut, and f(u) - <s, u>, without a sort: for any u and any base s. */
void submodi_cut_extension(const submodi_cut *cut, const double *u, const double *s, double lambda,
                           submodi_extension *f);

#endif
