/* Softmax cross-entropy (paper, Eq. 1): per group, the mean over the pixels that are not ignored of
 *
 *     -log p[y] = (largest score - score of y) + log(1 + rest),
 *     rest = sum over all classes but the largest of exp(score - largest score),
 *
 * weighted by the class weight of y. The derivative by score c is weight * (p[c] - [c = y]).
 * The 1 of the largest class is never added to the others, so that neither the loss nor the
 * derivative of a confident prediction is lost in it.
 *
 * Labels alone decide what a pixel weighs, so one pass over the scores gives the loss, added up by
 * label, and one the gradient. O(pixels * classes).
 */
#include <string.h>

#include "base/error.h"
#include "base/simd.h"
#include "submod/baseline_run.h"
#include "submod/shares.h"

/* ---- numbers ---- */

/* log(1 + x) for x >= 0, within 0.9 units in the last place. With u = 1 + x rounded: log u plus
 * what was rounded off, over u. With u = 2^k f, f in [sqrt 1/2, sqrt 2): log u = k log 2 + log f,
 * the latter by a polynomial in f - 1 (the minimax coefficients of Cephes' logf). log 2 comes in
 * two parts, the first of which is exact when multiplied by k. */
static inline float log1p_nonnegative(float x)
{
    const uint32_t root_half = UINT32_C(0x3f3504f3);
    float u = 1.0F + x;
    float off = (x - (u - 1.0F)) / u;
    uint32_t bits;
    memcpy(&bits, &u, sizeof bits);
    uint32_t exponent = (bits - root_half) >> 23;
    bits -= exponent << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    float k = (float)(int32_t)exponent;
    float r = f - 1.0F;
    float q = 7.0376836292e-2F;
    q = q * r - 1.1514610310e-1F;
    q = q * r + 1.1676998740e-1F;
    q = q * r - 1.2420140846e-1F;
    q = q * r + 1.4249322787e-1F;
    q = q * r - 1.6668057665e-1F;
    q = q * r + 2.0000714765e-1F;
    q = q * r - 2.4999993993e-1F;
    q = q * r + 3.3333331174e-1F;
    q = q * r * (r * r) - k * 2.12194440e-4F + off - 0.5F * (r * r);
    return r + q + k * 0.693359375F;
}

/* The largest of the probabilities so far, and the sum of all others: in double, for the sake of
 * many classes. */
SUBMODI_MULTIVERSION
static void split_off(const float *p, size_t n, float *top, double *others)
{
    for (size_t i = 0; i < n; i++) {
        others[i] += (double)(p[i] > top[i] ? top[i] : p[i]);
        top[i] = p[i] > top[i] ? p[i] : top[i];
    }
}

/* Scores to probabilities in place, and what split_off makes of them. */
static void softmax(const submodi_problem *p, const submodi_tile *tile, float *top, double *others)
{
    float factor[SUBMODI_TILE];
    submodi_softmax(p->scores.classes, tile->n, tile->largest, tile->v, factor);
    for (size_t c = 0; c < p->scores.classes; c++) {
        submodi_multiply_row(tile->v + c * SUBMODI_TILE, factor, tile->n);
    }
    memset(top, 0, tile->n * sizeof *top);
    memset(others, 0, tile->n * sizeof *others);
    for (size_t c = 0; c < p->scores.classes; c++) {
        split_off(tile->v + c * SUBMODI_TILE, tile->n, top, others);
    }
}

/* ---- forward ---- */

/* others <- log(1 + others / top). */
SUBMODI_MULTIVERSION
static void log_sum(const float *top, size_t n, double *others)
{
    for (size_t i = 0; i < n; i++) {
        others[i] = (double)log1p_nonnegative((float)others[i] / top[i]);
    }
}

static void add(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    size_t C = x->p.scores.classes;
    float top[SUBMODI_TILE];
    double others[SUBMODI_TILE];
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            sum[y] += (double)tile->largest[i] - (double)tile->v[y * SUBMODI_TILE + i];
        }
    }
    softmax(&x->p, tile, top, others);
    log_sum(top, tile->n, others);
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            sum[y] += others[i];
        }
    }
}

static double solve(const submodi_baseline_run *x, size_t group, const double *sum)
{
    size_t C = x->p.scores.classes;
    double loss = 0;
    for (size_t c = 0; c < C; c++) {
        loss += x->p.coefficient[group * C + c] * sum[c];
    }
    return loss;
}

/* ---- backward ---- */

SUBMODI_MULTIVERSION
static void multiply(const float *p, const float *factor, size_t n, float *g)
{
    for (size_t i = 0; i < n; i++) {
        g[i] = factor[i] * p[i];
    }
}

/* tile->g <- weight * (p - [c = y]), where p[y] - 1 = -(sum of all others) if y is on top. */
static void derive(const submodi_baseline_run *x, const submodi_tile *tile)
{
    const submodi_problem *p = &x->p;
    size_t C = p->scores.classes;
    const double *weight = p->coefficient + tile->image / p->images_per_group * C;
    float factor[SUBMODI_TILE];
    float top[SUBMODI_TILE];
    double others[SUBMODI_TILE];
    softmax(p, tile, top, others);
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        factor[i] = y < C ? (float)weight[y] : 0;
    }
    for (size_t c = 0; c < C; c++) {
        multiply(tile->v + c * SUBMODI_TILE, factor, tile->n, tile->g + c * SUBMODI_TILE);
    }
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            float own = tile->v[y * SUBMODI_TILE + i];
            tile->g[y * SUBMODI_TILE + i] =
                factor[i] * (own < top[i] ? own - 1.0F : -(float)others[i]);
        }
    }
}

/* ---- the call ---- */

/* The coefficients become what a pixel of each class weighs in its group. */
static submod_status prepare(submodi_baseline_run *x)
{
    const double *weight = x->settings->class_weight;
    size_t C = x->p.scores.classes;
    submod_status status = submodi_require_several_classes(x->p.who, C);
    status = status ? status : submodi_require_weights(x->p.who, weight, C, NULL, 0);
    for (size_t g = 0; status == SUBMOD_OK && g < x->p.groups; g++) {
        submodi_shares(weight, x->p.foreground + g * C, C, x->p.groups, x->p.coefficient + g * C);
    }
    return status;
}

submod_status submod_cross_entropy(const submod_scores *scores, const submod_labels *labels,
                                   double *loss, const submod_gradient *gradient,
                                   const submod_baseline_settings *settings, submod_work *work)
{
    static const submodi_baseline cross_entropy = {.who = "submod_cross_entropy",
                                                   .of_logits = SUBMODI_SCORE, /* plain scores */
                                                   .sums = 1,
                                                   .prepare = prepare,
                                                   .add = add,
                                                   .solve = solve,
                                                   .derive = derive};
    return submodi_baseline_call(&cross_entropy, scores, SUBMOD_INPUT_LOGITS, labels, loss,
                                 gradient, settings, work);
}
