/* How much the Lovász extension costs beyond the sort that it needs.
 *
 *   bench-lovasz [REPEATS]
 *
 * Times the Jaccard extension and its subgradient for n random doubles (20 % foreground), all
 * different or rounded to float so that some tie. Compares them with sorting the same doubles by
 * submod_argsort, and by qsort for scale. All alternate in one run; the fastest of the repeats
 * counts. Look at the ratios: times depend on the machine and on its other users.
 */
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

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? 1 : -(x > y);
}

static void require(submod_status status)
{
    if (status != SUBMOD_OK) {
        fprintf(stderr, "bench-lovasz: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

typedef struct data {
    size_t n;
    double *x, *g, *copy;
    int32_t *order;
    submod_fn *jaccard;
    submod_work *work;
} data;

static data make_data(size_t n, int rounded)
{
    data d = {.n = n,
              .x = malloc(n * sizeof *d.x),
              .g = malloc(n * sizeof *d.g),
              .copy = malloc(n * sizeof *d.copy),
              .order = malloc(n * sizeof *d.order)};
    uint8_t *mask = malloc(n);
    if (!d.x || !d.g || !d.copy || !d.order || !mask) {
        fprintf(stderr, "bench-lovasz: out of memory\n");
        exit(EXIT_FAILURE);
    }
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < n; i++) {
        double u = submod_rng_uniform(&rng);
        d.x[i] = rounded ? (float)u : u;
        mask[i] = submod_rng_uniform(&rng) < 0.2;
    }
    require(submod_fn_jaccard(n, mask, &d.jaccard));
    require(submod_work_create(&d.work));
    free(mask);
    return d;
}

static void free_data(data *d)
{
    submod_work_free(d->work);
    submod_fn_free(d->jaccard);
    free(d->x);
    free(d->g);
    free(d->copy);
    free(d->order);
}

static void keep_fastest(double *best, double start)
{
    double t = seconds() - start;
    *best = t < *best ? t : *best;
}

static void compare(data *d, const char *kind, int threads, int repeats)
{
    double sort = 1e30;
    double extension = 1e30;
    double library = 1e30;
    double value;
    require(submod_set_num_threads(threads));
    for (int i = 0; i < repeats; i++) {
        double start = seconds();
        require(submod_argsort(d->x, d->n, d->order, d->work));
        keep_fastest(&sort, start);
        start = seconds();
        require(submod_lovasz(d->jaccard, d->x, &value, d->g, NULL, SUBMOD_TIES_AVERAGE, d->work));
        keep_fastest(&extension, start);
    }
    for (size_t i = 0; i < d->n; i++) {
        d->copy[i] = d->x[i];
    }
    double start = seconds();
    qsort(d->copy, d->n, sizeof *d->copy, descending);
    keep_fastest(&library, start);
    printf("%10zu %-7s %7d %10.2f %9.0f %12.2f %10.2f %12.2f\n", d->n, kind, threads, 1e3 * sort,
           1e-6 * (double)d->n / sort, 1e3 * extension, extension / sort, library / extension);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 15;
    if (repeats < 1) {
        fprintf(stderr, "usage: bench-lovasz [REPEATS]\n");
        return EXIT_FAILURE;
    }
    printf("libsubmod %s: Jaccard extension + subgradient against its sort\n\n", submod_version());
    printf("%10s %-7s %7s %10s %9s %12s %10s %12s\n", "n", "data", "threads", "sort ms", "M keys/s",
           "extension ms", "ext/sort", "qsort/ext");
    for (int log2_n = 16; log2_n <= 22; log2_n += 2) {
        for (int rounded = 0; rounded < 2; rounded++) {
            data d = make_data((size_t)1 << log2_n, rounded);
            compare(&d, rounded ? "ties" : "doubles", 1, repeats);
            compare(&d, rounded ? "ties" : "doubles", 2, repeats);
            free_data(&d);
        }
    }
    return EXIT_SUCCESS;
}
