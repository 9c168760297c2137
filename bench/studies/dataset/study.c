/* Image-, batch- and dataset-mIoU (paper, Sec. 3.1 and 4.3). One linear model, one set of images,
 * seven ways to train, each with its best step size of the same grid, judged by validation images.
 * The last way is not the paper's: the surrogate of the dataset's Jaccard loss itself.
 */
#include "dataset/train.h"

#include <math.h>
#include <stdlib.h>

#include "common/paired.h"
#include "common/summary.h"

static const double etas[] = {0.03, 0.1, 0.3};
enum { ETAS = sizeof etas / sizeof etas[0], MOST_SEEDS = 8 };

typedef struct results {
    size_t seeds, iterations, images;
    size_t best[SET_METHODS];                       /* step size */
    set_score (*of)[SET_METHODS][ETAS][SET_CHECKS]; /* per seed: of the test images */
    set_score (*validation)[SET_METHODS][ETAS];     /* per seed: at the end */
} results;

/* One draw of images, all methods and step sizes; several at a time where there are cores. */
static bool run_draw(const study_options *options, const results *r, size_t k)
{
    image_sets sets;
    uint64_t seed = options->seed + k;
    if (!image_sets_make(seed, r->images, &sets)) {
        return false;
    }
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : failed)
    for (int run = 0; run < SET_METHODS * ETAS; run++) {
        int method = run / ETAS;
        int eta = run % ETAS;
        failed += !set_train(&sets, (set_method)method, etas[eta], r->iterations, seed,
                             r->of[k][method][eta], &r->validation[k][method][eta]);
    }
    image_sets_free(&sets);
    return failed == 0;
}

/* Chooses the step size with the best mean dataset-mIoU of the validation images over the draws;
 * for the loss per image, which has another aim, the best image-mIoU. */
static void choose_steps(results *r)
{
    for (size_t m = 0; m < SET_METHODS; m++) {
        double best = -1;
        for (size_t e = 0; e < ETAS; e++) {
            double sum = 0;
            for (size_t k = 0; k < r->seeds; k++) {
                const set_score *last = &r->validation[k][m][e];
                sum += m == SET_IMAGE ? last->image : last->dataset;
            }
            if (sum > best) {
                best = sum;
                r->best[m] = e;
            }
        }
    }
}

static const set_score *score_at(const results *r, size_t seed, size_t method, size_t check)
{
    return &r->of[seed][method][r->best[method]][check];
}

/* ---- output ---- */
static summary over_seeds(const results *r, size_t method, size_t check, size_t which)
{
    const set_score *score = score_at(r, 0, method, check);
    const double *first = which == 0 ? &score->image : which == 1 ? &score->batch : &score->dataset;
    return summary_of(first, r->seeds, sizeof *r->of / sizeof(double));
}

static bool write_curves(const study_options *options, const results *r)
{
    FILE *file = study_open(options, "curves.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "method,name,iteration,image-mIoU,s.d.,batch-mIoU,s.d.,dataset-mIoU,s.d.\n");
    for (size_t m = 0; m < SET_METHODS; m++) {
        for (size_t c = 0; c < SET_CHECKS; c++) {
            fprintf(file, "%zu,%s,%zu", m + 1, set_method_names[m],
                    set_check_time(r->iterations, c));
            for (size_t which = 0; which < 3; which++) {
                summary s = over_seeds(r, m, c, which);
                fprintf(file, ",%.5f,%.5f", s.mean, s.sd);
            }
            fprintf(file, "\n");
        }
    }
    return study_close(file);
}

static bool write_table(const study_options *options, const results *r)
{
    FILE *file = study_open(options, "table.csv");
    if (!file) {
        return false;
    }
    printf("  %-26s step    image-mIoU      batch-mIoU      dataset-mIoU    (%%, mean ± s.d.)\n",
           "trained with");
    fprintf(file, "trained with,step,image-mIoU %%,s.d.,batch-mIoU %%,s.d.,dataset-mIoU %%,s.d.\n");
    for (size_t m = 0; m < SET_METHODS; m++) {
        int width = m >= SET_IMAGE ? 27 : 26; /* á is two bytes */
        printf("  %-*s %-5g", width, set_method_names[m], etas[r->best[m]]);
        fprintf(file, "%s,%g", set_method_names[m], etas[r->best[m]]);
        for (size_t which = 0; which < 3; which++) {
            summary s = over_seeds(r, m, SET_CHECKS - 1, which);
            printf("   %5.2f ± %-5.2f", 100 * s.mean, 100 * s.sd);
            fprintf(file, ",%.2f,%.2f", 100 * s.mean, 100 * s.sd);
        }
        printf("\n");
        fprintf(file, "\n");
    }
    return study_close(file);
}

/* ---- the claims ---- */

/* The dataset-mIoU of one method minus that of another, in points, seed by seed. */
static paired advantage(const results *r, set_method a, set_method b)
{
    double difference[MOST_SEEDS];
    for (size_t k = 0; k < r->seeds; k++) {
        difference[k] = 100 * (score_at(r, k, a, SET_CHECKS - 1)->dataset -
                               score_at(r, k, b, SET_CHECKS - 1)->dataset);
    }
    return paired_of(difference, r->seeds);
}

static void compare(study_claims *claims, const results *r, const char *text, set_method a,
                    set_method b)
{
    char measured[160];
    paired d = advantage(r, a, b);
    snprintf(measured, sizeof measured,
             "dataset-mIoU %+.2f points, 95 %% interval [%+.2f, %+.2f] over %zu seeds", d.mean,
             d.low, d.high, r->seeds);
    study_judge(claims, text, measured, paired_above(d, 0));
}

/* Claims that the difference is less than one point, whatever its sign. */
static void compare_close(study_claims *claims, const results *r, const char *text, set_method a,
                          set_method b)
{
    char measured[160];
    paired d = advantage(r, a, b);
    study_verdict above = paired_above(d, -1), below = paired_below(d, 1);
    snprintf(measured, sizeof measured,
             "dataset-mIoU %+.2f points, 95 %% interval [%+.2f, %+.2f] over %zu seeds", d.mean,
             d.low, d.high, r->seeds);
    study_judge(claims, text, measured, above > below ? above : below);
}

/* Correlation of the dataset-mIoU with another one, `which` of set_score, during one training. */
static double correlation(const results *r, size_t seed, size_t method, size_t which)
{
    double x[SET_CHECKS], y[SET_CHECKS], product = 0;
    for (size_t c = 0; c < SET_CHECKS; c++) {
        const set_score *s = score_at(r, seed, method, c);
        x[c] = which == 0 ? s->image : s->batch;
        y[c] = s->dataset;
    }
    summary sx = summary_of(x, SET_CHECKS, 1), sy = summary_of(y, SET_CHECKS, 1);
    for (size_t c = 0; c < SET_CHECKS; c++) {
        product += (x[c] - sx.mean) * (y[c] - sy.mean);
    }
    double spread = sx.sd * sy.sd * (SET_CHECKS - 1);
    return spread > 0 ? product / spread : 0;
}

/* The least and the largest correlation over the seeds. */
static void correlations(const results *r, size_t method, size_t which, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t k = 0; k < r->seeds; k++) {
        double c = correlation(r, k, method, which);
        *least = fmin(*least, c);
        *most = fmax(*most, c);
    }
}

