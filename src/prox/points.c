/* Sorted points: the front of the proxes of counts functions. Sorts foreground and background, each
 * by itself, lets the method of the measure find the levels of u, and writes u and s back. Along
 * the levels u falls, so f(u) and f(u) - <s, u> are added up on the way, without another sort.
 *
 * The work of writing is cut into parts at fixed ranks, so that sums do not depend on the number of
 * threads. A level may extend over several parts; inside a level u is constant, so its points count
 * as one. Memory per pixel: 16 bytes for the sort and the sorted values, up to 32 for its level, 16
 * for u and s. */
#include "prox/points.h"

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums.h"

/* The sums live in registers only if all of this becomes one loop for each form. */
#define INLINE __attribute__((always_inline)) static inline

enum {
    MOST_PARTS = 64,
    PART = 4096, /* points, at least */
    AHEAD = 24   /* points whose place is fetched before it is their turn */
};

/* ---- writing u and s ---- */

/* A place along the levels: the next level that is not finished, and the next points. */
typedef struct place {
    size_t level, at[2];
} place;

/* Sums over one part. */
typedef struct sums {
    double value, excess; /* excess: as if slack were 0 before the part */
    double slack;         /* F - s of the part */
    double last;          /* argument of f at the last point */
    double largest;       /* of |argument| */
    double total;         /* sum of |gain| */
} sums;

/* Where the points of both lists came from: the index is in the low bits of a record. */
typedef struct writer {
    const submodi_levels *l;
    const uint64_t *record[2];
    uint64_t index_mask[2];
    submodi_prox_pair *pair;
} writer;

INLINE double argument(bool hinge, double u)
{
    return hinge && !(u > 0) ? 0 : u;
}

/* Writes one point. Returns its s, times its pixels. */
INLINE double write_point(const writer *w, bool hinge, int label, size_t rank, double u, double s)
{
    const submodi_point_list *list = &w->l->list[label];
    const uint64_t *record = w->record[label];
    size_t soon = rank + AHEAD < list->count ? rank + AHEAD : rank;
    __builtin_prefetch(&w->pair[record[soon] & w->index_mask[label]], 1);
    if (hinge) {
        submodi_compose_with_hinge(list->value[rank], w->l->lambda, &u, &s);
    }
    w->pair[record[rank] & w->index_mask[label]] = (submodi_prox_pair){u, s};
    return submodi_pixels_of(list, rank) * s;
}

/* Goes down to argument `at` of f, where F gains so much. */
INLINE void go_down(sums *sum, double at, double gain)
{
    sum->excess += sum->slack * (sum->last - at);
    sum->value += gain * at;
    sum->slack += gain;
    sum->total += fabs(gain);
    sum->last = at;
    sum->largest = fabs(at) > sum->largest ? fabs(at) : sum->largest;
}

/* Writes the foreground [at->at[1], end) between two levels. */
INLINE void write_free(const writer *w, bool hinge, place *at, size_t end, double per_lambda,
                       sums *sum)
{
    const submodi_levels *l = w->l;
    double s = 1 / (l->total[1] + submodi_pixels_before(&l->list[0], at->at[0]));
    for (size_t *k = &at->at[1]; *k < end; ++*k) {
        double u = l->list[1].value[*k] - s * per_lambda;
        go_down(sum, argument(hinge, u), s * submodi_pixels_of(&l->list[1], *k));
        sum->slack -= write_point(w, hinge, 1, *k, u, s);
    }
}

INLINE double pixels_of_level(const submodi_levels *l, const submodi_level *v)
{
    return submodi_pixels_in(&l->list[0], v->begin[0], v->end[0]) +
           submodi_pixels_in(&l->list[1], v->begin[1], v->end[1]);
}

