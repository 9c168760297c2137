/* The prox of sums of functions, against the proxes of their parts and against Fujishige-Wolfe.
 *
 *   bench-sums [ROWS] [LARGEST]      ROWS: pixels | threads | regions | blocks |
 *                                    edges | decided | all
 *
 * pixels   Jaccard loss + cut of a grid with 8 neighbours, h x h pixels, weights g / n (diagonals
 *          g / (n sqrt 2)), lambda = 1 / n, to a relative gap of 1e-9; beside it the proxes of the
 *          two parts, and Wolfe where it ends within 20 s
 * threads  Jaccard + cut with 1 and 2 threads
 * regions  grid cut + |A and R| |R less A| for each region R of a segmentation (Jegelka, Bach, Sra
 *          2013), as embedded functions of the cardinality
 * blocks   20 log-det functions of 20 elements each, embedded, + a cut that joins them
 * edges    hypergraph cuts: m embedded functions min(|A and e|, |e less A|), by size of the edges
 * decided  minimisation of sums: of how many elements the gap decides the membership (s_i < -gap,
 *          s_i > gap), by sweeps
 *
 * One thread, unless it says otherwise. Gap: relative to (lambda |x|^2 + |s|^2 / lambda) / 2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>

#include "combinations.h"
#include "instances.h"

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-sums: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "bench-sums: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- instances ---- */

/* Passes of a running mean over rows and columns. */
static void smooth(double *field, size_t h, size_t radius)
{
    double *line = allocate(h, sizeof *line);
    for (int pass = 0; pass < 6; pass++) {
        size_t along = pass % 2 ? h : 1;
        size_t across = pass % 2 ? 1 : h;
        for (size_t i = 0; i < h; i++) {
            for (size_t j = 0; j < h; j++) {
                line[j] = field[i * across + j * along];
            }
            for (size_t j = 0; j < h; j++) {
                double sum = 0;
                for (size_t k = 0; k <= 2 * radius; k++) {
                    sum += line[(j + k + h - radius) % h];
                }
                field[i * across + j * along] = sum / (double)(2 * radius + 1);
            }
        }
    }
    free(line);
}

/* 0.6 times a smooth field of unit variance, plus noise. */
static double *scores(size_t h, submod_rng *rng)
{
    size_t n = h * h;
    double *x = allocate(n, sizeof *x);
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = submod_rng_normal(rng);
    }
    smooth(x, h, h / 16);
    for (size_t i = 0; i < n; i++) {
        square += x[i] * x[i];
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = 0.6 * x[i] / sqrt(square / (double)n) + submod_rng_normal(rng);
    }
    return x;
}

/* An ellipse and a small disk. */
static submod_fn *jaccard(size_t h)
{
    uint8_t *mask = allocate(h * h, 1);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < h * h; i++) {
        size_t row = i / h;
        double a = (double)row / (double)h;
        double b = (double)(i % h) / (double)h;
        double ellipse = pow((a - 0.5) / 0.25, 2) + pow((b - 0.45) / 0.35, 2);
        double disk = pow((a - 0.85) / 0.08, 2) + pow((b - 0.85) / 0.08, 2);
        mask[i] = ellipse < 1 || disk < 1;
    }
    require(submod_fn_jaccard(h * h, mask, &fn));
    free(mask);
    return fn;
}

static submod_fn *grid(size_t h, double weight, int neighbours)
{
    size_t m = 0;
    int32_t *tail = allocate(4 * h * h, sizeof *tail);
    int32_t *head = allocate(4 * h * h, sizeof *head);
    double *w = allocate(4 * h * h, sizeof *w);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < h * h; i++) {
        const long step[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
        for (int k = 0; k < neighbours / 2; k++) {
            long row = (long)(i / h) + step[k][0];
            long column = (long)(i % h) + step[k][1];
            if (row < (long)h && column >= 0 && column < (long)h) {
                tail[m] = (int32_t)i;
                head[m] = (int32_t)(row * (long)h + column);
                w[m++] = k < 2 ? weight : weight / sqrt(2);
            }
        }
    }
    require(submod_fn_cut(h * h, m, tail, head, w, 0, &fn));
    free(tail);
    free(head);
    free(w);
    return fn;
}

