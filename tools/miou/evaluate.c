/* Compares the files in parallel; each thread has counts of its own. Counts are integers, and the
 * means of the images are summed in the order of their names. So results do not depend on the
 * number of threads. Memory: two label maps per thread, three with instances. */
#include "evaluate.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
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
    submod_confusion *image;
    streams sum;
} worker;

/* The files of one pair; instances are empty when not asked for. */
typedef struct images {
    label_image prediction, truth, instances;
} images;

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

/* Train ids become label ids, void becomes id 0. */
static bool to_label_ids(outcome *out, const char *path, label_image *image)
{
    int32_t id_of[CITYSCAPES_CLASSES] = {0};
    for (int32_t id = 0; id < CITYSCAPES_IDS; id++) {
        if (cityscapes_labels[id].train_id != VOID_LABEL) {
            id_of[cityscapes_labels[id].train_id] = id;
        }
    }
    for (size_t i = 0; i < image->width * image->height; i++) {
        int32_t label = label_at(image, i);
        if (label >= CITYSCAPES_CLASSES && label != VOID_LABEL) {
            return blame_label(out, path, image, i, CITYSCAPES_CLASSES);
        }
        set_label(image, i, label == VOID_LABEL ? 0 : id_of[label]);
    }
    return true;
}

static bool all_label_ids(outcome *out, const char *path, const label_image *image)
{
    for (size_t i = 0; i < image->width * image->height; i++) {
        if (label_at(image, i) >= CITYSCAPES_IDS) {
            return blame_label(out, path, image, i, CITYSCAPES_IDS);
        }
    }
    return true;
}

/* Label ids become train ids; those that are not evaluated become `not_evaluated`. */
static void to_train_ids(label_image *image, int32_t not_evaluated)
{
    for (size_t i = 0; i < image->width * image->height; i++) {
        int32_t train_id = cityscapes_labels[label_at(image, i)].train_id;
        set_label(image, i, train_id == VOID_LABEL ? not_evaluated : train_id);
    }
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

static bool same_size(outcome *out, const char *path, const label_image *image,
                      const label_image *truth)
{
    return (image->width == truth->width && image->height == truth->height) ||
           blame(out, path, "%zu x %zu pixels, but the ground truth has %zu x %zu", image->width,
                 image->height, truth->width, truth->height);
}

/* The iIoU of Cityscapes is about label ids, so its maps come here before they are mapped. */
static submod_status count_instances(const images *m, const streams *to)
{
    submod_labels p = label_image_view(&m->prediction);
    submod_labels t = label_image_view(&m->truth);
    submod_labels ids = label_image_view(&m->instances);
    return to->instances ? submod_instances_add(to->instances, &p, &t, &ids) : SUBMOD_OK;
}

/* The labels were found to be fine: only memory can fail. */
static submod_status count_more(const options *o, const images *m, const streams *to)
{
    submod_labels p = label_image_view(&m->prediction);
    submod_labels t = label_image_view(&m->truth);
    size_t height = m->truth.height;
    size_t width = m->truth.width;
    submod_status status = o->cityscapes ? SUBMOD_OK : count_instances(m, to);
    if (status == SUBMOD_OK && to->fine) {
        status = submod_fine_grained_add(to->fine, &p, &t);
    }
    if (status == SUBMOD_OK && to->boundary) {
        size_t distance = submod_boundary_distance(height, width, o->boundary_ratio);
        status = submod_boundary_add(to->boundary, &p, &t, height, width, distance);
    }
    return status;
}

static bool count(const options *o, const pair *files, images *m, const worker *w, outcome *out)
{
    submod_status status = SUBMOD_OK;
    submod_metrics metrics;
    if (!same_size(out, files->prediction, &m->prediction, &m->truth) ||
        (files->instances && !same_size(out, files->instances, &m->instances, &m->truth))) {
        return false;
    }
    if (o->cityscapes) {
        if ((o->train_ids && !to_label_ids(out, files->prediction, &m->prediction)) ||
            !all_label_ids(out, files->truth, &m->truth) ||
            !all_label_ids(out, files->prediction, &m->prediction)) {
            return false;
        }
        status = count_instances(m, &w->sum);
        to_train_ids(&m->truth, VOID_LABEL);
        to_train_ids(&m->prediction, CITYSCAPES_CLASSES);
    }
    submod_labels p = label_image_view(&m->prediction);
    submod_labels t = label_image_view(&m->truth);
    submod_confusion_reset(w->image);
    status = status ? status : submod_confusion_add(w->image, &p, &t);
    if (status == SUBMOD_EINVAL) {
        return blame_range(o, files, &m->prediction, &m->truth, out);
    }
    status = status ? status
                    : submod_confusion_metrics(w->image, NULL, NULL, NULL, &metrics, &o->metric);
    status = status ? status : submod_confusion_merge(w->sum.counts, w->image);
    status = status ? status : count_more(o, m, &w->sum);
    if (status != SUBMOD_OK) {
        return blame(out, files->truth, "%s", submod_last_error());
    }
    out->miou = metrics.mean_iou;
    return true;
}

static bool read_file(const char *path, label_image *image, outcome *out)
{
    out->path = path;
    return label_image_read(path, image, out->words, sizeof out->words);
}

static void evaluate_pair(const options *o, const pair *files, const worker *w, outcome *out)
{
    images m = {.truth = {.pixels = NULL}};
    out->fine = read_file(files->prediction, &m.prediction, out) &&
                read_file(files->truth, &m.truth, out) &&
                (!files->instances || read_file(files->instances, &m.instances, out)) &&
                count(o, files, &m, w, out);
    label_image_free(&m.prediction);
    label_image_free(&m.truth);
    label_image_free(&m.instances);
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
            streams_create(o, &workers[i].sum)) {
            return false;
        }
    }
    return true;
}

