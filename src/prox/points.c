/* The common part of the proxes of counts functions: sorts foreground and background separately,
 * calls the measure's method to find the levels of u, and writes u and s. u falls along the levels,
 * so the same pass sums f(u) and f(u) - <s, u> without another sort. */
#include "prox/points.h"

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums.h"

static bool is_jaccard(const submod_measure *measure)
{
    return measure->type == SUBMOD_MEASURE_JACCARD;
}

static uint32_t label_at(const uint32_t *foreground, size_t i)
{
    return foreground[i / 32] >> i % 32 & 1;
}

/* ---- reading ---- */

static submod_status check_range(const submodi_points *p, double low, double high)
{
    double pixels = p->total[0] + p->total[1];
    double sum = 2 * pixels * fmax(fabs(high), fabs(low));
    return isfinite(sum) && isfinite(1 / p->lambda) && isfinite(p->lambda * pixels * (high - low))
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "x from %g to %g with lambda = %g overflows double precision", low,
                              high, p->lambda);
}

/* Makes a list with the values in memory that the sort no longer needs. */
static submodi_point_list list_of(const submodi_sorted *sorted, size_t count, const double *x,
                                  const double *multiplicity, submod_work *w)
{
    double *value = (void *)sorted->spare;
    double *before = multiplicity ? submodi_work_alloc(w, count + 1, sizeof *before) : NULL;
#pragma omp parallel for num_threads(submodi_threads_for(count))
    for (size_t rank = 0; rank < count; rank++) {
        value[rank] = x[submodi_sorted_index(sorted, rank)];
    }
    if (before) {
        before[0] = 0;
        for (size_t rank = 0; rank < count; rank++) {
            before[rank + 1] = before[rank] + multiplicity[submodi_sorted_index(sorted, rank)];
        }
    }
    return (submodi_point_list){.value = value,
                                .count = count,
                                .before = before,
                                .record = sorted->record,
                                .index_mask = (UINT64_C(1) << sorted->index_bits) - 1};
}

