/* The hinge loss of binary scores: per group, the weighted mean of max(0, 1 - s * score) over the
 * pixels that are not ignored, s = 1 at label 1 and -1 at label 0.
 *
 * One pass over the scores for the sums and counts of both labels, in a fixed number of parts that
 * are added in order; one for the gradient. O(pixels).
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

/* Partial sums per batch: enough for all threads to have work, few enough to be nothing. Lanes:
 * with fewer, gcc unrolls the inner loop before it could vectorise it, and is five times slower. */
enum { PARTS = 256, LANES = 32 };

/* Of the pixels with label 0 and with label 1. */
typedef struct sums {
    double hinge[2];
    uint64_t count[2];
} sums;

typedef struct hinge {
    const submodi_problem *p;
    double weight[2]; /* the larger one 1, unless both are 0 */
    int threads;
    submodi_tile_memory *tile;
    size_t parts;      /* per group */
    sums *partial;     /* groups x parts */
    float (*slope)[2]; /* per group, of a pixel of each label that is inside the margin */
} hinge;

/* ---- forward ---- */

/* Adds pixels with code `target`, in LANES sums side by side: a fixed order that vectorises. */
SUBMODI_MULTIVERSION
static void add_label(const float *v, const int32_t *code, int32_t target, size_t n, sums *sum)
{
    const double sign = target ? -1 : 1;
    double lane[LANES] = {0};
    int32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += code[i] == target;
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            double h = 1 + sign * (double)v[i + l];
            lane[l] += code[i + l] == target && h > 0 ? h : 0.0;
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        double h = 1 + sign * (double)v[i + l];
        lane[l] += code[i + l] == target && h > 0 ? h : 0.0;
    }
    for (size_t l = 0; l < LANES; l++) {
        sum->hinge[target] += lane[l];
    }
    sum->count[target] += (uint64_t)count;
}

/* Part k of a group: its share of the tiles. False when some score is bad. */
static bool add_part(const hinge *x, size_t group, size_t k, const submodi_tile_memory *memory)
{
    const submodi_problem *p = x->p;
    size_t tiles = p->images_per_group * p->tiles_per_image;
    sums *sum = &x->partial[group * x->parts + k];
    bool good = true;
    *sum = (sums){{0}, {0}};
    for (size_t t = k * tiles / x->parts; t < (k + 1) * tiles / x->parts; t++) {
        submodi_tile tile;
        good = submodi_tile_load(p, group * p->images_per_group + t / p->tiles_per_image,
                                 t % p->tiles_per_image, memory, &tile) &&
               good;
        add_label(tile.v, tile.codes, 0, tile.n, sum);
        add_label(tile.v, tile.codes, 1, tile.n, sum);
    }
    return good;
}

static bool add_up(const hinge *x)
{
    int bad = 0;
#pragma omp parallel for num_threads(x->threads) reduction(| : bad)
    for (size_t k = 0; k < x->p->groups * x->parts; k++) {
        bad |= !add_part(x, k / x->parts, k % x->parts, &x->tile[omp_get_thread_num()]);
    }
    return !bad;
}

static double solve_group(const hinge *x, size_t group)
{
    double value = 0;
    double total = 0; /* weight */
    for (size_t k = group * x->parts; k < (group + 1) * x->parts; k++) {
        for (int label = 0; label < 2; label++) {
            value += x->weight[label] * x->partial[k].hinge[label];
            total += x->weight[label] * (double)x->partial[k].count[label];
        }
    }
    double factor = total > 0 ? 1 / total / (double)x->p->groups : 0;
    x->slope[group][0] = (float)(factor * x->weight[0]);
    x->slope[group][1] = (float)(-factor * x->weight[1]);
    return factor * value;
}

/* ---- backward ---- */

SUBMODI_MULTIVERSION
static void slope_row(const float *v, const int32_t *code, const float *slope, size_t n, float *g)
{
    const float background = slope[0];
    const float foreground = slope[1];
    for (size_t i = 0; i < n; i++) {
        float at_1 = v[i] < 1.0F ? foreground : 0.0F;
        float at_0 = v[i] > -1.0F ? background : 0.0F;
        float valid = code[i] == 1 ? at_1 : at_0;
        g[i] = code[i] > 1 ? 0.0F : valid;
    }
}

