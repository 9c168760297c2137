/* Confusion counts: counts[t][p] = how many pixels of truth t were predicted as p.
 *
 * One pass without branches: labels become codes (the class; or "ignored"; or "bad"), and every
 * pair of codes has a cell in a table of (C + 2)^2, one table per thread. Afterwards the cells show
 * whether there were bad pairs: then the first one is searched for, and the counts stay unchanged.
 * Neighbouring pixels mostly hit the same cell, and each increment would wait for the one before.
 * So a thread has LANES copies of a small table, and uses them in turn.
 *
 * O(pixels + threads C^2), C^2 memory per thread.
 */
#include "metrics/confusion.h"

#include <string.h>

#include "base/internal.h"

enum {
    TILE = 1024,       /* pixels coded at a time: two buffers of 4 KiB, well inside L1 */
    LANES = 4,         /* an increment in memory takes 4 to 5 cycles */
    SMALL_CLASSES = 24 /* so that LANES tables fit into L1 too: 4 * 26^2 * 8 = 22 KiB */
};

/* ---- create and free ---- */

submod_status submodi_confusion_new(size_t classes, submod_confusion **confusion,
                                    const submod_metric_settings *settings)
{
    if (classes == 0 || classes > SUBMODI_CLASSES_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "classes = %zu is not in [1, %zu]", classes,
                            SUBMODI_CLASSES_MAX);
    }
    submod_metric_settings s = settings ? *settings : submod_metric_defaults();
    submod_confusion *c = submodi_alloc(1, sizeof *c);
    int64_t *counts = submodi_alloc(submodi_times(classes, classes), sizeof *counts);
    if (!c || !counts) {
        submodi_free(c);
        submodi_free(counts);
        return submodi_out_of_memory();
    }
    c->rule = (submodi_label_rule){(int32_t)classes, s.has_ignore != 0, s.ignore_index};
    c->counts = counts;
    submod_confusion_reset(c);
    *confusion = c;
    return SUBMOD_OK;
}

submod_status submod_confusion_create(size_t classes, submod_confusion **confusion,
                                      const submod_metric_settings *settings)
{
    submod_status status = submodi_check_given("confusion", confusion);
    return submodi_return("submod_confusion_create",
                          status ? status : submodi_confusion_new(classes, confusion, settings));
}

void submod_confusion_free(submod_confusion *confusion)
{
    if (confusion) {
        submodi_free(confusion->counts);
        submodi_free(confusion);
    }
}

void submod_confusion_reset(submod_confusion *confusion)
{
    if (confusion) {
        confusion->total = 0;
        memset(confusion->counts, 0,
               submodi_confusion_cells(confusion) * sizeof *confusion->counts);
    }
}

const int64_t *submod_confusion_counts(const submod_confusion *confusion)
{
    return confusion ? confusion->counts : NULL;
}

size_t submod_confusion_classes(const submod_confusion *confusion)
{
    return confusion ? (size_t)confusion->rule.classes : 0;
}

/* ---- counting ---- */

submod_status submodi_require_pair(const submod_labels *prediction, const submod_labels *truth)
{
    submod_status status = submodi_labels_require("prediction", prediction);
    status = status ? status : submodi_labels_require("truth", truth);
    if (status == SUBMOD_OK &&
        (prediction->batch != truth->batch || prediction->pixels != truth->pixels)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "prediction and truth must have the same shape: %zu images of %zu "
                            "pixels, %zu images of %zu pixels",
                            prediction->batch, prediction->pixels, truth->batch, truth->pixels);
    }
    return status;
}

/* The input of a counting pass, and the size of its tables. */
typedef struct pass {
    const submod_labels *prediction, *truth;
    submodi_label_rule truth_rule, prediction_rule;
    size_t first;   /* image */
    size_t pixels;  /* in all images of the pass */
    size_t side;    /* C + 2 */
    size_t lanes;   /* tables per thread */
    size_t threads; /* at most */
} pass;

static void count_tile(const pass *p, size_t image, size_t begin, size_t n, int64_t *tables)
{
    int32_t truth[TILE];
    int32_t prediction[TILE];
    submodi_labels_read(p->truth, image, begin, n, &p->truth_rule, truth);
    submodi_labels_read(p->prediction, image, begin, n, &p->prediction_rule, prediction);
    size_t side = p->side;
    size_t step = p->lanes == 1 ? 0 : side * side;
    for (size_t i = 0; i < n; i++) {
        int64_t *table = tables + i % LANES * step;
        table[(size_t)truth[i] * side + (size_t)prediction[i]]++;
    }
}

/* Pixels begin .. end-1 of all the images laid end to end, in pieces that stay inside an image. */
static void count_part(const pass *p, size_t begin, size_t end, int64_t *tables)
{
    size_t per_image = p->truth->pixels;
    while (begin < end) {
        size_t pixel = begin % per_image;
        size_t n = per_image - pixel < TILE ? per_image - pixel : TILE;
        n = n < end - begin ? n : end - begin;
        count_tile(p, p->first + begin / per_image, pixel, n, tables);
        begin += n;
    }
}

/* Counts all pixels, and sums all tables of all threads into the first one. */
static void fill_tables(const pass *p, int64_t *tables)
{
    size_t cells = p->side * p->side;
    size_t of_thread = p->lanes * cells;
    memset(tables, 0, p->threads * of_thread * sizeof *tables);
#pragma omp parallel num_threads((int)p->threads)
    {
        size_t t = submodi_thread_index();
        size_t of = submodi_team_size();
        size_t share = p->pixels / of;
        size_t rest = p->pixels % of;
        size_t begin = share * t + (t < rest ? t : rest);
        count_part(p, begin, begin + share + (t < rest), tables + t * of_thread);
    }
    for (size_t k = 1; k < p->threads * p->lanes; k++) {
        for (size_t i = 0; i < cells; i++) {
            tables[i] += tables[k * cells + i];
        }
    }
}

