/* The prox of a sum: its summands after folding, and projections on their base polytopes.
 *
 * A base s_j of summand j is stored as its step s_j / lambda. u is x less the modular part / lambda
 * and all steps; the prox of the summand alone at y is y - step. Steps and u are kept in units of a
 * power of two: their squares neither overflow nor vanish. */
#ifndef SUBMODI_PROX_SUM_H
#define SUBMODI_PROX_SUM_H

#include "prox/prox_cut.h"

/* coefficient * fn on some of the elements. */
typedef struct submodi_summand {
    submod_fn *fn;           /* a share of its own */
    double coefficient;      /* > 0 */
    const int32_t *elements; /* fn->n of them, borrowed from the sum; NULL means all */
    bool fast;               /* fn has a fast prox */
    bool own;                /* this prox is user code, which nothing proves exact */
    size_t at;               /* index of its step in the steps of all summands */
    submod_combination warm; /* where Wolfe's method starts next time */
} submodi_summand;

/* F(A) - F(empty) = modular(A) + sum of the summands, each less its value at the empty set. All
 * cuts are one summand, the first. */
typedef struct submodi_folded {
    size_t n;
    double *modular; /* n numbers; sums that overflowed are not finite */
    submodi_summand *summands;
    size_t count;
} submodi_folded;

/* Folds a combination; any other function is its own only summand. Memory is taken from work, whose
 * scope stays open. submodi_folded_clear frees the rest, also after an error. */
submod_status submodi_fold(const submod_fn *fn, submodi_folded *folded, submod_work *work);
void submodi_folded_clear(submodi_folded *folded);

/* Consecutive summands that share no element, and so can be projected at the same time. */
typedef struct submodi_block {
    size_t first, last; /* summands first .. last - 1 */
    double cost;        /* of a projection */
} submodi_block;

typedef struct submodi_blocks {
    const submodi_prox_problem *p;
    submodi_folded *sum;
    submod_prox_info *info; /* iterations: sweeps, which end with the last block */
    submod_work *work;
    submodi_block *block;
    size_t count;
    submod_work **works; /* one for each thread; work itself cannot grow now */
    int threads;
    /* The prox of the cut, which is block 0, kept from one projection to the next. */
    submodi_cut_prox *cut; /* NULL if there is no cut */
    double *cut_u, *cut_s;
    submod_prox_info cut_info;
    size_t rounds; /* of joining and dividing its parts, in one projection */
    double unit;
    double *x;        /* p->x less the modular part / lambda */
    double *r;        /* x - all steps; projections keep it up to date */
    double *y, *step; /* where each summand starts, and its new step */
    size_t total;     /* numbers in step */
    size_t begin;     /* of the steps of block 1 */
    double deadline;  /* INFINITY: none */
    double tolerance; /* of Wolfe's method */
    /* As of the last check of the gap. */
    double *u, *s, *trial;
    submodi_extension f;
    double gap, allowed, best_gap;
    bool stalled; /* the gap fell by less than half */
    bool enough;  /* p->enough says so */
} submodi_blocks;

/* Prepares the projections; all steps are 0. u and s receive the results of each check. */
submod_status submodi_blocks_start(submodi_blocks *c, const submodi_prox_problem *p,
                                   submodi_folded *sum, double *u, double *s,
                                   submod_prox_info *info, submod_work *work);
/* Frees what does not belong to the workspace. */
void submodi_blocks_end(submodi_blocks *c);

/* r = x - y: projections start from here. */
void submodi_blocks_reset(submodi_blocks *c);

/* Projects the blocks first .. last - 1, one after the other. */
submod_status submodi_blocks_project(submodi_blocks *c, size_t first, size_t last);

/* Computes the gap at r and the allowed one, and if it is not small enough, but near, at the means
 * of r over the parts of the cut. Returns SUBMOD_ENUMERIC if the objective overflows. */
submod_status submodi_blocks_check_gap(submodi_blocks *c);

/* to += coefficient * f + the modular function at u. */
void submodi_add_extension(submodi_extension *to, const submodi_extension *f, double coefficient);
void submodi_add_modular(submodi_extension *to, const submodi_folded *sum, const double *u);

#endif