static submod_fn *sum_of(submod_fn *a, submod_fn *b)
{
    submod_fn *fn = NULL;
    submod_fn *const both[2] = {a, b};
    require(combine_sum(both, NULL, 2, &fn));
    return fn;
}

/* ---- measuring ---- */

static const char *name_of(submod_prox_method method)
{
    static const char *const names[] = {
        [SUBMOD_PROX_CLOSED_FORM] = "closed form",
        [SUBMOD_PROX_CARDINALITY] = "cardinality",
        [SUBMOD_PROX_JACCARD] = "jaccard",
        [SUBMOD_PROX_CHAIN] = "chain",
        [SUBMOD_PROX_DECOMPOSITION] = "decomposition",
        [SUBMOD_PROX_MIN_NORM] = "min-norm",
        [SUBMOD_PROX_SUM] = "sum",
        [SUBMOD_PROX_OWN] = "own",
        [SUBMOD_PROX_TWO_COUNTS] = "two counts",
    };
    return names[method];
}

typedef struct result {
    submod_prox_info info;
    submod_status status;
    double gap; /* relative */
} result;

static result run(const submod_fn *fn, const double *x, double lambda, submod_prox_method method,
                  double tolerance, double time_limit)
{
    size_t n = submod_fn_size(fn);
    double *s = allocate(n, sizeof *s);
    submod_prox_settings settings = submod_prox_defaults();
    result r = {0};
    double size = 0;
    settings.method = method;
    settings.tolerance = tolerance;
    settings.time_limit = time_limit;
    r.status = submod_prox(fn, x, lambda, NULL, s, &settings, &r.info, NULL);
    require(r.status);
    for (size_t i = 0; i < n; i++) {
        size += lambda * x[i] * x[i] + s[i] * s[i] / lambda;
    }
    r.gap = r.info.gap / (size / 2);
    free(s);
    return r;
}

static void print(const char *what, result r)
{
    printf("  %-26s %10.4f s  %8zu iterations  gap %8.1e  %s%s\n", what, r.info.seconds,
           r.info.iterations, r.gap, name_of(r.info.method),
           r.status == SUBMOD_OK ? "" : ", not converged");
    fflush(stdout);
}

/* ---- the rows ---- */

static const double strengths[] = {0.05, 0.2, 1};

static void pixels(size_t largest)
{
    for (size_t h = 32; h <= largest; h *= 2) {
        submod_rng rng;
        submod_rng_seed(&rng, 16);
        double *x = scores(h, &rng);
        double n = (double)(h * h);
        submod_fn *loss = jaccard(h);
        for (size_t i = 0; i < 3; i++) {
            submod_fn *cut = grid(h, strengths[i] / n, 8);
            submod_fn *sum = sum_of(loss, cut);
            printf("Jaccard + cut, %zu x %zu, g = %g\n", h, h, strengths[i]);
            result both = run(sum, x, 1 / n, SUBMOD_PROX_AUTO, 1e-9, 0);
            result one = run(loss, x, 1 / n, SUBMOD_PROX_AUTO, 1e-9, 0);
            result other = run(cut, x, 1 / n, SUBMOD_PROX_AUTO, 1e-9, 0);
            print("sum", both);
            print("Jaccard alone", one);
            print("cut alone", other);
            printf("  sum / its parts %.2f\n",
                   both.info.seconds / (one.info.seconds + other.info.seconds));
            if (h <= 64) {
                print("Wolfe", run(sum, x, 1 / n, SUBMOD_PROX_MIN_NORM, 1e-9, 20));
            }
            submod_fn_free(sum);
            submod_fn_free(cut);
        }
        submod_fn_free(loss);
        free(x);
    }
}