/* Whether a pair of codes cannot be counted. */
static bool is_bad(int32_t classes, size_t truth, size_t prediction)
{
    size_t C = (size_t)classes;
    return truth == C + 1 || (truth < C && prediction > C);
}

static bool has_bad(int32_t classes, const int64_t *table)
{
    size_t side = (size_t)classes + 2;
    bool bad = false;
    for (size_t t = 0; t < side; t++) {
        for (size_t p = 0; p < side; p++) {
            bad |= table[t * side + p] && is_bad(classes, t, p);
        }
    }
    return bad;
}

/* The error message for the first pixel that cannot be counted. */
static submod_status name_bad(const pass *p)
{
    for (size_t k = 0; k < p->pixels; k++) {
        size_t b = p->first + k / p->truth->pixels;
        size_t i = k % p->truth->pixels;
        int32_t truth;
        int32_t prediction;
        submodi_labels_read(p->truth, b, i, 1, &p->truth_rule, &truth);
        submodi_labels_read(p->prediction, b, i, 1, &p->prediction_rule, &prediction);
        int32_t C = p->truth_rule.classes;
        if (is_bad(C, (size_t)truth, (size_t)prediction)) {
            bool of_truth = truth > C;
            int64_t label = submodi_label(of_truth ? p->truth : p->prediction, b, i);
            return submodi_fail(SUBMOD_EINVAL, "%s[%zu][%zu] = %lld is not in [0, %d)",
                                of_truth ? "truth" : "prediction", b, i, (long long)label, (int)C);
        }
    }
    return submodi_fail(SUBMOD_EINVAL, "the labels changed during the call");
}

static void add_table(submod_confusion *c, const int64_t *table)
{
    size_t C = (size_t)c->rule.classes;
    for (size_t t = 0; t < C; t++) {
        for (size_t p = 0; p < C; p++) {
            c->counts[t * C + p] += table[t * (C + 2) + p];
            c->total += table[t * (C + 2) + p];
        }
    }
}

submod_status submodi_confusion_count(submod_confusion *c, const submod_labels *prediction,
                                      const submod_labels *truth, size_t first, size_t images)
{
    pass p = {.prediction = prediction,
              .truth = truth,
              .truth_rule = c->rule,
              .prediction_rule = {.classes = c->rule.classes},
              .first = first,
              .pixels = images * truth->pixels,
              .side = (size_t)c->rule.classes + 2,
              .lanes = c->rule.classes <= SMALL_CLASSES ? LANES : 1};
    if ((uint64_t)p.pixels > (uint64_t)(INT64_MAX - c->total)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the counts would exceed 2^63 - 1 pixels");
    }
    p.threads = (size_t)submodi_threads_for(p.pixels);
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    size_t cells = submodi_times(p.threads * p.lanes, submodi_times(p.side, p.side));
    int64_t *tables = submodi_work_alloc(w, cells, sizeof *tables);
    submod_status status = SUBMOD_OK;
    if (!tables) {
        status = submodi_out_of_memory();
    } else {
        fill_tables(&p, tables);
        if (has_bad(c->rule.classes, tables)) {
            status = name_bad(&p);
        } else {
            add_table(c, tables);
        }
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submod_confusion_add(submod_confusion *confusion, const submod_labels *prediction,
                                   const submod_labels *truth)
{
    submod_status status = submodi_check_given("confusion", confusion);
    status = status ? status : submodi_require_pair(prediction, truth);
    return submodi_return(
        "submod_confusion_add",
        status ? status : submodi_confusion_count(confusion, prediction, truth, 0, truth->batch));
}

/* ---- adding up ---- */

static submod_status add_counts(submod_confusion *c, const int64_t *counts)
{
    size_t cells = submodi_confusion_cells(c);
    int64_t total = c->total;
    for (size_t i = 0; i < cells; i++) {
        if (counts[i] < 0) {
            return submodi_fail(SUBMOD_EINVAL, "counts[%zu] = %lld must be >= 0", i,
                                (long long)counts[i]);
        }
        if (counts[i] > INT64_MAX - total) {
            return submodi_fail(SUBMOD_EINVAL, "all counts together must be at most 2^63 - 1");
        }
        total += counts[i];
    }
    for (size_t i = 0; i < cells; i++) {
        c->counts[i] += counts[i];
    }
    c->total = total;
    return SUBMOD_OK;
}

static submod_status confusion_merge(submod_confusion *confusion, const submod_confusion *other)
{
    if (!confusion || !other) {
        return submodi_fail(SUBMOD_EINVAL, "confusion or other is NULL");
    }
    if (confusion->rule.classes != other->rule.classes) {
        return submodi_fail(SUBMOD_EINVAL, "confusion has %d classes, but other has %d",
                            (int)confusion->rule.classes, (int)other->rule.classes);
    }
    return add_counts(confusion, other->counts);
}

submod_status submod_confusion_merge(submod_confusion *confusion, const submod_confusion *other)
{
    return submodi_return("submod_confusion_merge", confusion_merge(confusion, other));
}

submod_status submod_confusion_add_counts(submod_confusion *confusion, const int64_t *counts)
{
    submod_status status = submodi_check_given("confusion", confusion);
    status = status ? status : submodi_check_given("counts", counts);
    return submodi_return("submod_confusion_add_counts",
                          status ? status : add_counts(confusion, counts));
}
