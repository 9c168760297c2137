/* Projections that the prox of a sum takes: ours against random coordinate descent.
 *
 *   bench-random-projections
 *
 * Li and Milenkovic (2018) minimise |x - sum of y_r|^2 / 2 over bases y_r of the parts F_r. A step
 * of their RCDM takes K parts at random and projects each on its polytope, in a norm that weighs
 * element i by 1 + (K - 1) / (R - 1) (mu_i - 1), mu_i the number of parts that i is in, R that of
 * all. Here K = 1: all weights are 1 and each step is an exact minimisation over one y_r, the best
 * that a projection can do; a larger K saves time on many processors, not projections. Ours sweeps
 * through all parts with extrapolation and restarts (src/prox/sums/cyclic.c); the number of
 * projections is that of sweeps times R.
 *
 * Instances: hyperedges of k among 1000 vertices with random labels, min(|A and e|, |e less A|)
 * each; an image of 50 x 50 pixels with rows and columns as paths and 100 superpixels,
 * |A and R| |R less A| / |R| each. Gap: relative to (|x|^2 + |s|^2) / 2, looked at after every R
 * projections. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>

#include "combinations.h"

enum { SIDE = 50, CELL = 5, LARGEST_PART = 64, MOST_EPOCHS = 3000 };

typedef struct part {
    submod_fn *fn; /* on k elements */
    int32_t elements[LARGEST_PART];
    size_t k;
    double y[LARGEST_PART];
} part;

typedef struct instance {
    size_t n, count;
    part *parts;
    double *x;
    submod_fn *sum;
} instance;

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-random-projections: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "bench-random-projections: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- instances ---- */

static instance make(size_t n, size_t count)
{
    return (instance){.n = n,
                      .count = count,
                      .parts = allocate(count, sizeof(part)),
                      .x = allocate(n, sizeof(double))};
}

static void add_up(instance *of)
{
    submod_fn **terms = allocate(of->count, sizeof(submod_fn *));
    for (size_t r = 0; r < of->count; r++) {
        require(combine_embedded(of->parts[r].fn, of->n, of->parts[r].elements, &terms[r]));
    }
    require(combine_sum(terms, NULL, of->count, &of->sum));
    for (size_t r = 0; r < of->count; r++) {
        submod_fn_free(terms[r]);
    }
    free(terms);
}

static void clear(instance *of)
{
    for (size_t r = 0; r < of->count; r++) {
        submod_fn_free(of->parts[r].fn);
    }
    submod_fn_free(of->sum);
    free(of->parts);
    free(of->x);
}

/* As many elements as the part has, all different. */
static void draw_elements(part *p, size_t n, submod_rng *rng)
{
    for (size_t i = 0; i < p->k;) {
        p->elements[i] = (int32_t)submod_rng_below(rng, n);
        size_t j = 0;
        while (p->elements[j] != p->elements[i]) {
            j++;
        }
        i += j == i;
    }
}

static instance hypergraph(size_t n, size_t count, size_t k, submod_rng *rng)
{
    instance made = make(n, count);
    double table[LARGEST_PART + 1];
    for (size_t i = 0; i <= k; i++) {
        table[i] = fmin((double)i, (double)(k - i));
    }
    for (size_t r = 0; r < count; r++) {
        made.parts[r].k = k;
        draw_elements(&made.parts[r], n, rng);
        require(submod_fn_concave(
            k, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = k + 1, .g = table},
            &made.parts[r].fn));
    }
    for (size_t i = 0; i < n; i++) {
        made.x[i] = 10 * submod_rng_normal(rng);
    }
    add_up(&made);
    return made;
}

/* SIDE pixels from `first` on, `step` apart, as a path. */
static void make_line(part *p, size_t first, size_t step)
{
    int32_t tail[SIDE], head[SIDE];
    double weight[SIDE];
    p->k = SIDE;
    for (size_t i = 0; i < SIDE; i++) {
        p->elements[i] = (int32_t)(first + i * step);
        tail[i] = (int32_t)i;
        head[i] = (int32_t)i + 1;
        weight[i] = 0.2;
    }
    require(submod_fn_cut(SIDE, SIDE - 1, tail, head, weight, 0, &p->fn));
}

static void make_square(part *p, size_t first)
{
    double table[CELL * CELL + 1];
    p->k = (size_t)CELL * CELL;
    for (size_t i = 0; i <= p->k; i++) {
        table[i] = (double)i * (double)(p->k - i) / (double)p->k;
    }
    for (size_t i = 0; i < p->k; i++) {
        size_t row = i / CELL;
        p->elements[i] = (int32_t)(first + row * SIDE + i % CELL);
    }
    require(submod_fn_concave(
        p->k, NULL,
        &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = (p->k) + 1, .g = table}, &p->fn));
}

