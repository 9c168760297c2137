/* From levels to u and s of every point, and the sums of their certificate on the way.
 *
 * Along the levels u falls, so this is the order in which f(u) and f(u) - <s, u> are added up, as
 * in gap.c, and no sort is needed. Inside a level u is constant: its points count as one. Between
 * two levels there is foreground of its own, with s = 1 / (P + b), its increment.
 *
 * The work is cut into parts at fixed ranks of the background, so that sums do not depend on the
 * number of threads. A level may extend over several parts. Memory per pixel: 8 bytes for its
 * value, 8 for its record, 24 per level are read, 16 written at a random place. O(p). */
#include <math.h>
#include <stdbool.h>

#include "base/threads.h"
#include "prox/jaccard/levels.h"

enum { MOST_PARTS = 64, PART = 4096 /* background points, at least */ };

/* A place in both lists. */
typedef struct place {
    size_t level, fg, bg;
} place;

/* Sums over one part. */
typedef struct sums {
    double value, excess; /* excess: as if slack were 0 before the part */
    double slack;         /* F - s of the part */
    double last;          /* argument of f at the last point */
    double largest;       /* of |argument| */
    submodi_pair_sums pairs;
} sums;

typedef struct writer {
    submodi_levels *l;
    submodi_origin fg, bg;
    submodi_u_form form;
    submodi_prox_pair *pair;
} writer;

/* u in the form that f is taken at. */
static inline double argument(double u, submodi_u_form form)
{
    return form == SUBMODI_U_HINGE ? fmax(u, 0) : form == SUBMODI_U_FLOAT ? (double)(float)u : u;
}

/* Hands out one point and adds it up. Returns its s, times its pixels. */
static inline double write_point(const writer *w, submodi_u_form form,
                                 const submodi_point_list *list, const submodi_origin *origin,
                                 size_t rank, double u, double s, submodi_pair_sums *sum)
{
    const submodi_levels *l = w->l;
    double x = list->value[rank];
    double at = argument(u, form);
    if (form == SUBMODI_U_HINGE) {
        s = fmin(fmax(s, 0), l->lambda * fmax(x, 0));
        u = fmax(u, fmin(x, 0));
    }
    w->pair[origin->record[rank] & origin->mask] = (submodi_prox_pair){u, s};
    double pixels = list->before
                        ? submodi_pixels_before(list, rank + 1) - submodi_pixels_before(list, rank)
                        : 1;
    double step = u - x;
    double dual = s * l->per_lambda;
    double miss = step + dual;
    sum->distance += pixels * (l->lambda * step * step);
    sum->residual += pixels * (l->lambda * miss * miss);
    sum->terms += pixels * (l->lambda * x * x + dual * s);
    if (form == SUBMODI_U_HINGE) {
        sum->beyond += pixels * (s * (at - u));
    }
    return pixels * s;
}

/* Goes down to argument `at` of f. */
static inline void go_down(sums *sum, double at)
{
    sum->excess += sum->slack * (sum->last - at);
    sum->last = at;
    sum->largest = fabs(at) > sum->largest ? fabs(at) : sum->largest;
}

/* The foreground [*rank, end) between two levels, after b pixels of background. */
static inline void write_free(const writer *w, submodi_u_form form, size_t *rank, size_t end,
                              double b, sums *sum)
{
    const submodi_levels *l = w->l;
    if (*rank >= end) {
        return;
    }
    double s = 1 / (submodi_pixels_before(&l->fg, l->fg.count) + b);
    for (; *rank < end; ++*rank) {
        double u = l->fg.value[*rank] - s * l->per_lambda;
        double at = argument(u, form);
        double gain = s * (l->fg.before ? submodi_pixels_before(&l->fg, *rank + 1) -
                                              submodi_pixels_before(&l->fg, *rank)
                                        : 1);
        go_down(sum, at);
        sum->value += gain * at;
        sum->slack += gain - write_point(w, form, &l->fg, &w->fg, *rank, u, s, &sum->pairs);
    }
}