/* Sorts n >= 1 points. multiplicity: > 0; NULL means ones. */
static submod_status sort_points(submodi_points *p, const double *x, size_t n,
                                 const uint32_t *foreground, const double *multiplicity,
                                 submod_work *w)
{
    submodi_sorted_kinds kinds;
    if (submodi_sort_kinds(x, n, foreground, w, &kinds) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (int k = 0; k < 2; k++) {
        p->list[k] = list_of(&kinds.sorted[k], kinds.count[k], x, multiplicity, w);
        TRY(submodi_work_status(w));
        p->total[k] = submodi_pixels_before(&p->list[k], kinds.count[k]);
    }
    return check_range(p, kinds.low, kinds.high);
}

/* ---- levels ---- */

submod_status submodi_increment_at(const submodi_points *p, const uint32_t at[2],
                                   submodi_increment *from)
{
    return submodi_increment_from(p->measure, p->total[1], p->total[0],
                                  submodi_pixels_before(&p->list[1], at[1]),
                                  submodi_pixels_before(&p->list[0], at[0]), from);
}

submod_status submodi_pool_points(const submodi_points *p, submodi_level *v)
{
    submodi_increment from;
    double sum = 0;
    double pixels[2];
    double ref = submodi_level_ref(p, v);
    for (int k = 0; k < 2; k++) {
        submodi_compensated_sum of_label = {0, 0};
        for (size_t i = v->begin[k]; i < v->end[k]; i++) {
            double x = p->list[k].value[i] - ref;
            of_label = submodi_compensated_add(of_label, submodi_pixels_of(&p->list[k], i) * x);
        }
        sum += of_label.hi + of_label.lo;
        pixels[k] = submodi_pixels_in(&p->list[k], v->begin[k], v->end[k]);
    }
    TRY(submodi_increment_at(p, v->begin, &from));
    TRY(submodi_increment_by(&from, pixels[1], pixels[0], &v->gain));
    v->offset = (v->gain - p->lambda * sum) / (pixels[0] + pixels[1]);
    v->gain /= pixels[0] + pixels[1];
    return SUBMOD_OK;
}

/* ---- writing u and s ----
 *
 * The work is cut into parts at fixed ranks, so that sums do not depend on the number of threads. A
 * level may extend over several parts. */

typedef struct prox_pair {
    double u, s;
} prox_pair;

/* A place along the levels: the next level that is not finished, and the next points. */
typedef struct place {
    size_t level, at[2];
} place;

/* Sums over points; u is the argument of f. */
typedef struct sums {
    double value;   /* of gain * u */
    double excess;  /* of (gain - s) * u */
    double total;   /* of |gain| */
    double largest; /* of |u| */
} sums;

/* The sums live in registers only if writing becomes one loop, with and without the hinge. */
#define INLINE __attribute__((always_inline)) static inline

INLINE void add_gain(sums *sum, double u, double gain)
{
    sum->value += gain * u;
    sum->total += fabs(gain);
    sum->largest = fabs(u) > sum->largest ? fabs(u) : sum->largest;
}

/* The prox of f or, with the hinge, of f(max(u, 0)) at the points' values. */
typedef struct writer {
    const submodi_points *p;
    double per_lambda;
    prox_pair *pair; /* by index */
} writer;

INLINE double argument_of_f(bool hinge, double u)
{
    return hinge && !(u > 0) ? 0 : u;
}

/* Writes a point. Returns its s. */
INLINE double write_point(const writer *w, bool hinge, const submodi_point_list *list, size_t rank,
                          double u, double s)
{
    enum { AHEAD = 24 }; /* points to prefetch ahead */
    size_t soon = rank + AHEAD < list->count ? rank + AHEAD : rank;
    __builtin_prefetch(&w->pair[list->record[soon] & list->index_mask], 1);
    if (hinge) {
        submodi_compose_with_hinge(list->value[rank], w->p->lambda, &u, &s);
    }
    w->pair[list->record[rank] & list->index_mask] = (prox_pair){u, s};
    return s;
}

/* Writes points up to `end`, each with its own u and the same gain per pixel. */
INLINE void write_alone(const writer *w, bool hinge, int label, size_t *rank, size_t end,
                        double gain, sums *sum)
{
    const submodi_point_list *list = &w->p->list[label];
    for (; *rank < end; ++*rank) {
        double u = list->value[*rank] - gain * w->per_lambda;
        double pixels = submodi_pixels_of(list, *rank);
        double argument = argument_of_f(hinge, u);
        double s = write_point(w, hinge, list, *rank, u, gain);
        add_gain(sum, argument, gain * pixels);
        sum->excess += hinge ? (gain - s) * pixels * argument : 0;
    }
}

/* Writes the points of a level up to `end`. */
INLINE void write_level(const writer *w, bool hinge, const submodi_level *v, size_t at[2],
                        const size_t end[2], sums *sum)
{
    double ref = submodi_level_ref(w->p, v);
    double u = ref - v->offset * w->per_lambda;
    double pixels = 0;
    double share = 0;
    for (int k = 1; k >= 0; k--) {
        const submodi_point_list *list = &w->p->list[k];
        size_t last = v->end[k] < end[k] ? v->end[k] : end[k];
        pixels += submodi_pixels_in(list, at[k], last);
        for (; at[k] < last; at[k]++) {
            double s = v->offset + w->p->lambda * (list->value[at[k]] - ref);
            share += submodi_pixels_of(list, at[k]) * write_point(w, hinge, list, at[k], u, s);
        }
    }
    double argument = argument_of_f(hinge, u);
    add_gain(sum, argument, v->gain * pixels);
    sum->excess += (v->gain * pixels - share) * argument;
}

INLINE sums write_part(const writer *w, bool hinge, place from, place to)
{
    const submodi_points *p = w->p;
    size_t *at = from.at;
    sums sum = {0}; /* a local copy stays in registers */
    for (const submodi_level *v = &p->level[from.level];; v++) {
        size_t between = v->begin[1] < to.at[1] ? v->begin[1] : to.at[1];
        if (at[1] < between) {
            double gain = 1 / (p->total[1] + submodi_pixels_before(&p->list[0], at[0]));
            write_alone(w, hinge, 1, &at[1], between, gain, &sum);
        }
        if (at[0] == to.at[0] && at[1] == to.at[1]) {
            return sum;
        }
        if (submodi_level_size(v) == 1) { /* the most frequent */
            int label = v->begin[0] == v->end[0];
            write_alone(w, hinge, label, &at[label], at[label] + 1, v->gain, &sum);
        } else {
            write_level(w, hinge, v, at, to.at, &sum);
        }
    }
}

/* Returns the place at a rank among all points: a level takes its foreground first. */
static place place_at(const submodi_points *p, size_t rank)
{
    size_t lo = 0;
    for (size_t hi = p->count; lo < hi;) {
        size_t middle = lo + (hi - lo) / 2;
        const submodi_level *v = &p->level[middle];
        if (submodi_level_rank(v) + submodi_level_size(v) <= rank) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    const submodi_level *v = &p->level[lo];
    size_t most = rank - v->begin[0]; /* if no background of the level comes before */
    size_t fg = most < v->end[1] ? most : v->end[1];
    return (place){lo, {rank - fg, fg}};
}

/* Writes u and s of all points; returns f at u. */
static submodi_extension write_levels(const submodi_points *p, bool hinge, prox_pair *pair)
{
    enum { MOST_PARTS = 64, PART = 4096 /* points, at least */ };
    const size_t n = p->list[0].count + p->list[1].count;
    const size_t wanted = n / PART + 1;
    const size_t parts = wanted < MOST_PARTS ? wanted : MOST_PARTS;
    const writer w = {p, 1 / p->lambda, pair};
    sums part[MOST_PARTS] = {{0}};
#pragma omp parallel for num_threads(submodi_threads_for(n))
    for (size_t t = 0; t < parts; t++) {
        place from = place_at(p, n * t / parts);
        place to = place_at(p, n * (t + 1) / parts);
        part[t] = hinge ? write_part(&w, true, from, to) : write_part(&w, false, from, to);
    }
    sums all = part[0];
    for (size_t t = 1; t < parts; t++) {
        all.value += part[t].value;
        all.excess += part[t].excess;
        all.total += part[t].total;
        all.largest = fmax(all.largest, part[t].largest);
    }
    return (submodi_extension){.known = true,
                               .value = all.value,
                               .excess = all.excess,
                               .size = 2 * all.largest * all.total};
}

/* Fills pair with u and s of each point, by index, and the counts in info. s is that of a pixel. */
static submod_status solve(submodi_points *p, bool hinge, prox_pair *pair, submodi_extension *found,
                           submod_prox_info *info, submod_work *w)
{
    const uint32_t counts[2] = {(uint32_t)p->list[0].count, (uint32_t)p->list[1].count};
    p->level = submodi_work_alloc(w, (size_t)counts[0] + counts[1] + 1, sizeof *p->level);
    TRY(submodi_work_status(w));
    TRY(is_jaccard(p->measure) ? submodi_jaccard_levels(p, w) : submodi_counts_levels(p, w));
    p->level[p->count] = (submodi_level){.begin = {counts[0], counts[1]}, /* the end */
                                         .end = {counts[0], counts[1]}};
    *found = write_levels(p, hinge, pair);
    info->iterations = p->count;
    info->work = p->work;
    return SUBMOD_OK;
}

/* Copies u (unless NULL) and s of n elements. point: the index of each one's point; NULL means its
 * own. */
static void copy_pairs(const prox_pair *pair, const uint32_t *point, size_t n, double *u, double *s)
{
#pragma omp parallel for num_threads(submodi_threads_for(n))
    for (size_t i = 0; i < n; i++) {
        const prox_pair *of = &pair[point ? point[i] : i];
        if (u) {
            u[i] = of->u;
        }
        s[i] = of->s;
    }
}

/* ---- bins ----
 *
 * Every x moves to the middle of its bin, x', by at most half a bin. The prox is isotone and moves
 * along with a constant added to x: so |x - x'| <= e in all entries implies |u - u'| <= e. All
 * pixels of one bin and label have the same u', the prox of one point. O(n + K) for K bins, which
 * are sorted already. */

typedef struct bins {
    double low, width;
    size_t count;
    double error;   /* |u - u'| <= this */
    uint32_t *slot; /* of each element: 2 bin + label; later its point */
} bins;

/* Chooses as many bins as the accuracy needs, with a margin for the rounding of u and of bin edges,
 * which is below 2^-20 of a bin. If the rounding of u exceeds half of the accuracy, bins still use
 * half of it, and the error may exceed the accuracy. */
static submod_status choose_bins(const submodi_points *p, const double *x, size_t n,
                                 double accuracy, bins *b)
{
    double low = x[0];
    double high = x[0];
    double gain[2] = {0, 0}; /* |s| is at most F of one pixel, of the label where it is larger */
    submodi_increment from;
    for (size_t i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    TRY(submodi_increment_from(p->measure, p->total[1], p->total[0], 0, 0, &from));
    for (int k = 0; k < 2; k++) {
        if (p->total[k] > 0) {
            TRY(submodi_increment_by(&from, k, 1 - k, &gain[k]));
        }
    }
    b->error = 8 * DBL_EPSILON *
               (fmax(fabs(low), fabs(high)) + fmax(fabs(gain[0]), fabs(gain[1])) / p->lambda);
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
    /* Not wider than the range needs, so that a large accuracy does not move x far out of its
     * range. */
    b->width = high > low ? (high - low) / wanted : DBL_MIN;
    return check_range(p, low, high);
}

static double middle_of(const bins *b, size_t bin)
{
    return b->low + ((double)bin + 0.5) * b->width;
}

/* Counts the elements of each slot, a bin and label, and makes one point of each slot that has
 * some. */
static submod_status count_points(submodi_points *p, const double *x, size_t n,
                                  const uint32_t *foreground, bins *b, submod_work *w)
{
    double moved = 0;
    b->slot = submodi_work_alloc(w, n, sizeof *b->slot);
    uint32_t *slots = submodi_work_alloc(w, 2 * b->count, sizeof *slots);
    TRY(submodi_work_status(w));
#pragma omp parallel for num_threads(submodi_threads_for(n)) reduction(max : moved)
    for (size_t i = 0; i < n; i++) {
        size_t bin = (size_t)((x[i] - b->low) / b->width);
        bin = bin < b->count ? bin : b->count - 1;
        double move = fabs(x[i] - middle_of(b, bin));
        moved = move > moved ? move : moved;
        b->slot[i] = (uint32_t)(2 * bin) + label_at(foreground, i);
    }
    b->error += moved;
    memset(slots, 0, 2 * b->count * sizeof *slots);
    for (size_t i = 0; i < n; i++) {
        slots[b->slot[i]]++;
    }
    uint32_t points = 0;
    for (size_t k = 0; k < 2; k++) {
        size_t most = (size_t)fmin(p->total[k], (double)b->count);
        double *value = submodi_work_alloc(w, most, sizeof *value);
        double *before = submodi_work_alloc(w, most + 1, sizeof *before);
        uint64_t *record = submodi_work_alloc(w, most, sizeof *record);
        TRY(submodi_work_status(w));
        size_t count = 0;
        before[0] = 0;
        for (size_t bin = b->count; bin-- > 0;) {
            uint32_t *slot = &slots[2 * bin + k];
            if (*slot) {
                value[count] = middle_of(b, bin);
                before[count + 1] = before[count] + *slot;
                record[count++] = *slot = points++;
            }
        }
        p->list[k] = (submodi_point_list){value, count, before, record, UINT64_MAX};
    }
    for (size_t i = 0; i < n; i++) {
        b->slot[i] = slots[b->slot[i]];
    }
    return SUBMOD_OK;
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

static submod_status run(const submodi_counts *c, const submodi_prox_problem *problem, double *u,
                         double *s, submod_prox_info *info, submod_work *w)
{
    const double *x = problem->x;
    size_t n = (size_t)(c->P + c->N);
    double accuracy = problem->settings->accuracy;
    submodi_points p = {.measure = &c->measure, .lambda = problem->lambda, .total = {c->N, c->P}};
    bins b = {0};
    if (accuracy > 0) {
        TRY(choose_bins(&p, x, n, accuracy, &b));
        TRY(count_points(&p, x, n, c->foreground, &b, w));
    } else {
        TRY(sort_points(&p, x, n, c->foreground, NULL, w));
    }
    prox_pair *pair = submodi_work_alloc(w, p.list[0].count + p.list[1].count, sizeof *pair);
    TRY(submodi_work_status(w));
    submodi_extension unasked = {0};
    submodi_extension *found = problem->extension ? problem->extension : &unasked;
    TRY(solve(&p, problem->settings->hinge, pair, found, info, w));
    copy_pairs(pair, b.slot, n, u, s);
    info->error = b.error;
    return SUBMOD_OK;
}

submod_status submodi_prox_of_counts(const submodi_counts *c, const submodi_prox_problem *p,
                                     double *u, double *s, submod_prox_info *info,
                                     submod_work *work)
{
    submodi_scope scope;
    submod_status status = run(c, p, u, s, info, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_prox_counts(const submodi_prox_problem *p, double *u, double *s,
                                  submod_prox_info *info, submod_work *work)
{
    return submodi_prox_of_counts(submodi_counts_of(p->fn), p, u, s, info, work);
}

size_t submodi_prox_counts_bytes(const submod_measure *measure, size_t n, int threads)
{
    /* The sort, values, levels and pairs take 64 per element, a method the rest. */
    size_t per_element = is_jaccard(measure) ? 80 : 256;
    return submodi_times(n + 64, per_element) + (size_t)threads * sizeof(submodi_digit_counts);
}

/* ---- weighted points ---- */

/* Checks that all multiplicities are > 0 and that none is lost in the sum of its label. */
static submod_status check_points(const submod_points *p)
{
    double sum[2] = {0, 0};
    TRY(submodi_check_given("points", p));
    if (p->count > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "points.count = %zu must be <= 2^31 - 1", p->count);
    }
    if (p->count && (!p->value || !p->foreground || !p->multiplicity)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "points.value, foreground and multiplicity must not be NULL");
    }
    TRY(submodi_check_finite("points.value", p->value, p->count));
    TRY(submodi_check_finite("points.multiplicity", p->multiplicity, p->count));
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

static submod_status solve_points(const submod_points *given, submodi_points *p, double *u,
                                  double *s, submod_prox_info *info, submod_work *w)
{
    size_t n = given->count;
    uint32_t *foreground = submodi_work_alloc(w, n / 32 + 1, sizeof *foreground);
    prox_pair *pair = submodi_work_alloc(w, n, sizeof *pair);
    u = u ? u : submodi_work_alloc(w, n, sizeof *u);
    s = s ? s : submodi_work_alloc(w, n, sizeof *s);
    TRY(submodi_work_status(w));
    memset(foreground, 0, (n / 32 + 1) * sizeof *foreground);
    for (size_t i = 0; i < n; i++) {
        foreground[i / 32] |= (uint32_t)(given->foreground[i] != 0) << i % 32;
    }
    submodi_extension f = {0};
    if (n > 0) {
        TRY(sort_points(p, given->value, n, foreground, given->multiplicity, w));
        TRY(solve(p, false, pair, &f, info, w));
    }
    copy_pairs(pair, NULL, n, u, s);
    submodi_prox_result result = {.n = n,
                                  .x = given->value,
                                  .weight = given->multiplicity,
                                  .lambda = p->lambda,
                                  .u = u,
                                  .s = s};
    double terms;
    return submodi_prox_objectives(&result, &f, info, &terms);
}

submod_status submod_prox_points(const submod_points *points, const submod_measure *measure,
                                 double lambda, double *u, double *s, submod_prox_info *info,
                                 submod_work *work)
{
    double start = submodi_seconds();
    submod_measure m;
    submodi_points p = {.measure = &m, .lambda = lambda};
    submod_prox_info found = {0};
    submod_status status = submodi_read_measure("measure", measure, &m);
    status = status ? status : submodi_check_positive("lambda", lambda);
    status = status ? status : check_points(points);
    if (status == SUBMOD_OK) {
        found.method = is_jaccard(&m) ? SUBMOD_PROX_JACCARD : SUBMOD_PROX_TWO_COUNTS;
        submodi_scope scope;
        status = solve_points(points, &p, u, s, &found, submodi_scope_open(&scope, work));
        submodi_scope_close(&scope);
    }
    if (status == SUBMOD_OK) {
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    return submodi_return("submod_prox_points", status);
}