INLINE sums write_part(const writer *w, bool hinge, place from, place to)
{
    sums sum = {0}; /* here, so that it stays in registers */
    const submodi_levels *l = w->l;
    const double lambda = l->lambda;
    const double per_lambda = 1 / lambda;
    for (const submodi_level *v = &l->level[from.level];; v++) {
        size_t free_end = v->begin[1] < to.at[1] ? v->begin[1] : to.at[1];
        if (from.at[1] < free_end) {
            write_free(w, hinge, &from, free_end, per_lambda, &sum);
        }
        if (from.at[0] == to.at[0] && from.at[1] == to.at[1]) {
            return sum;
        }
        if (submodi_level_size(v) == 1) { /* the most frequent: s is what F gains */
            int k = v->begin[0] == v->end[0];
            double u = l->list[k].value[from.at[k]] - v->gain * per_lambda;
            go_down(&sum, argument(hinge, u), v->gain * submodi_pixels_of(&l->list[k], from.at[k]));
            sum.slack -= write_point(w, hinge, k, from.at[k]++, u, v->gain);
            continue;
        }
        double ref = submodi_level_ref(l, v);
        double u = ref - v->offset * per_lambda;
        if (from.at[0] == v->begin[0] && from.at[1] == v->begin[1]) {
            go_down(&sum, argument(hinge, u), v->gain * pixels_of_level(l, v));
        } else {
            sum.last = argument(hinge, u);
        }
        double slack = sum.slack;
        for (int k = 1; k >= 0; k--) {
            size_t end = v->end[k] < to.at[k] ? v->end[k] : to.at[k];
            for (; from.at[k] < end; from.at[k]++) {
                double s = v->offset + lambda * (l->list[k].value[from.at[k]] - ref);
                slack -= write_point(w, hinge, k, from.at[k], u, s);
            }
        }
        sum.slack = slack;
    }
}

/* Returns the place at a rank among all points: a level takes its foreground first. */
static place place_at(const submodi_levels *l, size_t rank)
{
    size_t lo = 0;
    for (size_t hi = l->count; lo < hi;) {
        size_t middle = lo + (hi - lo) / 2;
        const submodi_level *v = &l->level[middle];
        if (submodi_level_rank(v) + submodi_level_size(v) <= rank) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    const submodi_level *v = &l->level[lo];
    if (rank < submodi_level_rank(v)) {
        return (place){lo, {v->begin[0], rank - v->begin[0]}};
    }
    size_t inside = rank - submodi_level_rank(v);
    size_t fg = v->end[1] - v->begin[1];
    fg = inside < fg ? inside : fg;
    return (place){lo, {v->begin[0] + (inside - fg), v->begin[1] + fg}};
}

static submodi_extension add_up(const sums *part, size_t parts)
{
    submodi_extension f = {.known = true};
    double slack = 0;
    double last = 0;
    double largest = 0;
    double total = 0;
    for (size_t t = 0; t < parts; t++) {
        f.value += part[t].value;
        f.excess += slack * (last - part[t].last) + part[t].excess;
        slack += part[t].slack;
        last = part[t].last;
        largest = fmax(largest, part[t].largest);
        total += part[t].total;
    }
    f.excess += slack * last;
    f.size = 2 * largest * total;
    return f;
}

/* Writes u and s of all points; returns f at this u. */
static submodi_extension write_levels(const writer *w, bool hinge)
{
    const submodi_levels *l = w->l;
    const size_t n = l->list[0].count + l->list[1].count;
    const size_t wanted = n / PART + 1;
    const size_t parts = wanted < MOST_PARTS ? wanted : MOST_PARTS;
    sums part[MOST_PARTS] = {{0}};
#pragma omp parallel for num_threads(submodi_threads_for(n))
    for (size_t t = 0; t < parts; t++) {
        place from = place_at(l, n * t / parts);
        place to = place_at(l, n * (t + 1) / parts);
        part[t] = hinge ? write_part(w, true, from, to) : write_part(w, false, from, to);
    }
    return add_up(part, parts);
}

/* ---- sorted lists ---- */

static submod_status check_range(const submodi_point_set *p, double low, double high)
{
    double pixels = (double)p->n;
    for (size_t i = 0; p->multiplicity && i < p->n; i++) {
        pixels += p->multiplicity[i];
    }
    double sum = 2 * pixels * fmax(fabs(high), fabs(low));
    return isfinite(sum) && isfinite(1 / p->lambda) && isfinite(p->lambda * pixels * (high - low))
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "x from %g to %g with lambda = %g overflows double precision", low,
                              high, p->lambda);
}

