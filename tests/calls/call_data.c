/* What the calls of the table read (see calls.h). */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "combinations.h"
#include "support.h"

enum { MOST_SUBJECTS = 96, GRID = CALL_SIDE * CALL_SIDE };

/* ---- arrays ---- */

static bool arena_new(call_data *d, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int zeros = open("/dev/zero", O_RDWR);
    d->arena_size = (size + page - 1) / page * page;
    d->arena = mmap(NULL, d->arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
    close(zeros);
    d->arena = d->arena == MAP_FAILED ? NULL : d->arena;
    return d->arena != NULL;
}

static void *arena_take(call_data *d, size_t count, size_t size)
{
    void *at = (char *)d->arena + d->arena_used;
    d->arena_used += (count * size + 63) / 64 * 64;
    if (d->arena_used > d->arena_size) {
        abort();
    }
    return at;
}

static const float *floats(call_data *d, size_t n, submod_rng *rng, bool probabilities)
{
    float *x = arena_take(d, n, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(probabilities ? submod_rng_uniform(rng) : 2 * submod_rng_normal(rng));
    }
    return x;
}

/* Rows of four pixels of one class, predicted right three times in four. */
static void fill_labels(call_data *d, submod_rng *rng)
{
    size_t n = CALL_IMAGES * d->pixels;
    uint8_t *truth = arena_take(d, n, 1), *prediction = arena_take(d, n, 1);
    uint8_t *marks = arena_take(d, n * CALL_CLASSES, 1);
    for (size_t i = 0; i < n; i++) {
        uint8_t drawn = (uint8_t)submod_rng_below(rng, CALL_CLASSES);
        truth[i] = i % 4 ? truth[i - 1] : drawn;
        prediction[i] = submod_rng_below(rng, 4) ? truth[i] : drawn;
    }
    for (size_t i = 0; i < n * CALL_CLASSES; i++) {
        marks[i] = (uint8_t)submod_rng_below(rng, 2);
    }
    d->truth = truth;
    d->prediction = prediction;
    d->marks = marks;
}

static void fill_numbers(call_data *d, submod_rng *rng)
{
    double *x = arena_take(d, d->pixels, sizeof *x), *tied = arena_take(d, d->pixels, sizeof *x);
    double *weight = arena_take(d, d->pixels, sizeof *x);
    double *gram = arena_take(d, GRID, sizeof *x);
    uint64_t *multiplicity = arena_take(d, d->pixels, sizeof *multiplicity);
    int32_t *order = arena_take(d, d->pixels, sizeof *order);
    random_vector(rng, x, d->pixels, 0);
    random_order(rng, order, d->pixels);
    for (size_t i = 0; i < d->pixels; i++) {
        tied[i] = 0.125 * (double)(int)(8 * x[i]);
        weight[i] = 1 + (double)submod_rng_below(rng, 8) / 8;
        multiplicity[i] = 1 + submod_rng_below(rng, 9);
    }
    for (int i = 0; i < GRID; i++) {
        gram[i] = exp(-fabs((double)(i / CALL_SIDE - i % CALL_SIDE)));
    }
    d->x = x;
    d->tied = tied;
    d->weight = weight;
    d->gram = gram;
    d->multiplicity = multiplicity;
    d->order = order;
}

static bool fill(call_data *d)
{
    size_t scores = CALL_IMAGES * CALL_CLASSES * d->pixels;
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    if (!arena_new(d,
                   9 * scores + 2 * CALL_IMAGES * d->pixels + 44 * d->pixels + 8 * GRID + 1024)) {
        return false;
    }
    d->scores = floats(d, scores, &rng, false);
    d->probabilities = floats(d, scores, &rng, true);
    fill_labels(d, &rng);
    fill_numbers(d, &rng);
    return mprotect(d->arena, d->arena_size, PROT_READ) == 0;
}

/* ---- set functions ---- */

submod_status call_add_subject(call_data *d, submod_status status, const char *name, submod_fn *fn,
                               bool fast)
{
    if (status == SUBMOD_OK) {
        if (d->subject_count == MOST_SUBJECTS) {
            abort();
        }
        d->subjects[d->subject_count++] = (call_subject){name, fn, fast};
    }
    return status;
}

/* The cut of a grid; rows: of its rows alone, so that it falls apart into paths. */
static submod_status add_grid(call_data *d, submod_rng *rng, bool rows)
{
    enum { EDGES = 2 * CALL_SIDE * (CALL_SIDE - 1) };
    int32_t tail[EDGES], head[EDGES];
    double weight[EDGES];
    size_t m = 0;
    submod_fn *fn = NULL;
    for (int i = 0; i < GRID; i++) {
        for (int down = 0; down < (rows ? 1 : 2); down++) {
            if (down ? i / CALL_SIDE + 1 < CALL_SIDE : i % CALL_SIDE + 1 < CALL_SIDE) {
                tail[m] = i;
                head[m] = down ? i + CALL_SIDE : i + 1;
                weight[m++] = submod_rng_uniform(rng);
            }
        }
    }
    submod_status status = submod_fn_cut(GRID, m, tail, head, weight, 0, &fn);
    return call_add_subject(d, status, rows ? "cut of rows" : "cut of a grid", fn, true);
}

/* The elements of a square are shared with no other one, so that several are projected on at once;
 * those of the second half of the squares are shared with the first. */
static submod_status add_squares(call_data *d)
{
    enum { EACH = 4, SQUARES = 2 * GRID / EACH };
    size_t start[SQUARES + 1];
    int32_t elements[SQUARES * EACH];
    submod_fn *fn = NULL;
    for (size_t i = 0; i <= SQUARES; i++) {
        start[i] = i * EACH;
    }
    for (size_t i = 0; i < SQUARES * EACH; i++) {
        elements[i] = (int32_t)(i < GRID ? i : (i + EACH / 2) % GRID);
    }
    submod_status status = submod_fn_groups(
        GRID, &(submod_groups){.count = SQUARES, .start = start, .elements = elements},
        &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn);
    return call_add_subject(d, status, "squares", fn, true);
}

static submod_status add_coverage(call_data *d, submod_rng *rng)
{
    enum { N = 40, ITEMS = 60, EACH = 5 };
    size_t start[N + 1];
    int32_t items[N * EACH];
    submod_fn *fn = NULL;
    for (size_t i = 0; i <= N; i++) {
        start[i] = i * EACH;
    }
    for (size_t i = 0; i < N * EACH; i++) {
        items[i] = (int32_t)submod_rng_below(rng, ITEMS);
    }
    submod_status status = submod_fn_coverage(N, start, items, ITEMS, d->weight, &fn);
    return call_add_subject(d, status, "coverage", fn, true);
}

/* Of the grid's cut, which is subject number `grid`, and a concave function. */
static submod_status add_sum(call_data *d, size_t grid)
{
    submod_fn *cardinal = NULL, *fn = NULL;
    submod_status status =
        submod_fn_concave(GRID, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_LOG1P}, &cardinal);
    submod_fn *const both[2] = {d->subjects[grid].fn, cardinal};
    status = status ? status : combine_sum(both, NULL, 2, &fn);
    submod_fn_free(cardinal);
    return call_add_subject(d, status, "sum", fn, true);
}

