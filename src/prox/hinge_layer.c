/* The prox of the Lovász hinge as a loss layer: scores in, prox scores and modified gradient out.
 *
 * Margins are m = 1 - y score, y = 1 at label 1 and -1 at label 0. The loss of a group is
 * f(max(m, 0)), and |score - score'| = |m - m'|, so the prox is taken in m. If w is the prox of f
 * at m and s its base, the prox of the hinge is (docs/mathematics.md, section 6)
 *
 *     m' = max(w, min(m, 0)),      d = lambda (m - m') = min(s, lambda max(m, 0)),
 *
 * and back in scores  lambda (score - score') = -y d,  score' = score + y d / lambda.  Where no two
 * margins meet or reach 0, d is the greedy vector: the modified gradient is the gradient.
 * Cost: one exact prox of the measure per group, for Jaccard about a sort of its pixels. */
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "prox/two_counts/two_counts_prox.h"
#include "submod/losses/tile.h"
#include "submod/measures/values.h"
#include "submod/tensors/rows.h"
#include <submod/prox.h>

typedef struct layer {
    submodi_batch batch;
    submod_measure measure;
    double lambda;
    size_t pixels; /* per group */
    /* Of all pixels: first y, 0 if it is ignored; then -y d. In double: a small lambda makes d
     * smaller than any float, but d / lambda still moves the score. */
    double *derivative;
} layer;

static submod_prox_method method_of(const layer *x)
{
    return x->measure.type == SUBMOD_MEASURE_JACCARD ? SUBMOD_PROX_JACCARD : SUBMOD_PROX_TWO_COUNTS;
}

/* y of label code 1 or 0; 0 for any other, an ignored pixel. */
static double side_of(int32_t code)
{
    return code == 1 ? 1 : code == 0 ? -1 : 0;
}

/* d of a pixel with this margin, from the base s of the plain prox. */
static double hinge_dual(double s, double margin, double lambda)
{
    double most = lambda * (margin > 0 ? margin : 0);
    double d = s < most ? s : most;
    return d > 0 ? d : 0;
}

/* Memory of one thread that solves groups. */
typedef struct memory {
    double *margin; /* of the pixels that are not ignored */
    submodi_prox_pair *pair;
    uint32_t *mask;
    submod_work work; /* for the solver: one block that is large enough */
} memory;

static memory *take_memory(const layer *x, size_t solvers, submod_work *w)
{
    size_t bytes = submodi_two_counts_prox_bytes(&x->measure, x->pixels, x->batch.threads);
    memory *all = submodi_take(w, solvers, sizeof *all);
    bool good = all;
    for (size_t t = 0; good && t < solvers; t++) {
        memory *m = &all[t];
        *m = (memory){
            .margin = submodi_take(w, x->pixels, sizeof *m->margin),
            .pair = submodi_take(w, x->pixels, sizeof *m->pair),
            .mask = submodi_take(w, submodi_mask_words(x->pixels), sizeof *m->mask),
            .work = {.block = submodi_take(w, bytes, 1), .capacity = bytes, .borrowed = true}};
        good = m->margin && m->pair && m->mask && m->work.block;
    }
    return good ? all : NULL;
}

/* The margins of a group, read in the order of its pixels. */
typedef struct margins {
    const layer *layer;
    memory *memory;
    size_t *count; /* how many there are */
} margins;

static void read_margins(const void *context, const submodi_tile *tile)
{
    const margins *r = context;
    memory *m = r->memory;
    size_t count = *r->count;
    double *side = r->layer->derivative + tile->image * r->layer->batch.scores.pixels + tile->first;
    for (size_t i = 0; i < tile->n; i++) {
        side[i] = side_of(tile->codes[i]);
        if (side[i] != 0) {
            m->mask[count / 32] |= (uint32_t)(side[i] > 0) << count % 32;
            m->margin[count++] = 1 - side[i] * (double)tile->v[i];
        }
    }
    *r->count = count;
}

