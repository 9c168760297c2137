/* The streams of metric.h and scoring.h in files (file.h). What the counts depend on comes first:
 *
 *   all           classes; 1 if a label is ignored, or 0; that label
 *   miou, fine    the convention for absent classes; for each class 1 if it is in means, or 0
 *   instances     the first id
 *
 * and then what the stream has counted: the numbers of its function ..._words. Those of a confusion
 * are its counts.
 */
#include <string.h>

#include "base/internal.h"
#include "metrics/disk.h"
#include "metrics/state.h"

static const char of_confusion[] = "confusion counts";
static const char of_miou[] = "mean IoU counts";
static const char of_instances[] = "instance counts";
static const char of_boundary[] = "boundary counts";
static const char of_fine_grained[] = "fine-grained IoUs";

enum { RULE = 3 }; /* words that all have */

/* ---- saving ---- */

/* What counts depend on. */
typedef struct settings {
    const submodi_label_rule *rule;
    bool has_own;
    uint64_t own;                       /* the stream's own, but for one per class */
    const submodi_averaging *averaging; /* may be NULL */
} settings;

static settings of_means(const submod_confusion *counts, const submodi_averaging *averaging)
{
    return (settings){&counts->rule, true, (uint64_t)averaging->absent, averaging};
}

static void write_settings(const settings *s, uint64_t *words)
{
    words[0] = (uint64_t)s->rule->classes;
    words[1] = s->rule->has_ignore;
    words[2] = (uint64_t)s->rule->ignore_index;
    words += RULE;
    if (s->has_own) {
        *words++ = s->own;
    }
    for (size_t c = 0; s->averaging && c < s->averaging->classes; c++) {
        words[c] = s->averaging->chosen[c];
    }
}

/* The settings, then the spans, n of them. */
static submod_status save(const char *path, const char *kind, const settings *s,
                          const submodi_span *spans, size_t n)
{
    size_t count = RULE + s->has_own + (s->averaging ? s->averaging->classes : 0);
    uint64_t *words = submodi_alloc(count, sizeof *words);
    if (!words) {
        return submodi_out_of_memory();
    }
    submodi_span all[1 + SUBMODI_MOST_SPANS] = {{words, count}};
    write_settings(s, words);
    memcpy(all + 1, spans, n * sizeof *spans);
    submod_status status = submodi_saved_write(path, kind, all, 1 + n);
    submodi_free(words);
    return status;
}

submod_status submod_confusion_save(const submod_confusion *confusion, const char *path)
{
    submod_status status = submodi_check_given("confusion", confusion);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_confusion_save", status);
    }
    const settings s = {.rule = &confusion->rule};
    const submodi_span span = submodi_confusion_span(confusion);
    return submodi_return("submod_confusion_save", save(path, of_confusion, &s, &span, 1));
}

submod_status submod_miou_save(const submod_miou *miou, const char *path)
{
    submod_status status = submodi_check_given("miou", miou);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_miou_save", status);
    }
    const settings s = of_means(submod_miou_confusion(miou), submodi_miou_averaging(miou));
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_miou_spans(miou, spans);
    return submodi_return("submod_miou_save", save(path, of_miou, &s, spans, n));
}

submod_status submod_instances_save(const submod_instances *instances, const char *path)
{
    submod_status status = submodi_check_given("instances", instances);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_instances_save", status);
    }
    const settings s = {.rule = &submod_instances_confusion(instances)->rule,
                        .has_own = true,
                        .own = (uint64_t)submodi_instances_first_id(instances)};
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_instances_spans(instances, spans);
    return submodi_return("submod_instances_save", save(path, of_instances, &s, spans, n));
}

submod_status submod_boundary_save(const submod_boundary *boundary, const char *path)
{
    submod_status status = submodi_check_given("boundary", boundary);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_boundary_save", status);
    }
    const settings s = {.rule = &submod_boundary_confusion(boundary)->rule};
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_boundary_spans(boundary, spans);
    return submodi_return("submod_boundary_save", save(path, of_boundary, &s, spans, n));
}

submod_status submod_fine_grained_save(const submod_fine_grained *fine, const char *path)
{
    submod_status status = submodi_check_given("fine", fine);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_fine_grained_save", status);
    }
    const settings s =
        of_means(submod_fine_grained_confusion(fine), submodi_fine_grained_averaging(fine));
    submodi_span spans[SUBMODI_MOST_SPANS];
    size_t n = submodi_fine_grained_spans(fine, spans);
    return submodi_return("submod_fine_grained_save", save(path, of_fine_grained, &s, spans, n));
}

/* ---- loading ---- */

/* A file that was read: its settings, and what is behind them. */
typedef struct loading {
    const char *path;
    uint64_t *file; /* all of it */
    int32_t *list;  /* settings.class_list */
    size_t classes;
    submod_metric_settings settings;
    const uint64_t *own;   /* the stream's own settings */
    const uint64_t *words; /* what was counted */
    size_t count;
} loading;

/* The end of loading, with the status so far: the library refuses numbers in files as it does
 * arguments, but here it is the file's fault. */
static submod_status finish(loading *l, submod_status status)
{
    bool was_read = l->file != NULL;
    submodi_free(l->file);
    submodi_free(l->list);
    if (status == SUBMOD_OK || !was_read) {
        return status;
    }
    return status == SUBMOD_ENOMEM
               ? submodi_out_of_memory()
               : submodi_file_fail(l->path, "holds numbers that such counts cannot have");
}

/* Passes over `count` words. */
static bool take(loading *l, size_t count, const uint64_t **words)
{
    if (l->count < count) {
        return false;
    }
    *words = l->words;
    l->words += count;
    l->count -= count;
    return true;
}