/* Makes a list with sorted values, in memory that the sort no longer needs, and with sums of
 * multiplicities. */
static submod_status make_list(const submodi_point_set *p, const submodi_sorted *sorted,
                               size_t count, submodi_point_list *list, submod_work *w)
{
    double *value = (void *)sorted->spare;
#pragma omp parallel for num_threads(submodi_threads_for(count))
    for (size_t rank = 0; rank < count; rank++) {
        value[rank] = p->x[submodi_sorted_index(sorted, rank)];
    }
    *list = (submodi_point_list){.value = value, .count = count};
    if (p->multiplicity) {
        double *before = submodi_work_alloc(w, count + 1, sizeof *before);
        TRY(submodi_work_status(w));
        before[0] = 0;
        for (size_t rank = 0; rank < count; rank++) {
            before[rank + 1] = before[rank] + p->multiplicity[submodi_sorted_index(sorted, rank)];
        }
        list->before = before;
    }
    return SUBMOD_OK;
}

static bool is_jaccard(const submod_measure *measure)
{
    return measure->type == SUBMOD_MEASURE_JACCARD;
}

static submod_status solve(const submodi_point_set *p, submodi_prox_pair *pair,
                           submodi_extension *found, submod_prox_info *info, submod_work *w)
{
    submodi_sorted_kinds sorted;
    if (submodi_sort_kinds(p->x, p->n, p->foreground, w, &sorted) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    TRY(check_range(p, sorted.low, sorted.high));
    submodi_levels l = {.measure = p->measure, .lambda = p->lambda};
    writer out = {.l = &l, .pair = pair};
    for (int k = 0; k < 2; k++) {
        TRY(make_list(p, &sorted.sorted[k], sorted.count[k], &l.list[k], w));
        l.total[k] = submodi_pixels_before(&l.list[k], l.list[k].count);
        out.record[k] = sorted.sorted[k].record;
        out.index_mask[k] = (UINT64_C(1) << sorted.sorted[k].index_bits) - 1;
    }
    l.level = submodi_work_alloc(w, p->n + 1, sizeof *l.level);
    TRY(submodi_work_status(w));
    TRY(is_jaccard(p->measure) ? submodi_jaccard_levels(&l, w) : submodi_counts_levels(&l, w));
    submodi_level end = {.begin = {(uint32_t)l.list[0].count, (uint32_t)l.list[1].count},
                         .end = {(uint32_t)l.list[0].count, (uint32_t)l.list[1].count}};
    l.level[l.count] = end;
    *found = write_levels(&out, p->hinge);
    info->iterations = l.count;
    info->work = l.work;
    return SUBMOD_OK;
}

submod_status submodi_points_prox(const submodi_point_set *p, submodi_prox_pair *pair,
                                  submodi_extension *found, submod_prox_info *info,
                                  submod_work *work)
{
    info->method = is_jaccard(p->measure) ? SUBMOD_PROX_JACCARD : SUBMOD_PROX_TWO_COUNTS;
    if (p->n == 0) {
        return SUBMOD_OK;
    }
    submodi_scope scope;
    submod_status status = solve(p, pair, found, info, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}

size_t submodi_points_prox_bytes(const submod_measure *measure, size_t n, int threads)
{
    size_t bytes = 0;
    size_t more = is_jaccard(measure) ? submodi_times(n, sizeof(submodi_compensated_sum))
                                      : submodi_counts_levels_bytes(n);
    bool good = submodi_add_size(&bytes, submodi_times(2, n), sizeof(uint64_t)) &&
                submodi_add_size(&bytes, (size_t)threads, sizeof(submodi_digit_counts)) &&
                submodi_add_size(&bytes, n + 1, sizeof(submodi_level)) &&
                submodi_add_size(&bytes, 1, more) && submodi_add_size(&bytes, 16, SUBMODI_ALIGN);
    return good ? bytes : SIZE_MAX;
}

/* ---- histograms ----
 *
 * Every x moves to x', the middle of its bin, by at most half a bin. The prox is isotone: raising
 * entries of x lowers none of u. And adding a constant to x adds it to u. So if |x - x'| <= e in
 * all entries, then |u - u'| <= e in all entries. All pixels of one bin and label have the same u',
 * the prox of one weighted point. O(n + K log K) for K bins. */

typedef struct bins {
    const submodi_point_set *of;
    double low, width;
    size_t count;
    uint32_t *slot;  /* of each pixel: 2 bin + label */
    uint32_t *point; /* of each slot: its pixels, later the number of its point */
    double error;    /* |u - u'| <= this */
} bins;

/* Returns a bound of |s|: F of one pixel, of the label where it is larger. */
static submod_status largest_gain(const submodi_point_set *p, double *largest)
{
    size_t P = 0;
    for (size_t i = 0; i < p->n; i++) {
        P += p->foreground[i / 32] >> i % 32 & 1;
    }
    submodi_increment from;
    double gain[2] = {0, 0};
    TRY(submodi_increment_from(p->measure, (double)P, (double)(p->n - P), 0, 0, &from));
    if (P > 0) {
        TRY(submodi_increment_by(&from, 1, 0, &gain[1]));
    }
    if (P < p->n) {
        TRY(submodi_increment_by(&from, 0, 1, &gain[0]));
    }
    *largest = fmax(fabs(gain[0]), fabs(gain[1]));
    return SUBMOD_OK;
}

/* Chooses as many bins as the accuracy needs, with room for rounding: of u, and of edges, which
 * move by less than 2^-20 of a bin. If the rounding of u takes more than half of the accuracy, bins
 * use half of it, and the error may exceed it. */
static submod_status choose_bins(bins *b, double accuracy)
{
    const submodi_point_set *p = b->of;
    double low = p->x[0];
    double high = p->x[0];
    double gain;
    for (size_t i = 1; i < p->n; i++) {
        low = p->x[i] < low ? p->x[i] : low;
        high = p->x[i] > high ? p->x[i] : high;
    }
    TRY(largest_gain(p, &gain));
    b->error = 8 * DBL_EPSILON * (fmax(fabs(low), fabs(high)) + gain / p->lambda);
    double width = 2 * (1 - 0x1p-20) * fmax(accuracy - b->error, accuracy / 2);
    double wanted = floor((high - low) / width) + 1;
    if (!(wanted <= SUBMOD_PROX_BINS_MAX)) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "x from %g to %g with accuracy = %g needs %g bins, more than %d: use a "
                            "larger accuracy, or 0",
                            low, high, accuracy, wanted, SUBMOD_PROX_BINS_MAX);
    }
    b->low = low;
    b->count = (size_t)wanted;
    /* No wider than the range needs: a large accuracy must not move x far out of its range. */
    b->width = high > low ? (high - low) / wanted : DBL_MIN;
    return SUBMOD_OK;
}

