/* Compares the files in parallel; each thread has counts of its own. Counts are integers, and the
 * means of the images are summed in the order of their names. So results do not depend on the
 * number of threads. Memory: two label maps per thread. */
#include "evaluate.h"

#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "datasets.h"
#include "label_png.h"

enum { WORDS = 512 };

/* What became of one pair. */
typedef struct outcome {
    bool fine;
    double miou;      /* NaN when the image is left out of the mean */
    const char *path; /* the file at fault; words: what is wrong with it */
    char words[WORDS];
} outcome;

/* Counts of one thread. */
typedef struct worker {
    submod_confusion *image, *sum;
} worker;

static bool blame(outcome *out, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool blame(outcome *out, const char *path, const char *format, ...)
{
    va_list args;
    out->path = path;
    va_start(args, format);
    vsnprintf(out->words, sizeof out->words, format, args);
    va_end(args);
    return false;
}

/* ---- labels ---- */

static int32_t label_at(const label_image *image, size_t i)
{
    return image->wide ? ((const int32_t *)image->pixels)[i] : ((const uint8_t *)image->pixels)[i];
}

static void set_label(label_image *image, size_t i, int32_t label)
{
    if (image->wide) {
        ((int32_t *)image->pixels)[i] = label;
    } else {
        ((uint8_t *)image->pixels)[i] = (uint8_t)label;
    }
}

static bool blame_label(outcome *out, const char *path, const label_image *image, size_t i,
                        size_t classes)
{
    return blame(out, path, "label %d at column %zu, row %zu must be in [0, %zu)",
                 (int)label_at(image, i), i % image->width, i / image->width, classes);
}

/* Maps label ids, or train ids, to train ids; ids that are not evaluated become `not_evaluated`. */
static bool map_cityscapes(outcome *out, const char *path, label_image *image, bool train_ids,
                           int32_t not_evaluated)
{
    int32_t known = train_ids ? CITYSCAPES_CLASSES : CITYSCAPES_IDS;
    for (size_t i = 0; i < image->width * image->height; i++) {
        int32_t label = label_at(image, i);
        if (label >= known && !(train_ids && label == VOID_LABEL)) {
            return blame_label(out, path, image, i, (size_t)known);
        }
        if (!train_ids) {
            label = cityscapes_train_id[label];
        }
        set_label(image, i, label == VOID_LABEL ? not_evaluated : label);
    }
    return true;
}

/* Names the label that the library refused. */
static bool blame_range(const options *o, const pair *files, const label_image *prediction,
                        const label_image *truth, outcome *out)
{
    int32_t classes = (int32_t)o->counted_classes;
    for (size_t i = 0; i < truth->width * truth->height; i++) {
        int32_t t = label_at(truth, i);
        if (o->metric.has_ignore && t == o->metric.ignore_index) {
            continue;
        }
        if (t >= classes) {
            return blame_label(out, files->truth, truth, i, o->classes);
        }
        if (label_at(prediction, i) >= classes) {
            return blame_label(out, files->prediction, prediction, i, o->classes);
        }
    }
    return blame(out, files->truth, "%s", submod_last_error());
}

/* ---- one pair ---- */

static bool count(const options *o, const pair *files, label_image *prediction, label_image *truth,
                  const worker *w, outcome *out)
{
    if (prediction->width != truth->width || prediction->height != truth->height) {
        return blame(out, files->prediction, "%zu x %zu pixels, but the ground truth has %zu x %zu",
                     prediction->width, prediction->height, truth->width, truth->height);
    }
    if (o->cityscapes &&
        (!map_cityscapes(out, files->truth, truth, false, VOID_LABEL) ||
         !map_cityscapes(out, files->prediction, prediction, o->train_ids, CITYSCAPES_CLASSES))) {
        return false;
    }
    submod_labels p = label_image_view(prediction);
    submod_labels t = label_image_view(truth);
    submod_metrics metrics;
    submod_confusion_reset(w->image);
    submod_status status = submod_confusion_add(w->image, &p, &t);
    if (status == SUBMOD_EINVAL) {
        return blame_range(o, files, prediction, truth, out);
    }
    status = status ? status
                    : submod_confusion_metrics(w->image, NULL, NULL, NULL, &metrics, &o->metric);
    status = status ? status : submod_confusion_merge(w->sum, w->image);
    if (status != SUBMOD_OK) {
        return blame(out, files->truth, "%s", submod_last_error());
    }
    out->miou = metrics.mean_iou;
    return true;
}

static void evaluate_pair(const options *o, const pair *files, const worker *w, outcome *out)
{
    label_image prediction;
    label_image truth = {.pixels = NULL};
    out->path = files->prediction;
    out->fine = label_image_read(files->prediction, &prediction, out->words, sizeof out->words);
    if (out->fine) {
        out->path = files->truth;
        out->fine = label_image_read(files->truth, &truth, out->words, sizeof out->words);
    }
    out->fine = out->fine && count(o, files, &prediction, &truth, w, out);
    label_image_free(&prediction);
    label_image_free(&truth);
}

/* ---- progress ---- */

/* Draws the bar again in the same line of the terminal. */
static void show_progress(size_t done, size_t of)
{
    enum { WIDTH = 40 };
    char bar[WIDTH + 1];
    for (size_t i = 0; i < WIDTH; i++) {
        bar[i] = i < done * WIDTH / of ? '#' : '.';
    }
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %zu / %zu", bar, done, of);
}

static void hide_progress(void)
{
    fprintf(stderr, "\r%70s\r", "");
}

/* ---- all pairs ---- */

static bool workers_create(const options *o, worker *workers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (submod_confusion_create(o->counted_classes, &workers[i].image, &o->metric) ||
            submod_confusion_create(o->counted_classes, &workers[i].sum, &o->metric)) {
            return false;
        }
    }
    return true;
}