/* Of all pixels of an image. */
static submod_status add_large(call_data *d)
{
    submod_fn *fn = NULL;
    bool fast = d->pixels <= GRID;
    submod_measure measure = submod_tversky(0.7, 1.5);
    submod_status status = submod_fn_jaccard(d->pixels, d->marks, &fn);
    status = call_add_subject(d, status, "jaccard", fn, fast);
    status = status ? status
                    : submod_fn_concave(d->pixels, NULL,
                                        &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn);
    status = call_add_subject(d, status, "sqrt", fn, fast);
    status = status ? status : submod_fn_counts(d->pixels, d->marks, NULL, &measure, &fn);
    return call_add_subject(d, status, "tversky", fn, fast);
}

static submod_status add_families(call_data *d, size_t n)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; status == SUBMOD_OK && k < family_count; k++) {
        submod_fn *fn = families[k].make(n, &rng);
        status = call_add_subject(d, fn ? SUBMOD_OK : SUBMOD_ENOMEM, families[k].name, fn, true);
    }
    return status;
}

static submod_status add_subjects(call_data *d, size_t family_size)
{
    submod_rng rng;
    submod_fn *iwata = NULL;
    submod_rng_seed(&rng, 2);
    submod_status status = add_grid(d, &rng, false);
    status = status ? status : add_sum(d, d->subject_count - 1);
    status = status ? status : add_grid(d, &rng, true);
    status = status ? status : add_squares(d);
    status = status ? status : add_coverage(d, &rng);
    status = status ? status : make_iwata(20, &iwata);
    status = call_add_subject(d, status, "iwata, n = 20", iwata, true);
    status = status ? status : add_large(d);
    status = status || !family_size ? status : add_families(d, family_size);
    d->user_begin = d->subject_count;
    return status ? status : call_add_user_functions(d);
}

call_data *call_data_new(size_t side, size_t family_size)
{
    call_data *d = calloc(1, sizeof *d);
    if (!d) {
        return NULL;
    }
    d->side = side;
    d->pixels = side * side;
    d->subjects = calloc(MOST_SUBJECTS, sizeof *d->subjects);
    if (!d->subjects || !fill(d) || add_subjects(d, family_size) != SUBMOD_OK) {
        call_data_free(d);
        return NULL;
    }
    return d;
}

void call_data_free(call_data *d)
{
    if (!d) {
        return;
    }
    for (size_t k = 0; k < d->subject_count; k++) {
        submod_fn_free(d->subjects[k].fn);
    }
    if (d->arena) {
        munmap(d->arena, d->arena_size);
    }
    free(d->subjects);
    free(d);
}
