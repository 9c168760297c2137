/* Instances of the literature: cuts of small worlds and of images, superpixels, hypergraphs,
 * Iwata's function in groups, coverage. Cost: linear in their size, but for superpixels (pixels *
 * regions).
 */
#include "instances.h"
#include "combinations.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod/select.h>

#include "iwata.h"

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "instances: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "instances: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* f + w; frees f. */
static submod_fn *plus_modular(submod_fn *f, const double *w)
{
    submod_fn *fn = NULL;
    require(combine_plus(f, w, &fn));
    submod_fn_free(f);
    return fn;
}

submod_fn *instance_random_cut(size_t n, size_t half_degree, submod_rng *rng)
{
    size_t m = n * half_degree;
    int32_t *tail = allocate(m, sizeof *tail);
    int32_t *head = allocate(m, sizeof *head);
    double *weight = allocate(m, sizeof *weight);
    double *terminal = allocate(n, sizeof *terminal);
    for (size_t i = 0; i < m; i++) {
        size_t from = i / half_degree;
        size_t to = (from + 1 + i % half_degree) % n;
        if (submod_rng_uniform(rng) < 0.25) {
            to = submod_rng_below(rng, n);
        }
        tail[i] = (int32_t)from;
        head[i] = (int32_t)to;
        weight[i] = 0.01 + 0.99 * submod_rng_uniform(rng);
    }
    for (size_t i = 0; i < n; i++) {
        terminal[i] = 4 * (submod_rng_uniform(rng) - submod_rng_uniform(rng)) * 0.99;
    }
    submod_fn *cut = NULL;
    require(submod_fn_cut(n, m, tail, head, weight, 0, &cut));
    submod_fn *fn = plus_modular(cut, terminal);
    free(tail);
    free(head);
    free(weight);
    free(terminal);
    return fn;
}

submod_fn *instance_groupwise_iwata(size_t n, size_t copies)
{
    size_t k = n / copies;
    int32_t *elements = allocate(k, sizeof *elements);
    submod_fn **terms = allocate(copies, sizeof(submod_fn *));
    submod_fn *one = NULL;
    submod_fn *fn = NULL;
    require(make_iwata(k, &one));
    for (size_t c = 0; c < copies; c++) {
        for (size_t j = 0; j < k; j++) {
            elements[j] = (int32_t)(j * copies + c);
        }
        require(combine_embedded(one, n, elements, &terms[c]));
    }
    require(combine_sum(terms, NULL, copies, &fn));
    for (size_t c = 0; c < copies; c++) {
        submod_fn_free(terms[c]);
    }
    submod_fn_free(one);
    free(terms);
    free(elements);
    return fn;
}

submod_fn *instance_coverage(size_t n, size_t m, size_t degree, submod_rng *rng)
{
    size_t *start = allocate(n + 1, sizeof *start);
    int32_t *items = allocate(n * degree, sizeof *items);
    double *weight = allocate(m, sizeof *weight);
    submod_fn *fn = NULL;
    for (size_t e = 0; e < n; e++) {
        start[e + 1] = start[e] + degree;
    }
    for (size_t i = 0; i < n * degree; i++) {
        items[i] = (int32_t)submod_rng_below(rng, m);
    }
    for (size_t i = 0; i < m; i++) {
        weight[i] = submod_rng_uniform(rng);
    }
    require(submod_fn_coverage(n, start, items, m, weight, &fn));
    free(start);
    free(items);
    free(weight);
    return fn;
}

/* ---- images ---- */

double *instance_image(size_t side, submod_rng *rng)
{
    double *image = allocate(side * side, sizeof *image);
    for (size_t i = 0; i < side * side; i++) {
        double x = (double)(i % side) / (double)side - 0.5;
        size_t row = i / side;
        double y = (double)row / (double)side - 0.5;
        double inside = x * x / 0.09 + y * y / 0.04 < 1;
        double shading = 0.2 * sin(9 * x + 4 * y);
        image[i] = inside + shading + 0.4 * submod_rng_normal(rng);
    }
    return image;
}

/* The edges of the grid, right and down from each pixel; weight = the squared difference of grey.
 * Returns how many. */
static size_t grid_edges(size_t side, const double *image, int32_t *tail, int32_t *head,
                         double *weight)
{
    size_t m = 0;
    if (side == 0) {
        return 0;
    }
    for (size_t i = 0; i < side * side; i++) {
        bool last = (i + 1) % side == 0; /* of its row */
        const size_t next[2] = {last ? i : i + 1, i + side};
        for (int d = 0; d < 2; d++) {
            if (next[d] != i && next[d] < side * side) {
                tail[m] = (int32_t)i;
                head[m] = (int32_t)next[d];
                weight[m] = pow(image[i] - image[next[d]], 2);
                m++;
            }
        }
    }
    return m;
}

