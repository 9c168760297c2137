/* The prox of the Lovász hinge as a loss layer: scores in, prox scores and direction out.
 *
 * Margins are m = 1 - y score, y = 1 at label 1 and -1 at label 0. The loss of a group is
 * f(max(m, 0)), and |score - score'| = |m - m'|, so the prox m' is taken in m. With
 * d = lambda (m - m'), the direction is -y d and score' = score + y d / lambda. Where no two
 * margins meet or reach 0, d is the greedy vector, and the direction is the gradient. */
#include "base/internal.h"
#include "loss/tensors/rows.h"
#include "loss/tile.h"
#include "prox/points.h"
#include "submod/measure_internal.h"
#include <submod/prox.h>

typedef struct layer {
    submodi_batch batch;
    submod_measure measure;
    double lambda;
    submod_prox_settings prox;
    double deadline;
    size_t pixels; /* per group */
    /* For each pixel first y, 0 if it is ignored, later -y d. In double, because for a small lambda
     * d is below any float but d / lambda still moves the score. */
    double *derivative;
} layer;

/* Memory of one thread that solves groups. */
typedef struct memory {
    double *margin; /* of the pixels that are not ignored */
    double *d;
    submodi_counts *counts; /* of the margins read so far */
    submod_work work;       /* for the solver */
} memory;

static submod_status take_memory(const layer *x, size_t solvers, memory **all, submod_work *w)
{
    size_t n = x->pixels;
    size_t flags = (n / 32 + 1) * sizeof(uint32_t);
    size_t bytes = submodi_prox_counts_bytes(&x->measure, n, x->batch.threads);
    *all = submodi_work_alloc(w, solvers, sizeof **all);
    for (size_t t = 0; *all && t < solvers; t++) {
        memory *m = &(*all)[t];
        double **const vectors[] = {&m->margin, &m->d, NULL};
        m->counts = submodi_work_alloc(w, sizeof *m->counts + flags, 1);
        m->work = (submod_work){
            .block = submodi_work_alloc(w, bytes, 1), .capacity = bytes, .borrowed = true};
        if (!submodi_take_vectors(w, n, vectors)) {
            break;
        }
    }
    return submodi_work_status(w);
}

typedef struct reader {
    const layer *layer;
    memory *memory;
} reader;

/* Reads the margins of a group in the order of its pixels. */
static void read_margins(const void *context, const submodi_tile *tile)
{
    const layer *x = ((const reader *)context)->layer;
    memory *m = ((const reader *)context)->memory;
    double *side = x->derivative + tile->image * x->batch.scores.pixels + tile->first;
    submodi_counts *c = m->counts;
    size_t count = (size_t)(c->P + c->N);
    size_t fg = 0;
    for (size_t i = 0; i < tile->n; i++) {
        int32_t code = tile->codes[i]; /* neither 1 nor 0: an ignored pixel */
        side[i] = code == 1 ? 1 : code == 0 ? -1 : 0;
        if (side[i] != 0) {
            c->foreground[count / 32] |= (uint32_t)code << count % 32;
            fg += (size_t)code;
            m->margin[count++] = 1 - side[i] * (double)tile->v[i];
        }
    }
    c->P += (double)fg;
    c->N = (double)count - c->P;
}

static submod_status follow_algorithm2(const layer *x, const memory *m, size_t n,
                                       submod_prox_info *info)
{
    submod_fn *fn = NULL;
    uint8_t *foreground = submodi_alloc(n, sizeof *foreground);
    double *u = submodi_alloc(n, sizeof *u);
    submod_status status = foreground && u ? SUBMOD_OK : SUBMOD_ENOMEM;
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        foreground[i] = submodi_in_foreground(m->counts, (int32_t)i);
    }
    status = status ? status : submod_fn_counts(n, foreground, NULL, &x->measure, &fn);
    if (status == SUBMOD_OK) {
        const submodi_prox_problem p = {
            .fn = fn, .x = m->margin, .lambda = x->lambda, .settings = &x->prox};
        status = submodi_algorithm2(&p, x->deadline, u, m->d, info, NULL);
    }
    submod_fn_free(fn);
    submodi_free(foreground);
    submodi_free(u);
    return status;
}