/* Solves one group with the memory of this thread; no other thread reads the group. */
static submod_status solve_group(const layer *x, size_t group, int thread, memory *m,
                                 submod_prox_info *info)
{
    submodi_batch alone = x->batch;
    alone.threads = 1;
    alone.memory += thread;
    size_t count = 0;
    const margins reading = {x, m, &count};
    memset(m->mask, 0, submodi_mask_words(x->pixels) * sizeof *m->mask);
    if (!submodi_visit(&alone, group * alone.images_per_group, alone.images_per_group, 1,
                       SUBMODI_LABELS | SUBMODI_SCORES, read_margins, &reading)) {
        return SUBMOD_ENONFINITE; /* the error message is written after the parallel loop */
    }
    submodi_two_kinds_problem p = {.who = x->batch.who,
                                   .n = count,
                                   .x = m->margin,
                                   .mask = m->mask,
                                   .measure = &x->measure,
                                   .lambda = x->lambda};
    submod_prox_info mine = {0};
    submodi_extension found;
    submod_status status = submodi_two_counts_prox(&p, m->pair, &found, &mine, &m->work);
    if (status != SUBMOD_OK) {
        return status;
    }
    double *side = x->derivative + group * x->pixels;
    size_t k = 0;
    for (size_t i = 0; i < x->pixels; i++) {
        if (side[i] != 0) {
            side[i] *= -hinge_dual(m->pair[k].s, m->margin[k], x->lambda);
            k++;
        }
    }
#pragma omp atomic
    info->iterations += mine.iterations;
#pragma omp atomic
    info->work += mine.work;
    return SUBMOD_OK;
}

/* Many groups: each thread solves one at a time. Few groups: one after the other, with all threads
 * on its sort. The worst status is returned, so it does not depend on which thread was first. */
static submod_status solve_groups(layer *x, submod_prox_info *info, submod_work *w)
{
    bool side_by_side = x->batch.groups >= (size_t)x->batch.threads;
    size_t solvers = side_by_side ? (size_t)x->batch.threads : 1;
    int worst = SUBMOD_OK;
    memory *all = take_memory(x, solvers, w);
    if (!all) {
        return submodi_nomem(x->batch.who);
    }
#pragma omp parallel for num_threads((int)solvers) schedule(dynamic) reduction(min : worst)
    for (size_t g = 0; g < x->batch.groups; g++) {
        int thread = omp_get_thread_num();
        int status = solve_group(x, g, thread, &all[thread], info);
        worst = status < worst ? status : worst;
    }
    if (worst == SUBMOD_ENONFINITE) {
        return submodi_batch_bad_score(&x->batch);
    }
    if (worst == SUBMOD_ENUMERIC) {
        return submodi_fail(SUBMOD_ENUMERIC,
                            "%s: the prox of these scores with lambda = %g overflows", x->batch.who,
                            x->lambda);
    }
    if (worst == SUBMOD_ECALLBACK) {
        return submodi_fail(SUBMOD_ECALLBACK, "%s: the measure gave NaN or Inf; it must be finite",
                            x->batch.who);
    }
    return worst == SUBMOD_OK ? SUBMOD_OK : submodi_nomem(x->batch.who);
}

/* Stores a row; if not `store`, only checks that its numbers do not overflow. */
static bool put(const submod_gradient *to, size_t image, size_t first, size_t n, const float *row,
                bool store)
{
    if (!store) {
        return submodi_row_fits(to, image, 0, first, n, row);
    }
    submodi_store_row(to, image, 0, first, n, row);
    return true;
}

