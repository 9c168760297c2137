/* Losses of soft overlaps: Rahman-Wang's I/U, soft Dice, soft Jaccard.
 *
 * Per group and class, over the pixels that are not ignored, with p the probability, y = 0 or 1 the
 * truth, P = sum of y and s the smoothing:
 *
 *     I = sum of p y,   S = sum of p,   U = S + P - I,   wrong = S + P - 2 I
 *     Jaccard = wrong / (U + s)          dp at y = 1: -1 / (U + s)
 *                                           at y = 0: (I + s) / (U + s)^2
 *     Dice = wrong / D, D = S + P + s    dp at y = 1: -(D + wrong) / D^2
 *                                           at y = 0:  (D - wrong) / D^2
 *
 * One pass over the scores for I and S, in a fixed number of parts that are added in order; one for
 * the gradient, which has only two values per class and group. O(pixels * classes).
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

submod_baseline_settings submod_baseline_defaults(void)
{
    return (submod_baseline_settings){.classes = SUBMOD_CLASSES_PRESENT};
}

/* Partial sums per batch: enough for all threads to have work, few enough to be nothing. Lanes:
 * with fewer, gcc unrolls the inner loop before it could vectorise it, and is five times slower. */
enum { PARTS = 256, LANES = 32 };

typedef struct sums {
    double inside; /* I */
    double all;    /* S */
} sums;

/* What a pixel of a class is multiplied with on the way back. */
typedef struct slopes {
    float foreground, background;
} slopes;

typedef struct overlap {
    const submodi_problem *p;
    bool dice;
    double smoothing;
    int threads;
    submodi_tile_memory *tile;
    size_t parts;  /* per group */
    sums *partial; /* groups x parts x classes */
    slopes *slope; /* groups x classes */
} overlap;

/* ---- forward ---- */

/* Adds one row, in LANES sums side by side: a fixed order that vectorises. */
SUBMODI_MULTIVERSION
static void add_row(const float *v, const int32_t *code, int32_t target, int32_t ignored, size_t n,
                    sums *sum)
{
    double inside[LANES] = {0};
    double all[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            double x = code[i + l] == ignored ? 0.0 : (double)v[i + l];
            all[l] += x;
            inside[l] += code[i + l] == target ? x : 0.0;
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        double x = code[i + l] == ignored ? 0.0 : (double)v[i + l];
        all[l] += x;
        inside[l] += code[i + l] == target ? x : 0.0;
    }
    for (size_t l = 0; l < LANES; l++) {
        sum->all += all[l];
        sum->inside += inside[l];
    }
}

/* Part k of a group: its share of the tiles. False when some score is bad. */
static bool add_part(const overlap *x, size_t group, size_t k, const submodi_tile_memory *memory)
{
    const submodi_problem *p = x->p;
    size_t C = p->scores.classes;
    size_t tiles = p->images_per_group * p->tiles_per_image;
    sums *sum = x->partial + (group * x->parts + k) * C;
    bool good = true;
    memset(sum, 0, C * sizeof *sum);
    for (size_t t = k * tiles / x->parts; t < (k + 1) * tiles / x->parts; t++) {
        submodi_tile tile;
        good = submodi_tile_load(p, group * p->images_per_group + t / p->tiles_per_image,
                                 t % p->tiles_per_image, memory, &tile) &&
               good;
        for (size_t c = 0; c < C; c++) {
            int32_t target;
            const int32_t *codes = submodi_tile_codes(p, &tile, c, &target);
            add_row(tile.v + c * SUBMODI_TILE, codes, target, p->rule.classes, tile.n, &sum[c]);
        }
    }
    return good;
}

static bool add_up(const overlap *x)
{
    int bad = 0;
#pragma omp parallel for num_threads(x->threads) reduction(| : bad)
    for (size_t k = 0; k < x->p->groups * x->parts; k++) {
        bad |= !add_part(x, k / x->parts, k % x->parts, &x->tile[omp_get_thread_num()]);
    }
    return !bad;
}

/* ---- from sums to losses and slopes ---- */

/* p <= 1, so I <= P and I <= S even after rounding: no difference below is negative. Without
 * foreground and smoothing I is 0 whatever the scores, and so is the slope. */
static double solve_class(const overlap *x, size_t group, size_t c)
{
    size_t C = x->p->scores.classes;
    double P = x->p->foreground[group * C + c];
    sums sum = {0, 0};
    for (size_t k = 0; k < x->parts; k++) {
        sum.inside += x->partial[(group * x->parts + k) * C + c].inside;
        sum.all += x->partial[(group * x->parts + k) * C + c].all;
    }
    double wrong = (sum.all - sum.inside) + (P - sum.inside);
    double D = sum.all + (x->dice ? P : P - sum.inside) + x->smoothing;
    double coefficient = x->p->coefficient[group * C + c];
    slopes *slope = &x->slope[group * C + c];
    *slope = (slopes){0, 0};
    if (D <= 0 || coefficient <= 0) {
        return 0;
    }
    if (P > 0) {
        slope->foreground = (float)(-coefficient * (x->dice ? D + wrong : D) / D / D);
    }
    /* D - wrong, without the cancellation. */
    double right = (x->dice ? 2 * sum.inside : sum.inside) + x->smoothing;
    slope->background = (float)(coefficient * (right / D / D));
    return coefficient * wrong / D;
}

static double solve(const overlap *x)
{
    double loss = 0;
    for (size_t g = 0; g < x->p->groups; g++) {
        for (size_t c = 0; c < x->p->scores.classes; c++) {
            loss += solve_class(x, g, c);
        }
    }
    return loss;
}

/* ---- backward ---- */

