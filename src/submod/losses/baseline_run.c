/* The two passes of every baseline (see baseline_run.h). Sums are made in a fixed number of parts
 * that are added in order: the same bits for any number of threads. */
#include "submod/losses/baseline_run.h"

#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

/* Partial sums per batch: enough for all threads to have work, few enough to be nothing. */
enum { PARTS = 256 };

static size_t sums_of(const submodi_baseline_run *x)
{
    return x->batch.scores.classes * x->kind->sums;
}

/* Part k of a group: its share of the tiles. False when some score is bad. */
static bool add_part(const submodi_baseline_run *x, size_t group, size_t k,
                     const submodi_tile_memory *memory)
{
    const submodi_batch *batch = &x->batch;
    size_t tiles = batch->images_per_group * batch->tiles_per_image;
    double *sum = x->sum + (group * x->parts + k) * sums_of(x);
    memset(sum, 0, sums_of(x) * sizeof *sum);
    for (size_t t = k * tiles / x->parts; t < (k + 1) * tiles / x->parts; t++) {
        submodi_tile tile;
        if (!submodi_tile_load(batch, group * batch->images_per_group + t / batch->tiles_per_image,
                               t % batch->tiles_per_image, memory, &tile)) {
            return false;
        }
        x->kind->add(x, &tile, sum);
    }
    return true;
}

static bool add_up(const submodi_baseline_run *x)
{
    int bad = 0;
#pragma omp parallel for num_threads(x->threads) reduction(| : bad)
    for (size_t k = 0; k < x->batch.groups * x->parts; k++) {
        bad |= !add_part(x, k / x->parts, k % x->parts, &x->tile[omp_get_thread_num()]);
    }
    return !bad;
}

static double solve_group(const submodi_baseline_run *x, size_t group)
{
    double *sum = x->sum + group * x->parts * sums_of(x);
    for (size_t k = 1; k < x->parts; k++) {
        for (size_t i = 0; i < sums_of(x); i++) {
            sum[i] += sum[k * sums_of(x) + i];
        }
    }
    return x->kind->solve(x, group, sum);
}

static void write_gradient(const submodi_baseline_run *x, const submod_gradient *gradient)
{
    const submodi_batch *batch = &x->batch;
#pragma omp parallel for num_threads(x->threads)
    for (size_t t = 0; t < batch->scores.batch * batch->tiles_per_image; t++) {
        submodi_tile tile;
        submodi_tile_load(batch, t / batch->tiles_per_image, t % batch->tiles_per_image,
                          &x->tile[omp_get_thread_num()], &tile);
        x->kind->derive(x, &tile);
        submodi_tile_store(batch, &tile, gradient);
    }
}

static bool take_memory(submodi_baseline_run *x, submod_work *work)
{
    const submodi_batch *batch = &x->batch;
    size_t tiles = batch->images_per_group * batch->tiles_per_image;
    size_t wanted = batch->groups ? (PARTS + batch->groups - 1) / batch->groups : 0;
    x->parts = wanted < tiles ? wanted : tiles;
    x->sum =
        submodi_take(work, submodi_times(batch->groups, x->parts), sums_of(x) * sizeof *x->sum);
    x->slope = submodi_take(work, batch->groups, batch->scores.classes * sizeof *x->slope);
    x->tile = submodi_tiles_take(batch, x->threads, work);
    return x->sum && x->slope && x->tile;
}

static submod_status run(submodi_baseline_run *x, double *loss, const submod_gradient *gradient,
                         submod_work *work)
{
    const submod_scores *s = &x->batch.scores;
    x->threads = submodi_threads_for(s->batch * s->pixels * s->classes);
    if (!take_memory(x, work)) {
        return submodi_nomem(x->batch.who);
    }
    if (!add_up(x)) {
        return submodi_batch_bad_score(&x->batch);
    }
    double value = 0;
    for (size_t g = 0; x->parts > 0 && g < x->batch.groups; g++) {
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

/* Of the settings, what is meant for the problem that all losses share. */
static submod_loss_settings problem_settings(const submodi_baseline *kind,
                                             const submod_loss_settings *s)
{
    submod_loss_settings of_problem = submod_loss_defaults();
    of_problem.from_logits = s->from_logits;
    of_problem.per_image = s->per_image;
    of_problem.classes = SUBMOD_CLASSES_ALL;
    of_problem.has_ignore = s->has_ignore;
    of_problem.ignore_index = s->ignore_index;
    if (kind->takes_classes) {
        of_problem.classes = s->classes;
        of_problem.class_list = s->class_list;
        of_problem.class_count = s->class_count;
        of_problem.class_weight = s->class_weight;
    }
    return of_problem;
}

submod_status submodi_baseline_call(const submodi_baseline *kind, const submod_scores *scores,
                                    const submod_labels *labels, double *loss,
                                    const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work)
{
    submod_loss_settings s;
    submod_status status = submodi_read_loss_settings(kind->who, settings, &s);
    if (status != SUBMOD_OK) {
        return status;
    }
    const submod_loss_settings of_problem = problem_settings(kind, &s);
    submodi_baseline_run x = {.kind = kind, .settings = &s, .gradient = gradient};
    status = submodi_batch_start(&x.batch, kind->who, scores, labels, kind->of_logits, kind->binary,
                                 &of_problem);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(kind->who, gradient, scores);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submodi_batch_prepare(&x.batch, w);
    if (status == SUBMOD_OK && kind->prepare) {
        status = kind->prepare(&x);
    }
    if (status == SUBMOD_OK) {
        status = run(&x, loss, gradient, w);
    }
    submodi_scope_close(&scope);
    return status;
}
