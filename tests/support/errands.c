/* What errands read, and what they find (see errands.h). */
#include "errands.h"

#include <math.h>
#include <stdlib.h>

#include "iwata.h"

size_t errand_count(void)
{
    return tensor_errand_count + function_errand_count;
}

const errand *errand_number(size_t k)
{
    return k < tensor_errand_count ? &tensor_errands[k]
                                   : &function_errands[k - tensor_errand_count];
}

/* FNV-1a. */
void digest_bytes(digest *d, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        *d = (*d ^ at[i]) * 0x100000001b3u;
    }
}

/* ---- the data ---- */

static bool fill(errand_data *d)
{
    size_t n = ERRAND_IMAGES * d->pixels, all = n * ERRAND_CLASSES;
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    d->scores = malloc(all * sizeof *d->scores);
    d->probabilities = malloc(all * sizeof *d->probabilities);
    d->marks = malloc(all);
    d->truth = malloc(n);
    d->prediction = malloc(n);
    d->x = malloc(d->pixels * sizeof *d->x);
    if (!d->scores || !d->probabilities || !d->marks || !d->truth || !d->prediction || !d->x) {
        return false;
    }
    for (size_t i = 0; i < all; i++) {
        d->scores[i] = (float)(2 * submod_rng_normal(&rng));
        d->probabilities[i] = (float)submod_rng_uniform(&rng);
        d->marks[i] = (uint8_t)submod_rng_below(&rng, 2);
    }
    for (size_t i = 0; i < n; i++) { /* rows of four pixels of one class */
        uint64_t drawn = submod_rng_below(&rng, ERRAND_CLASSES);
        d->truth[i] = i % 4 ? d->truth[i - 1] : (uint8_t)drawn;
        d->prediction[i] = submod_rng_below(&rng, 4) ? d->truth[i] : (uint8_t)drawn;
    }
    for (size_t i = 0; i < d->pixels; i++) {
        d->x[i] = submod_rng_normal(&rng);
    }
    return true;
}

/* rows: its edges along rows alone, so that it falls apart into paths. */
static submod_status make_grid(submod_rng *rng, bool rows, submod_fn **fn)
{
    enum { EDGES = 2 * ERRAND_SIDE * (ERRAND_SIDE - 1) };
    int32_t tail[EDGES], head[EDGES];
    double weight[EDGES];
    size_t m = 0;
    for (int i = 0; i < ERRAND_SIDE * ERRAND_SIDE; i++) {
        for (int down = 0; down < (rows ? 1 : 2); down++) {
            if (down ? i / ERRAND_SIDE + 1 < ERRAND_SIDE : i % ERRAND_SIDE + 1 < ERRAND_SIDE) {
                tail[m] = i;
                head[m] = down ? i + ERRAND_SIDE : i + 1;
                weight[m++] = submod_rng_uniform(rng);
            }
        }
    }
    return submod_fn_cut(ERRAND_SIDE * ERRAND_SIDE, m, tail, head, weight, 0, fn);
}

/* The elements of a square are shared with no other one, so that several are projected on at once;
 * those of the second half of the squares are shared with the first. */
static submod_status make_squares(submod_fn **fn)
{
    enum { N = ERRAND_SIDE * ERRAND_SIDE, EACH = 4, SQUARES = 2 * N / EACH };
    size_t start[SQUARES + 1];
    int32_t elements[SQUARES * EACH];
    for (size_t i = 0; i <= SQUARES; i++) {
        start[i] = i * EACH;
    }
    for (size_t i = 0; i < SQUARES * EACH; i++) {
        elements[i] = (int32_t)(i < N ? i : (i + EACH / 2) % N);
    }
    return submod_fn_groups(N, SQUARES, start, elements, NULL, NULL, SUBMOD_CONCAVE_SQRT, 0, fn);
}

static submod_status make_covering(submod_rng *rng, submod_fn **fn)
{
    enum { N = 40, ITEMS = 60, EACH = 5 };
    size_t start[N + 1];
    int32_t items[N * EACH];
    double weight[ITEMS];
    for (size_t i = 0; i <= N; i++) {
        start[i] = i * EACH;
    }
    for (size_t i = 0; i < N * EACH; i++) {
        items[i] = (int32_t)submod_rng_below(rng, ITEMS);
    }
    for (size_t i = 0; i < ITEMS; i++) {
        weight[i] = submod_rng_uniform(rng);
    }
    return submod_fn_coverage(N, start, items, ITEMS, weight, fn);
}

static submod_status make_functions(errand_data *d)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    submod_status status = submod_fn_jaccard(d->pixels, d->marks, &d->jaccard);
    status = status ? status : submod_fn_sqrt(d->pixels, &d->sqrt);
    status = status ? status : make_grid(&rng, false, &d->grid);
    status = status ? status : submod_fn_log1p(ERRAND_SIDE * ERRAND_SIDE, &d->cardinal);
    submod_fn *const both[2] = {d->grid, d->cardinal};
    status = status ? status : submod_fn_sum(both, NULL, 2, &d->sum);
    status = status ? status : make_covering(&rng, &d->covering);
    status = status ? status : make_iwata(20, &d->iwata);
    status = status ? status : make_grid(&rng, true, &d->rows);
    status = status ? status : make_squares(&d->squares);
    submod_measure measure = submod_measure_tversky(0.7, 1.5);
    return status ? status : submod_fn_two_counts(d->pixels, d->marks, &measure, &d->tversky);
}

errand_data *errand_data_new(size_t side)
{
    errand_data *d = calloc(1, sizeof *d);
    if (d) {
        d->side = side;
        d->pixels = side * side;
    }
    if (d && (!fill(d) || make_functions(d) != SUBMOD_OK)) {
        errand_data_free(d);
        return NULL;
    }
    return d;
}

void errand_data_free(errand_data *d)
{
    enum { FUNCTIONS = 10 };
    if (d) {
        submod_fn *const functions[FUNCTIONS] = {d->jaccard, d->sqrt,     d->grid,  d->cardinal,
                                                 d->sum,     d->covering, d->iwata, d->rows,
                                                 d->squares, d->tversky};
        for (size_t i = 0; i < FUNCTIONS; i++) {
            submod_fn_free(functions[i]);
        }
        free(d->scores);
        free(d->probabilities);
        free(d->marks);
        free(d->truth);
        free(d->prediction);
        free(d->x);
        free(d);
    }
}