static double middle_of(const bins *b, size_t bin)
{
    return b->low + ((double)bin + 0.5) * b->width;
}

/* Counts the pixels of each slot. Returns the number of slots with pixels. */
static size_t count_pixels(bins *b)
{
    const submodi_point_set *p = b->of;
    double moved = 0;
#pragma omp parallel for num_threads(submodi_threads_for(p->n)) reduction(max : moved)
    for (size_t i = 0; i < p->n; i++) {
        size_t bin = (size_t)((p->x[i] - b->low) / b->width);
        bin = bin < b->count ? bin : b->count - 1;
        double move = fabs(p->x[i] - middle_of(b, bin));
        moved = move > moved ? move : moved;
        b->slot[i] = (uint32_t)(2 * bin) + (p->foreground[i / 32] >> i % 32 & 1);
    }
    memset(b->point, 0, 2 * b->count * sizeof *b->point);
    size_t points = 0;
    for (size_t i = 0; i < p->n; i++) {
        points += b->point[b->slot[i]]++ == 0;
    }
    b->error += moved;
    return points;
}

static submod_status solve_bins(bins *b, submodi_prox_pair *pair, submodi_extension *found,
                                submod_prox_info *info, submod_work *w)
{
    submodi_point_set p = *b->of;
    p.n = count_pixels(b);
    double *value = submodi_work_alloc(w, p.n, sizeof *value);
    double *pixels = submodi_work_alloc(w, p.n, sizeof *pixels);
    uint32_t *foreground = submodi_work_alloc(w, submodi_flag_words(p.n), sizeof *foreground);
    submodi_prox_pair *of_point = submodi_work_alloc(w, p.n, sizeof *of_point);
    TRY(submodi_work_status(w));
    memset(foreground, 0, submodi_flag_words(p.n) * sizeof *foreground);
    uint32_t points = 0;
    for (uint32_t k = 0; k < 2 * b->count; k++) {
        if (b->point[k]) {
            value[points] = middle_of(b, k / 2);
            pixels[points] = b->point[k];
            foreground[points / 32] |= (k & 1) << points % 32;
            b->point[k] = points++;
        }
    }
    p.x = value;
    p.multiplicity = pixels;
    p.foreground = foreground;
    TRY(submodi_points_prox(&p, of_point, found, info, w));
    for (size_t i = 0; i < b->of->n; i++) {
        pair[i] = of_point[b->point[b->slot[i]]];
    }
    info->error = b->error;
    return SUBMOD_OK;
}

