/* Functions of counts: F(A) = F(a, b) of a measure (submod/measure.h), a and b the foreground and
 * the background of A, each element counted once or with its weight.
 *
 * Increments of built-in measures have closed forms (measure_internal.h); increments of custom ones
 * are differences. eval, chain and tied O(k), gain O(1), minimize O(k log k), all times the cost of
 * the measure. State: the counts, and F there. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"
#include "submod/fn_internal.h"

#include "submod/measure_internal.h"
#include "submod/monge.h"

/* The state. */
typedef struct counted {
    double a, b;
    double value; /* F(a, b); custom measures only */
} counted;

static bool is_custom(const submodi_counts *c)
{
    return c->measure.type == SUBMOD_MEASURE_CUSTOM;
}

/* Sums of weights may pass P and N by rounding; a measure need not expect that. */
static double clamped(double count, double all)
{
    return count < all ? count : all;
}

static void add(const submodi_counts *c, counted *at, const int32_t *set, size_t k)
{
    if (c->weight) {
        for (size_t i = 0; i < k; i++) {
            *(submodi_in_foreground(c, set[i]) ? &at->a : &at->b) += c->weight[set[i]];
        }
        return;
    }
    int64_t fg = 0;
    for (size_t i = 0; i < k; i++) {
        fg += submodi_in_foreground(c, set[i]);
    }
    at->a += (double)fg;
    at->b += (double)((int64_t)k - fg);
}

static submod_status value_at(const submodi_counts *c, counted at, double *value)
{
    double a = clamped(at.a, c->P);
    double b = clamped(at.b, c->N);
    *value = submodi_measure_value(&c->measure, a, b, c->P, c->N);
    if (isfinite(*value)) {
        return SUBMOD_OK;
    }
    const submodi_measure_failure failure = {true, a, b, c->P, c->N, *value};
    return submodi_measure_failed(&failure);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    counted at = {0};
    add(ctx, &at, set, k);
    return value_at(ctx, at, value);
}

static submod_status reset(const void *ctx, void *state)
{
    counted *at = state;
    *at = (counted){0};
    return is_custom(ctx) ? value_at(ctx, *at, &at->value) : SUBMOD_OK;
}

/* ---- chain: Algorithm 1 ----
 *
 * Algorithm 1 of the paper, "Gradient of the Jaccard loss extension". Line 1, the decreasing sort
 * permutation pi, and line 9, which undoes it, are the caller's (lovasz.c): `elements` come in the
 * order pi, and gains stay in it. Counts before the chain let it continue any set. */

/* As printed, for any measure. With a = cumulative_sum(delta_pi) and b = cumulative_sum(1 -
 * delta_pi) the paper's intersection is P - a and its union is P + b. */
static submod_status algorithm_1(const submodi_counts *c, counted *at, const int32_t *elements,
                                 size_t p, double *g)
{
    enum { BATCH = 256 };
    double a[BATCH], b[BATCH];
    /* Increments from the value 0 are values. */
    const submodi_increment F = {.measure = &c->measure, .P = c->P, .N = c->N};
    for (size_t begin = 0; begin < p; begin += BATCH) {
        size_t count = p - begin < BATCH ? p - begin : BATCH;
        for (size_t i = 0; i < count; i++) {
            int32_t e = elements[begin + i];
            *(submodi_in_foreground(c, e) ? &at->a : &at->b) +=
                submodi_element_weight(c, e); /* 2 */
            a[i] = clamped(at->a, c->P);      /* 3 */
            b[i] = clamped(at->b, c->N);      /* 4 */
        }
        TRY(submodi_increments(&F, count, a, b, g + begin)); /* 5 */
    }
    double before = at->value;
    for (size_t i = 0; i < p; i++) { /* 6 to 8 */
        double value = g[i];
        g[i] -= before;
        before = value;
    }
    at->value = before;
    return SUBMOD_OK;
}

/* Lines 2 to 8 for Jaccard without weights, P + b > 0, in whole numbers. The differences of lines 6
 * to 8 have closed forms, which do not cancel:
 *
 *     foreground   1 / union
 *     background   intersection / (union (union + 1))
 *
 * There are no branches on the labels: in sorted order they are as good as random. */