submod_fn *instance_image_cut(size_t side, const double *image, double strength)
{
    size_t n = side * side;
    int32_t *tail = allocate(2 * n, sizeof *tail);
    int32_t *head = allocate(2 * n, sizeof *head);
    double *weight = allocate(2 * n, sizeof *weight);
    double *unary = allocate(n, sizeof *unary);
    size_t m = grid_edges(side, image, tail, head, weight);
    double mean = 1e-300;
    for (size_t i = 0; i < m; i++) {
        mean += weight[i] / (double)m;
    }
    for (size_t i = 0; i < m; i++) {
        weight[i] = strength * (0.1 + exp(-weight[i] / mean));
    }
    for (size_t i = 0; i < n; i++) {
        unary[i] = 0.5 - image[i];
    }
    submod_fn *cut = NULL;
    require(submod_fn_cut(n, m, tail, head, weight, 0, &cut));
    submod_fn *fn = plus_modular(cut, unary);
    free(tail);
    free(head);
    free(weight);
    free(unary);
    return fn;
}

/* region[i] = the nearest of the points, one in each cell of a square grid of at least `regions`
 * cells. Returns how many there are. */
static size_t voronoi(size_t side, size_t regions, size_t *region, submod_rng *rng)
{
    size_t across = (size_t)ceil(sqrt((double)regions));
    size_t count = across * across;
    double cell = (double)side / (double)across;
    double *xy = allocate(2 * count, sizeof *xy);
    for (size_t r = 0; r < count; r++) {
        xy[2 * r] = cell * ((double)(r % across) + submod_rng_uniform(rng));
        size_t row = r / across;
        xy[2 * r + 1] = cell * ((double)row + submod_rng_uniform(rng));
    }
    for (size_t i = 0; i < side * side; i++) {
        size_t row = i / side;
        double nearest = INFINITY;
        for (size_t r = 0; r < count; r++) {
            double distance = hypot((double)(i % side) - xy[2 * r], (double)row - xy[2 * r + 1]);
            region[i] = distance < nearest ? r : region[i];
            nearest = fmin(nearest, distance);
        }
    }
    free(xy);
    return count;
}

/* The pixels of each region, one region after the other. */
static void list_regions(size_t n, size_t count, const size_t *region, size_t *start,
                         int32_t *pixels)
{
    for (size_t i = 0; i < n; i++) {
        start[region[i] + 1]++;
    }
    for (size_t r = 0; r < count; r++) {
        start[r + 1] += start[r];
    }
    for (size_t i = n; i-- > 0;) { /* from the back, so that start moves to its place */
        size_t *end = &start[region[i] + 1];
        pixels[--*end] = (int32_t)i;
    }
    for (size_t r = 0; r < count; r++) { /* each end has become a beginning */
        start[r] = start[r + 1];
    }
    start[count] = n;
}

submod_fn *instance_superpixels(size_t side, const double *image, size_t regions, double strength,
                                submod_rng *rng)
{
    size_t n = side * side;
    size_t *region = allocate(n, sizeof *region);
    size_t count = voronoi(side, regions, region, rng);
    size_t *start = allocate(count + 1, sizeof *start);
    int32_t *pixels = allocate(n, sizeof *pixels);
    double *weight = allocate(count, sizeof *weight);
    list_regions(n, count, region, start, pixels);
    for (size_t r = 0; r < count; r++) {
        size_t size = start[r + 1] - start[r];
        weight[r] = size ? strength / (double)size : 0;
    }
    submod_fn *terms[2] = {instance_image_cut(side, image, strength), NULL};
    submod_fn *fn = NULL;
    require(submod_fn_groups(
        n, &(submod_groups){.count = count, .start = start, .elements = pixels, .weight = weight},
        &(submod_concave){.kind = SUBMOD_CONCAVE_PRODUCT}, &terms[1]));
    require(combine_sum(terms, NULL, 2, &fn));
    submod_fn_free(terms[0]);
    submod_fn_free(terms[1]);
    free(region);
    free(start);
    free(pixels);
    free(weight);
    return fn;
}

/* ---- hypergraphs ---- */

submod_fn *instance_hypergraph(size_t n, size_t m, size_t size, submod_concave_kind kind,
                               submod_rng *rng)
{
    size_t window = 4 * size < n ? 4 * size : n;
    size_t *start = allocate(m + 1, sizeof *start);
    int32_t *nodes = allocate(m * size, sizeof *nodes);
    int32_t *near = allocate(window, sizeof *near);
    double *weight = allocate(m, sizeof *weight);
    double *unary = allocate(n, sizeof *unary);
    for (size_t i = 0; i < m; i++) {
        size_t first = submod_rng_below(rng, n);
        for (size_t j = 0; j < window; j++) {
            near[j] = (int32_t)((first + j) % n);
        }
        for (size_t j = 0; j < size; j++) { /* the first steps of a shuffle */
            size_t k = j + submod_rng_below(rng, window - j);
            nodes[i * size + j] = near[k];
            near[k] = near[j];
        }
        start[i + 1] = start[i] + size;
        weight[i] = submod_rng_uniform(rng);
    }
    for (size_t i = 0; i < n; i++) {
        unary[i] = submod_rng_normal(rng) * (double)(m * size) / (double)n;
    }
    submod_fn *cut = NULL;
    require(submod_fn_groups(
        n, &(submod_groups){.count = m, .start = start, .elements = nodes, .weight = weight},
        &(submod_concave){.kind = kind}, &cut));
    submod_fn *fn = plus_modular(cut, unary);
    free(start);
    free(nodes);
    free(near);
    free(weight);
    free(unary);
    return fn;
}
