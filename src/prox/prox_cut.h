/* The prox of a cut, kept from one argument to the next, and the extension of a cut. */
#ifndef SUBMODI_PROX_PROX_CUT_H
#define SUBMODI_PROX_PROX_CUT_H

#include "prox/partition.h"

typedef struct submodi_cut_prox {
    submodi_partition search;
    const submodi_cut *cut;
    submodi_cut_flow flow; /* kept while the vertices are divided into parts */
    uint32_t ids;          /* of parts in use: 0 .. ids - 1 */
    int32_t *nodes;        /* scratch, n + 1 */
    uint32_t *left;        /* scratch, n */
    size_t changes;        /* joins and divisions in the last call */
    /* For another call: search.settled are the parts, each with its index as its id. */
    bool kept, solved;
    submodi_open_part *groups; /* of parts that are joined, by the index of one of them */
    double *part_cross;        /* the sum of cross over a part */
    int32_t *root, *size;      /* of the groups */
    int32_t *grown;            /* the last pass in which a group grew */
    double *sum, *level;       /* of x - cross / lambda, over groups and on average */
} submodi_cut_prox;

/* Prepares the prox for one lambda, for several calls if `kept`; memory is taken from work, whose
 * scope stays open. */
submod_status submodi_cut_prox_start(submodi_cut_prox *c, const submodi_cut *cut, double lambda,
                                     bool kept, submod_prox_info *info, submod_work *work);

/* Writes the prox at x. The first call starts without flow. Later calls, with the same u and s,
 * start from the last parts and flow, and join and divide parts that violate the order in at most
 * `rounds` rounds. u may then be inexact, but s is always a base, and differs from lambda (x - u)
 * by the error. Returns SUBMOD_TIMELIMIT and SUBMOD_CANCELLED with a valid s. */
submod_status submodi_cut_prox_solve(submodi_cut_prox *c, const double *x, size_t rounds,
                                     double deadline, double *u, double *s, submod_work *work);

/* Replaces y on each part by its mean less `share` times the mean of F / lambda. share = 1 gives
 * the prox of F if its parts are the present ones. */
void submodi_cut_prox_means(const submodi_cut_prox *c, double share, double *y);

/* Computes f(u) and f(u) - <s, u> of a cut, for any u and any base s, without a sort. */
void submodi_cut_extension(const submodi_cut *cut, const double *u, const double *s, double lambda,
                           submodi_extension *f);

#endif