static counted chain_jaccard(const submodi_counts *c, counted at, const int32_t *elements, size_t k,
                             double *gains)
{
    int64_t P = (int64_t)c->P;
    int64_t I = P - (int64_t)at.a;
    int64_t U = P + (int64_t)at.b;
    for (size_t i = 0; i < k; i++) {
        int64_t delta = submodi_in_foreground(c, elements[i]); /* line 2 */
        int64_t if_background = delta - 1;                     /* all bits or none */
        int64_t numerator = delta + (I & if_background);
        int64_t denominator = U * (1 + (U & if_background));
        gains[i] = (double)numerator / (double)denominator; /* lines 5 to 8 */
        I -= delta;                                         /* line 3 */
        U += 1 - delta;                                     /* line 4 */
    }
    return (counted){.a = (double)(P - I), .b = (double)(U - P)};
}

/* One part per thread. All parts are counted, then each is chained from the counts before it. */
static counted chain_jaccard_parallel(const submodi_counts *c, counted at, const int32_t *elements,
                                      size_t k, double *gains, int threads)
{
    enum { MAX_PARTS = 256 };
    counted before[MAX_PARTS + 1] = {at};
    size_t parts = threads < MAX_PARTS ? (size_t)threads : MAX_PARTS;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = k * p / parts;
            add(c, &before[p + 1], elements + begin, k * (p + 1) / parts - begin);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            before[p + 1].a += before[p].a;
            before[p + 1].b += before[p].b;
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = k * p / parts, end = k * (p + 1) / parts;
            chain_jaccard(c, before[p], elements + begin, end - begin, gains + begin);
        }
    }
    return before[parts];
}

/* What each of `more` units of weight of one label adds on average; at moves on by them. */
static submod_status advance(const submodi_counts *c, counted *at, double more, bool foreground,
                             double *each)
{
    double *count = foreground ? &at->a : &at->b;
    if (!is_custom(c)) {
        *each = more > 0 ? submodi_form_gain(submodi_form_of(&c->measure), c->P, c->N,
                                             clamped(at->a, c->P), at->b, more, !foreground)
                         : 0;
        *count += more;
        return SUBMOD_OK;
    }
    double before = at->value;
    *count += more;
    TRY(value_at(c, *at, &at->value));
    *each = more > 0 ? (at->value - before) / more : 0;
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const submodi_counts *c = ctx;
    counted after = *(const counted *)state;
    double w = submodi_element_weight(c, e);
    TRY(advance(c, &after, w, submodi_in_foreground(c, e), result));
    *result *= w;
    return SUBMOD_OK;
}

static submod_status chain_by_form(const submodi_counts *c, counted *state, const int32_t *elements,
                                   size_t k, double *gains)
{
    counted at = *state; /* a local copy is faster */
    for (size_t i = 0; i < k; i++) {
        double w = submodi_element_weight(c, elements[i]);
        (void)advance(c, &at, w, submodi_in_foreground(c, elements[i]), &gains[i]);
        gains[i] *= w;
    }
    *state = at;
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const submodi_counts *c = ctx;
    counted *at = state;
    if (is_custom(c)) {
        return algorithm_1(c, at, elements, k, gains);
    }
    if (c->measure.type != SUBMOD_MEASURE_JACCARD || c->weight) {
        return chain_by_form(c, at, elements, k, gains);
    }
    if (k && c->P + at->b == 0) { /* no foreground at all: only the first pixel counts */
        chain_by_form(c, at, elements++, 1, gains++);
        k--;
    }
    int threads = submodi_threads_for(k);
    *at = threads == 1 ? chain_jaccard(c, *at, elements, k, gains)
                       : chain_jaccard_parallel(c, *at, elements, k, gains, threads);
    return SUBMOD_OK;
}

