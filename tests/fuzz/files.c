/* Fuzzes files of counts (submod/file.h): any bytes at all; and whole files with a right checksum
 * whose numbers were changed, which a reader cannot know to be wrong but by looking at them.
 *
 * A file is refused with SUBMOD_EFILE and words, or what was read can be used, and saved again it
 * is the same file, byte by byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST_CLASSES = 4, PIXELS = 12, NUMBERS = 4096, FILE_BYTES = 1 << 16 };

/* ---- streams under one signature ---- */

typedef struct stream {
    const char *kind;
    void *(*make)(dice *d, size_t classes);
    submod_status (*save)(const void *made, const char *path);
    submod_status (*load)(const char *path, void **made);
    void (*use)(void *made, void *again);
    void (*release)(void *made);
} stream;

typedef struct batch {
    int64_t prediction[PIXELS], truth[PIXELS], ids[PIXELS];
    float scores[MOST_CLASSES * PIXELS];
    submod_labels predicted, true_ones, instances;
} batch;

static void fill(dice *d, size_t classes, batch *b)
{
    for (size_t i = 0; i < PIXELS; i++) {
        b->prediction[i] = (int64_t)dice_below(d, classes);
        b->truth[i] = (int64_t)dice_below(d, classes);
        b->ids[i] = (int64_t)dice_below(d, 5);
    }
    for (size_t i = 0; i < classes * PIXELS; i++) {
        b->scores[i] = dice_float(d, NUMBERS_ORDINARY);
    }
    b->predicted = submod_labels_i64(b->prediction, 2, PIXELS / 2);
    b->true_ones = submod_labels_i64(b->truth, 2, PIXELS / 2);
    b->instances = submod_labels_i64(b->ids, 2, PIXELS / 2);
}

static submod_metric_settings settings_of(dice *d)
{
    submod_metric_settings s = submod_metric_defaults();
    s.has_ignore = (int)dice_below(d, 2);
    s.ignore_index = (int64_t)dice_below(d, 4) - 1;
    s.absent = (submod_absent)dice_below(d, 4);
    return s;
}

#define MUST(call) FUZZ_CHECK((call) == SUBMOD_OK, "%s", #call)

static void *make_confusion(dice *d, size_t classes)
{
    submod_confusion *made = NULL;
    submod_metric_settings s = settings_of(d);
    batch b;
    fill(d, classes, &b);
    MUST(submod_confusion_create(classes, &made, &s));
    MUST(submod_confusion_add(made, &b.predicted, &b.true_ones));
    return made;
}

static void use_confusion(void *made, void *again)
{
    submod_metrics metrics;
    (void)submod_confusion_merge(made, again);
    MUST(submod_confusion_metrics(made, NULL, NULL, NULL, &metrics, NULL));
}

static void *make_miou(dice *d, size_t classes)
{
    submod_miou *made = NULL;
    submod_metric_settings s = settings_of(d);
    batch b;
    fill(d, classes, &b);
    MUST(submod_miou_create(classes, &made, &s));
    MUST(submod_miou_add(made, &b.predicted, &b.true_ones));
    return made;
}

static void use_miou(void *made, void *again)
{
    submod_miou_values values;
    (void)submod_miou_merge(made, again);
    MUST(submod_miou_get(made, &values));
}

static void *make_instances(dice *d, size_t classes)
{
    submod_instances *made = NULL;
    submod_metric_settings s = settings_of(d);
    batch b;
    fill(d, classes, &b);
    MUST(submod_instances_create(classes, 1, &made, &s));
    MUST(submod_instances_add(made, &b.predicted, &b.true_ones, &b.instances));
    return made;
}

static void use_instances(void *made, void *again)
{
    double mean;
    (void)submod_instances_merge(made, again);
    size_t classes = submod_confusion_classes(submod_instances_confusion(made));
    MUST(submod_instances_iou(made, NULL, NULL, NULL, classes, NULL, &mean));
}

static void *make_boundary(dice *d, size_t classes)
{
    submod_boundary *made = NULL;
    submod_metric_settings s = settings_of(d);
    batch b;
    fill(d, classes, &b);
    MUST(submod_boundary_create(classes, &made, &s));
    MUST(submod_boundary_add(made, &b.predicted, &b.true_ones, 2, PIXELS / 4, 1));
    return made;
}

static void use_boundary(void *made, void *again)
{
    double mean;
    (void)submod_boundary_merge(made, again);
    MUST(submod_boundary_iou(made, NULL, &mean, NULL));
}

static void *make_fine(dice *d, size_t classes)
{
    submod_fine_grained *made = NULL;
    submod_metric_settings s = settings_of(d);
    batch b;
    fill(d, classes, &b);
    MUST(submod_fine_grained_create(classes, &made, &s));
    MUST(submod_fine_grained_add(made, &b.predicted, &b.true_ones));
    return made;
}

static void use_fine(void *made, void *again)
{
    submod_fine_grained_values values;
    (void)submod_fine_grained_merge(made, again);
    MUST(submod_fine_grained_get(made, &values));
    MUST(submod_fine_grained_worst(made, 10, NULL, NULL));
}

