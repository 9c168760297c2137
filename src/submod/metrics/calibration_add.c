/* How a batch of scores is counted in bins of confidence: each pixel becomes probabilities, by a
 * softmax if it has to, and these are counted, the highest one twice. Each thread has bins of its
 * own. O(pixels C). The first pixel that cannot be counted is searched for by all threads, each in
 * its part, so that it is the same for any number of them.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "submod/metrics/calibration.h"
#include "submod/tensors/rows.h"

enum { TILE = 64 };

/* ---- one pixel ---- */

/* The scores of a pixel, p[0 .. C-1], as probabilities of single precision. False if there are
 * none. */
static bool to_probabilities(const submod_calibration *s, double *p)
{
    size_t C = submodi_calibration_classes(s);
    double highest = -INFINITY;
    bool fine = true;
    for (size_t c = 0; c < C; c++) {
        fine &= s->from_logits ? p[c] < INFINITY : p[c] >= 0 && p[c] <= 1;
        highest = p[c] > highest ? p[c] : highest;
    }
    if (!s->from_logits || !fine || highest == -INFINITY) {
        return fine && !s->from_logits;
    }
    double sum = 0;
    for (size_t c = 0; c < C; c++) {
        p[c] = exp(p[c] - highest);
        sum += p[c];
    }
    for (size_t c = 0; c < C; c++) {
        p[c] = (double)(float)(p[c] / sum);
    }
    return true;
}

static void count_one(const submod_calibration *s, submodi_bin *row, double p, bool right)
{
    submodi_bin *b = row + (size_t)(p * (double)s->bins);
    b->count++;
    b->right += right;
    submodi_fraction_add(&b->confidence, submodi_fraction_of(p));
}

static void count_pixel(const submod_calibration *s, const double *p, size_t truth,
                        submodi_bin *rows)
{
    size_t C = submodi_calibration_classes(s);
    size_t best = 0;
    for (size_t c = 0; c < C; c++) {
        best = p[c] > p[best] ? c : best;
        count_one(s, rows + (1 + c) * (s->bins + 1), p[c], c == truth);
    }
    count_one(s, rows, p[best], best == truth);
}

/* ---- a batch ---- */

typedef struct views {
    const submod_scores *scores;
    const submod_labels *truth;
} views;

/* Memory of one thread. */
typedef struct place {
    submodi_bin *rows;
    float *scores; /* C x TILE */
    double *pixel; /* C */
    size_t bad;    /* the first pixel of the batch that cannot be counted; SIZE_MAX */
} place;

/* Pixels first .. first+n-1 of image b. False: the one at place->bad cannot be counted. */
static bool count_tile(const submod_calibration *s, const views *v, size_t b, size_t first,
                       size_t n, place *at)
{
    int32_t truth[TILE];
    submodi_labels_read(v->truth, b, first, n, &s->rule, truth);
    submodi_rows_read(v->scores, b, first, n, n, TILE, at->scores);
    for (size_t i = 0; i < n; i++) {
        if (truth[i] == s->rule.classes) {
            continue;
        }
        for (size_t c = 0; c < submodi_calibration_classes(s); c++) {
            at->pixel[c] = (double)at->scores[c * TILE + i];
        }
        if (truth[i] > s->rule.classes || !to_probabilities(s, at->pixel)) {
            at->bad = b * v->truth->pixels + first + i;
            return false;
        }
        count_pixel(s, at->pixel, (size_t)truth[i], at->rows);
    }
    return true;
}

/* Pixels begin .. end-1 of all the images laid end to end. */
static void count_part(const submod_calibration *s, const views *v, size_t begin, size_t end,
                       place *at)
{
    size_t per_image = v->truth->pixels;
    bool fine = true;
    while (fine && begin < end) {
        size_t pixel = begin % per_image;
        size_t n = per_image - pixel < TILE ? per_image - pixel : TILE;
        n = n < end - begin ? n : end - begin;
        fine = count_tile(s, v, begin / per_image, pixel, n, at);
        begin += n;
    }
}

/* What is wrong with this pixel of the batch. */
static submod_status name_bad(const char *who, const submod_calibration *s, const views *v,
                              size_t bad)
{
    size_t b = bad / v->truth->pixels;
    size_t i = bad % v->truth->pixels;
    int32_t truth;
    submodi_labels_read(v->truth, b, i, 1, &s->rule, &truth);
    if (truth > s->rule.classes) {
        return submodi_fail(SUBMOD_EINVAL, "%s: truth[%zu][%zu] = %lld is not in [0, %d)", who, b,
                            i, (long long)submodi_label(v->truth, b, i), (int)s->rule.classes);
    }
    for (size_t c = 0; c < submodi_calibration_classes(s); c++) {
        float x;
        submodi_row_read(v->scores, b, c, i, 1, 1, &x);
        if (s->from_logits ? !(x < INFINITY) : !isfinite(x)) {
            return submodi_fail(SUBMOD_ENONFINITE, "%s: scores[%zu][%zu][%zu] = %g must be finite",
                                who, b, c, i, (double)x);
        }
        if (!s->from_logits && !(x >= 0 && x <= 1)) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s: scores[%zu][%zu][%zu] = %g must be in [0, 1] as a probability",
                                who, b, c, i, (double)x);
        }
    }
    return submodi_fail(SUBMOD_ENONFINITE,
                        "%s: scores[%zu][..][%zu] are all -Inf; one must be finite", who, b, i);
}