static bool take_rule(loading *l)
{
    const uint64_t *rule;
    if (!take(l, RULE, &rule) || rule[0] == 0 || rule[0] > SUBMODI_CLASSES_MAX || rule[1] > 1) {
        return false;
    }
    l->classes = (size_t)rule[0];
    l->settings.has_ignore = (int)rule[1];
    l->settings.ignore_index = (int64_t)rule[2];
    return true;
}

/* The convention, and the classes in means. */
static submod_status take_averaging(loading *l)
{
    const uint64_t *chosen;
    if (l->own[0] > SUBMOD_ABSENT_TRUTH || !take(l, l->classes, &chosen)) {
        return SUBMOD_EINVAL;
    }
    l->settings.absent = (submod_absent)l->own[0];
    l->list = submodi_alloc(l->classes, sizeof *l->list);
    if (!l->list) {
        return SUBMOD_ENOMEM;
    }
    l->settings.class_list = l->list;
    for (size_t c = 0; c < l->classes; c++) {
        if (chosen[c] > 1) {
            return SUBMOD_EINVAL;
        }
        if (chosen[c]) {
            l->list[l->settings.class_count++] = (int32_t)c;
        }
    }
    return l->settings.class_count ? SUBMOD_OK : SUBMOD_EINVAL;
}

/* How a kind's settings go on behind the rule. */
typedef struct layout {
    const char *kind;
    size_t own;     /* words */
    bool averaging; /* whether there is one per class then */
} layout;

/* Reads a file and its settings. To be finished in any case. place: where the stream goes. */
static submod_status start(loading *l, const char *path, const layout *of, const char *name,
                           const void *place)
{
    submod_status status = submodi_check_given(name, place);
    status = status ? status : submodi_saved_read(path, of->kind, &l->file, &l->count);
    if (status != SUBMOD_OK) {
        return status;
    }
    l->settings = submod_metric_defaults();
    l->path = path;
    l->words = l->file;
    if (!take_rule(l) || !take(l, of->own, &l->own)) {
        return SUBMOD_EINVAL;
    }
    status = of->averaging ? take_averaging(l) : SUBMOD_OK;
    /* All have a count per pair of classes: nobody takes memory for more classes than that. */
    bool enough = l->count >= submodi_times(l->classes, l->classes);
    return status || enough ? status : SUBMOD_EINVAL;
}

/* There is one count per pair of classes. */
static submod_status set_counts(submod_confusion *made, const loading *l)
{
    return l->count == submodi_confusion_cells(made)
               ? submod_confusion_add_counts(made, (const int64_t *)l->words)
               : SUBMOD_EINVAL;
}

submod_status submod_confusion_load(const char *path, submod_confusion **confusion)
{
    static const layout of = {of_confusion, 0, false};
    loading l = {0};
    submod_confusion *made = NULL;
    submod_status status = start(&l, path, &of, "confusion", confusion);
    status = status ? status : submod_confusion_create(l.classes, &made, &l.settings);
    status = status ? status : set_counts(made, &l);
    status = finish(&l, status);
    if (status == SUBMOD_OK) {
        *confusion = made;
    } else {
        submod_confusion_free(made);
    }
    return submodi_return("submod_confusion_load", status);
}

submod_status submod_miou_load(const char *path, submod_miou **miou)
{
    static const layout of = {of_miou, 1, true};
    loading l = {0};
    submod_miou *made = NULL;
    submod_status status = start(&l, path, &of, "miou", miou);
    status = status ? status : submod_miou_create(l.classes, &made, &l.settings);
    status = status ? status : submod_miou_set_words(made, l.words, l.count);
    status = finish(&l, status);
    if (status == SUBMOD_OK) {
        *miou = made;
    } else {
        submod_miou_free(made);
    }
    return submodi_return("submod_miou_load", status);
}

submod_status submod_instances_load(const char *path, submod_instances **instances)
{
    static const layout of = {of_instances, 1, false};
    loading l = {0};
    submod_instances *made = NULL;
    submod_status status = start(&l, path, &of, "instances", instances);
    status =
        status ? status : submod_instances_create(l.classes, (int64_t)l.own[0], &made, &l.settings);
    status = status ? status : submod_instances_set_words(made, l.words, l.count);
    status = finish(&l, status);
    if (status == SUBMOD_OK) {
        *instances = made;
    } else {
        submod_instances_free(made);
    }
    return submodi_return("submod_instances_load", status);
}

submod_status submod_boundary_load(const char *path, submod_boundary **boundary)
{
    static const layout of = {of_boundary, 0, false};
    loading l = {0};
    submod_boundary *made = NULL;
    submod_status status = start(&l, path, &of, "boundary", boundary);
    status = status ? status : submod_boundary_create(l.classes, &made, &l.settings);
    status = status ? status : submod_boundary_set_words(made, l.words, l.count);
    status = finish(&l, status);
    if (status == SUBMOD_OK) {
        *boundary = made;
    } else {
        submod_boundary_free(made);
    }
    return submodi_return("submod_boundary_load", status);
}

submod_status submod_fine_grained_load(const char *path, submod_fine_grained **fine)
{
    static const layout of = {of_fine_grained, 1, true};
    loading l = {0};
    submod_fine_grained *made = NULL;
    submod_status status = start(&l, path, &of, "fine", fine);
    status = status ? status : submod_fine_grained_create(l.classes, &made, &l.settings);
    status = status ? status : submod_fine_grained_set_words(made, l.words, l.count);
    status = finish(&l, status);
    if (status == SUBMOD_OK) {
        *fine = made;
    } else {
        submod_fine_grained_free(made);
    }
    return submodi_return("submod_fine_grained_load", status);
}