/* The foreground first, each label averaged. With weights every unit of weight gets the same. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const submodi_counts *c = ctx;
    counted more = {0};
    double each[2];
    add(c, &more, elements, k);
    TRY(advance(c, state, more.a, true, &each[1]));
    TRY(advance(c, state, more.b, false, &each[0]));
    for (size_t i = 0; i < k; i++) {
        gains[i] =
            each[submodi_in_foreground(c, elements[i])] * submodi_element_weight(c, elements[i]);
    }
    return SUBMOD_OK;
}

/* ---- minimize ----
 *
 * Let A minimise F(base + A) - z(A). With the background of A fixed, its foreground adds a concave
 * function of a, so the foreground of the smallest (largest) minimiser is a prefix of the order of
 * z / w (concave.c); and so is its background. Elements without weight are decided by z. monge.c
 * finds the two prefixes; for Jaccard without weights, one sweep does. */

/* The elements of a minor by descending z / w, and the prefixes of both labels. */
typedef struct problem {
    const submodi_counts *c;
    counted base;
    const int32_t *elements;
    size_t count;
    const double *z;
    double *ratio;     /* z / w */
    double *amount[2]; /* of background and foreground */
    double *sum[2];
    submodi_sorted sorted;
} problem;

static submod_status allocate(problem *p, size_t room, submod_work *w)
{
    double **const vectors[] = {&p->ratio, &p->amount[0], &p->amount[1], &p->sum[0], &p->sum[1]};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = submodi_work_alloc(w, room + 1, sizeof(double));
    }
    return submodi_work_status(w);
}

/* Marks the first elements of each label, as many as taken[label]. */
static void mark(const problem *p, const size_t taken[2], int largest, uint8_t *in)
{
    size_t left[2] = {taken[0], taken[1]};
    for (size_t rank = 0; rank < p->count; rank++) {
        int32_t i = submodi_sorted_index(&p->sorted, rank);
        bool weighs = submodi_element_weight(p->c, p->elements[i]) > 0;
        size_t *of_label = &left[submodi_in_foreground(p->c, p->elements[i])];
        in[i] = weighs ? *of_label > 0 : largest ? p->z[i] >= 0 : p->z[i] > 0;
        *of_label -= weighs && *of_label > 0;
    }
}

/* A minimiser holds the a largest z of the foreground and the b largest of the background. For
 * given b, a foreground pixel belongs to it iff z > 1 / (P + b). This threshold falls with b, so a
 * sweep over b with a second pointer over the foreground finds the best pair. */
static void sweep_jaccard(const problem *p, int largest, size_t taken[2])
{
    const submodi_counts *c = p->c;
    size_t rank[2] = {0, 0}, a = 0, b = 0; /* pixels of each label before its rank are in */
    double fg_sum = 0, bg_sum = 0, bg_size = 0, minimum = INFINITY;
    double side = largest ? 1 : -1; /* ties, up to rounding, go to the larger or smaller set */
    for (;; b++) {
        double threshold = (1 - side * SUBMODI_ROUNDING) / (c->P + p->base.b + (double)(int64_t)b);
        for (; rank[1] < p->count; rank[1]++) {
            int32_t i = submodi_sorted_index(&p->sorted, rank[1]);
            if (submodi_in_foreground(c, p->elements[i])) {
                if (p->z[i] < threshold) {
                    break;
                }
                fg_sum += p->z[i];
                a++;
            }
        }
        double A = p->base.a + (double)(int64_t)a, B = p->base.b + (double)(int64_t)b;
        double v = (A + B == 0 ? 0 : (A + B) / (c->P + B)) - fg_sum - bg_sum;
        double margin = side * SUBMODI_ROUNDING * (1 + fabs(fg_sum) + bg_size);
        if (isinf(minimum) || v < minimum + margin) {
            minimum = fmin(minimum, v);
            taken[1] = a;
            taken[0] = b;
        }
        for (; rank[0] < p->count; rank[0]++) {
            int32_t i = submodi_sorted_index(&p->sorted, rank[0]);
            if (!submodi_in_foreground(c, p->elements[i])) {
                bg_sum += p->z[i];
                bg_size += fabs(p->z[i]);
                break;
            }
        }
        if (rank[0]++ >= p->count) {
            return;
        }
    }
}