static void workers_free(worker *workers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        submod_confusion_free(workers[i].image);
        submod_confusion_free(workers[i].sum);
    }
    free(workers);
}

static void run(const options *o, const pair_list *pairs, const worker *workers, int threads,
                outcome *outcomes)
{
    bool progress = !o->quiet && isatty(STDERR_FILENO);
    size_t done = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < pairs->count; i++) {
        evaluate_pair(o, &pairs->items[i], &workers[omp_get_thread_num()], &outcomes[i]);
        if (progress) {
#pragma omp critical
            show_progress(++done, pairs->count);
        }
    }
    if (progress && pairs->count) {
        hide_progress();
    }
}

static void collect(const outcome *outcomes, size_t n, evaluation *e, string_list *problems)
{
    double sum = 0;
    size_t averaged = 0;
    for (size_t i = 0; i < n; i++) {
        if (!outcomes[i].fine) {
            list_addf(problems, "%s: %s", outcomes[i].path, outcomes[i].words);
            continue;
        }
        e->images++;
        if (!isnan(outcomes[i].miou)) {
            sum += outcomes[i].miou;
            averaged++;
        }
    }
    e->image_miou = averaged ? sum / (double)averaged : NAN;
}

bool evaluate(const options *o, const pair_list *pairs, evaluation *e, string_list *problems)
{
    *e = (evaluation){.image_miou = NAN};
    int threads = submod_get_num_threads();
    submod_set_num_threads(1); /* files are read in parallel already */
    worker *workers = checked_alloc(NULL, (size_t)threads, sizeof *workers);
    outcome *outcomes = checked_alloc(NULL, pairs->count, sizeof *outcomes);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){NULL, NULL};
    }
    submod_status status = submod_confusion_create(o->counted_classes, &e->counts, &o->metric);
    bool ok = status == SUBMOD_OK && workers_create(o, workers, (size_t)threads);
    if (ok) {
        run(o, pairs, workers, threads, outcomes);
        collect(outcomes, pairs->count, e, problems);
        for (int i = 0; i < threads; i++) {
            ok = ok && submod_confusion_merge(e->counts, workers[i].sum) == SUBMOD_OK;
        }
    }
    if (!ok) {
        fprintf(stderr, "submod-miou: %s\n", submod_last_error());
    }
    workers_free(workers, (size_t)threads);
    free(outcomes);
    return ok;
}

void evaluation_free(evaluation *e)
{
    submod_confusion_free(e->counts);
}
