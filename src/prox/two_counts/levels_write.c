/* From levels to u and s of every point, and f(u) on the way.
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

#include "base/internal.h"
#include "prox/two_counts/levels.h"

/* The sums live in registers only if all of this becomes one loop for each form. */
#define INLINE __attribute__((always_inline)) static inline

enum {
    MOST_PARTS = 64,
    PART = 4096, /* background points, at least */
    AHEAD = 24   /* points whose place is fetched before it is their turn */
};

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
} sums;

typedef struct writer {
    submodi_levels *l;
    submodi_origin fg, bg;
    submodi_u_form form;
    submodi_prox_pair *pair;
} writer;

/* Hands out one point. Returns its s, times its pixels. */
INLINE double write_point(const writer *w, submodi_u_form form, const submodi_point_list *list,
                          const submodi_origin *origin, size_t rank, double u, double s)
{
    submodi_prox_pair pair =
        submodi_in_form((submodi_prox_pair){u, s}, list->value[rank], w->l->lambda, form);
    size_t soon = rank + AHEAD < list->count ? rank + AHEAD : rank;
    __builtin_prefetch(&w->pair[origin->record[soon] & origin->mask], 1);
    w->pair[origin->record[rank] & origin->mask] = pair;
    return submodi_pixels_of(list, rank) * pair.s;
}

/* Goes down to argument `at` of f. */
INLINE void go_down(sums *sum, double at)
{
    sum->excess += sum->slack * (sum->last - at);
    sum->last = at;
    sum->largest = fabs(at) > sum->largest ? fabs(at) : sum->largest;
}

/* The foreground [*rank, end) between two levels, after b pixels of background. */
INLINE void write_free(const writer *w, submodi_u_form form, size_t *rank, size_t end, double b,
                       sums *sum)
{
    const submodi_levels *l = w->l;
    if (*rank >= end) {
        return;
    }
    double s = 1 / (l->P + b);
    for (; *rank < end; ++*rank) {
        double u = l->fg.value[*rank] - s * l->per_lambda;
        double at = submodi_argument(u, form);
        double gain = s * submodi_pixels_of(&l->fg, *rank);
        go_down(sum, at);
        sum->value += gain * at;
        sum->slack += gain - write_point(w, form, &l->fg, &w->fg, *rank, u, s);
    }
}

/* The points [from, (fg_end, bg_end)) of one level. */
INLINE void write_level(const writer *w, submodi_u_form form, place *from, double offset,
                        size_t fg_end, size_t bg_end, sums *sum)
{
    const submodi_levels *l = w->l;
    const double ref = l->bg.value[l->level[from->level].first];
    const double u = ref - offset * l->per_lambda;
    double slack = sum->slack;
    for (size_t k = from->fg; k < fg_end; k++) {
        double s = offset + l->lambda * (l->fg.value[k] - ref);
        slack -= write_point(w, form, &l->fg, &w->fg, k, u, s);
    }
    for (size_t j = from->bg; j < bg_end; j++) {
        double s = offset + l->lambda * (l->bg.value[j] - ref);
        slack -= write_point(w, form, &l->bg, &w->bg, j, u, s);
    }
    sum->slack = slack;
    from->fg = fg_end;
    from->bg = bg_end;
}

/* Goes down to a level and adds up what it gains. Returns its offset. Levels that end after
 * background point `end`, beyond this part, are finished already. */
INLINE double enter_level(const writer *w, submodi_u_form form, const submodi_level *level,
                          size_t end, sums *sum)
{
    const submodi_levels *l = w->l;
    double gain = submodi_level_gain(l, level);
    double offset = level[1].first <= end ? submodi_level_offset(l, level, gain) : level->offset;
    double at = submodi_argument(l->bg.value[level->first] - offset * l->per_lambda, form);
    go_down(sum, at);
    sum->value += gain * at;
    sum->slack += gain;
    return offset;
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

/* Levels of one background pixel and nothing else, the most frequent, as long as they follow each
 * other. Their s is what they gain. */
INLINE void write_singles(const writer *w, submodi_u_form form, place *from, size_t end, sums *sum)
{
    const submodi_levels *l = w->l;
    for (; from->bg < end; from->bg++, from->level++) {
        const submodi_level *here = &l->level[from->level];
        if (here[1].first - here->first != 1 || here->fg_begin != here->fg_end) {
            return;
        }
        double b = (double)(int64_t)from->bg;
        write_free(w, form, &from->fg, here->fg_begin, b, sum);
        double U = l->P + b;
        double gain = U == 0 ? 1 : (l->P - (double)(int64_t)from->fg) / (U * (U + 1));
        double u = l->bg.value[from->bg] - gain * l->per_lambda;
        double at = submodi_argument(u, form);
        go_down(sum, at);
        sum->value += gain * at;
        sum->slack += gain - write_point(w, form, &l->bg, &w->bg, from->bg, u, gain);
    }
}

INLINE void write_part(const writer *w, submodi_u_form form, place from, place to, sums *sum)
{
    const submodi_levels *l = w->l;
    for (;; from.level++) {
        if (!l->bg.before) {
            write_singles(w, form, &from, to.bg, sum);
        }
        if (from.bg == to.bg) {
            break;
        }
        const submodi_level *here = &l->level[from.level];
        bool ends = here[1].first <= to.bg;
        double offset = here->offset;
        if (from.bg == here->first) {
            write_free(w, form, &from.fg, here->fg_begin,
                       submodi_pixels_before(&l->bg, here->first), sum);
            offset = enter_level(w, form, here, to.bg, sum);
        } else {
            double ref = l->bg.value[here->first];
            sum->last = submodi_argument(ref - offset * l->per_lambda, form);
        }
        write_level(w, form, &from, offset, ends ? here->fg_end : to.fg,
                    ends ? here[1].first : to.bg, sum);
    }
    write_free(w, form, &from.fg, to.fg, submodi_pixels_before(&l->bg, to.bg), sum);
}

static sums write_in_form(const writer *w, place from, place to)
{
    sums sum = {0}; /* here, so that it stays in registers */
    switch (w->form) {
    case SUBMODI_U_PLAIN: write_part(w, SUBMODI_U_PLAIN, from, to, &sum); break;
    case SUBMODI_U_HINGE: write_part(w, SUBMODI_U_HINGE, from, to, &sum); break;
    case SUBMODI_U_FLOAT: write_part(w, SUBMODI_U_FLOAT, from, to, &sum); break;
    }
    return sum;
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
            level->offset = submodi_level_offset(l, level, submodi_level_gain(l, level));
            finished = at[t].level;
        }
    }
}

static submodi_extension add_up(const sums *part, size_t parts)
{
    submodi_extension f = {.known = true};
    double slack = 0;
    double last = 0;
    double largest = 0;
    for (size_t t = 0; t < parts; t++) {
        f.value += part[t].value;
        f.excess += slack * (last - part[t].last) + part[t].excess;
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
        part[t] = write_in_form(&w, at[t], at[t + 1]);
    }
    *result = add_up(part, parts);
}
