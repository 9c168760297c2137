/* The margins of a hinge layer, counted on a grid: what ranks have to tell each other of them. */
#ifndef SUBMODI_DIST_MARGIN_COUNTS_H
#define SUBMODI_DIST_MARGIN_COUNTS_H

#include "prox/hinge_layer.h"

/* Grid points are 0, h, 2h .. K h, with h a power of two and K h at least the largest margin. A
 * margin moves to the nearest; one below 0 moves to 0, which changes nothing (margin_counts.c). */
typedef struct submodi_margins {
    submodi_layer *layer; /* open; its sides are read here */
    size_t pixels;        /* of this rank */
    double *margin;       /* of each pixel; nothing where it is ignored */
    size_t K;             /* a power of two; set by the caller */
    double step;          /* h */
    size_t tables;        /* of counts, one a thread */
    int32_t *count;       /* per slot: the pixels of this rank; later the number of its point */
    double *base;         /* per point: s of each of its pixels */
} submodi_margins;

/* Numbers to add up: background and foreground of each grid point. */
static inline size_t submodi_margin_slots(const submodi_margins *m)
{
    return 2 * (m->K + 1);
}

/* Takes memory and reads the margins; *largest: of all, or 0 if that is more. SUBMOD_ENONFINITE: a
 * score is NaN or Inf. */
submod_status submodi_margins_read(submodi_margins *m, double *largest, submod_work *w);

/* Counts this rank's pixels, on a grid that reaches up to the largest margin of all ranks. */
void submodi_margins_count(submodi_margins *m, double largest);

/* Solves the problem of all ranks together: total[slot] pixels. */
submod_status submodi_margins_solve(submodi_margins *m, const double *total, submod_prox_info *info,
                                    submod_work *w);

/* Turns the sides of the layer into derivatives; returns how far the margin that moved most did. */
double submodi_margins_apply(const submodi_margins *m);

#endif
