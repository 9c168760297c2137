/* The surrogate of a loss that is not submodular (see submod/surrogate.h): errors are ranked once,
 *
 *     f:  the greedy chain along the ranks; a tied block has its foreground first, and equal
 *         weights within each label
 *     g:  of all sets with a foreground and b background pixels the largest errors are best, so the
 *         maximum is over pairs of counts: max of g(a, b) (1 - X_a - Y_b), with X and Y the sums of
 *         1 - m over the a and b largest. Its subgradient is g on the set that attains it, shared
 *         equally where the set divides a tied block.
 *
 * O(n log n), and O(P N) if g sees the background.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/sort.h"
#include "submod/losses/parts.h"
#include <submod/surrogate.h>

submod_surrogate_settings submod_surrogate_defaults(void)
{
    return (submod_surrogate_settings){.struct_size = sizeof(submod_surrogate_settings)};
}

/* Pixels of one label, from the largest error down. */
typedef struct kind {
    size_t count;
    int32_t *pixel;
    double *sum; /* count + 1: sums of 1 - m over the first ones */
} kind;

typedef struct ranked {
    const char *who;
    const double *m;
    const uint8_t *labels;
    size_t n;
    submodi_parts parts;
    kind of[2];       /* background, foreground */
    double *gradient; /* n */
} ranked;

static submod_status rank(ranked *r, submod_work *w)
{
    submodi_sorted sorted;
    for (int label = 0; label < 2; label++) {
        size_t count = label ? r->parts.P : r->parts.N;
        r->of[label].pixel = submodi_take(w, count, sizeof *r->of[label].pixel);
        r->of[label].sum = submodi_take(w, count + 1, sizeof *r->of[label].sum);
        if (!r->of[label].pixel || !r->of[label].sum) {
            return submodi_nomem(r->who);
        }
        r->of[label].count = 0;
        r->of[label].sum[0] = 0;
    }
    if (r->n && submodi_sort_f64(r->m, r->n, w, &sorted) != SUBMOD_OK) {
        return submodi_nomem(r->who);
    }
    for (size_t i = 0; i < r->n; i++) {
        int32_t pixel = submodi_sorted_index(&sorted, i);
        kind *k = &r->of[r->labels[pixel] != 0];
        k->pixel[k->count] = pixel;
        k->sum[k->count + 1] = k->sum[k->count] + (1 - r->m[pixel]);
        k->count++;
    }
    return SUBMOD_OK;
}

/* How many from rank `begin` on have the error of the pixel there. */
static size_t tied(const ranked *r, const kind *k, size_t begin)
{
    size_t end = begin + 1;
    while (end < k->count && r->m[k->pixel[end]] == r->m[k->pixel[begin]]) {
        end++;
    }
    return end - begin;
}

/* Pixels first .. first+count-1 of the kind get so much more. */
static void add(ranked *r, const kind *k, size_t first, size_t count, double weight)
{
    for (size_t i = first; i < first + count; i++) {
        r->gradient[k->pixel[i]] += weight;
    }
}

/* The Lovász extension of f: blocks in the order of their errors, the foreground first. */
static double chain(ranked *r)
{
    size_t at[2] = {0, 0};
    double value = 0;
    while (at[0] + at[1] < r->n) {
        bool some = at[1] < r->of[1].count;
        bool rest = at[0] < r->of[0].count;
        bool background =
            !some || (rest && r->m[r->of[0].pixel[at[0]]] > r->m[r->of[1].pixel[at[1]]]);
        const kind *k = &r->of[!background];
        size_t *begin = &at[!background];
        size_t t = tied(r, k, *begin);
        double gain = submodi_parts_gain(&r->parts, at[1], at[0], t, background);
        value += gain * (double)t * r->m[k->pixel[*begin]];
        add(r, k, *begin, t, gain);
        *begin += t;
    }
    return value;
}

/* The number of background pixels with an error above 1: the best of all if g does not see them. */
static size_t above_one(const ranked *r)
{
    size_t b = 0;
    while (b < r->of[0].count && r->m[r->of[0].pixel[b]] > 1) {
        b++;
    }
    return b;
}

/* The maximum of slack rescaling, 0 at the empty set, and the counts that attain it. */
static double rescale(const ranked *r, size_t *best_a, size_t *best_b)
{
    double best = 0;
    size_t first = r->parts.foreground_only ? above_one(r) : 0;
    size_t last = r->parts.foreground_only ? first : r->parts.N;
    *best_a = 0;
    *best_b = 0;
    for (size_t a = 0; a <= r->parts.P; a++) {
        for (size_t b = first; b <= last; b++) {
            double slack = 1 - r->of[1].sum[a] - r->of[0].sum[b];
            double value = submodi_parts_g(&r->parts, a, b) * slack;
            if (value > best) {
                best = value;
                *best_a = a;
                *best_b = b;
            }
        }
    }
    return best;
}

/* The first `count` of the kind get weight, those tied with the last of them their share. */
static void add_first(ranked *r, const kind *k, size_t count, double weight)
{
    size_t begin = count;
    while (begin > 0 && r->m[k->pixel[begin - 1]] == r->m[k->pixel[count - 1]]) {
        begin--;
    }
    add(r, k, 0, begin, weight);
    if (count > begin) {
        size_t t = tied(r, k, begin);
        add(r, k, begin, t, weight * (double)(count - begin) / (double)t);
    }
}

