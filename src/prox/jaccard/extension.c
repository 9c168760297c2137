/* f(u) and f(u) - <s, u> of a Jaccard prox that is given as levels. The two lists are merged in the
 * order in which u falls, so no sort is needed. The sums are those of gap.c. O(p). */
#include <math.h>

#include "prox/jaccard/levels.h"

/* u and s in the form that the caller hands out. */
static submodi_prox_pair in_form(submodi_prox_pair pair, double x, double lambda,
                                 submodi_u_form form)
{
    if (form == SUBMODI_U_HINGE) {
        return (submodi_prox_pair){fmax(pair.u, 0), fmin(fmax(pair.s, 0), lambda * fmax(x, 0))};
    }
    return form == SUBMODI_U_FLOAT ? (submodi_prox_pair){(double)(float)pair.u, pair.s} : pair;
}

/* A position in one of the two lists. */
typedef struct walk {
    const submodi_point_list *list;
    submodi_prox_pair (*read)(const submodi_levels *, size_t, size_t *);
    size_t rank, level;
    submodi_prox_pair pair; /* of the point at rank; u = -inf at the end */
    double pixels;          /* of the point at rank */
} walk;

static void look(const submodi_levels *l, walk *w, submodi_u_form form)
{
    w->pair.u = -INFINITY;
    if (w->rank < w->list->count) {
        w->pair = in_form(w->read(l, w->rank, &w->level), w->list->value[w->rank], l->lambda, form);
        w->pixels =
            submodi_pixels_before(w->list, w->rank + 1) - submodi_pixels_before(w->list, w->rank);
    }
}

void submodi_levels_extension(const submodi_levels *l, submodi_u_form form,
                              submodi_extension *result)
{
    walk fg = {.list = &l->fg, .read = submodi_levels_fg};
    walk bg = {.list = &l->bg, .read = submodi_levels_bg};
    submodi_extension sum = {.known = true};
    double P = submodi_pixels_before(&l->fg, l->fg.count);
    double missing = P; /* foreground not yet passed */
    double U = P;       /* union */
    double slack = 0;   /* (F - s) of what has been passed */
    double weight = 0;
    look(l, &fg, form);
    look(l, &bg, form);
    double first = fmax(fg.pair.u, bg.pair.u);
    double last = first;
    while (fg.rank < l->fg.count || bg.rank < l->bg.count) {
        walk *w = fg.pair.u >= bg.pair.u ? &fg : &bg;
        double gain = w == &fg ? w->pixels / U
                      : U == 0 ? 1
                               : missing * w->pixels / (U * (U + w->pixels));
        missing -= w == &fg ? w->pixels : 0;
        U += w == &fg ? 0 : w->pixels;
        sum.excess += slack * (last - w->pair.u);
        slack += gain - w->pixels * w->pair.s;
        weight += gain + w->pixels * fabs(w->pair.s);
        sum.value += gain * w->pair.u;
        last = w->pair.u;
        w->rank++;
        look(l, w, form);
    }
    sum.excess += slack * last;
    sum.size = weight * fmax(fabs(first), fabs(last));
    *result = sum;
}
