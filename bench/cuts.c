/* Cuts of grids: what the base costs beside the minimum, and what the prox costs.
 *
 *   bench-cuts [SIDE [REPEATS]]
 *
 * An image of SIDE x SIDE pixels (512): an ellipse and a disk, a smooth field and noise. Grids with
 * 4 and 8 neighbours, with equal weights and with weights that fall where the image has an edge,
 * from weak to strong smoothing. Each line: milliseconds to build the function, to minimise cut -
 * x without and with a base, and for the prox of the cut at x with lambda = 1; then the ratios base
 * / no base and prox / minimum, and the gaps relative to the values. The fastest of the repeats
 * (3) counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod.h>
#include <time.h>

#include "combinations.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-cuts: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "bench-cuts: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* 1 inside the objects, 0 outside. */
static double object(double x, double y)
{
    double ellipse = pow((x - 0.45) / 0.28, 2) + pow((y - 0.5) / 0.33, 2);
    double disk = (pow(x - 0.8, 2) + pow(y - 0.2, 2)) / 0.01;
    return ellipse < 1 || disk < 1;
}

/* Objects, waves of random phase, and noise. */
static double *make_image(size_t side, submod_rng *rng)
{
    enum { WAVES = 8 };
    double wave[WAVES][3];
    double pi = acos(-1);
    for (int k = 0; k < WAVES; k++) {
        wave[k][0] = 8 * pi * (submod_rng_uniform(rng) - 0.5);
        wave[k][1] = 8 * pi * (submod_rng_uniform(rng) - 0.5);
        wave[k][2] = 2 * pi * submod_rng_uniform(rng);
    }
    double *image = allocate(side * side, sizeof *image);
    for (size_t i = 0; i < side * side; i++) {
        size_t row = i / side;
        double x = (double)(i % side) / (double)side;
        double y = (double)row / (double)side;
        image[i] = 1.2 * object(x, y) - 0.6 + submod_rng_normal(rng);
        for (int k = 0; k < WAVES; k++) {
            image[i] += 0.2 * sin(wave[k][0] * x + wave[k][1] * y + wave[k][2]);
        }
    }
    return image;
}

/* The edges of a grid. */
typedef struct grid {
    size_t m;
    int32_t *tail, *head;
    double *weight;
} grid;

static void add_edge(grid *g, size_t side, size_t i, size_t j, double weight, int contrast)
{
    size_t row[2] = {i / side, j / side};
    double a = object((double)(i % side) / (double)side, (double)row[0] / (double)side);
    double b = object((double)(j % side) / (double)side, (double)row[1] / (double)side);
    g->tail[g->m] = (int32_t)i;
    g->head[g->m] = (int32_t)j;
    g->weight[g->m++] = weight * (contrast ? exp(-4 * (a - b) * (a - b)) : 1);
}

static grid make_grid(size_t side, int neighbours, double weight, int contrast)
{
    size_t most = 4 * side * side;
    grid g = {.tail = allocate(most, sizeof *g.tail),
              .head = allocate(most, sizeof *g.head),
              .weight = allocate(most, sizeof *g.weight)};
    for (size_t i = 0; i < side * side; i++) {
        int right = i % side + 1 < side;
        int below = i / side + 1 < side;
        if (right) {
            add_edge(&g, side, i, i + 1, weight, contrast);
        }
        if (below) {
            add_edge(&g, side, i, i + side, weight, contrast);
        }
        if (neighbours == 8 && right && below) {
            add_edge(&g, side, i, i + side + 1, weight / sqrt(2), contrast);
            add_edge(&g, side, i + 1, i + side, weight / sqrt(2), contrast);
        }
    }
    return g;
}

/* What is measured. */
typedef struct times {
    double build, minimum, base, prox;
    double minimum_gap, prox_gap;
} times;

static void minimise(const submod_fn *fn, double *s, submod_sfm_info *info, uint8_t *in,
                     submod_work *work, double *fastest)
{
    double start = seconds();
    require(submod_sfm(fn, in, NULL, s, NULL, info, work));
    *fastest = fmin(*fastest, seconds() - start);
}

static times measure(size_t side, const grid *g, const double *x, int repeats)
{
    size_t n = side * side;
    times t = {INFINITY, INFINITY, INFINITY, INFINITY, 0, 0};
    double *w = allocate(n, sizeof *w);
    double *s = allocate(n, sizeof *s);
    uint8_t *in = allocate(n, 1);
    submod_work *work = NULL;
    require(submod_work_create(&work));
    for (size_t i = 0; i < n; i++) {
        w[i] = -x[i];
    }
    for (int i = 0; i < repeats; i++) {
        submod_fn *cut = NULL;
        submod_fn *fn = NULL;
        submod_sfm_info sfm;
        submod_prox_info prox;
        double start = seconds();
        require(submod_fn_cut(n, g->m, g->tail, g->head, g->weight, 0, &cut));
        t.build = fmin(t.build, seconds() - start);
        require(combine_plus(cut, w, &fn));
        minimise(fn, NULL, NULL, in, work, &t.minimum);
        minimise(fn, s, &sfm, in, work, &t.base);
        require(submod_prox(cut, x, 1, NULL, NULL, NULL, &prox, work));
        t.prox = fmin(t.prox, prox.seconds);
        t.minimum_gap = fabs(sfm.gap / sfm.value);
        t.prox_gap = fabs(prox.gap / prox.primal);
        submod_fn_free(cut);
        submod_fn_free(fn);
    }
    submod_work_free(work);
    free(w);
    free(s);
    free(in);
    return t;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 512;
    int repeats = argc > 2 ? atoi(argv[2]) : 3;
    if (side < 2 || side > 20000 || repeats < 1) {
        fprintf(stderr, "usage: bench-cuts [SIDE [REPEATS]]\n");
        return EXIT_FAILURE;
    }
    static const double strengths[] = {0.1, 0.5, 2, 10};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    double *x = make_image((size_t)side, &rng);
    printf("libsubmod %s: cuts of grids, %d x %d pixels\n\n", submod_version(), side, side);
    printf("%-11s%-10s%7s%8s%9s%9s%9s%8s%8s%10s%10s\n", "neighbours", "weights", "", "build",
           "minimum", "+ base", "prox", "base/", "prox/", "gap", "prox gap");
    for (int c = 0; c < 16; c++) {
        int neighbours = c / 8 ? 8 : 4;
        int contrast = c / 4 % 2;
        grid g = make_grid((size_t)side, neighbours, strengths[c % 4], contrast);
        times t = measure((size_t)side, &g, x, repeats);
        printf("%-11d%-10s%7g%8.1f%9.1f%9.1f%9.1f%8.2f%8.2f%10.1e%10.1e\n", neighbours,
               contrast ? "contrast" : "equal", strengths[c % 4], 1e3 * t.build, 1e3 * t.minimum,
               1e3 * t.base, 1e3 * t.prox, t.base / t.minimum, t.prox / t.minimum, t.minimum_gap,
               t.prox_gap);
        fflush(stdout);
        free(g.tail);
        free(g.head);
        free(g.weight);
    }
    free(x);
    return EXIT_SUCCESS;
}