static void judge_correlations(study_claims *claims, const results *r)
{
    char text[160];
    double least, most;
    correlations(r, SET_BATCH_PRESENT, 1, &least, &most);
    snprintf(text, sizeof text, "correlation %.2f to %.2f over %zu seeds (follows: > 0.9)", least,
             most, r->seeds);
    study_judge(claims, "paper: batch-mIoU follows dataset-mIoU while the batch loss is trained",
                text, paired_above((paired){.low = least, .high = most}, 0.9));
    correlations(r, SET_IMAGE, 0, &least, &most);
    snprintf(text, sizeof text, "correlation %.2f to %.2f over %zu seeds (does not: < 0.5)", least,
             most, r->seeds);
    study_judge(claims, "paper: image-mIoU does not while the loss per image is trained", text,
                paired_below((paired){.low = least, .high = most}, 0.5));
}

static bool judge(const study_options *options, const results *r)
{
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    compare(&claims, r, "paper: the loss over present classes beats cross-entropy",
            SET_BATCH_PRESENT, SET_CROSS_ENTROPY);
    compare(&claims, r,
            "paper: the loss per image degrades dataset-mIoU (cross-entropy's less its own)",
            SET_CROSS_ENTROPY, SET_IMAGE);
    compare(&claims, r, "paper: so does the loss over all classes of the batch (likewise)",
            SET_CROSS_ENTROPY, SET_BATCH_ALL);
    compare(&claims, r, "paper: equibatch helps cross-entropy", SET_CROSS_ENTROPY_EQUI,
            SET_CROSS_ENTROPY);
    compare_close(&claims, r,
                  "paper: to the Lovász loss equibatch makes little difference (below 1 point)",
                  SET_BATCH_PRESENT_EQUI, SET_BATCH_PRESENT);
    judge_correlations(&claims, r);
    compare(&claims, r, "ours: the surrogate of the dataset beats the paper's heuristic",
            SET_DATASET, SET_BATCH_PRESENT);
    return study_claims_close(&claims);
}

static bool publish(const study_options *options, const results *r)
{
    study_values values = {0};
    study_set(&values, "side", "%d", SET_SIDE);
    study_set(&values, "objects", "%d", SET_CLASSES - 1);
    study_set(&values, "features", "%d", SET_FEATURES);
    study_set(&values, "images", "%zu", r->images);
    study_set(&values, "batch", "%d", SET_BATCH);
    study_set(&values, "power", "%g", set_power);
    study_set(&values, "steps", "%d", ETAS);
    study_set(&values, "seeds", "%zu", r->seeds);
    study_set(&values, "iterations", "%zu", r->iterations);
    return study_publish(options, &values);
}

bool study_dataset(const study_options *options)
{
    results r = {.seeds = options->quick ? 2 : MOST_SEEDS,
                 .iterations = options->quick ? 8 : 400,
                 .images = options->quick ? 16 : 200};
    r.of = calloc(r.seeds, sizeof *r.of);
    r.validation = calloc(r.seeds, sizeof *r.validation);
    bool good = study_got(r.of && r.validation);
    for (size_t k = 0; k < r.seeds && good; k++) {
        study_progress(options, k, r.seeds);
        good = run_draw(options, &r, k);
    }
    study_progress(options, 1, 1);
    if (good) {
        choose_steps(&r);
    }
    good = good && write_curves(options, &r) && write_table(options, &r) && judge(options, &r) &&
           publish(options, &r);
    free(r.of);
    free(r.validation);
    return good;
}