/* Computes d of the margins. */
static submod_status solve_margins(const layer *x, memory *m, submod_prox_info *info)
{
    size_t n = (size_t)(m->counts->P + m->counts->N);
    if (n == 0) {
        return SUBMOD_OK;
    }
    if (submodi_is_algorithm2(x->prox.method)) {
        return follow_algorithm2(x, m, n, info);
    }
    submodi_extension f = {0};
    const submodi_prox_problem p = {
        .x = m->margin, .lambda = x->lambda, .settings = &x->prox, .extension = &f};
    TRY(submodi_prox_of_counts(m->counts, &p, NULL, m->d, info, &m->work));
    return isfinite(f.value) && isfinite(f.excess) ? SUBMOD_OK : SUBMOD_ENUMERIC;
}

/* Solves one group with the memory of this thread; no other thread reads the group. */
static submod_status solve_group(const layer *x, size_t group, int thread, memory *m,
                                 submod_prox_info *info)
{
    submodi_batch alone = x->batch;
    alone.threads = 1;
    alone.memory += thread;
    const reader reading = {x, m};
    *m->counts = (submodi_counts){.measure = x->measure};
    memset(m->counts->foreground, 0, (x->pixels / 32 + 1) * sizeof *m->counts->foreground);
    if (!submodi_visit(&alone, group * alone.images_per_group, alone.images_per_group, 1,
                       SUBMODI_LABELS | SUBMODI_SCORES, read_margins, &reading)) {
        return SUBMOD_ENONFINITE; /* the error message is written after the parallel loop */
    }
    submod_prox_info mine = {0};
    submod_status status = solve_margins(x, m, &mine);
    double *side = x->derivative + group * x->pixels;
    for (size_t i = 0, k = 0; status >= 0 && i < x->pixels; i++) {
        if (side[i] != 0) {
            side[i] *= -m->d[k++];
        }
    }
#pragma omp atomic
    info->iterations += mine.iterations;
#pragma omp atomic
    info->work += mine.work;
    return status;
}

static submod_status explain(const layer *x, submod_status status)
{
    switch (status) {
    case SUBMOD_ENONFINITE: return submodi_batch_bad_score(&x->batch);
    case SUBMOD_ENUMERIC:
        return submodi_fail(status, "the prox of these scores with lambda = %g overflows",
                            x->lambda);
    case SUBMOD_ECALLBACK:
        return submodi_fail(status, "the measure gave NaN or Inf; it must be finite");
    case SUBMOD_ENOMEM: return submodi_out_of_memory();
    default: return status;
    }
}

/* Solves many groups in parallel, one per thread, and few groups one after the other with parallel
 * sorts. Returns the smallest negative status, else the largest, so that the result does not depend
 * on the order of the threads. */
static submod_status solve_groups(layer *x, submod_prox_info *info, submod_work *w)
{
    bool side_by_side = x->batch.groups >= (size_t)x->batch.threads;
    size_t solvers = side_by_side ? (size_t)x->batch.threads : 1;
    int error = SUBMOD_OK;
    int warning = SUBMOD_OK;
    memory *all;
    TRY(take_memory(x, solvers, &all, w));
    /* clang-format off */
#pragma omp parallel for num_threads((int)solvers) schedule(dynamic) reduction(min : error) \
    reduction(max : warning)
    /* clang-format on */
    for (size_t g = 0; g < x->batch.groups; g++) {
        int thread = (int)submodi_thread_index();
        int status = solve_group(x, g, thread, &all[thread], info);
        error = status < error ? status : error;
        warning = status > warning ? status : warning;
    }
    return explain(x, (submod_status)(error ? error : warning));
}

/* Stores a row, if its numbers do not overflow. */
static bool put(const submod_gradient *to, size_t image, size_t first, size_t n, const float *row)
{
    bool good = submodi_row_fits(to, image, 0, first, n, row);
    if (good) {
        submodi_store_row(to, image, 0, first, n, row);
    }
    return good;
}