static void threads(size_t largest)
{
    for (size_t h = 256; h <= largest; h *= 2) {
        submod_rng rng;
        submod_rng_seed(&rng, 16);
        double *x = scores(h, &rng);
        double n = (double)(h * h);
        submod_fn *loss = jaccard(h);
        submod_fn *cut = grid(h, 0.2 / n, 8);
        submod_fn *sum = sum_of(loss, cut);
        printf("Jaccard + cut, %zu x %zu, g = 0.2\n", h, h);
        for (int count = 1; count <= 2; count++) {
            require(submod_set_num_threads(count));
            print(count == 1 ? "1 thread" : "2 threads",
                  run(sum, x, 1 / n, SUBMOD_PROX_AUTO, 1e-9, 0));
        }
        require(submod_set_num_threads(1));
        submod_fn_free(sum);
        submod_fn_free(cut);
        submod_fn_free(loss);
        free(x);
    }
}

/* coefficient |A| (k - |A|) on these elements of n. */
static submod_fn *region(size_t n, const int32_t *elements, size_t k, double coefficient)
{
    double *table = allocate(k + 1, sizeof *table);
    submod_fn *small = NULL;
    submod_fn *fn = NULL;
    for (size_t i = 0; i <= k; i++) {
        table[i] = coefficient * (double)i * (double)(k - i);
    }
    require(submod_fn_concave(
        k, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = k + 1, .g = table},
        &small));
    require(combine_embedded(small, n, elements, &fn));
    submod_fn_free(small);
    free(table);
    return fn;
}

/* Pixels belong to the nearest of `count` random centres; one function for each of these regions.
 */
static submod_fn *segmentation(size_t h, size_t count, double coefficient, submod_rng *rng)
{
    size_t n = h * h;
    double *centre = allocate(2 * count, sizeof *centre);
    size_t *of = allocate(n, sizeof *of);
    int32_t *elements = allocate(n, sizeof *elements);
    submod_fn **terms = allocate(count, sizeof(submod_fn *));
    size_t used = 0;
    submod_fn *fn = NULL;
    for (size_t i = 0; i < 2 * count; i++) {
        centre[i] = submod_rng_uniform(rng) * (double)h;
    }
    for (size_t i = 0; i < n; i++) {
        double nearest = INFINITY;
        for (size_t c = 0; c < count; c++) {
            size_t row = i / h;
            double d =
                pow((double)row - centre[2 * c], 2) + pow((double)(i % h) - centre[2 * c + 1], 2);
            of[i] = d < nearest ? c : of[i];
            nearest = fmin(d, nearest);
        }
    }
    for (size_t c = 0; c < count; c++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            elements[k] = (int32_t)i;
            k += of[i] == c;
        }
        if (k) {
            terms[used++] = region(n, elements, k, coefficient / (double)k);
        }
    }
    require(combine_sum(terms, NULL, used, &fn));
    for (size_t c = 0; c < used; c++) {
        submod_fn_free(terms[c]);
    }
    free(centre);
    free(of);
    free(elements);
    free(terms);
    return fn;
}

static void regions(size_t largest)
{
    for (size_t h = 64; h <= largest; h *= 2) {
        submod_rng rng;
        submod_rng_seed(&rng, 16);
        double *x = scores(h, &rng);
        submod_fn *cut = grid(h, 0.2, 8);
        submod_fn *potentials = segmentation(h, h <= 64 ? 100 : 500, 0.5, &rng);
        submod_fn *sum = sum_of(cut, potentials);
        printf("cut + region potentials, %zu x %zu\n", h, h);
        print("sum", run(sum, x, 1, SUBMOD_PROX_AUTO, 1e-9, 0));
        print("potentials alone", run(potentials, x, 1, SUBMOD_PROX_AUTO, 1e-9, 0));
        print("cut alone", run(cut, x, 1, SUBMOD_PROX_AUTO, 1e-9, 0));
        if (h <= 64) {
            print("Wolfe", run(sum, x, 1, SUBMOD_PROX_MIN_NORM, 1e-9, 20));
        }
        submod_fn_free(sum);
        submod_fn_free(potentials);
        submod_fn_free(cut);
        free(x);
    }
}