/* P = 0: F jumps to 1 with the first pixel and stays there. */
static void minimize_without_foreground(const problem *p, int largest, uint8_t *in)
{
    double positive = 0;
    for (size_t i = 0; i < p->count; i++) {
        positive += fmax(p->z[i], 0);
    }
    double cost = p->base.b > 0 ? 0 : 1;
    bool take = largest ? positive >= cost : positive > cost;
    for (size_t i = 0; i < p->count; i++) {
        in[i] = take && (largest ? p->z[i] >= 0 : p->z[i] > 0);
    }
}

/* The sums over the prefixes of both labels. */
static void add_up(const problem *p, submodi_prefix_sums sums[2])
{
    const double first[2] = {p->base.b, p->base.a};
    for (int label = 0; label < 2; label++) {
        sums[label] = (submodi_prefix_sums){.amount = p->c->weight ? p->amount[label] : NULL,
                                            .first = first[label],
                                            .sum = p->sum[label]};
        p->amount[label][0] = first[label];
        p->sum[label][0] = 0;
    }
    for (size_t rank = 0; rank < p->count; rank++) {
        int32_t i = submodi_sorted_index(&p->sorted, rank);
        int label = submodi_in_foreground(p->c, p->elements[i]);
        double w = submodi_element_weight(p->c, p->elements[i]);
        if (w > 0) {
            size_t k = sums[label].count++;
            p->amount[label][k + 1] = p->amount[label][k] + w;
            p->sum[label][k + 1] = p->sum[label][k] + p->z[i];
        }
    }
}

/* in[0], the smallest minimiser, or in[1], the largest, may be NULL. */
static submod_status minimize_sorted(problem *p, uint8_t *const in[2], submod_work *w)
{
    bool jaccard = p->c->measure.type == SUBMOD_MEASURE_JACCARD && !p->c->weight;
    submodi_increment from;
    submodi_prefix_sums sums[2];
    if (!jaccard) {
        TRY(submodi_increment_from(&p->c->measure, p->c->P, p->c->N, p->base.a, p->base.b, &from));
        add_up(p, sums);
    }
    for (int largest = 0; largest < 2; largest++) {
        size_t taken[2] = {0, 0};
        submodi_lattice_point found;
        uint64_t evaluations = 0;
        if (!in[largest]) {
            continue;
        }
        if (jaccard) {
            sweep_jaccard(p, largest, taken);
        } else {
            TRY(submodi_monge_minimum(&from, &sums[1], &sums[0], largest, &found, &evaluations, w));
            taken[0] = found.bg;
            taken[1] = found.fg;
        }
        mark(p, taken, largest, in[largest]);
    }
    return SUBMOD_OK;
}