static void compute(ranked *r, bool hinge, submod_surrogate_info *info)
{
    memset(r->gradient, 0, r->n * sizeof *r->gradient);
    info->submodular = chain(r);
    if (hinge && info->submodular < 0) {
        info->submodular = 0;
        memset(r->gradient, 0, r->n * sizeof *r->gradient);
    }
    info->supermodular = rescale(r, &info->foreground, &info->background);
    double weight = submodi_parts_g(&r->parts, info->foreground, info->background);
    add_first(r, &r->of[1], info->foreground, weight);
    add_first(r, &r->of[0], info->background, weight);
}

/* Custom measures may have failed on the way. */
static submod_status require_finite(const ranked *r, const submod_surrogate_info *info)
{
    bool custom = r->parts.measure.type == SUBMOD_MEASURE_CUSTOM;
    if (custom && !submodi_all_finite(r->gradient, r->n)) {
        return submodi_fail(SUBMOD_ECALLBACK, "%s: the measure gives NaN or Inf", r->who);
    }
    return isfinite(info->submodular + info->supermodular)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: the value overflows", r->who);
}

static submod_status evaluate(ranked *r, const submod_measure *measure, double *value,
                              double *gradient, const submod_surrogate_settings *s,
                              submod_surrogate_info *info, submod_work *w)
{
    size_t P = 0;
    for (size_t i = 0; i < r->n; i++) {
        P += r->labels[i] != 0;
    }
    submod_surrogate_info found = {0};
    submod_status status = submodi_parts_make(&r->parts, r->who, measure, P, r->n - P, w);
    status = status ? status : rank(r, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    r->gradient = submodi_take(w, r->n, sizeof *r->gradient);
    if (!r->gradient) {
        return submodi_nomem(r->who);
    }
    compute(r, s->hinge, &found);
    status = require_finite(r, &found);
    if (status == SUBMOD_OK) {
        *value = found.submodular + found.supermodular;
        submodi_copy_out(gradient, r->gradient, r->n, sizeof *gradient);
        submodi_copy_out(info, &found, 1, sizeof found);
    }
    return status;
}

submod_status submod_general_surrogate(const submod_measure *measure, const uint8_t *labels,
                                       const double *errors, size_t n, double *value,
                                       double *gradient, const submod_surrogate_settings *settings,
                                       submod_surrogate_info *info, submod_work *work)
{
    static const char who[] = "submod_general_surrogate";
    submod_surrogate_settings s = submod_surrogate_defaults();
    submod_status status = submodi_require_given(who, "value", value);
    if (status == SUBMOD_OK && n) {
        status = submodi_require_given(who, "labels", labels);
        status = status ? status : submodi_require_given(who, "errors", errors);
    }
    if (status == SUBMOD_OK && n > INT32_MAX) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: n = %zu must be at most 2^31 - 1", who, n);
    }
    status =
        status ? status : submodi_read_settings(who, "submod_surrogate_defaults", settings, &s);
    status = status ? status : submodi_require_finite(who, "errors", errors, n);
    if (status != SUBMOD_OK) {
        return status;
    }
    ranked r = {.who = who, .m = errors, .labels = labels, .n = n};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = evaluate(&r, measure, value, gradient, &s, info, w);
    submodi_scope_close(&scope);
    return status;
}

/* ---- the parts themselves ---- */

static submod_status write_parts(const char *who, const submodi_parts *parts, double *submodular,
                                 double *supermodular, submod_work *w)
{
    size_t width = parts->N + 1;
    size_t pairs = (parts->P + 1) * width;
    double *f = submodi_take(w, pairs, sizeof *f);
    double *g = submodi_take(w, pairs, sizeof *g);
    if (!f || !g) {
        return submodi_nomem(who);
    }
    for (size_t i = 0; i < pairs; i++) {
        size_t a = i / width;
        size_t b = i % width;
        g[i] = submodi_parts_g(parts, a, b);
        f[i] = submodi_measure_value(&parts->measure, (double)a, (double)b, (double)parts->P,
                                     (double)parts->N) -
               g[i];
    }
    if (!submodi_all_finite(f, pairs)) {
        return submodi_fail(SUBMOD_ECALLBACK, "%s: the measure gives NaN or Inf", who);
    }
    submodi_copy_out(submodular, f, pairs, sizeof *f);
    submodi_copy_out(supermodular, g, pairs, sizeof *g);
    return SUBMOD_OK;
}

submod_status submod_general_parts(const submod_measure *measure, size_t P, size_t N,
                                   double *submodular, double *supermodular, submod_work *work)
{
    static const char who[] = "submod_general_parts";
    const size_t most = (size_t)1 << 26;
    if (P >= most || N >= most || (P + 1) * (N + 1) > most) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: (P + 1) (N + 1) must be at most 2^26, with P = %zu, N = %zu", who,
                            P, N);
    }
    submodi_parts parts;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = submodi_parts_make(&parts, who, measure, P, N, w);
    status = status ? status : write_parts(who, &parts, submodular, supermodular, w);
    submodi_scope_close(&scope);
    return status;
}