/* Fills places[0].rows with all counts. Returns the first pixel that cannot be counted. */
static size_t count_all(const submod_calibration *s, const views *v, place *places, size_t threads)
{
    size_t pixels = v->truth->batch * v->truth->pixels;
#pragma omp parallel num_threads((int)threads)
    {
        size_t t = (size_t)omp_get_thread_num();
        size_t of = (size_t)omp_get_num_threads();
        size_t share = pixels / of;
        size_t rest = pixels % of;
        size_t begin = share * t + (t < rest ? t : rest);
        count_part(s, v, begin, begin + share + (t < rest), &places[t]);
    }
    size_t bad = SIZE_MAX;
    for (size_t t = threads; t-- > 0;) { /* thread 0 has the first pixels */
        bad = places[t].bad < bad ? places[t].bad : bad;
        if (t) {
            submodi_bins_add(places[0].rows, places[t].rows, submodi_calibration_cells(s));
        }
    }
    return bad;
}

static place *make_places(const submod_calibration *s, submod_work *w, size_t threads)
{
    size_t cells = submodi_calibration_cells(s);
    size_t C = submodi_calibration_classes(s);
    place *places = submodi_take(w, threads, sizeof *places);
    for (size_t t = 0; places && t < threads; t++) {
        places[t] = (place){.rows = submodi_take(w, cells, sizeof(submodi_bin)),
                            .scores = submodi_take(w, submodi_times(C, TILE), sizeof(float)),
                            .pixel = submodi_take(w, C, sizeof(double)),
                            .bad = SIZE_MAX};
        if (!places[t].rows || !places[t].scores || !places[t].pixel) {
            return NULL;
        }
        memset(places[t].rows, 0, cells * sizeof(submodi_bin));
    }
    return places;
}

/* ---- checks ---- */

static submod_status require_scores(const char *who, const submod_scores *s)
{
    if (!s) {
        return submodi_fail(SUBMOD_EINVAL, "%s: scores is NULL", who);
    }
    if (s->type != SUBMOD_SCORE_F32 && s->type != SUBMOD_SCORE_F16 &&
        s->type != SUBMOD_SCORE_BF16) {
        return submodi_fail(SUBMOD_EINVAL, "%s: scores.type = %d is unknown; see submod_score_type",
                            who, (int)s->type);
    }
    if (!s->data && s->batch && s->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: scores.data is NULL", who);
    }
    size_t size = s->type == SUBMOD_SCORE_F32 ? sizeof(float) : sizeof(uint16_t);
    if (!submodi_reachable((size_t[]){s->batch, s->classes, s->pixels},
                           (ptrdiff_t[]){s->batch_stride, s->class_stride, s->pixel_stride},
                           size)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the strides of scores reach beyond all memory",
                            who);
    }
    return SUBMOD_OK;
}

static submod_status require_shapes(const char *who, const submod_calibration *s,
                                    const submod_scores *scores, const submod_labels *truth)
{
    if (scores->classes == submodi_calibration_classes(s) && scores->batch == truth->batch &&
        scores->pixels == truth->pixels) {
        return SUBMOD_OK;
    }
    return submodi_fail(SUBMOD_EINVAL,
                        "%s: scores must have %d classes and the shape of truth, %zu images of %zu "
                        "pixels, but have %zu classes, %zu images of %zu pixels",
                        who, (int)s->rule.classes, truth->batch, truth->pixels, scores->classes,
                        scores->batch, scores->pixels);
}

/* ---- all of it ---- */

submod_status submod_calibration_add(submod_calibration *calibration, const submod_scores *scores,
                                     const submod_labels *truth)
{
    static const char who[] = "submod_calibration_add";
    const views v = {scores, truth};
    submod_status status = submodi_require_given(who, "calibration", calibration);
    status = status ? status : require_scores(who, scores);
    status = status ? status : submodi_labels_require(who, "truth", truth);
    status = status ? status : require_shapes(who, calibration, scores, truth);
    if (status != SUBMOD_OK || truth->batch == 0 || truth->pixels == 0) {
        return status;
    }
    if (truth->batch * truth->pixels >
        (uint64_t)(INT64_MAX - submodi_calibration_total(calibration))) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: the counts would exceed 2^63 - 1 pixels", who);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    size_t threads = (size_t)submodi_threads_for(truth->batch * truth->pixels);
    place *places = make_places(calibration, w, threads);
    size_t bad = places ? count_all(calibration, &v, places, threads) : SIZE_MAX;
    if (!places) {
        status = submodi_nomem(who);
    } else if (bad != SIZE_MAX) {
        status = name_bad(who, calibration, &v, bad);
    } else {
        submodi_bins_add(calibration->rows, places[0].rows, submodi_calibration_cells(calibration));
    }
    submodi_scope_close(&scope);
    return status;
}