SUBMODI_MULTIVERSION
static void slope_row(const int32_t *code, int32_t target, int32_t ignored, slopes slope, size_t n,
                      float *g)
{
    for (size_t i = 0; i < n; i++) {
        float valid = code[i] == target ? slope.foreground : slope.background;
        g[i] = code[i] == ignored ? 0.0F : valid;
    }
}

static void write_gradient(const overlap *x, const submod_gradient *gradient)
{
    const submodi_problem *p = x->p;
    size_t C = p->scores.classes;
#pragma omp parallel for num_threads(x->threads)
    for (size_t t = 0; t < p->scores.batch * p->tiles_per_image; t++) {
        submodi_tile tile;
        submodi_tile_load(p, t / p->tiles_per_image, t % p->tiles_per_image,
                          &x->tile[omp_get_thread_num()], &tile);
        const slopes *slope = x->slope + tile.image / p->images_per_group * C;
        for (size_t c = 0; c < C; c++) {
            int32_t target;
            const int32_t *codes = submodi_tile_codes(p, &tile, c, &target);
            slope_row(codes, target, p->rule.classes, slope[c], tile.n, tile.g + c * SUBMODI_TILE);
        }
        submodi_tile_store(p, &tile, gradient);
    }
}

/* ---- the calls ---- */

/* Below the smallest that is allowed, 1 / smoothing would not be a float. */
static submod_status require_smoothing(const char *who, double smoothing)
{
    if (!isfinite(smoothing)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: smoothing is %g", who, smoothing);
    }
    if (smoothing != 0 && smoothing < 1e-30) {
        return submodi_fail(SUBMOD_EINVAL, "%s: smoothing = %g is neither 0 nor at least 1e-30",
                            who, smoothing);
    }
    return SUBMOD_OK;
}

static bool take_memory(overlap *x, submod_work *work)
{
    const submodi_problem *p = x->p;
    size_t tiles = p->images_per_group * p->tiles_per_image;
    size_t wanted = p->groups ? (PARTS + p->groups - 1) / p->groups : 0;
    x->parts = wanted < tiles ? wanted : tiles;
    x->partial = submodi_take(work, p->groups * x->parts, p->scores.classes * sizeof *x->partial);
    x->slope = submodi_take(work, p->groups, p->scores.classes * sizeof *x->slope);
    x->tile = submodi_tiles_take(p, x->threads, work);
    return x->partial && x->slope && x->tile;
}

static submod_status run(overlap *x, double *loss, const submod_gradient *gradient,
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
    double value = solve(x);
    if (loss) {
        *loss = value;
    }
    if (gradient) {
        write_gradient(x, gradient);
    }
    return SUBMOD_OK;
}

/* p comes with everything but the settings that it shares with all. */
static submod_status overlap_loss(submodi_problem *p, const submod_baseline_settings *s, bool dice,
                                  double *loss, const submod_gradient *gradient, submod_work *work)
{
    p->settings.per_image = s->per_image;
    p->settings.has_ignore = s->has_ignore;
    p->settings.ignore_label = s->ignore_label;
    overlap x = {.p = p, .dice = dice, .smoothing = p->multilabel ? 0 : s->smoothing};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = submodi_problem_prepare(p, w);
    if (status == SUBMOD_OK) {
        status = require_smoothing(p->who, x.smoothing);
    }
    if (status == SUBMOD_OK) {
        status = run(&x, loss, gradient, w);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submod_rahman_wang(const submod_scores *scores, submod_input input,
                                 const submod_labels *labels, double *loss,
                                 const submod_gradient *gradient,
                                 const submod_baseline_settings *settings, submod_work *work)
{
    static const char who[] = "submod_rahman_wang";
    const submod_baseline_settings s = settings ? *settings : submod_baseline_defaults();
    submod_status status = submodi_require_views(who, scores, labels);
    if (status == SUBMOD_OK) {
        status = submodi_require_input(who, input);
    }
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
                         .activation =
                             input == SUBMOD_INPUT_LOGITS ? SUBMODI_SIGMOID : SUBMODI_PROBABILITY,
                         .settings = {.classes = SUBMOD_CLASSES_ALL}};
    return overlap_loss(&p, &s, false, loss, gradient, work);
}

static submod_status multiclass(const char *who, const submod_scores *scores, submod_input input,
                                const submod_labels *labels, bool dice, double *loss,
                                const submod_gradient *gradient,
                                const submod_baseline_settings *settings, submod_work *work)
{
    const submod_baseline_settings s = settings ? *settings : submod_baseline_defaults();
    submod_status status = submodi_require_views(who, scores, labels);
    if (status == SUBMOD_OK) {
        status = submodi_require_input(who, input);
    }
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(who, gradient, scores);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_problem p = {.who = who,
                         .scores = *scores,
                         .labels = *labels,
                         .activation =
                             input == SUBMOD_INPUT_LOGITS ? SUBMODI_SOFTMAX : SUBMODI_PROBABILITY,
                         .settings = {.classes = s.classes,
                                      .class_list = s.class_list,
                                      .class_count = s.class_count,
                                      .class_weight = s.class_weight}};
    return overlap_loss(&p, &s, dice, loss, gradient, work);
}

submod_status submod_soft_dice(const submod_scores *scores, submod_input input,
                               const submod_labels *labels, double *loss,
                               const submod_gradient *gradient,
                               const submod_baseline_settings *settings, submod_work *work)
{
    return multiclass("submod_soft_dice", scores, input, labels, true, loss, gradient, settings,
                      work);
}

submod_status submod_soft_jaccard(const submod_scores *scores, submod_input input,
                                  const submod_labels *labels, double *loss,
                                  const submod_gradient *gradient,
                                  const submod_baseline_settings *settings, submod_work *work)
{
    return multiclass("submod_soft_jaccard", scores, input, labels, false, loss, gradient, settings,
                      work);
}
