/* Finds pairs of files by a key: the path without .png, or city_sequence_frame for Cityscapes. Both
 * sides are sorted by key and merged. */
#include "pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *key, *path;
} entry;

typedef struct side {
    entry *entries;
    size_t count;
} side;

/* ---- keys ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "aachen_000001_000019" of "aachen/aachen_000001_000019_gtFine_labelIds.png". */
static size_t frame_length(const char *name)
{
    size_t length = strlen(name) - strlen(".png");
    int parts = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '_' && ++parts == 3) {
            return i;
        }
    }
    return length;
}

static char *key_of(const options *o, const char *path)
{
    const char *from = o->cityscapes ? base_name(path) : path;
    size_t length = o->cityscapes ? frame_length(from) : strlen(path) - strlen(".png");
    char *key = memcpy(checked_alloc(NULL, length + 1, 1), from, length);
    key[length] = 0;
    return key;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* What a folder is searched for. */
typedef enum content { PREDICTIONS, TRUTHS, INSTANCES } content;

/* Cityscapes keeps colours, instances and polygons beside the labels. */
static bool is_wanted(const options *o, const char *path, content what)
{
    if (!o->cityscapes || what == PREDICTIONS) {
        return true;
    }
    return ends_with(path, what == TRUTHS ? "_gtFine_labelIds.png" : "_gtFine_instanceIds.png");
}

/* ---- the two sides ---- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->key, ((const entry *)b)->key);
}

static int compare_entries(const void *a, const void *b)
{
    int order = compare_keys(a, b);
    return order ? order : strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

static bool side_fill(const options *o, const char *root, content what, side *s,
                      string_list *problems)
{
    string_list paths = {NULL, 0, 0};
    if (!list_png_files(root, &paths, problems)) {
        fprintf(stderr, "submod-miou: %s: %s\n", root, strerror(errno));
        list_free(&paths);
        return false;
    }
    s->entries = checked_alloc(NULL, paths.count, sizeof *s->entries);
    for (size_t i = 0; i < paths.count; i++) {
        if (!is_wanted(o, paths.items[i], what)) {
            continue;
        }
        char *key = key_of(o, paths.items[i]);
        if (o->only.count == 0 || list_has(&o->only, key)) {
            s->entries[s->count++] = (entry){key, join_path(root, paths.items[i])};
        } else {
            free(key);
        }
    }
    if (s->count) {
        qsort(s->entries, s->count, sizeof *s->entries, compare_entries);
    }
    list_free(&paths);
    return true;
}

static void side_free(side *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->entries[i].key);
        free(s->entries[i].path);
    }
    free(s->entries);
}

/* ---- merging ---- */

/* The number of entries from i on that have this key. */
static size_t run_length(const side *s, size_t i, const char *key)
{
    size_t end = i;
    while (end < s->count && strcmp(s->entries[end].key, key) == 0) {
        end++;
    }
    return end - i;
}

static void name_all(const entry *entries, size_t n, const char *what, string_list *problems)
{
    for (size_t i = 0; i < n; i++) {
        list_addf(problems, "%s: %s", entries[i].path, what);
    }
}

static char *take(char **text)
{
    char *taken = *text;
    *text = NULL;
    return taken;
}

static void merge(side *predictions, side *truths, pair_list *pairs, string_list *problems)
{
    size_t p = 0;
    size_t t = 0;
    pairs->items = checked_alloc(NULL, truths->count, sizeof *pairs->items);
    while (p < predictions->count || t < truths->count) {
        entry *first_p = predictions->entries + p;
        entry *first_t = truths->entries + t;
        bool from_p = t == truths->count ||
                      (p < predictions->count && strcmp(first_p->key, first_t->key) < 0);
        const char *key = from_p ? first_p->key : first_t->key;
        size_t of_p = run_length(predictions, p, key);
        size_t of_t = run_length(truths, t, key);
        p += of_p;
        t += of_t;
        if (of_p == 1 && of_t == 1) {
            pairs->items[pairs->count++] =
                (pair){take(&first_t->key), take(&first_p->path), take(&first_t->path), NULL};
        } else if (of_t == 0) {
            name_all(first_p, of_p, "no ground truth for this prediction", problems);
        } else if (of_p == 0) {
            name_all(first_t, of_t, "no prediction for this ground truth", problems);
        } else {
            name_all(first_p, of_p, "not the only file with this name", problems);
            name_all(first_t, of_t, "not the only file with this name", problems);
        }
    }
}

static void name_without_truth(const string_list *wanted, const side *truths, string_list *problems)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const entry key = {.key = wanted->items[i]};
        if (truths->count == 0 ||
            !bsearch(&key, truths->entries, truths->count, sizeof key, compare_keys)) {
            list_addf(problems, "%s: in the list, but not in the ground truth", key.key);
        }
    }
}

static void pair_free(pair *p)
{
    free(p->key);
    free(p->prediction);
    free(p->truth);
    free(p->instances);
}

/* Gives each pair the file of its instances; pairs without one, or with several, are dropped. */
static void add_instances(side *instances, pair_list *pairs, string_list *problems)
{
    size_t kept = 0;
    size_t at = 0; /* both are sorted by key */
    for (size_t i = 0; i < pairs->count; i++) {
        pair *p = &pairs->items[i];
        while (at < instances->count && strcmp(instances->entries[at].key, p->key) < 0) {
            at++;
        }
        size_t count = run_length(instances, at, p->key);
        if (count == 1) {
            p->instances = take(&instances->entries[at].path);
            pairs->items[kept++] = *p;
            continue;
        }
        list_addf(problems, "%s: %s", p->truth,
                  count ? "several files of instances" : "no instances for this ground truth");
        pair_free(p);
    }
    pairs->count = kept;
}

bool pairs_find(const options *o, pair_list *pairs, string_list *problems)
{
    side predictions = {NULL, 0};
    side truths = {NULL, 0};
    side instances = {NULL, 0};
    *pairs = (pair_list){NULL, 0};
    bool ok = side_fill(o, o->prediction_dir, PREDICTIONS, &predictions, problems) &&
              side_fill(o, o->truth_dir, TRUTHS, &truths, problems) &&
              (!o->instance_dir || side_fill(o, o->instance_dir, INSTANCES, &instances, problems));
    if (ok) {
        name_without_truth(&o->only, &truths, problems);
        merge(&predictions, &truths, pairs, problems);
    }
    if (ok && o->instance_dir) {
        add_instances(&instances, pairs, problems);
    }
    side_free(&predictions);
    side_free(&truths);
    side_free(&instances);
    return ok;
}

void pairs_free(pair_list *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        pair_free(&pairs->items[i]);
    }
    free(pairs->items);
}
