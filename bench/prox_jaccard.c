/* How much the exact prox of the Jaccard extension costs beyond the sort that it needs.
 *
 *   bench-prox-jaccard [REPEATS]
 *
 * n random doubles, uniform in [0, 1), 20 % foreground, against submod_argsort_f64 of the same
 * data. All alternate in one run; the fastest of the repeats counts. A small lambda joins many
 * pixels into few levels, a large lambda joins few pixels. The columns:
 *
 *   prox       submod_prox, which also measures its gap
 *   points     submod_prox_jaccard_points with multiplicity 1 and no gap: the solver alone
 *   histogram  submod_prox_jaccard_histogram with delta = 2^-13, from float
 *   bytes      workspace of submod_prox per pixel
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-prox-jaccard: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

typedef struct data {
    size_t n;
    double *x, *u, *s;
    float *x32, *u32;
    int32_t *order;
    uint8_t *foreground;
    uint64_t *ones;
    submod_fn *jaccard;
} data;

static void *get(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    if (!memory) {
        fprintf(stderr, "bench-prox-jaccard: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static data make_data(size_t n)
{
    data d = {.n = n,
              .x = get(n, sizeof *d.x),
              .u = get(n, sizeof *d.u),
              .s = get(n, sizeof *d.s),
              .x32 = get(n, sizeof *d.x32),
              .u32 = get(n, sizeof *d.u32),
              .order = get(n, sizeof *d.order),
              .foreground = get(n, 1),
              .ones = get(n, sizeof *d.ones)};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < n; i++) {
        d.x[i] = submod_rng_uniform(&rng);
        d.x32[i] = (float)d.x[i];
        d.foreground[i] = submod_rng_uniform(&rng) < 0.2;
        d.ones[i] = 1;
    }
    require(submod_fn_jaccard(n, d.foreground, &d.jaccard));
    return d;
}

static void free_data(data *d)
{
    submod_fn_free(d->jaccard);
    free(d->x);
    free(d->u);
    free(d->s);
    free(d->x32);
    free(d->u32);
    free(d->order);
    free(d->foreground);
    free(d->ones);
}

static void keep_fastest(double *best, double start)
{
    double t = seconds() - start;
    *best = t < *best ? t : *best;
}

static void compare(data *d, double lambda, int threads, int repeats)
{
    enum { SORT, POINTS, PROX, HISTOGRAM, KINDS };
    double best[KINDS] = {1e30, 1e30, 1e30, 1e30};
    submod_work *work[KINDS];
    submod_prox_info info;
    require(submod_set_num_threads(threads));
    for (int k = 0; k < KINDS; k++) {
        require(submod_work_create(&work[k]));
    }
    for (int i = 0; i < repeats; i++) {
        double start = seconds();
        require(submod_argsort_f64(d->x, d->n, d->order, work[SORT]));
        keep_fastest(&best[SORT], start);
        start = seconds();
        require(submod_prox_jaccard_points(d->n, d->x, d->foreground, d->ones, lambda, d->u, d->s,
                                           NULL, work[POINTS]));
        keep_fastest(&best[POINTS], start);
        start = seconds();
        require(submod_prox(d->jaccard, d->x, lambda, d->u, d->s, NULL, &info, work[PROX]));
        keep_fastest(&best[PROX], start);
        start = seconds();
        require(submod_prox_jaccard_histogram(d->n, d->x32, d->foreground, lambda, 0x1p-13, d->u32,
                                              NULL, NULL, work[HISTOGRAM]));
        keep_fastest(&best[HISTOGRAM], start);
    }
    printf("%9zu %8.0e %7d %9zu %8.1f %8.1f %6.2f %8.1f %6.2f %9.1f %6.2f %6.1f %6.1f %9.1e\n",
           d->n, lambda, threads, info.iterations, 1e3 * best[SORT], 1e3 * best[PROX],
           best[PROX] / best[SORT], 1e3 * best[POINTS], best[POINTS] / best[SORT],
           1e3 * best[HISTOGRAM], best[HISTOGRAM] / best[SORT],
           (double)submod_work_bytes(work[PROX]) / (double)d->n, (double)info.work / (double)d->n,
           info.gap);
    fflush(stdout); /* rows of 10^7 pixels take long */
    for (int k = 0; k < KINDS; k++) {
        submod_work_free(work[k]);
    }
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 7;
    if (repeats < 1) {
        fprintf(stderr, "usage: bench-prox-jaccard [REPEATS]\n");
        return EXIT_FAILURE;
    }
    printf("libsubmod %s: exact Jaccard prox against its sort\n\n", submod_version_string());
    printf("%9s %8s %7s %9s %8s %8s %6s %8s %6s %9s %6s %6s %6s %9s\n", "n", "lambda", "threads",
           "levels", "sort ms", "prox ms", "/sort", "points", "/sort", "histogram", "/sort",
           "bytes", "work/n", "gap");
    const size_t million = 1000000;
    for (size_t n = million / 10; n <= 10 * million; n *= 10) {
        data d = make_data(n);
        for (int power = -6; power <= 2; power += n == million ? 2 : 4) {
            compare(&d, pow(10, power), 1, n > million ? 1 : repeats);
            compare(&d, pow(10, power), 2, n > million ? 1 : repeats);
        }
        free_data(&d);
    }
    return EXIT_SUCCESS;
}
