/* Walks: a path through a part, always on to the kind whose next point has the larger lambda x - g,
 * g its gain, and the gains along it. O(p) values of F.
 *
 * Where a value costs little, the gains that choose the way are those at the place itself. A
 * measure that gives many values at once is asked for those along a whole path instead, chosen by
 * the gains of the walk before; a few of them are nearly as good, except where all is about to
 * merge. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "prox/two_counts/parts.h"
#include "submod/measure_internal.h"

#define INLINE __attribute__((always_inline)) static inline

enum { BATCH = 1024 };

bool submodi_walks_repeat(const submodi_blocks *b)
{
    return b->measure->type != SUBMOD_MEASURE_CUSTOM || !b->measure->ops.values;
}

/* Where a walk is: points and pixels of both kinds, background first. */
typedef struct place {
    size_t at[2];
    double pixels[2];
    double value; /* F there; custom measures only */
    bool failed;  /* such a measure was not finite, on the way or beside it */
} place;

/* What the next point of a kind would add: to each of its pixels, and F after it. */
typedef struct offer {
    double gain, value;
} offer;

INLINE offer offer_of(const submodi_blocks *b, submodi_form form, place *w, bool fg)
{
    double more = submodi_pixels_of(fg ? &b->fg : &b->bg, w->at[fg]);
    if (form.type == SUBMOD_MEASURE_CUSTOM) {
        const submod_measure *m = b->measure;
        double A = w->pixels[1] + (fg ? more : 0);
        double B = w->pixels[0] + (fg ? 0 : more);
        double value = m->ops.value(A < b->P ? A : b->P, B < b->N ? B : b->N, b->P, b->N, m->ctx);
        w->failed |= !isfinite(value);
        return (offer){(value - w->value) / more, value};
    }
    double a = w->pixels[1] < b->P ? w->pixels[1] : b->P;
    return (offer){.gain = submodi_form_gain(form, b->P, b->N, a, w->pixels[0], more, !fg)};
}

/* Goes on by one point of a kind, which is the next on the path. */
INLINE void go_on(submodi_path *s, place *w, bool fg, offer taken)
{
    size_t i = w->at[fg]++;
    s->is_fg[w->at[0] + w->at[1] - 1] = fg;
    s->gain[fg][i] = taken.gain;
    w->pixels[fg] += submodi_pixels_of(fg ? &s->b->fg : &s->b->bg, i);
    w->value = taken.value;
}

/* Walks by the gains at each place itself. Returns false as soon as a custom measure fails. */
INLINE bool walk_greedily(submodi_path *s, const submodi_span *p, submodi_form form, double value)
{
    const submodi_blocks *b = s->b;
    const double lambda = b->lambda;
    place w = {
        {p->bg_begin, p->fg_begin},
        {submodi_pixels_before(&b->bg, p->bg_begin), submodi_pixels_before(&b->fg, p->fg_begin)},
        value,
        false};
    while (!w.failed && w.at[1] < p->fg_end && w.at[0] < p->bg_end) {
        offer of_fg = offer_of(b, form, &w, true);
        offer of_bg = w.failed ? of_fg : offer_of(b, form, &w, false);
        bool fg = lambda * b->fg.value[w.at[1]] - of_fg.gain >=
                  lambda * b->bg.value[w.at[0]] - of_bg.gain;
        go_on(s, &w, fg, fg ? of_fg : of_bg);
    }
    while (!w.failed && w.at[1] < p->fg_end) {
        go_on(s, &w, true, offer_of(b, form, &w, true));
    }
    while (!w.failed && w.at[0] < p->bg_end) {
        go_on(s, &w, false, offer_of(b, form, &w, false));
    }
    return !w.failed;
}

/* The path by the gains of the last walk. */
static void choose_path(submodi_path *s, const submodi_span *p)
{
    const double lambda = s->b->lambda;
    const double *fg = s->b->fg.value;
    const double *bg = s->b->bg.value;
    const double *g_fg = s->gain[1];
    const double *g_bg = s->gain[0];
    size_t i = p->fg_begin;
    size_t j = p->bg_begin;
    size_t k = submodi_span_rank(p);
    while (i < p->fg_end && j < p->bg_end) {
        size_t first = lambda * fg[i] - g_fg[i] >= lambda * bg[j] - g_bg[j];
        s->is_fg[k++] = (uint8_t)first;
        i += first;
        j += 1 - first;
    }
    memset(s->is_fg + k, 1, p->fg_end - i);
    memset(s->is_fg + k + (p->fg_end - i), 0, p->bg_end - j);
}

/* Gains along the path, by values of F at BATCH corners at a time. */
static submod_status weigh(submodi_path *s, const submodi_span *p)
{
    const submodi_blocks *b = s->b;
    double A[BATCH];
    double B[BATCH];
    double F[BATCH];
    submodi_increment rise;
    size_t at[2] = {p->bg_begin, p->fg_begin};
    size_t end = submodi_span_rank(p) + submodi_span_size(p);
    submod_status status = submodi_increment_at(b, at[1], at[0], &rise);
    double before = 0;
    for (size_t k = submodi_span_rank(p); status == SUBMOD_OK && k < end;) {
        size_t count = end - k < BATCH ? end - k : BATCH;
        size_t from[2] = {at[0], at[1]};
        for (size_t i = 0; i < count; i++) {
            at[s->is_fg[k + i]]++;
            A[i] = submodi_pixels_before(&b->fg, at[1]);
            B[i] = submodi_pixels_before(&b->bg, at[0]);
        }
        status = submodi_increments(&rise, count, A, B, F);
        for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
            bool fg = s->is_fg[k + i];
            double more = submodi_pixels_of(fg ? &b->fg : &b->bg, from[fg]);
            s->gain[fg][from[fg]++] = (F[i] - before) / more;
            before = F[i];
        }
        k += count;
    }
    return status;
}

static submod_status walk_custom(submodi_path *s, const submodi_span *p, submodi_form form)
{
    submodi_increment rise;
    submod_status status = submodi_increment_at(s->b, p->fg_begin, p->bg_begin, &rise);
    return status || walk_greedily(s, p, form, rise.value)
               ? status
               : submodi_fail(SUBMOD_ECALLBACK,
                              "%s: the measure gave NaN or Inf; it must be finite", s->b->who);
}

submod_status submodi_walk(submodi_path *s, const submodi_span *p)
{
    submodi_form form = submodi_form_of(s->b->measure);
    s->b->work += submodi_span_size(p);
    if (!submodi_walks_repeat(s->b)) {
        choose_path(s, p);
        return weigh(s, p);
    }
    if (form.type == SUBMOD_MEASURE_CUSTOM) {
        return walk_custom(s, p, form);
    }
    walk_greedily(s, p, form, 0);
    return SUBMOD_OK;
}
