/* The projection of y = lambda x onto the base polytope, for methods that know F only by its greedy
 * vectors: the linear oracle, the best primal point so far, and when to stop.
 *
 * All numbers are in units of sigma, a power of two about the size of lambda x and of F's gains, so
 * that squares neither overflow nor vanish; lambda itself drops out. With t = lambda u / sigma the
 * problem and its gap are
 *
 *     min over t of  f(t) + |t - y|^2 / 2,        gap(t, s) = f(t) - <s, t> + |t - (y - s)|^2 / 2,
 *
 * a sum of two terms that are both >= 0, so nothing cancels. */
#ifndef SUBMODI_PROJECTION_H
#define SUBMODI_PROJECTION_H

#include "base/memory.h"
#include "prox/isotonic.h"
#include "prox/solver.h"
#include "prox/wolfe/vertices.h"

/* What a watcher sees of a run: a greedy order, the gains along it, and the present base s by
 * element; gains and s in units of sigma. A run may be about one piece of a problem only
 * (pieces.c): its element i is sequence[begin + i] of the whole. */
typedef struct submodi_view {
    size_t n;
    const int32_t *order;
    const double *gains;
    const double *s;
    double sigma;
    const int32_t
        *sequence; /* the elements of the whole in the order of its pieces; NULL: 0, 1, .. */
    size_t begin;
    double before;    /* F of the elements in the pieces before this one, minus F(empty) */
    double low, high; /* every entry of lambda u lies between them */
} submodi_view;

/* Returns true to end the run with SUBMOD_OK. */
typedef bool submodi_watch(void *ctx, const submodi_view *view);

typedef struct submodi_projection {
    const submodi_prox_problem *problem;
    size_t n;
    double sigma;
    double *y;
    double *s;       /* the present base; the method changes it */
    double *t;       /* y - s, by submodi_projection_look */
    double *vertex;  /* the greedy vector for t, by element */
    int32_t *order;  /* the order of vertex */
    double improves; /* <vertex - s, t>, the Frank-Wolfe gap */
    double noise;    /* rounding error of improves */
    double *best_t;  /* the best primal point so far */
    double *best_g;  /* its greedy vector, by element */
    double gap;      /* of best_t and s */
    double largest;  /* squared length of the longest greedy vector so far */
    /* May be changed after the start. */
    double deadline;
    double allowance;  /* a gap that is good enough, in units of sigma^2; 0 */
    submodi_view view; /* for the watcher; the looks fill its first fields */
    /* private */
    void *state;
    void *fresh; /* a copy of the state after reset, where that costs less than a reset; or NULL */
    double *gains, *fit;
    submodi_pool *pools;
    submod_work *work;
    submodi_watch *watch;
    void *watch_ctx;
    submod_prox_info *info;
} submodi_projection;

/* Chooses the units, and sets s and order to the greedy vector of x and its order. watch may be
 * NULL. */
submod_status submodi_projection_start(submodi_projection *p, const submodi_prox_problem *problem,
                                       submodi_watch *watch, void *watch_ctx,
                                       submod_prox_info *info, submod_work *work);

/* The greedy vector of an order, in units of sigma, by element. */
submod_status submodi_projection_chain(submodi_projection *p, const int32_t *order, double *vertex);

/* SUBMOD_TIMELIMIT or SUBMOD_CANCELLED if the next look will stop, else SUBMOD_OK. */
submod_status submodi_projection_limit(const submodi_projection *p);

/* Computes t, vertex, order, best_t and gap for the present s. *done: the tolerance was met, a
 * limit was hit or an error occurred; the method then returns the status. */
submod_status submodi_projection_look(submodi_projection *p, bool *done);

/* Writes u and s in the caller's units and, where somebody asks for it, s as a combination of the
 * points, whose weights sum to 1. Overflow: SUBMOD_ENUMERIC. */
submod_status submodi_projection_finish(const submodi_projection *p, const submodi_vertices *points,
                                        double *u, double *s);

#endif