static submod_status prox_by_bins(const submodi_point_set *p, double accuracy,
                                  submodi_prox_pair *pair, submodi_extension *found,
                                  submod_prox_info *info, submod_work *w)
{
    bins b = {.of = p};
    TRY(choose_bins(&b, accuracy));
    b.slot = submodi_work_alloc(w, p->n, sizeof *b.slot);
    b.point = submodi_work_alloc(w, 2 * b.count, sizeof *b.point);
    TRY(submodi_work_status(w));
    return solve_bins(&b, pair, found, info, w);
}

/* ---- as methods of submod_prox ---- */

bool submodi_can_jaccard(const submod_fn *fn)
{
    const submodi_counts *c = submodi_counts_of(fn);
    return c && !c->weight && is_jaccard(&c->measure);
}

bool submodi_can_two_counts(const submod_fn *fn)
{
    const submodi_counts *c = submodi_counts_of(fn);
    return c && !c->weight && (c->measure.type == SUBMOD_MEASURE_TVERSKY || fn->calls_user_code);
}

static void copy_pairs(const submodi_prox_pair *pair, size_t n, double *u, double *s)
{
#pragma omp parallel for num_threads(submodi_threads_for(n))
    for (size_t i = 0; i < n; i++) {
        u[i] = pair[i].u;
        s[i] = pair[i].s;
    }
}

submod_status submodi_prox_counts(const submodi_prox_problem *p, double *u, double *s,
                                  submod_prox_info *info, submod_work *work)
{
    const submodi_counts *c = submodi_counts_of(p->fn);
    size_t n = p->fn->n;
    submodi_extension unasked = {0};
    submodi_extension *found = p->extension ? p->extension : &unasked;
    submodi_point_set points = {.n = n,
                                .x = p->x,
                                .foreground = c->foreground,
                                .measure = &c->measure,
                                .lambda = p->lambda,
                                .hinge = p->settings->hinge};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_prox_pair *pair = submodi_work_alloc(w, n, sizeof *pair);
    double accuracy = p->settings->accuracy;
    submod_status status = submodi_work_status(w);
    if (status == SUBMOD_OK) {
        status = accuracy > 0 ? prox_by_bins(&points, accuracy, pair, found, info, w)
                              : submodi_points_prox(&points, pair, found, info, w);
    }
    if (status == SUBMOD_OK) {
        copy_pairs(pair, n, u, s);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- weighted points ---- */

static submod_status check_points(const submod_points *p, double lambda)
{
    TRY(submodi_check_given("points", p));
    if (p->count > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "points.count = %zu must be <= 2^31 - 1", p->count);
    }
    if (p->count && (!p->value || !p->foreground || !p->multiplicity)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "points.value, foreground and multiplicity must not be NULL");
    }
    TRY(submodi_check_positive("lambda", lambda));
    TRY(submodi_check_finite("points.value", p->value, p->count));
    return submodi_check_finite("points.multiplicity", p->multiplicity, p->count);
}