static submod_status minimize_after(problem *p, uint8_t *const in[2], submod_work *work)
{
    if (p->c->measure.type == SUBMOD_MEASURE_JACCARD && !p->c->weight && p->c->P == 0) {
        for (int largest = 0; largest < 2; largest++) {
            if (in[largest]) {
                minimize_without_foreground(p, largest, in[largest]);
            }
        }
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < p->count; i++) {
        double weight = submodi_element_weight(p->c, p->elements[i]);
        p->ratio[i] = weight > 0 ? p->z[i] / weight : 0;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status =
        p->count ? submodi_sort_f64(p->ratio, p->count, w, &p->sorted) : SUBMOD_OK;
    status = status ? submodi_out_of_memory() : p->count ? minimize_sorted(p, in, w) : SUBMOD_OK;
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    (void)s;
    uint8_t *const in[2] = {smallest, largest};
    problem p = {.c = ctx, .elements = minor->ground, .count = minor->nground, .z = z};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    add(ctx, &p.base, minor->base, minor->nbase);
    submod_status status = allocate(&p, p.count, w);
    status = status ? status : minimize_after(&p, in, w);
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    (void)rank;
    problem p = {.c = ctx};
    size_t longest = 0, done = 0;
    for (size_t j = 0; j < nparts; j++) {
        size_t size = parts[j].end - parts[j].begin;
        longest = size > longest ? size : longest;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = allocate(&p, longest, w);
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        uint8_t *const to[2] = {in + begin, NULL};
        add(ctx, &p.base, order + done, begin - done);
        done = begin;
        p.elements = order + begin;
        p.count = parts[j].end - begin;
        p.z = z + begin;
        status = minimize_after(&p, to, w);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- ties that F separates ----
 *
 * Elements of a level interact through second differences of F. Those in ab are <= 0, so they all
 * vanish iff their sum over the level does, a difference of four values; and then those in aa do
 * not depend on b, nor those in bb on a. */

/* Whether elements of the background, of the foreground, and of both labels interact. */
typedef struct curvature {
    bool label[2], across;
} curvature;

static curvature curvature_of_tversky(const submodi_counts *c, counted at, counted more)
{
    bool jaccard = c->measure.type == SUBMOD_MEASURE_JACCARD;
    double alpha = jaccard ? 1 : c->measure.alpha, beta = jaccard ? 1 : c->measure.beta;
    bool first = c->P + at.b <= 0; /* no foreground at all: only the first pixels count */
    bool some_left = c->P - at.a > 1e-12 * c->P; /* sums of weights may miss P by rounding */
    bool bends = alpha > 0 && (first || some_left);
    return (curvature){{bends, beta > 1}, bends && more.a > 0 && more.b > 0};
}

/* Whether F bends where one of its counts grows by more: less than linear in between. */
static submod_status bends(const submodi_counts *c, counted at, counted more, double noise,
                           bool *yes)
{
    double total = more.a + more.b;
    double part = c->weight ? total / 2 : floor(total / 2);
    const double share[3] = {0, total > 0 ? part / total : 0, 1};
    double F[3] = {0};
    for (int i = 0; i < 3 && share[1] > 0; i++) {
        counted then = {.a = at.a + share[i] * more.a, .b = at.b + share[i] * more.b};
        TRY(value_at(c, then, &F[i]));
    }
    *yes = fabs((F[1] - F[0]) - share[1] * (F[2] - F[0])) > noise;
    return SUBMOD_OK;
}

static submod_status curvature_of_custom(const submodi_counts *c, counted at, counted more,
                                         curvature *found)
{
    double F[4], scale = 0;
    for (int i = 0; i < 4; i++) {
        counted then = {.a = at.a + more.a * (i & 1), .b = at.b + more.b * (i >> 1)};
        TRY(value_at(c, then, &F[i]));
        scale = fmax(scale, fabs(F[i]));
    }
    double noise = 16 * SUBMODI_ROUNDING * scale;
    found->across = fabs((F[3] - F[1]) - (F[2] - F[0])) > noise;
    TRY(bends(c, at, (counted){.a = more.a}, noise, &found->label[1]));
    return bends(c, at, (counted){.b = more.b}, noise, &found->label[0]);
}

/* Joins the elements of one label that have a weight; of both labels for label = 2. */
static void join_label(const submodi_counts *c, const int32_t *level, size_t k, int label,
                       int32_t *forest)
{
    int32_t first = -1;
    for (size_t i = 0; i < k; i++) {
        bool meant = label == 2 || submodi_in_foreground(c, level[i]) == label;
        if (meant && submodi_element_weight(c, level[i]) > 0) {
            first = first < 0 ? level[i] : first;
            submodi_forest_join(forest, first, level[i]);
        }
    }
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    (void)work;
    const submodi_counts *c = ctx;
    counted before = {0};
    for (size_t l = 0; l < ties->count; l++) {
        const int32_t *level = ties->order + ties->start[l];
        size_t k = ties->start[l + 1] - ties->start[l];
        counted more = {0};
        curvature found = {{false, false}, false};
        add(c, &more, level, k);
        if (k > 1 && is_custom(c)) {
            TRY(curvature_of_custom(c, before, more, &found));
        } else if (k > 1) {
            found = curvature_of_tversky(c, before, more);
        }
        const bool joined[] = {found.label[0], found.label[1], found.across};
        for (int label = 0; label < 3; label++) {
            if (joined[label]) {
                join_label(c, level, k, label, forest);
            }
        }
        before.a += more.a;
        before.b += more.b;
    }
    return SUBMOD_OK;
}

/* ---- Hamming: |A| / n ---- */

static submod_status hamming_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const submodi_counts *c = ctx;
    (void)set;
    *value = (double)k / (c->P + c->N);
    return SUBMOD_OK;
}

static submod_status hamming_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                                   double *gains)
{
    const submodi_counts *c = ctx;
    (void)state, (void)elements;
    for (size_t i = 0; i < k; i++) {
        gains[i] = 1 / (c->P + c->N);
    }
    return SUBMOD_OK;
}

static submod_status hamming_gain(const void *ctx, void *state, int32_t e, double *gain)
{
    return hamming_chain(ctx, state, &e, 1, gain);
}

static submod_status hamming_minimize(const void *ctx, const submod_minor *minor, const double *z,
                                      uint8_t *smallest, uint8_t *largest, double *s)
{
    const submodi_counts *c = ctx;
    double each = 1 / (c->P + c->N);
    for (size_t i = 0; i < minor->nground; i++) {
        if (smallest) {
            smallest[i] = z[i] > each;
        }
        if (largest) {
            largest[i] = z[i] >= each;
        }
        if (s) {
            s[i] = each - z[i];
        }
    }
    return SUBMOD_OK;
}

bool submodi_is_hamming(const submod_fn *fn)
{
    return fn->ops.eval == hamming_eval;
}

/* ---- constructors ---- */

const submodi_counts *submodi_counts_of(const submod_fn *fn)
{
    return fn->kind == SUBMODI_COUNTS ? fn->ctx : NULL;
}

/* The unit that weights are whole multiples of: so large that sums of n of them, and their parts in
 * any order, are exact. */
static double unit_of(const double *weight, size_t n)
{
    double largest = 0;
    int exponent;
    int bits = 0; /* of n - 1 */
    for (size_t e = 0; e < n; e++) {
        largest = fmax(largest, weight[e]);
    }
    frexp(largest, &exponent);
    for (size_t left = n - 1; left; left /= 2) {
        bits++;
    }
    exponent += bits - 52;
    return ldexp(1, exponent > -1074 ? exponent : -1074);
}

/* Allocates room for the mask and, behind it, the weights. foreground may be NULL. */
static submodi_counts *make(size_t n, const uint8_t *foreground, const double *weight,
                            const submod_measure *measure)
{
    size_t words = n / 32 + 1;
    size_t mask = submodi_round_up(sizeof(submodi_counts) + words * sizeof(uint32_t));
    submodi_counts *c = submodi_alloc(mask + (weight ? n * sizeof *weight : 0), 1);
    if (!c) {
        return NULL;
    }
    *c = (submodi_counts){.measure = *measure};
    memset(c->foreground, 0, words * sizeof *c->foreground);
    if (weight) {
        double *own = (void *)((char *)c + mask);
        double unit = unit_of(weight, n);
        for (size_t e = 0; e < n; e++) {
            own[e] = rint(weight[e] / unit) * unit;
        }
        c->weight = own;
    }
    for (size_t e = 0; e < n; e++) {
        uint32_t bit = foreground && foreground[e] != 0;
        c->foreground[e / 32] |= bit << e % 32;
        *(bit ? &c->P : &c->N) += submodi_element_weight(c, (int32_t)e);
    }
    return c;
}

/* Only ratios of weights matter to a built-in measure: with a sum near 1 no square of a sum leaves
 * the range of a double. By a power of two: no bits are lost. */
static void scale_weights(submodi_counts *c, size_t n)
{
    int exponent;
    (void)frexp(c->P + c->N, &exponent);
    for (size_t e = 0; e < n; e++) {
        c->weight[e] = ldexp(c->weight[e], -exponent);
    }
    c->P = ldexp(c->P, -exponent);
    c->N = ldexp(c->N, -exponent);
}

static submod_status weights_overflow(void)
{
    return submodi_fail(SUBMOD_ENUMERIC, "the sum of the weights overflows");
}

static submod_status new_counts(size_t n, const uint8_t *foreground, const double *weight,
                                const submod_measure *measure, submod_fn **fn)
{
    submodi_counts *c = make(n, foreground, weight, measure);
    if (!c) {
        return submodi_out_of_memory();
    }
    if (!isfinite(2 * (c->P + c->N))) {
        submodi_free(c);
        return weights_overflow();
    }
    bool jaccard = measure->type == SUBMOD_MEASURE_JACCARD && !weight;
    bool hamming = measure->type == SUBMOD_MEASURE_HAMMING;
    if (weight && !is_custom(c)) {
        scale_weights(c, n);
    }
    submod_fn f = {.ops = {.name = jaccard ? "jaccard" : "counts",
                           .eval = eval,
                           .state_size = sizeof(counted),
                           .reset = reset,
                           .gain = gain,
                           .chain = chain,
                           .tied = tied,
                           .minimize = minimize,
                           .destroy = submodi_free},
                   .kind = SUBMODI_COUNTS,
                   .modular = hamming,
                   .cardinality = hamming,
                   .calls_user_code = is_custom(c),
                   .minimize_parts = jaccard ? NULL : minimize_parts,
                   .join = join,
                   .ctx = c,
                   .n = n};
    if (hamming) {
        f.ops = (submod_fn_ops){.name = "hamming",
                                .eval = hamming_eval,
                                .gain = hamming_gain,
                                .chain = hamming_chain,
                                .tied = hamming_chain,
                                .minimize = hamming_minimize,
                                .destroy = submodi_free};
        f.minimize_parts = NULL;
        f.join = NULL;
    }
    return submodi_fn_new(&f, fn);
}

/* Hamming with weights is modular: w / (P + N). */
static submod_status weighted_hamming(size_t n, const double *weight, submod_fn **fn)
{
    double *share = submodi_alloc(n, sizeof *share);
    double sum = 0;
    for (size_t e = 0; e < n; e++) {
        sum += weight[e];
    }
    for (size_t e = 0; share && e < n; e++) {
        share[e] = sum > 0 ? weight[e] / sum : 0;
    }
    submod_status status = !share               ? submodi_out_of_memory()
                           : !isfinite(2 * sum) ? weights_overflow()
                                                : submod_fn_modular(n, share, fn);
    submodi_free(share);
    return status;
}

static submod_status fn_counts(size_t n, const uint8_t *foreground, const double *weight,
                               const submod_measure *measure, submod_fn **fn)
{
    submod_measure m;
    TRY(submodi_check_size(n, fn));
    TRY(submodi_check_given("foreground", foreground));
    TRY(submodi_read_measure("measure", measure, &m));
    if (weight) {
        TRY(submodi_check_all_nonnegative("weight", weight, n));
    }
    if (m.type == SUBMOD_MEASURE_TVERSKY && m.alpha == 1 && m.beta == 1) {
        m = submod_jaccard();
    }
    return weight && m.type == SUBMOD_MEASURE_HAMMING ? weighted_hamming(n, weight, fn)
                                                      : new_counts(n, foreground, weight, &m, fn);
}

submod_status submod_fn_counts(size_t n, const uint8_t *foreground, const double *weight,
                               const submod_measure *measure, submod_fn **fn)
{
    static const char who[] = "submod_fn_counts";
    return submodi_return(who, fn_counts(n, foreground, weight, measure, fn));
}

submod_status submod_fn_jaccard(size_t n, const uint8_t *foreground, submod_fn **fn)
{
    static const char who[] = "submod_fn_jaccard";
    return submodi_return(who, fn_counts(n, foreground, NULL, NULL, fn));
}

submod_status submod_fn_hamming(size_t n, submod_fn **fn)
{
    static const char who[] = "submod_fn_hamming";
    const submod_measure m = submod_hamming();
    submod_status status = submodi_check_size(n, fn);
    return submodi_return(who, status ? status : new_counts(n, NULL, NULL, &m, fn));
}
