/* Equibatch (paper, Sec. 3.1): images drawn by cycling over the classes.
 *
 * The classes that occur are visited in one fixed cyclic order, so any W consecutive draws visit
 * all W of them. Each class keeps its images in a row: first those already used in this round, then
 * the others. A draw picks one of the others at random and swaps it with the first of them (one
 * step of Fisher and Yates). O(1) per draw; O(entries + classes) memory and time to create.
 */
#include <stdbool.h>
#include <string.h>

#include "base/internal.h"
#include <submod/metric.h>

/* A class that occurs and its images, images[begin .. end-1]; those before next are used. */
typedef struct row {
    int32_t class_id;
    size_t begin, next, end;
} row;

struct submod_equibatch {
    submod_rng rng;
    row *rows;
    size_t window; /* number of rows */
    size_t turn;   /* the row of the next draw */
    int32_t *images;
};

/* ---- create ---- */

static submod_status require_images(size_t images, const size_t *start, const int32_t *class_ids,
                                    size_t classes)
{
    if (images == 0 || images > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "images = %zu is not in [1, 2^31)", images);
    }
    if (classes == 0 || classes > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "classes = %zu is not in [1, 2^31)", classes);
    }
    submod_status status = submodi_check_lists(images, start, "class_ids", class_ids, classes);
    return status || start[images]
               ? status
               : submodi_fail(SUBMOD_EINVAL, "start[%zu] = 0: no image contains any class", images);
}

/* Transposes the lists: rows[c] gets the images of class c, each of them once. */
static void fill_rows(submod_equibatch *s, size_t images, const size_t *start,
                      const int32_t *class_ids, size_t classes)
{
    for (size_t c = 0; c < classes; c++) {
        s->rows[c] = (row){.class_id = (int32_t)c};
    }
    for (size_t k = 0; k < start[images]; k++) {
        s->rows[class_ids[k]].end++; /* at first: how many */
    }
    size_t begin = 0;
    for (size_t c = 0; c < classes; c++) {
        size_t entries = s->rows[c].end;
        s->rows[c].begin = s->rows[c].next = s->rows[c].end = begin;
        begin += entries;
    }
    for (size_t i = 0; i < images; i++) {
        for (size_t k = start[i]; k < start[i + 1]; k++) {
            row *r = &s->rows[class_ids[k]];
            bool repeated = r->end > r->begin && s->images[r->end - 1] == (int32_t)i;
            if (!repeated) {
                s->images[r->end++] = (int32_t)i;
            }
        }
    }
}

static void drop_empty_rows(submod_equibatch *s, size_t classes)
{
    s->window = 0;
    for (size_t c = 0; c < classes; c++) {
        if (s->rows[c].end > s->rows[c].begin) {
            s->rows[s->window++] = s->rows[c];
        }
    }
}

static submod_status equibatch_create(size_t images, const size_t *start, const int32_t *class_ids,
                                      size_t classes, uint64_t seed, submod_equibatch **sampler)
{
    submod_status status = submodi_check_given("sampler", sampler);
    status = status ? status : submodi_check_given("start", start);
    status = status ? status : require_images(images, start, class_ids, classes);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_equibatch *s = submodi_alloc(1, sizeof *s);
    if (!s) {
        return submodi_out_of_memory();
    }
    *s = (submod_equibatch){.rows = submodi_alloc(classes, sizeof *s->rows),
                            .images = submodi_alloc(start[images], sizeof *s->images)};
    if (!s->rows || !s->images) {
        submod_equibatch_free(s);
        return submodi_out_of_memory();
    }
    submod_rng_seed(&s->rng, seed);
    fill_rows(s, images, start, class_ids, classes);
    drop_empty_rows(s, classes);
    *sampler = s;
    return SUBMOD_OK;
}

submod_status submod_equibatch_create(size_t images, const size_t *start, const int32_t *class_ids,
                                      size_t classes, uint64_t seed, submod_equibatch **sampler)
{
    return submodi_return("submod_equibatch_create",
                          equibatch_create(images, start, class_ids, classes, seed, sampler));
}

void submod_equibatch_free(submod_equibatch *sampler)
{
    if (sampler) {
        submodi_free(sampler->rows);
        submodi_free(sampler->images);
        submodi_free(sampler);
    }
}

/* ---- draw ---- */

submod_status submod_equibatch_next(submod_equibatch *sampler, int32_t *image, int32_t *drawn_for)
{
    if (!sampler || !image) {
        return submodi_return("submod_equibatch_next", submodi_fail(SUBMOD_EINVAL, "%s is NULL",
                                                                    sampler ? "image" : "sampler"));
    }
    row *r = &sampler->rows[sampler->turn];
    sampler->turn = (sampler->turn + 1) % sampler->window;
    if (r->next == r->end) {
        r->next = r->begin;
    }
    int32_t *first = &sampler->images[r->next++];
    int32_t *pick = first + submod_rng_below(&sampler->rng, (uint64_t)(r->end - r->next + 1));
    *image = *pick;
    *pick = *first;
    *first = *image;
    if (drawn_for) {
        *drawn_for = r->class_id;
    }
    return SUBMOD_OK;
}

size_t submod_equibatch_window(const submod_equibatch *sampler)
{
    return sampler ? sampler->window : 0;
}