/* The piece of a level that lies between two places. Its gain is counted where it begins. */
static inline void write_level(const writer *w, submodi_u_form form, place *from, size_t fg_end,
                               size_t bg_end, sums *sum)
{
    const submodi_levels *l = w->l;
    const submodi_level *level = &l->level[from->level];
    double ref = l->bg.value[level->first];
    double u = ref - level->offset * l->per_lambda;
    double at = argument(u, form);
    go_down(sum, at);
    if (from->bg == level->first) {
        double gain = submodi_level_gain(l, level);
        sum->value += gain * at;
        sum->slack += gain;
    }
    for (; from->fg < fg_end; from->fg++) {
        double s = level->offset + l->lambda * (l->fg.value[from->fg] - ref);
        sum->slack -= write_point(w, form, &l->fg, &w->fg, from->fg, u, s, &sum->pairs);
    }
    for (; from->bg < bg_end; from->bg++) {
        double s = level->offset + l->lambda * (l->bg.value[from->bg] - ref);
        sum->slack -= write_point(w, form, &l->bg, &w->bg, from->bg, u, s, &sum->pairs);
    }
}

/* The place in both lists at background point `rank`: foreground inside a level is shared out. */
static place place_at(const submodi_levels *l, size_t rank)
{
    place p = {.level = submodi_level_of(l, rank), .bg = rank};
    const submodi_level *level = &l->level[p.level];
    p.fg = level->fg_begin;
    if (rank > level->first) {
        p.fg += (size_t)(level->fg_end - level->fg_begin) * (rank - level->first) /
                (level[1].first - level->first);
    }
    return p;
}

/* Levels that end in this part are finished here; those that extend beyond it are finished
 * already. */
static inline void write_part(const writer *w, submodi_u_form form, place from, place to, sums *sum)
{
    const submodi_levels *l = w->l;
    for (; from.bg < to.bg; from.level++) {
        submodi_level *here = &l->level[from.level];
        bool ends = here[1].first <= to.bg;
        if (from.bg == here->first) {
            write_free(w, form, &from.fg, here->fg_begin,
                       submodi_pixels_before(&l->bg, here->first), sum);
            if (ends) {
                submodi_level_finish(l, here);
            }
        }
        write_level(w, form, &from, ends ? here->fg_end : to.fg, ends ? here[1].first : to.bg, sum);
    }
    write_free(w, form, &from.fg, to.fg, submodi_pixels_before(&l->bg, to.bg), sum);
}

static void write_in_form(const writer *w, place from, place to, sums *sum)
{
    switch (w->form) {
    case SUBMODI_U_PLAIN: write_part(w, SUBMODI_U_PLAIN, from, to, sum); break;
    case SUBMODI_U_HINGE: write_part(w, SUBMODI_U_HINGE, from, to, sum); break;
    case SUBMODI_U_FLOAT: write_part(w, SUBMODI_U_FLOAT, from, to, sum); break;
    }
}

/* Finds the places where parts begin and end, and finishes the levels that lie in several. */
static void cut(submodi_levels *l, size_t parts, place *at)
{
    size_t finished = l->count;
    at[0] = (place){0, 0, 0};
    for (size_t t = 1; t <= parts; t++) {
        at[t] = place_at(l, l->bg.count * t / parts);
        submodi_level *level = &l->level[at[t].level];
        if (at[t].bg > level->first && at[t].level != finished) {
            submodi_level_finish(l, level);
            finished = at[t].level;
        }
    }
}

static submodi_extension add_up(const sums *part, size_t parts)
{
    submodi_extension f = {.known = true, .measured = true};
    double slack = 0;
    double last = 0;
    double largest = 0;
    for (size_t t = 0; t < parts; t++) {
        f.value += part[t].value;
        f.excess += slack * (last - part[t].last) + part[t].excess;
        f.sums.distance += part[t].pairs.distance;
        f.sums.residual += part[t].pairs.residual;
        f.sums.terms += part[t].pairs.terms;
        f.sums.beyond += part[t].pairs.beyond;
        slack += part[t].slack;
        last = part[t].last;
        largest = fmax(largest, part[t].largest);
    }
    f.excess += slack * last;
    f.size = 2 * largest; /* the increments add up to F(V) = 1, and so does s */
    return f;
}

void submodi_levels_write(submodi_levels *l, submodi_origin fg, submodi_origin bg,
                          submodi_u_form form, submodi_prox_pair *pair, submodi_extension *result)
{
    const writer w = {l, fg, bg, form, pair};
    const size_t wanted = l->bg.count / PART + 1;
    const size_t parts = wanted < MOST_PARTS ? wanted : MOST_PARTS;
    sums part[MOST_PARTS] = {{0}};
    place at[MOST_PARTS + 1];
    cut(l, parts, at);
#pragma omp parallel for num_threads(submodi_threads_for(l->fg.count + l->bg.count))
    for (size_t t = 0; t < parts; t++) {
        write_in_form(&w, at[t], at[t + 1], &part[t]);
    }
    *result = add_up(part, parts);
}
