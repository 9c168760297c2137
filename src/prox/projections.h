/* Projections on the base polytopes of a sum's terms, one after the other, and how good they are.
 *
 * A base s_j of term j appears as its step s_j / lambda, by which it moves u: u = x - sum of the
 * steps, and the prox of the term itself, for any y, is y - step. Steps and u are kept in units of
 * a power of two, so that their squares neither overflow nor vanish. */
#ifndef SUBMODI_PROX_PROJECTIONS_H
#define SUBMODI_PROX_PROJECTIONS_H

#include "prox/combination.h"
#include "prox/fold.h"
#include "prox/prox_cut.h"

/* A term of the sum. */
typedef struct submodi_member {
    const submodi_sum_part *part;
    size_t k;                /* its elements */
    size_t at;               /* where its step begins in those of all members */
    bool full;               /* has all elements */
    bool fast;               /* its prox is exact */
    bool parallel;           /* may run on any thread */
    submod_combination warm; /* where Wolfe's method starts next time */
    /* The extension at the last projection, if the method left it: at u as it was then. */
    submodi_extension extension;
} submodi_member;

/* Members that share no element, and so can be projected at the same time. */
typedef struct submodi_class {
    size_t first, last; /* members first .. last - 1 */
    double cost;        /* how much work it is; 0: not for several threads */
} submodi_class;

typedef struct submodi_projections {
    const submodi_prox_problem *p;
    const submodi_folded *folded;
    submod_prox_info *info;
    submod_work *work;
    size_t n;
    submodi_member *members;
    size_t count;
    submodi_class *classes;
    size_t nclasses;
    submod_work **works; /* one for each thread */
    int threads;
    /* The cut, whose prox is kept; its step comes before those of the members. */
    const submodi_sum_part *cut_part; /* NULL: there is none */
    submodi_cut_prox *cut;
    double *cut_x, *cut_u, *cut_s; /* scratch and results of its prox */
    submod_prox_info cut_info;
    double unit;
    double *x;           /* less the modular part */
    double *r;           /* x - all steps; projections keep it up to date */
    double *y, *step;    /* where each member starts, and its new step */
    size_t total;        /* numbers in step */
    size_t begin;        /* of the members' steps, after that of the cut */
    double *v, *s;       /* by element, scratch and the sum of all bases */
    double deadline;     /* INFINITY: none */
    double tolerance;    /* of Wolfe's method */
    bool ask_extension;  /* whether members should leave their extension */
    submodi_extension f; /* as of the last look, like the numbers below */
    double gap, allowed, largest_gap;
    double best_gap;
    bool stalled; /* the gap fell by less than half */
    bool enough;  /* p->enough says so */
} submodi_projections;

/* Prepares the projections of a folded function; all steps are 0. */
submod_status submodi_projections_start(submodi_projections *c, const submodi_prox_problem *p,
                                        const submodi_folded *folded, submod_prox_info *info,
                                        submod_work *work);
/* Frees what does not belong to the workspace. */
void submodi_projections_end(submodi_projections *c);

/* r = x - sum of the steps y of the members and the cut. */
void submodi_projections_reset(submodi_projections *c);

/* Projects the cut: its step for r + its y, from the parts of the last time. */
submod_status submodi_project_cut(submodi_projections *c, size_t rounds);

/* Projects all members but the cut, one after the other. */
submod_status submodi_project_members(submodi_projections *c);

/* Computes the gap at r and what is allowed, and if it is not small enough, but near, at the means
 * of r over the parts of the cut. Returns SUBMOD_ENUMERIC if the objective overflows. */
submod_status submodi_projections_look(submodi_projections *c);

/* Writes what the last look has seen. */
void submodi_projections_finish(const submodi_projections *c, double *u, double *s);

/* Whether a prox of fn by itself is exact and fast. */
bool submodi_is_fast(const submod_fn *fn);

#endif