/* log det of exp(-|p_i - p_j|^2) + 0.1 I for k random points, on elements first .. first + k - 1.
 */
static submod_fn *logdet_block(size_t n, size_t first, size_t k, submod_rng *rng)
{
    double *points = allocate(2 * k, sizeof *points);
    double *K = allocate(k * k, sizeof *K);
    int32_t *elements = allocate(k, sizeof *elements);
    submod_fn *small = NULL;
    submod_fn *fn = NULL;
    for (size_t i = 0; i < 2 * k; i++) {
        points[i] = 2 * submod_rng_uniform(rng);
    }
    for (size_t i = 0; i < k; i++) {
        elements[i] = (int32_t)(first + i);
        for (size_t j = 0; j < k; j++) {
            double d = pow(points[2 * i] - points[2 * j], 2) +
                       pow(points[2 * i + 1] - points[2 * j + 1], 2);
            K[i * k + j] = exp(-d) + (i == j ? 0.1 : 0);
        }
    }
    require(submod_fn_logdet(k, K, &small));
    require(combine_embedded(small, n, elements, &fn));
    submod_fn_free(small);
    free(points);
    free(K);
    free(elements);
    return fn;
}

static void blocks(void)
{
    enum { BLOCKS = 20, EACH = 20, N = BLOCKS * EACH, EDGES = 4 * N };
    static int32_t tail[EDGES], head[EDGES];
    static double weight[EDGES], x[N];
    const double lambdas[] = {0.1, 1, 10};
    submod_rng rng;
    submod_fn *terms[BLOCKS + 1], *sum = NULL;
    submod_rng_seed(&rng, 16);
    for (size_t i = 0; i < BLOCKS; i++) {
        terms[i] = logdet_block(N, i * EACH, EACH, &rng);
    }
    for (size_t i = 0; i < EDGES; i++) {
        tail[i] = (int32_t)submod_rng_below(&rng, N);
        head[i] = (int32_t)submod_rng_below(&rng, N);
        weight[i] = 0.2 * submod_rng_uniform(&rng);
    }
    for (size_t i = 0; i < N; i++) {
        x[i] = submod_rng_normal(&rng);
    }
    require(submod_fn_cut(N, EDGES, tail, head, weight, 0, &terms[BLOCKS]));
    require(combine_sum(terms, NULL, BLOCKS + 1, &sum));
    for (size_t i = 0; i < sizeof lambdas / sizeof *lambdas; i++) {
        printf("20 log-det blocks of 20 + cut, lambda = %g\n", lambdas[i]);
        print("sum", run(sum, x, lambdas[i], SUBMOD_PROX_AUTO, 1e-9, 0));
        print("Wolfe", run(sum, x, lambdas[i], SUBMOD_PROX_MIN_NORM, 1e-9, 20));
    }
    for (size_t i = 0; i <= BLOCKS; i++) {
        submod_fn_free(terms[i]);
    }
    submod_fn_free(sum);
}

/* m random hyperedges of k vertices, min(|A and e|, |e less A|) each. */
static submod_fn *hypergraph(size_t n, size_t m, size_t k, submod_rng *rng)
{
    double *table = allocate(k + 1, sizeof *table);
    int32_t *elements = allocate(k, sizeof *elements);
    submod_fn **terms = allocate(m, sizeof(submod_fn *));
    submod_fn *small = NULL;
    submod_fn *fn = NULL;
    for (size_t i = 0; i <= k; i++) {
        table[i] = fmin((double)i, (double)(k - i));
    }
    require(submod_fn_concave(
        k, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = k + 1, .g = table},
        &small));
    for (size_t e = 0; e < m; e++) {
        for (size_t i = 0; i < k;) {
            elements[i] = (int32_t)submod_rng_below(rng, n);
            size_t j = 0;
            while (elements[j] != elements[i]) {
                j++;
            }
            i += j == i;
        }
        require(combine_embedded(small, n, elements, &terms[e]));
    }
    require(combine_sum(terms, NULL, m, &fn));
    for (size_t e = 0; e < m; e++) {
        submod_fn_free(terms[e]);
    }
    submod_fn_free(small);
    free(table);
    free(elements);
    free(terms);
    return fn;
}