static bool put_image(const layer *x, size_t image, float *row, const submod_gradient *prox,
                      const submod_gradient *gradient, bool store)
{
    size_t n = x->batch.scores.pixels;
    bool good = true;
    size_t tile = x->batch.tile;
    for (size_t first = 0; first < n; first += tile) {
        size_t count = n - first < tile ? n - first : tile;
        const double *d = x->derivative + image * n + first;
        if (prox) {
            const float *score = submodi_row(&x->batch.scores, image, 0, first, count, row);
            for (size_t i = 0; i < count; i++) {
                row[i] = (float)((double)score[i] - d[i] / x->lambda);
            }
            good = put(prox, image, first, count, row, store) && good;
        }
        if (gradient) {
            for (size_t i = 0; i < count; i++) {
                row[i] = (float)(d[i] / (double)x->batch.groups);
            }
            good = put(gradient, image, first, count, row, store) && good;
        }
    }
    return good;
}

static submod_status put_all(const layer *x, const submod_gradient *prox,
                             const submod_gradient *gradient, bool store)
{
    float *row = x->batch.memory[0].v;
    bool good = true;
    for (size_t b = 0; b < x->batch.scores.batch; b++) {
        good = put_image(x, b, row, prox, gradient, store) && good;
    }
    return good ? SUBMOD_OK
                : submodi_fail(SUBMOD_ENUMERIC,
                               "%s: an output, scaled or added to what is there, "
                               "overflows a float",
                               x->batch.who);
}

static submod_status open_layer(layer *x, const submod_gradient *prox,
                                const submod_gradient *gradient, submod_work *w)
{
    submodi_batch *batch = &x->batch;
    submod_status status = submodi_batch_prepare(batch, gradient, w);
    status = status ? status : submodi_require_gradient(batch->who, prox, &batch->scores);
    if (status != SUBMOD_OK) {
        return status;
    }
    x->pixels = batch->images_per_group * batch->scores.pixels;
    x->derivative =
        submodi_take(w, batch->scores.batch * batch->scores.pixels, sizeof *x->derivative);
    return x->derivative ? SUBMOD_OK : submodi_nomem(batch->who);
}

static submod_status start_layer(layer *x, const char *who, const submod_scores *scores,
                                 const submod_labels *labels, double lambda,
                                 const submod_loss_settings *settings)
{
    submod_loss_settings per_image = submod_loss_defaults();
    per_image.per_image = 1;
    *x = (layer){.lambda = lambda};
    submod_status status = submodi_require_positive(who, "lambda", lambda);
    if (status == SUBMOD_OK) {
        status = submodi_batch_start(&x->batch, who, SUBMODI_HINGE_PROX, scores, labels,
                                     settings ? settings : &per_image);
    }
    if (status == SUBMOD_OK && x->batch.given.pixel_weights) {
        status = submodi_fail(SUBMOD_EUNSUPPORTED,
                              "%s: pixel_weights must be NULL: the prox in the plain norm has no "
                              "fast way then; take submod_lovasz_hinge and its gradient, or "
                              "submod_prox_two_counts_points in the norm of the weights",
                              who);
    }
    return status
               ? status
               : submodi_read_measure(who, "settings.measure", x->batch.given.measure, &x->measure);
}

/* Checks that everything fits before it writes anything. */
static submod_status run(layer *x, const submod_gradient *prox, const submod_gradient *gradient,
                         submod_prox_info *info, submod_work *w)
{
    submod_status status = open_layer(x, prox, gradient, w);
    status = status ? status : solve_groups(x, info, w);
    status = status ? status : put_all(x, prox, gradient, false);
    return status ? status : put_all(x, prox, gradient, true);
}

submod_status submod_prox_lovasz_hinge(const submod_scores *scores, const submod_labels *labels,
                                       double lambda, const submod_gradient *prox,
                                       const submod_gradient *gradient,
                                       const submod_loss_settings *settings, submod_prox_info *info,
                                       submod_work *work)
{
    layer x;
    submod_status status =
        start_layer(&x, "submod_prox_lovasz_hinge", scores, labels, lambda, settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_prox_info found = {.method = method_of(&x)};
    status = run(&x, prox, gradient, &found, w);
    submodi_scope_close(&scope);
    if (status == SUBMOD_OK && info) {
        *info = found;
    }
    return status;
}