static void workers_free(worker *workers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        submod_confusion_free(workers[i].image);
        streams_free(&workers[i].sum);
    }
    free(workers);
}

static int thread_index(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static void run(const options *o, const pair_list *pairs, const worker *workers, int threads,
                outcome *outcomes)
{
    bool progress = !o->quiet && isatty(STDERR_FILENO);
    size_t done = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < pairs->count; i++) {
        evaluate_pair(o, &pairs->items[i], &workers[thread_index()], &outcomes[i]);
        if (progress) {
#pragma omp critical
            show_progress(++done, pairs->count);
        }
    }
    if (progress && pairs->count) {
        hide_progress();
    }
}

/* The scores of the images without a problem. */
static void collect(const pair_list *pairs, const outcome *outcomes, evaluation *e,
                    string_list *problems)
{
    e->scores = checked_alloc(NULL, pairs->count, sizeof *e->scores);
    for (size_t i = 0; i < pairs->count; i++) {
        if (outcomes[i].fine) {
            list_add(&e->names, pairs->items[i].key);
            e->scores[e->names.count - 1] = outcomes[i].miou;
        } else {
            list_addf(problems, "%s: %s", outcomes[i].path, outcomes[i].words);
        }
    }
}

double image_miou(const evaluation *e)
{
    double sum = 0;
    size_t averaged = 0;
    for (size_t i = 0; i < e->names.count; i++) {
        if (!isnan(e->scores[i])) {
            sum += e->scores[i];
            averaged++;
        }
    }
    return averaged ? sum / (double)averaged : (double)NAN;
}

bool evaluate(const options *o, const pair_list *pairs, evaluation *e, string_list *problems)
{
    *e = (evaluation){.scores = NULL};
    int threads = submod_get_num_threads();
    submod_set_num_threads(1); /* files are read in parallel already */
    worker *workers = checked_alloc(NULL, (size_t)threads, sizeof *workers);
    outcome *outcomes = checked_alloc(NULL, pairs->count, sizeof *outcomes);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){.image = NULL};
    }
    bool ok =
        streams_create(o, &e->sum) == SUBMOD_OK && workers_create(o, workers, (size_t)threads);
    if (ok) {
        run(o, pairs, workers, threads, outcomes);
        collect(pairs, outcomes, e, problems);
        for (int i = 0; i < threads; i++) {
            ok = ok && streams_merge(&e->sum, &workers[i].sum) == SUBMOD_OK;
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
    streams_free(&e->sum);
    list_free(&e->names);
    free(e->scores);
}