/* Checks that all are > 0 and that none is lost in the sum of its label. */
static submod_status check_multiplicities(const submod_points *p)
{
    double sum[2] = {0, 0};
    for (size_t i = 0; i < p->count; i++) {
        sum[p->foreground[i] != 0] += p->multiplicity[i];
        if (!(p->multiplicity[i] > 0)) {
            return submodi_fail(SUBMOD_EINVAL, "points.multiplicity[%zu] = %g must be > 0", i,
                                p->multiplicity[i]);
        }
    }
    if (!isfinite(2 * (sum[0] + sum[1]))) {
        return submodi_fail(SUBMOD_ENUMERIC, "the sum of points.multiplicity overflows");
    }
    for (size_t i = 0; i < p->count; i++) {
        double all = sum[p->foreground[i] != 0];
        if (p->multiplicity[i] < 0x1p-52 * all) {
            return submodi_fail(SUBMOD_ENUMERIC,
                                "points.multiplicity[%zu] = %g must be at least 2^-52 of the sum "
                                "of its label, %g; leave the point out",
                                i, p->multiplicity[i], all);
        }
    }
    return SUBMOD_OK;
}

static submod_status solve_points(const submod_points *given, const submod_measure *measure,
                                  double lambda, double *u, double *s, submod_prox_info *info,
                                  submod_work *w)
{
    size_t n = given->count;
    uint32_t *foreground = submodi_work_alloc(w, submodi_flag_words(n), sizeof *foreground);
    submodi_prox_pair *pair = submodi_work_alloc(w, n, sizeof *pair);
    u = u ? u : submodi_work_alloc(w, n, sizeof *u);
    s = s ? s : submodi_work_alloc(w, n, sizeof *s);
    TRY(submodi_work_status(w));
    memset(foreground, 0, submodi_flag_words(n) * sizeof *foreground);
    for (size_t i = 0; i < n; i++) {
        foreground[i / 32] |= (uint32_t)(given->foreground[i] != 0) << i % 32;
    }
    submodi_point_set p = {.n = n,
                           .x = given->value,
                           .foreground = foreground,
                           .multiplicity = given->multiplicity,
                           .measure = measure,
                           .lambda = lambda};
    submodi_extension f = {0};
    double terms;
    TRY(submodi_points_prox(&p, pair, &f, info, w));
    copy_pairs(pair, n, u, s);
    submodi_prox_result result = {
        .n = n, .x = p.x, .weight = p.multiplicity, .lambda = lambda, .u = u, .s = s};
    return submodi_prox_objectives(&result, &f, info, &terms);
}

submod_status submod_prox_points(const submod_points *points, const submod_measure *measure,
                                 double lambda, double *u, double *s, submod_prox_info *info,
                                 submod_work *work)
{
    static const char who[] = "submod_prox_points";
    double start = submodi_seconds();
    submod_measure m;
    submod_prox_info found = {0};
    submod_status status = submodi_read_measure("measure", measure, &m);
    status = status ? status : check_points(points, lambda);
    status = status ? status : check_multiplicities(points);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        submod_work *w = submodi_scope_open(&scope, work);
        status = solve_points(points, &m, lambda, u, s, &found, w);
        submodi_scope_close(&scope);
    }
    if (status == SUBMOD_OK) {
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    return submodi_return(who, status);
}
