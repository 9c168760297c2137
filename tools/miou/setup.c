/* Options as lines of text, "absent skip" and so on, in a fixed order. They tell set-ups apart, and
 * can be shown when they differ. Behind them come the names of the classes, then those of the
 * categories, then the category of each counted class.
 */
#include "setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets.h"

/* A number that may be missing. */
static void add_real(string_list *texts, const char *name, bool given, double value)
{
    if (given) {
        list_addf(texts, "%s %.17g", name, value);
    } else {
        list_addf(texts, "%s none", name);
    }
}

static void add_whole(string_list *texts, const char *name, bool given, long long value)
{
    if (given) {
        list_addf(texts, "%s %lld", name, value);
    } else {
        list_addf(texts, "%s none", name);
    }
}

void setup_write(const options *o, string_list *texts)
{
    add_whole(texts, "submod-miou format", true, 2);
    add_whole(texts, "classes", true, (long long)o->classes);
    add_whole(texts, "counted classes", true, (long long)o->counted_classes);
    add_whole(texts, "ignore", o->metric.has_ignore, o->metric.ignore_index);
    add_whole(texts, "absent", true, o->metric.absent);
    add_whole(texts, "cityscapes", true, o->cityscapes);
    add_whole(texts, "train ids", true, o->train_ids);
    add_whole(texts, "instances from", o->instance_dir != NULL, o->first_id);
    add_real(texts, "boundary", o->boundary, o->boundary_ratio);
    add_real(texts, "fine-grained", o->worst > 0, o->worst);
    add_whole(texts, "categories", o->category != NULL, (long long)o->categories.count);
    for (size_t c = 0; c < o->classes; c++) {
        list_addf(texts, "class %s", o->names.items[c]);
    }
    for (size_t i = 0; i < o->categories.count; i++) {
        list_addf(texts, "category %s", o->categories.items[i]);
    }
    for (size_t c = 0; o->category && c < o->counted_classes; c++) {
        add_whole(texts, "in category", true, o->category[c]);
    }
}

/* ---- reading ---- */

/* Texts one after the other; failed once one is not as it should be. */
typedef struct reader {
    const string_list *texts;
    size_t at;
    bool failed;
} reader;

/* What follows the name in the next text. */
static const char *next(reader *r, const char *name)
{
    size_t length = strlen(name);
    const char *text = r->at < r->texts->count ? r->texts->items[r->at++] : "";
    if (strncmp(text, name, length) != 0 || text[length] != ' ') {
        r->failed = true;
        return "";
    }
    return text + length + 1;
}

/* A number in [low, high]; 0 and *given = false for "none", where given is not NULL. */
static double next_number(reader *r, const char *name, double low, double high, bool *given)
{
    const char *text = next(r, name);
    char *end;
    if (given) {
        *given = strcmp(text, "none") != 0;
        if (!*given) {
            return 0;
        }
    }
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= low && number <= high)) {
        r->failed = true;
        return 0;
    }
    return number;
}

static void read_numbers(reader *r, options *o)
{
    bool has_ignore, has_instances, has_worst;
    (void)next_number(r, "submod-miou format", 2, 2, NULL);
    o->classes = (size_t)next_number(r, "classes", 1, 65536, NULL);
    o->counted_classes =
        (size_t)next_number(r, "counted classes", (double)o->classes, (double)o->classes + 1, NULL);
    o->metric.ignore_index = (int64_t)next_number(r, "ignore", 0, 65535, &has_ignore);
    o->metric.has_ignore = has_ignore;
    o->metric.absent = (submod_absent)next_number(r, "absent", 0, SUBMOD_ABSENT_TRUTH, NULL);
    o->cityscapes = next_number(r, "cityscapes", 0, 1, NULL) > 0;
    o->train_ids = next_number(r, "train ids", 0, 1, NULL) > 0;
    o->first_id = (int64_t)next_number(r, "instances from", 0, 65535, &has_instances);
    o->instance_dir = has_instances ? "" : NULL;
    o->boundary_ratio = next_number(r, "boundary", 0, 1, &o->boundary);
    o->worst = next_number(r, "fine-grained", 0, 100, &has_worst);
    o->metric.has_leave_out = o->counted_classes > o->classes;
    o->metric.leave_out = (int32_t)o->classes;
}

static void read_names(reader *r, options *o)
{
    bool has_categories;
    size_t categories = (size_t)next_number(r, "categories", 1, 65536, &has_categories);
    for (size_t c = 0; !r->failed && c < o->classes; c++) {
        list_add(&o->names, next(r, "class"));
    }
    for (size_t i = 0; !r->failed && i < categories; i++) {
        list_add(&o->categories, next(r, "category"));
    }
    if (!r->failed && has_categories) {
        o->category = checked_alloc(NULL, o->counted_classes, sizeof *o->category);
        double last = (double)category_groups(o) - 1;
        for (size_t c = 0; c < o->counted_classes; c++) {
            o->category[c] = (int32_t)next_number(r, "in category", 0, last, NULL);
        }
    }
}

/* Whether these are the classes and categories of Cityscapes: its metrics are written to as many.
 */
static bool is_of_cityscapes(const options *o)
{
    if (o->classes != CITYSCAPES_CLASSES || o->counted_classes != CITYSCAPES_CLASSES + 1 ||
        !o->category || o->categories.count != CITYSCAPES_CATEGORIES ||
        o->category[CITYSCAPES_CLASSES] != CITYSCAPES_CATEGORIES) {
        return false;
    }
    for (size_t i = 0; i < CITYSCAPES_CATEGORIES; i++) {
        if (strcmp(o->categories.items[i], cityscapes_categories[i]) != 0) {
            return false;
        }
    }
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        size_t train_id = cityscapes_labels[id].train_id;
        if (train_id != VOID_LABEL && o->category[train_id] != cityscapes_labels[id].category) {
            return false;
        }
    }
    return true;
}

const char *setup_read(const string_list *texts, options *o)
{
    reader r = {texts, 0, false};
    read_numbers(&r, o);
    read_names(&r, o);
    if (r.failed || r.at != texts->count) {
        return "was written by another version of submod-miou";
    }
    if (o->cityscapes && !is_of_cityscapes(o)) {
        return "says \"cityscapes 1\", but has other classes or categories than Cityscapes";
    }
    if (!o->cityscapes && (o->train_ids || o->counted_classes > o->classes)) {
        return "says \"cityscapes 0\", but has train ids or void predictions, as Cityscapes alone";
    }
    return NULL;
}