static instance image(submod_rng *rng)
{
    enum { ACROSS = SIDE / CELL };
    instance made = make((size_t)SIDE * SIDE, 2 * SIDE + ACROSS * ACROSS);
    part *p = made.parts;
    for (size_t i = 0; i < SIDE; i++) {
        make_line(p++, i * SIDE, 1);
        make_line(p++, i, SIDE);
    }
    for (size_t i = 0; i < (size_t)ACROSS * ACROSS; i++) {
        size_t row = i / ACROSS;
        make_square(p++, row * CELL * SIDE + i % ACROSS * CELL);
    }
    for (size_t i = 0; i < made.n; i++) {
        double a = (double)(i % SIDE) / SIDE - 0.5;
        size_t row = i / SIDE;
        double b = (double)row / SIDE - 0.5;
        made.x[i] = (a * a + b * b < 0.1 ? 1 : -1) + submod_rng_normal(rng);
    }
    add_up(&made);
    return made;
}

/* ---- the two methods ---- */

/* The gap of u = x - s. */
static double relative_gap(const instance *of, const double *s, double *u)
{
    double f = 0;
    double along = 0;
    double size = 0;
    for (size_t i = 0; i < of->n; i++) {
        u[i] = of->x[i] - s[i];
        along += s[i] * u[i];
        size += of->x[i] * of->x[i] + s[i] * s[i];
    }
    require(submod_lovasz(of->sum, u, &f, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    return (f - along) / (size / 2);
}

/* Minimises over y of one part. */
static void project(const instance *of, part *p, double *s, submod_work *work)
{
    double a[LARGEST_PART], y[LARGEST_PART];
    for (size_t i = 0; i < p->k; i++) {
        int32_t e = p->elements[i];
        a[i] = of->x[e] - (s[e] - p->y[i]);
    }
    require(submod_prox(p->fn, a, 1, NULL, y, NULL, NULL, work));
    for (size_t i = 0; i < p->k; i++) {
        s[p->elements[i]] += y[i] - p->y[i];
        p->y[i] = y[i];
    }
}

/* Epochs of R random projections until the gap is small enough; MOST_EPOCHS: it is not. */
static size_t random_epochs(instance *of, double tolerance, submod_rng *rng)
{
    double *s = allocate(of->n, sizeof *s);
    double *u = allocate(of->n, sizeof *u);
    submod_work *work = NULL;
    size_t epochs = 0;
    require(submod_work_create(&work));
    for (size_t r = 0; r < of->count; r++) {
        memset(of->parts[r].y, 0, sizeof of->parts[r].y);
    }
    while (epochs < MOST_EPOCHS && (epochs == 0 || relative_gap(of, s, u) > tolerance)) {
        for (size_t i = 0; i < of->count; i++) {
            project(of, &of->parts[submod_rng_below(rng, of->count)], s, work);
        }
        epochs++;
    }
    submod_work_free(work);
    free(s);
    free(u);
    return epochs;
}

static void compare(const char *name, instance *of, submod_rng *rng)
{
    const double tolerances[] = {1e-3, 1e-6, 1e-9};
    printf("%s: %zu parts\n", name, of->count);
    for (size_t i = 0; i < 3; i++) {
        submod_prox_settings settings = submod_prox_defaults();
        submod_prox_info info;
        settings.method = SUBMOD_PROX_SUM;
        settings.tolerance = tolerances[i];
        require(submod_prox(of->sum, of->x, 1, NULL, NULL, &settings, &info, NULL));
        size_t epochs = random_epochs(of, tolerances[i], rng);
        printf("  gap %.0e: ours %6zu sweeps, %9zu projections; RCDM %s%9zu projections; "
               "ratio %.1f\n",
               tolerances[i], info.iterations, info.iterations * of->count,
               epochs == MOST_EPOCHS ? "more than " : "", epochs * of->count,
               (double)epochs / (double)info.iterations);
        fflush(stdout);
    }
    clear(of);
}

int main(void)
{
    const size_t sizes[] = {3, 10, 30};
    submod_rng rng;
    submod_rng_seed(&rng, 16);
    require(submod_set_num_threads(1));
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        instance made = hypergraph(1000, 10000 / sizes[i], sizes[i], &rng);
        snprintf(name, sizeof name, "hyperedges of %zu", sizes[i]);
        compare(name, &made, &rng);
    }
    instance pixels = image(&rng);
    compare("image with superpixels", &pixels, &rng);
    return EXIT_SUCCESS;
}
