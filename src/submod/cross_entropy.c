/* Softmax cross-entropy (paper, Eq. 1): per group, the mean over the pixels that are not ignored of
 *
 *     -log p[y] = (largest score - score of y) + log(1 + rest),
 *     rest = sum over all classes but the largest of exp(score - largest score),
 *
 * weighted by the class weight of y. The derivative by score c is weight * (p[c] - [c = y]).
 * The 1 of the largest class is never added to the others, so that neither the loss nor the
 * derivative of a confident prediction is lost in it.
 *
 * Labels alone decide what a pixel weighs, so one pass over the scores gives the loss, in a fixed
 * number of parts that are added in order, and one the gradient. O(pixels * classes).
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "submod/baseline.h"
#include "submod/tile.h"

/* Partial sums per batch: enough for all threads to have work, few enough to be nothing. */
enum { PARTS = 256 };

/* The coefficients of the problem are what a pixel of each class weighs in its group. */
typedef struct cross_entropy {
    const submodi_problem *p;
    int threads;
    submodi_tile_memory *tile;
    size_t parts;
    double *partial;
} cross_entropy;

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

static double tile_loss(const submodi_problem *p, const submodi_tile *tile)
{
    size_t C = p->scores.classes;
    const double *weight = p->coefficient + tile->image / p->images_per_group * C;
    float top[SUBMODI_TILE];
    double others[SUBMODI_TILE];
    double loss = 0;
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        loss += y < C
                    ? weight[y] * ((double)tile->largest[i] - (double)tile->v[y * SUBMODI_TILE + i])
                    : 0;
    }
    softmax(p, tile, top, others);
    log_sum(top, tile->n, others);
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        loss += y < C ? weight[y] * others[i] : 0;
    }
    return loss;
}

/* Part k of the batch: its share of the tiles. False when some score is bad. */
static bool add_part(const cross_entropy *x, size_t k, const submodi_tile_memory *memory)
{
    const submodi_problem *p = x->p;
    size_t tiles = p->scores.batch * p->tiles_per_image;
    double loss = 0;
    bool good = true;
    for (size_t t = k * tiles / x->parts; t < (k + 1) * tiles / x->parts && good; t++) {
        submodi_tile tile;
        good = submodi_tile_load(p, t / p->tiles_per_image, t % p->tiles_per_image, memory, &tile);
        loss += good ? tile_loss(p, &tile) : 0;
    }
    x->partial[k] = loss;
    return good;
}

static bool add_up(const cross_entropy *x)
{
    int bad = 0;
#pragma omp parallel for num_threads(x->threads) reduction(| : bad)
    for (size_t k = 0; k < x->parts; k++) {
        bad |= !add_part(x, k, &x->tile[omp_get_thread_num()]);
    }
    return !bad;
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
static void tile_gradient(const submodi_problem *p, const submodi_tile *tile)
{
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

static void write_gradient(const cross_entropy *x, const submod_gradient *gradient)
{
    const submodi_problem *p = x->p;
#pragma omp parallel for num_threads(x->threads)
    for (size_t t = 0; t < p->scores.batch * p->tiles_per_image; t++) {
        submodi_tile tile;
        submodi_tile_load(p, t / p->tiles_per_image, t % p->tiles_per_image,
                          &x->tile[omp_get_thread_num()], &tile);
        tile_gradient(p, &tile);
        submodi_tile_store(p, &tile, gradient);
    }
}

/* ---- the call ---- */

/* weight[y] / (sum of the weights of all pixels of the group) / groups. Only the ratio of the
 * weights matters: dividing by the largest one keeps the sum from overflowing. */
static void set_pixel_weights(submodi_problem *p)
{
    const double *weight = p->settings.class_weight;
    size_t C = p->scores.classes;
    double largest = weight ? 0 : 1;
    for (size_t c = 0; c < C && weight; c++) {
        largest = fmax(largest, weight[c]);
    }
    for (size_t g = 0; g < p->groups; g++) {
        double *coefficient = p->coefficient + g * C;
        double total = 0;
        for (size_t c = 0; c < C; c++) {
            coefficient[c] = largest > 0 ? (weight ? weight[c] : 1) / largest : 0;
            total += coefficient[c] * p->foreground[g * C + c];
        }
        for (size_t c = 0; c < C; c++) {
            bool counts = p->foreground[g * C + c] > 0 && total > 0;
            coefficient[c] = counts ? coefficient[c] / total / (double)p->groups : 0;
        }
    }
}

static bool take_memory(cross_entropy *x, submod_work *work)
{
    size_t tiles = x->p->scores.batch * x->p->tiles_per_image;
    x->parts = tiles < PARTS ? tiles : PARTS;
    x->partial = submodi_take(work, x->parts, sizeof *x->partial);
    x->tile = submodi_tiles_take(x->p, x->threads, work);
    return x->partial && x->tile;
}

static submod_status run(cross_entropy *x, double *loss, const submod_gradient *gradient,
                         submod_work *work)
{
    const submod_scores *s = &x->p->scores;
    x->threads = submodi_threads_for(s->batch * s->pixels * s->classes);
    if (!take_memory(x, work)) {
        return submodi_nomem(x->p->who);
    }
    if (!add_up(x)) {
        return submodi_problem_bad_score(x->p);
    }
    double value = 0;
    for (size_t k = 0; k < x->parts; k++) {
        value += x->partial[k];
    }
    if (loss) {
        *loss = value;
    }
    if (gradient) {
        write_gradient(x, gradient);
    }
    return SUBMOD_OK;
}

submod_status submod_cross_entropy(const submod_scores *scores, const submod_labels *labels,
                                   double *loss, const submod_gradient *gradient,
                                   const submod_baseline_settings *settings, submod_work *work)
{
    static const char who[] = "submod_cross_entropy";
    const submod_baseline_settings s = settings ? *settings : submod_baseline_defaults();
    submod_status status = submodi_require_views(who, scores, labels);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(who, gradient, scores);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_problem p = {.who = who,
                         .scores = *scores,
                         .labels = *labels,
                         .activation = SUBMODI_SCORE, /* tiles of plain scores */
                         .settings = {.per_image = s.per_image,
                                      .classes = SUBMOD_CLASSES_ALL,
                                      .class_weight = s.class_weight,
                                      .has_ignore = s.has_ignore,
                                      .ignore_label = s.ignore_label}};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submodi_problem_prepare(&p, w);
    if (status == SUBMOD_OK) {
        set_pixel_weights(&p);
        cross_entropy x = {.p = &p};
        status = run(&x, loss, gradient, w);
    }
    submodi_scope_close(&scope);
    return status;
}