static void write_gradient(const hinge *x, const submod_gradient *gradient)
{
    const submodi_problem *p = x->p;
#pragma omp parallel for num_threads(x->threads)
    for (size_t t = 0; t < p->scores.batch * p->tiles_per_image; t++) {
        submodi_tile tile;
        submodi_tile_load(p, t / p->tiles_per_image, t % p->tiles_per_image,
                          &x->tile[omp_get_thread_num()], &tile);
        slope_row(tile.v, tile.codes, x->slope[tile.image / p->images_per_group], tile.n, tile.g);
        submodi_tile_store(p, &tile, gradient);
    }
}

/* ---- the call ---- */

/* Only the ratio of the weights matters: dividing by the larger one keeps sums from overflowing. */
static submod_status set_weights(hinge *x, const double *weight)
{
    x->weight[0] = x->weight[1] = 1;
    if (weight) {
        submod_status status = submodi_require_nonnegative(x->p->who, "class_weight", weight, 2);
        double larger = fmax(weight[0], weight[1]);
        x->weight[0] = larger > 0 ? weight[0] / larger : 0;
        x->weight[1] = larger > 0 ? weight[1] / larger : 0;
        return status;
    }
    return SUBMOD_OK;
}

static bool take_memory(hinge *x, submod_work *work)
{
    const submodi_problem *p = x->p;
    size_t tiles = p->images_per_group * p->tiles_per_image;
    size_t wanted = p->groups ? (PARTS + p->groups - 1) / p->groups : 0;
    x->parts = wanted < tiles ? wanted : tiles;
    x->partial = submodi_take(work, p->groups * x->parts, sizeof *x->partial);
    x->slope = submodi_take(work, p->groups, sizeof *x->slope);
    x->tile = submodi_tiles_take(p, x->threads, work);
    return x->partial && x->slope && x->tile;
}

static submod_status run(hinge *x, double *loss, const submod_gradient *gradient, submod_work *work)
{
    x->threads = submodi_threads_for(x->p->scores.batch * x->p->scores.pixels);
    if (!take_memory(x, work)) {
        return submodi_nomem(x->p->who);
    }
    if (!add_up(x)) {
        return submodi_problem_bad_score(x->p);
    }
    double value = 0;
    for (size_t g = 0; g < x->p->groups; g++) {
        value += solve_group(x, g);
    }
    if (loss) {
        *loss = value;
    }
    if (gradient) {
        write_gradient(x, gradient);
    }
    return SUBMOD_OK;
}

submod_status submod_hinge(const submod_scores *scores, const submod_labels *labels, double *loss,
                           const submod_gradient *gradient,
                           const submod_baseline_settings *settings, submod_work *work)
{
    static const char who[] = "submod_hinge";
    const submod_baseline_settings s = settings ? *settings : submod_baseline_defaults();
    submod_status status = submodi_require_views(who, scores, labels);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(who, gradient, scores);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    if (scores->classes != 1) {
        return submodi_fail(SUBMOD_EINVAL, "%s: one score per pixel, not %zu", who,
                            scores->classes);
    }
    submodi_problem p = {.who = who,
                         .scores = *scores,
                         .labels = *labels,
                         .multilabel = true,
                         .activation = SUBMODI_SCORE,
                         .settings = {.per_image = s.per_image,
                                      .classes = SUBMOD_CLASSES_ALL,
                                      .has_ignore = s.has_ignore,
                                      .ignore_label = s.ignore_label}};
    hinge x = {.p = &p};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submodi_problem_prepare(&p, w);
    if (status == SUBMOD_OK) {
        status = set_weights(&x, s.class_weight);
    }
    if (status == SUBMOD_OK) {
        status = run(&x, loss, gradient, w);
    }
    submodi_scope_close(&scope);
    return status;
}