/* Rounds both outputs to float. prox may be the scores, which are read row by row. */
static bool write_image(const layer *x, size_t image, const submod_gradient *prox,
                        const submod_gradient *direction)
{
    const submodi_batch *batch = &x->batch;
    const size_t n = batch->scores.pixels;
    float *row = batch->memory[0].v;
    bool good = true;
    for (size_t first = 0, count; good && first < n; first += count) {
        const double *d = x->derivative + image * n + first;
        count = n - first < batch->tile ? n - first : batch->tile;
        if (prox) {
            const float *score = submodi_row(&batch->scores, image, 0, first, count, row);
            for (size_t i = 0; i < count; i++) {
                row[i] = (float)((double)score[i] - d[i] / x->lambda);
            }
            good = put(prox, image, first, count, row);
        }
        if (direction && good) {
            for (size_t i = 0; i < count; i++) {
                row[i] = (float)(d[i] / (double)batch->groups);
            }
            good = put(direction, image, first, count, row);
        }
    }
    return good;
}

/* ---- the layer ---- */

/* Checks the method of the prox: exact, or one of Algorithm 2. */
static submod_status choose_method(layer *x)
{
    bool jaccard = x->measure.type == SUBMOD_MEASURE_JACCARD;
    submod_prox_method exact = jaccard ? SUBMOD_PROX_JACCARD : SUBMOD_PROX_TWO_COUNTS;
    if (x->prox.method == SUBMOD_PROX_AUTO) {
        x->prox.method = exact;
    }
    return x->prox.method == exact || submodi_is_algorithm2(x->prox.method)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EUNSUPPORTED,
                              "method = %d; it must be SUBMOD_PROX_AUTO, which is exact, or an "
                              "Algorithm 2",
                              (int)x->prox.method);
}

static submod_status start_layer(layer *x, const submod_scores *scores, const submod_labels *labels,
                                 double lambda, const submod_loss_settings *settings)
{
    submod_loss_settings per_image = submod_loss_defaults();
    per_image.per_image = 1;
    TRY(submodi_check_positive("lambda", lambda));
    TRY(submodi_batch_start(&x->batch, SUBMODI_HINGE_PROX, scores, labels,
                            settings ? settings : &per_image));
    if (x->batch.given.pixel_weights) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "pixel_weights must be NULL: the prox in the plain norm has no "
                            "fast way then; take submod_lovasz_hinge and its gradient, or "
                            "submod_prox_points in the norm of the weights");
    }
    TRY(submodi_read_measure("settings.measure", x->batch.given.measure, &x->measure));
    return choose_method(x);
}

static submod_status run(layer *x, const submod_gradient *prox, const submod_gradient *direction,
                         submod_prox_info *info, submod_work *w)
{
    submodi_batch *batch = &x->batch;
    TRY(submodi_batch_prepare(batch, direction, w));
    TRY(submodi_require_gradient(prox, &batch->scores));
    size_t pixels = batch->scores.batch * batch->scores.pixels;
    x->pixels = batch->images_per_group * batch->scores.pixels;
    x->derivative = submodi_work_alloc(w, pixels, sizeof *x->derivative);
    TRY(submodi_work_status(w));
    submod_status outcome = solve_groups(x, info, w);
    for (size_t image = 0; outcome >= 0 && image < batch->scores.batch; image++) {
        if (!write_image(x, image, prox, direction)) {
            outcome = submodi_fail(SUBMOD_ENUMERIC, "an output, scaled or added to what is there, "
                                                    "overflows a float");
        }
    }
    return outcome;
}

submod_status submod_prox_hinge_layer(const submod_scores *scores, const submod_labels *labels,
                                      double lambda, const submod_gradient *prox,
                                      const submod_gradient *direction,
                                      const submod_loss_settings *settings,
                                      const submod_prox_settings *prox_settings,
                                      submod_prox_info *info, submod_work *work)
{
    static const char who[] = "submod_prox_hinge_layer";
    layer x = {.lambda = lambda, .prox = prox_settings ? *prox_settings : submod_prox_defaults()};
    x.prox.hinge = 1;
    x.prox.accuracy = 0;
    submod_status status = start_layer(&x, scores, labels, lambda, settings);
    if (status != SUBMOD_OK) {
        return submodi_return(who, status);
    }
    x.deadline = submodi_deadline(x.prox.time_limit);
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_prox_info found = {.method = x.prox.method};
    status = run(&x, prox, direction, &found, w);
    submodi_scope_close(&scope);
    if (status >= 0 && info) {
        *info = found;
    }
    return submodi_return(who, status);
}
