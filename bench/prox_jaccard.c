/* How much the exact prox of the Jaccard extension costs beyond the sort that it needs, and how
 * much more that of other measures of two counts.
 *
 *   bench-prox-jaccard [REPEATS]
 *
 * n random doubles of one of five kinds, 20 % foreground, against submod_argsort of the same
 * data. All alternate in one run; the fastest of the repeats counts. A small lambda joins many
 * pixels into few levels, a large lambda joins few pixels. The columns:
 *
 *   sort         submod_argsort with one thread, and with two
 *   prox         submod_prox with u, s and gap, with one thread, and with two
 *   /sort        both with one thread
 *   2 threads    how many times faster the prox is with two
 *   histogram    submod_prox_jaccard_histogram with delta = 2^-13 of the range, from float
 *   tversky      Tversky's measure (alpha = 0.5, beta = 2) with one thread, / the Jaccard prox
 *   callback     the same measure as a callback, / the Jaccard prox
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

/* Kinds of data: how evenly values spread decides how a sort fares. */
typedef double draw(submod_rng *rng);

static double uniform(submod_rng *rng)
{
    return submod_rng_uniform(rng);
}

static double normal(submod_rng *rng)
{
    return submod_rng_normal(rng);
}

/* Cauchy: no mean, and the largest of a million is a million times the median. */
static double heavy_tailed(submod_rng *rng)
{
    double below = submod_rng_normal(rng);
    return submod_rng_normal(rng) / (fabs(below) + 1e-12);
}

/* Ten narrow heaps. */
static double clustered(submod_rng *rng)
{
    double heap = (double)submod_rng_below(rng, 10);
    return sin(7 * heap) + 1e-3 * submod_rng_normal(rng);
}

/* 256 values, as of an 8-bit image. */
static double tied(submod_rng *rng)
{
    return (double)submod_rng_below(rng, 256) / 256;
}

typedef struct kind {
    const char *name;
    draw *draw;
} kind;

static const kind kinds[] = {{"normal", normal},
                             {"uniform", uniform},
                             {"heavy-tailed", heavy_tailed},
                             {"clustered", clustered},
                             {"tied", tied}};

typedef struct data {
    size_t n;
    const char *name;
    double *x, *u, *s;
    double range;
    int32_t *order;
    uint8_t *foreground;
    submod_fn *jaccard, *tversky, *callback;
} data;

/* Tversky's measure once more, as a user would write it. */
static double by_callback(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    (void)ctx;
    double wrong = 2 * a + 0.5 * b;
    return wrong > 0 ? wrong / (P - a + wrong) : 0;
}

static void *get(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    if (!memory) {
        fprintf(stderr, "bench-prox-jaccard: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static data make_data(size_t n, const kind *of)
{
    data d = {.n = n,
              .name = of->name,
              .x = get(n, sizeof *d.x),
              .u = get(n, sizeof *d.u),
              .s = get(n, sizeof *d.s),
              .order = get(n, sizeof *d.order),
              .foreground = get(n, 1)};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        d.x[i] = of->draw(&rng);
        d.foreground[i] = submod_rng_uniform(&rng) < 0.2;
        low = fmin(low, d.x[i]);
        high = fmax(high, d.x[i]);
    }
    d.range = high - low;
    submod_measure tversky = submod_tversky(0.5, 2);
    submod_measure callback =
        submod_measure_custom(&(submod_measure_ops){.value = by_callback}, NULL);
    require(submod_fn_jaccard(n, d.foreground, &d.jaccard));
    require(submod_fn_counts(n, d.foreground, NULL, &tversky, &d.tversky));
    require(submod_fn_counts(n, d.foreground, NULL, &callback, &d.callback));
    return d;
}

static void free_data(data *d)
{
    submod_fn_free(d->jaccard);
    submod_fn_free(d->tversky);
    submod_fn_free(d->callback);
    free(d->x);
    free(d->u);
    free(d->s);
    free(d->order);
    free(d->foreground);
}

static void keep_fastest(double *best, double start)
{
    double t = seconds() - start;
    *best = t < *best ? t : *best;
}

static void compare(data *d, double lambda, int repeats)
{
    enum { SORT, PROX, HISTOGRAM, TVERSKY, CALLBACK, CALLS };
    double best[2][CALLS];
    submod_work *work[CALLS];
    submod_prox_info info;
    submod_prox_settings rough = submod_prox_defaults();
    rough.accuracy = 0x1p-13 * d->range;
    for (int k = 0; k < CALLS; k++) {
        best[0][k] = best[1][k] = 1e30;
        require(submod_work_create(&work[k]));
    }
    for (int i = 0; i < 2 * repeats; i++) {
        double *fastest = best[i % 2];
        require(submod_set_num_threads(i % 2 + 1));
        double start = seconds();
        require(submod_argsort(d->x, d->n, d->order, work[SORT]));
        keep_fastest(&fastest[SORT], start);
        start = seconds();
        require(submod_prox(d->jaccard, d->x, lambda, d->u, d->s, NULL, &info, work[PROX]));
        keep_fastest(&fastest[PROX], start);
        start = seconds();
        require(submod_prox(d->jaccard, d->x, lambda, d->u, NULL, &rough, NULL, work[HISTOGRAM]));
        keep_fastest(&fastest[HISTOGRAM], start);
        start = seconds();
        require(submod_prox(d->tversky, d->x, lambda, d->u, d->s, NULL, &info, work[TVERSKY]));
        keep_fastest(&fastest[TVERSKY], start);
        start = seconds();
        require(submod_prox(d->callback, d->x, lambda, d->u, d->s, NULL, &info, work[CALLBACK]));
        keep_fastest(&fastest[CALLBACK], start);
    }
    require(submod_prox(d->jaccard, d->x, lambda, d->u, d->s, NULL, &info, work[PROX]));
    printf("%9zu %-12s %6.0e %8zu %6.1f %6.1f %6.1f %6.1f %6.2f %9.2f %9.1f %7.2f %8.2f "
           "%6.1f %9.1e\n",
           d->n, d->name, lambda, info.iterations, 1e3 * best[0][SORT], 1e3 * best[1][SORT],
           1e3 * best[0][PROX], 1e3 * best[1][PROX], best[0][PROX] / best[0][SORT],
           best[0][PROX] / best[1][PROX], 1e3 * best[0][HISTOGRAM],
           best[0][TVERSKY] / best[0][PROX], best[0][CALLBACK] / best[0][PROX],
           (double)info.work / (double)d->n, info.gap);
    fflush(stdout); /* rows of 10^7 pixels take long */
    for (int k = 0; k < CALLS; k++) {
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
    printf("libsubmod %s: exact Jaccard prox against its sort, times in ms\n\n", submod_version());
    printf("%9s %-12s %6s %8s %6s %6s %6s %6s %6s %9s %9s %7s %8s %6s %9s\n", "n", "data", "lambda",
           "levels", "sort", "sort 2", "prox", "prox 2", "/sort", "2 threads", "histogram",
           "tversky", "callback", "work/n", "gap");
    const size_t million = 1000000;
    for (size_t n = million / 10; n <= 10 * million; n *= 10) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            data d = make_data(n, &kinds[k]);
            for (int power = -6; power <= 2; power += n == million ? 2 : 8) {
                compare(&d, pow(10, power), n > million ? 1 : repeats);
            }
            free_data(&d);
        }
    }
    return EXIT_SUCCESS;
}
