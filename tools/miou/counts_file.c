/* The file of a run, as submod_file_save has it, of these numbers:
 *
 *   how many texts of each sort: of the set-up (setup.h), names of images, problems
 *   how many words the texts take
 *   the texts, each ended by a 0, lowest byte first, filled up with 0
 *   the mIoU of each image, as the bits of a double
 *   what was counted (streams.h)
 *
 * Images are merged in the order of their names, whatever the order of files. So a report of parts
 * has the same bits as that of the whole.
 */
#include "counts_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod/file.h>

#include "setup.h"

static const char kind[] = "submod-miou counts";

enum { SORTS = 3, HEAD = SORTS + 1 };

/* A file that was read. */
typedef struct part {
    string_list texts[SORTS]; /* set-up, images, problems */
    uint64_t *words;          /* all of the file */
    size_t count;
    size_t at; /* where the next one is */
} part;

static bool refuse(const char *path, const char *words)
{
    fprintf(stderr, "submod-miou: %s: %s\n", path, words);
    return false;
}

static bool library_failed(void)
{
    fprintf(stderr, "submod-miou: %s\n", submod_last_error());
    return false;
}

/* ---- saving ---- */

static void add_text(word_list *words, const char *text, size_t *byte)
{
    for (size_t i = 0; i <= strlen(text); i++, ++*byte) {
        if (*byte % 8 == 0) {
            *words_add(words, 1) = 0;
        }
        words->items[words->count - 1] |= (uint64_t)(unsigned char)text[i] << (8 * (*byte % 8));
    }
}

static void add_texts(word_list *words, const string_list *const texts[SORTS])
{
    size_t bytes = 0;
    uint64_t *head = words_add(words, HEAD);
    for (size_t k = 0; k < SORTS; k++) {
        head[k] = texts[k]->count;
    }
    for (size_t k = 0; k < SORTS; k++) {
        for (size_t i = 0; i < texts[k]->count; i++) {
            add_text(words, texts[k]->items[i], &bytes);
        }
    }
    words->items[SORTS] = words->count - HEAD;
}

bool counts_save(const char *path, const options *o, const evaluation *e,
                 const string_list *problems)
{
    word_list words = {NULL, 0, 0};
    string_list setup = {NULL, 0, 0};
    setup_write(o, &setup);
    const string_list *const texts[SORTS] = {&setup, &e->names, problems};
    add_texts(&words, texts);
    uint64_t *scores = words_add(&words, e->names.count);
    memcpy(scores, e->scores, e->names.count * sizeof *scores);
    bool ok = streams_save(&e->sum, &words) == SUBMOD_OK &&
              submod_file_save(path, kind, words.items, words.count) == SUBMOD_OK;
    free(words.items);
    list_free(&setup);
    return ok || library_failed();
}

/* ---- loading ---- */

static void part_free(part *p)
{
    for (size_t k = 0; k < SORTS; k++) {
        list_free(&p->texts[k]);
    }
    submod_file_free(p->words);
}

/* The texts at the front, as C has them; false if that is not what is there. */
static bool read_texts(part *p)
{
    uint64_t left = p->count < HEAD ? 0 : p->count - HEAD;
    if (p->count < HEAD || p->words[SORTS] > left) {
        return false;
    }
    size_t size = 8 * (size_t)p->words[SORTS];
    char *bytes = checked_alloc(NULL, size, 1); /* and one more */
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(p->words[HEAD + i / 8] >> (8 * (i % 8)));
    }
    bytes[size] = 0;
    size_t at = 0;
    for (size_t k = 0; k < SORTS; k++) {
        for (uint64_t i = 0; i < p->words[k] && at < size; i++) {
            list_add(&p->texts[k], bytes + at);
            at += strlen(bytes + at) + 1;
        }
    }
    free(bytes);
    p->at = HEAD + size / 8;
    return p->texts[0].count == p->words[0] && p->texts[1].count == p->words[1] &&
           p->texts[2].count == p->words[2] && p->count - p->at >= p->texts[1].count;
}

static bool part_read(const char *path, part *p)
{
    *p = (part){.words = NULL};
    if (submod_file_load(path, kind, &p->words, &p->count) != SUBMOD_OK) {
        return library_failed();
    }
    return read_texts(p) || refuse(path, "holds other numbers than submod-miou writes");
}