static void *make_dataset(dice *d, size_t classes)
{
    submod_dataset *made = NULL;
    batch b;
    fill(d, classes, &b);
    submod_scores scores = submod_scores_f32(b.scores, 2, classes, PIXELS / 2);
    MUST(submod_dataset_create(classes, 0.125, &made));
    (void)submod_dataset_add(made, &scores, &b.true_ones, NULL, NULL); /* not of one class */
    return made;
}

static void use_dataset(void *made, void *again)
{
    double loss;
    (void)submod_dataset_merge(made, again); /* sums may overflow: then solving refuses them */
    (void)submod_dataset_solve(made, &loss, NULL, NULL);
}

/* The functions of a stream, with void pointers for its own. */
#define OF(name, type) \
    static submod_status save_##name(const void *made, const char *path) \
    { \
        return submod_##type##_save(made, path); \
    } \
    static submod_status load_##name(const char *path, void **made) \
    { \
        submod_##type *loaded = NULL; \
        submod_status status = submod_##type##_load(path, &loaded); \
        *made = loaded; \
        return status; \
    } \
    static void release_##name(void *made) \
    { \
        submod_##type##_free(made); \
    }
OF(confusion, confusion)
OF(miou, miou)
OF(instances, instances)
OF(boundary, boundary)
OF(fine, fine_grained)
OF(dataset, dataset)

#define ROW(kind, name) \
    { \
        kind, make_##name, save_##name, load_##name, use_##name, release_##name \
    }
static const stream streams[] = {
    ROW("confusion counts", confusion), ROW("mean IoU counts", miou),
    ROW("instance counts", instances),  ROW("boundary counts", boundary),
    ROW("fine-grained IoUs", fine),     ROW("dataset counts", dataset)};
enum { STREAMS = sizeof streams / sizeof *streams };

/* ---- what is done with a file ---- */

static size_t read_file(const char *path, uint8_t *bytes)
{
    FILE *in = fopen(path, "rb");
    FUZZ_CHECK(in, "%s is gone", path);
    size_t size = fread(bytes, 1, FILE_BYTES, in);
    (void)fclose(in);
    return size;
}

/* Loads it; if that works, saves it again, compares the files, and uses it. */
static void try_file(const stream *s, const char *path)
{
    static uint8_t first[FILE_BYTES], second[FILE_BYTES];
    char copy[300];
    void *made = NULL, *again = NULL;
    submod_status status = s->load(path, &made);
    if (status != SUBMOD_OK) {
        FUZZ_CHECK(status == SUBMOD_EFILE || status == SUBMOD_ENOMEM, "%s: status %d", s->kind,
                   (int)status);
        FUZZ_CHECK(!made && submod_last_error()[0], "%s: something was written, or no words",
                   s->kind);
        return;
    }
    snprintf(copy, sizeof copy, "%s.again", path);
    FUZZ_CHECK(s->save(made, copy) == SUBMOD_OK, "%s: loaded, but not saved", s->kind);
    size_t size = read_file(path, first);
    FUZZ_CHECK(size == read_file(copy, second) && memcmp(first, second, size) == 0,
               "%s: the file saved again is another", s->kind);
    FUZZ_CHECK(s->load(copy, &again) == SUBMOD_OK, "%s: not loaded again", s->kind);
    s->use(made, again);
    s->release(made);
    s->release(again);
}

/* Numbers of a whole file, some of them changed. */
static void fuzz_numbers(dice *d)
{
    const stream *s = &streams[dice_below(d, STREAMS)];
    char path[256], changed[300];
    uint64_t *words = NULL, values[NUMBERS];
    size_t count = 0;
    void *made = s->make(d, 1 + dice_below(d, MOST_CLASSES));
    snprintf(path, sizeof path, "%s/whole", fuzz_folder());
    snprintf(changed, sizeof changed, "%s/changed", fuzz_folder());
    FUZZ_CHECK(s->save(made, path) == SUBMOD_OK, "%s: not saved", s->kind);
    s->release(made);
    try_file(s, path);
    MUST(submod_file_load(path, s->kind, &words, &count));
    FUZZ_CHECK(count <= NUMBERS / 2, "%s: %zu numbers", s->kind, count);
    memcpy(values, words, count * sizeof *words);
    submod_file_free(words);
    for (size_t left = dice_below(d, 4); left; left--) {
        size_t at = dice_below(d, dice_below(d, 2) && count > 8 ? 8 : count);
        values[at] = dice_below(d, 2) ? dice_below(d, 256) : dice_bits(d, 8);
    }
    size_t wanted = dice_below(d, 4) ? count : dice_below(d, count + 20);
    for (; count < wanted; count++) {
        values[count] = dice_bits(d, 1);
    }
    MUST(submod_file_save(changed, s->kind, values, wanted));
    try_file(s, changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    submod_set_num_threads(1);
    if (size && bytes[0] % 4 == 0) { /* the rest is a file */
        char path[256];
        fuzz_write("any", bytes + 1, size - 1, path);
        for (size_t k = 0; k < STREAMS; k++) {
            try_file(&streams[k], path);
        }
        return 0;
    }
    dice d = dice_of(bytes, size);
    fuzz_numbers(&d);
    return 0;
}