static void hyperedges(void)
{
    const size_t sizes[] = {3, 10, 30};
    for (size_t i = 0; i < 3; i++) {
        size_t n = 1000;
        size_t m = 10000 / sizes[i];
        submod_rng rng;
        submod_rng_seed(&rng, 16);
        submod_fn *fn = hypergraph(n, m, sizes[i], &rng);
        double *x = allocate(n, sizeof *x);
        for (size_t e = 0; e < n; e++) {
            x[e] = 10 * submod_rng_normal(&rng);
        }
        printf("%zu hyperedges of %zu among %zu vertices\n", m, sizes[i], n);
        print("sum", run(fn, x, 1, SUBMOD_PROX_AUTO, 1e-9, 0));
        print("Wolfe", run(fn, x, 1, SUBMOD_PROX_MIN_NORM, 1e-9, 10));
        submod_fn_free(fn);
        free(x);
    }
}

/* Runs 1, 2, 4, .. sweeps; ends where the minimisation does. */
static void count_decided(const char *name, submod_fn *fn)
{
    size_t n = submod_fn_size(fn);
    double *s = allocate(n, sizeof *s);
    submod_status status = SUBMOD_MAXITER;
    printf("%s, %zu elements\n", name, n);
    for (size_t sweeps = 1; status == SUBMOD_MAXITER && sweeps < 10000; sweeps *= 2) {
        submod_sfm_settings settings = submod_sfm_defaults();
        submod_sfm_info info;
        size_t decided = 0;
        settings.method = SUBMOD_SFM_SUM;
        settings.max_iterations = sweeps;
        status = submod_sfm(fn, NULL, NULL, s, &settings, &info, NULL);
        require(status);
        for (size_t i = 0; i < n; i++) {
            decided += fabs(s[i]) > info.gap;
        }
        printf("  %5zu sweeps  gap %8.1e  decided %6zu%s\n", info.iterations, info.gap, decided,
               status == SUBMOD_OK ? info.exact ? "  proved" : "  within tolerance" : "");
        fflush(stdout);
    }
    free(s);
    submod_fn_free(fn);
}

static void decided(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 16);
    double *image = instance_image(64, &rng);
    count_decided("superpixels, strength 0.05", instance_superpixels(64, image, 100, 0.05, &rng));
    count_decided("superpixels, strength 0.3", instance_superpixels(64, image, 100, 0.3, &rng));
    count_decided("hyperedges of 10",
                  instance_hypergraph(1000, 1000, 10, SUBMOD_CONCAVE_PRODUCT, &rng));
    free(image);
}

int main(int argc, char **argv)
{
    const char *rows = argc > 1 ? argv[1] : "all";
    size_t largest = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;
    int all = strcmp(rows, "all") == 0;
    require(submod_set_num_threads(1));
    if (all || strcmp(rows, "pixels") == 0) {
        pixels(largest);
    }
    if (all || strcmp(rows, "threads") == 0) {
        threads(largest < 256 ? 256 : largest);
    }
    if (all || strcmp(rows, "regions") == 0) {
        regions(largest);
    }
    if (all || strcmp(rows, "blocks") == 0) {
        blocks();
    }
    if (all || strcmp(rows, "edges") == 0) {
        hyperedges();
    }
    if (all || strcmp(rows, "decided") == 0) {
        decided();
    }
    return EXIT_SUCCESS;
}