/* Names the first option in which two parts differ. */
static bool same_setup(const char *path, const string_list *a, const char *first_path,
                       const string_list *first)
{
    for (size_t i = 0; i < a->count || i < first->count; i++) {
        const char *here = i < a->count ? a->items[i] : "nothing";
        const char *there = i < first->count ? first->items[i] : "nothing";
        if (strcmp(here, there) != 0) {
            fprintf(stderr, "submod-miou: %s was counted with \"%s\", but %s with \"%s\"\n", path,
                    here, first_path, there);
            return false;
        }
    }
    return true;
}

/* ---- merging ---- */

/* An image of a part. */
typedef struct image {
    char *name;
    double score;
    const char *path; /* of its file */
} image;

typedef struct image_list {
    image *items;
    size_t count;
} image_list;

static int by_name(const void *left, const void *right)
{
    const image *a = left;
    const image *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->path, b->path);
}

/* The part's images; their names are the list's now. */
static bool add_images(image_list *images, part *p, const char *path)
{
    size_t n = p->texts[1].count;
    images->items = checked_alloc(images->items, images->count + n, sizeof *images->items);
    for (size_t i = 0; i < n; i++) {
        image *m = &images->items[images->count++];
        *m = (image){p->texts[1].items[i], 0, path};
        memcpy(&m->score, &p->words[p->at++], sizeof m->score);
        p->texts[1].items[i] = NULL;
        if (!(isnan(m->score) || (m->score >= 0 && m->score <= 1))) {
            return refuse(path, "holds other numbers than submod-miou writes");
        }
    }
    return true;
}

/* All of them in the order of their names, each once. */
static bool settle_images(image_list *images, evaluation *e)
{
    if (images->count) {
        qsort(images->items, images->count, sizeof *images->items, by_name);
    }
    e->scores = checked_alloc(NULL, images->count, sizeof *e->scores);
    for (size_t i = 0; i < images->count; i++) {
        const image *m = &images->items[i];
        if (i && strcmp(m[-1].name, m->name) == 0) {
            fprintf(stderr, "submod-miou: %s and %s have both counted the image %s\n", m[-1].path,
                    m->path, m->name);
            return false;
        }
        e->scores[i] = m->score;
        list_add(&e->names, m->name);
    }
    return true;
}

/* Adds one file to what is there; the first one makes the set-up. */
static bool add_part(options *o, const char *path, part *p, string_list *setup, evaluation *e,
                     image_list *images, string_list *problems)
{
    bool first = setup->count == 0;
    streams own = {.counts = NULL};
    if (first) {
        const char *wrong = setup_read(&p->texts[0], o);
        if (wrong) {
            return refuse(path, wrong);
        }
        for (size_t i = 0; i < p->texts[0].count; i++) {
            list_add(setup, p->texts[0].items[i]);
        }
    }
    if (!same_setup(path, &p->texts[0], o->files[0], setup) || !add_images(images, p, path)) {
        return false;
    }
    for (size_t i = 0; i < p->texts[2].count; i++) {
        list_add(problems, p->texts[2].items[i]);
    }
    if (!streams_fit(o, p->words + p->at, p->count - p->at)) { /* before memory is taken */
        return refuse(path, "holds other numbers than submod-miou writes");
    }
    submod_status status = first ? streams_create(o, &e->sum) : SUBMOD_OK;
    status = status ? status : streams_create(o, &own);
    bool ok = status == SUBMOD_OK || library_failed();
    ok = ok && (streams_load(&own, p->words + p->at, p->count - p->at) == SUBMOD_OK ||
                refuse(path, "holds other numbers than submod-miou writes"));
    ok = ok && (streams_merge(&e->sum, &own) == SUBMOD_OK || library_failed());
    streams_free(&own);
    return ok;
}

bool counts_merge(options *o, evaluation *e, string_list *problems)
{
    *e = (evaluation){.scores = NULL};
    image_list images = {NULL, 0};
    string_list setup = {NULL, 0, 0};
    bool ok = true;
    for (size_t i = 0; ok && i < o->file_count; i++) {
        part p;
        ok = part_read(o->files[i], &p) &&
             add_part(o, o->files[i], &p, &setup, e, &images, problems);
        part_free(&p);
    }
    ok = ok && settle_images(&images, e);
    for (size_t i = 0; i < images.count; i++) {
        free(images.items[i].name);
    }
    free(images.items);
    list_free(&setup);
    return ok;
}
