/* Fujishige-Wolfe on the instances for which its public implementations report times.
 *
 *   bench-min-norm [REPEATS]
 *
 * Finds the minimum-norm point of B(F) (x = 0, lambda = 1) and, by the same method, the minimum of
 * F, then the prox at a Gaussian x for lambda = 1 and 0.1, with tolerance 1e-10 and at most 5 s.
 * The fastest of the repeats counts. To compare with, on a machine of this kind:
 * 6-8 ms for Iwata n = 1000, 0.11-0.13 s for n = 4000, 7 ms for the log-det function of 400 points,
 * about 1.1 s for the cut n = 1000.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "combinations.h"
#include "instances.h"
#include "iwata.h"

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-min-norm: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "bench-min-norm: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The kernel exp(-8 D / median D) + 1e-4 n I, D the squared distances. */
static double *kernel(const double *xy, size_t n)
{
    double *K = allocate(n * n, sizeof *K);
    double *sorted = allocate(n * n, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            K[i * n + j] = pow(xy[2 * i] - xy[2 * j], 2) + pow(xy[2 * i + 1] - xy[2 * j + 1], 2);
            sorted[i * n + j] = K[i * n + j];
        }
    }
    qsort(sorted, n * n, sizeof *sorted, ascending);
    double median = sorted[n * n / 2];
    for (size_t i = 0; i < n * n; i++) {
        K[i] = exp(-8 * K[i] / median) + (i % (n + 1) == 0 ? 1e-4 * (double)n : 0);
    }
    free(sorted);
    return K;
}

/* The inverse of K, by Gauss-Jordan without pivoting: K is positive definite. Made symmetric at the
 * end. */
static double *inverse(const double *K, size_t n)
{
    double *a = allocate(n * n, sizeof *a);
    double *inv = allocate(n * n, sizeof *inv);
    for (size_t i = 0; i < n * n; i++) {
        a[i] = K[i];
        inv[i] = i % (n + 1) == 0;
    }
    for (size_t p = 0; p < n; p++) {
        double d = a[p * n + p];
        for (size_t j = 0; j < n; j++) {
            a[p * n + j] /= d;
            inv[p * n + j] /= d;
        }
        for (size_t i = 0; i < n; i++) {
            double f = i == p ? 0 : a[i * n + p];
            for (size_t j = 0; f != 0 && j < n; j++) {
                a[i * n + j] -= f * a[p * n + j];
                inv[i * n + j] -= f * inv[p * n + j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            inv[i * n + j] = inv[j * n + i] = (inv[i * n + j] + inv[j * n + i]) / 2;
        }
    }
    free(a);
    return inv;
}

/* Two moons. symmetric: logdet K_AA + logdet K_(V-A) - logdet K, else the first term alone. The
 * second term is logdet K + logdet (K^-1)_AA. In both cases labels are added as a modular
 * function. */
static submod_fn *two_moons(size_t half, int symmetric, submod_rng *rng)
{
    enum { LABELLED = 8 };
    size_t n = 2 * half;
    double pi = acos(-1);
    double *xy = allocate(2 * n, sizeof *xy);
    for (size_t i = 0; i < n; i++) {
        int second = i >= half;
        double angle = pi * (submod_rng_uniform(rng) + (second ? 0.5 : -0.5));
        double radius = 2 + 0.4 * submod_rng_normal(rng);
        xy[2 * i] = (second ? 0.5 : -0.5) + radius * cos(angle);
        xy[2 * i + 1] = (second ? -1 : 1) + radius * sin(angle);
    }
    double *K = kernel(xy, n);
    double *inv = inverse(K, n);
    double *w = allocate(n, sizeof *w);
    submod_fn *parts[2] = {NULL, NULL};
    submod_fn *sum = NULL;
    submod_fn *fn = NULL;
    require(submod_fn_logdet(n, K, &parts[0]));
    require(submod_fn_logdet(n, inv, &parts[1]));
    require(combine_sum(parts, NULL, symmetric ? 2 : 1, &sum));
    double largest = 0;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        double value;
        require(submod_fn_eval(sum, &i, 1, &value));
        largest = fmax(largest, value);
    }
    for (size_t i = 0; i < LABELLED; i++) {
        w[i] = -2 * largest;
        w[half + i] = 2 * largest;
    }
    require(combine_plus(sum, w, &fn));
    submod_fn_free(parts[0]);
    submod_fn_free(parts[1]);
    submod_fn_free(sum);
    free(xy);
    free(K);
    free(inv);
    free(w);
    return fn;
}

/* x: spread times N(0, 1). */
static void measure(const char *name, submod_fn *fn, double lambda, double spread, int repeats)
{
    size_t n = submod_fn_size(fn);
    double *x = allocate(n, sizeof *x);
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info = {0};
    submod_work *work = NULL;
    double fastest = INFINITY;
    submod_status status = SUBMOD_OK;
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t i = 0; i < n; i++) {
        x[i] = spread * submod_rng_normal(&rng);
    }
    settings.method = SUBMOD_PROX_MIN_NORM;
    settings.time_limit = 5;
    require(submod_work_create(&work));
    for (int i = 0; i < repeats && (i == 0 || fastest * i < 5); i++) {
        status = submod_prox(fn, x, lambda, NULL, NULL, &settings, &info, work);
        require(status);
        fastest = fmin(fastest, info.seconds);
    }
    printf("%-22s %6zu %-16s %8zu %8zu %8llu %10.2f %10.1e  %s\n", name, n, "Fujishige-Wolfe",
           info.iterations, info.minor_cycles, (unsigned long long)info.oracle_calls, 1e3 * fastest,
           info.gap / fabs(info.dual), submod_status_string(status));
    submod_work_free(work);
    free(x);
}

static void minimise(submod_fn *fn, int repeats)
{
    submod_sfm_settings settings = submod_sfm_defaults();
    submod_sfm_info info = {0};
    submod_status status = SUBMOD_OK;
    double fastest = INFINITY;
    settings.method = SUBMOD_SFM_MIN_NORM;
    settings.time_limit = 5;
    for (int i = 0; i < repeats && (i == 0 || fastest * i < 5); i++) {
        status = submod_sfm(fn, NULL, NULL, NULL, &settings, &info, NULL);
        require(status);
        fastest = fmin(fastest, info.seconds);
    }
    printf("%-22s %6zu %-16s %8zu %8zu %8llu %10.2f %10.1e  %s\n", "", submod_fn_size(fn),
           "minimisation", info.iterations, info.minor_cycles,
           (unsigned long long)info.oracle_calls, 1e3 * fastest, info.gap / fabs(info.dual),
           submod_status_string(status));
}

static void compare(const char *name, submod_fn *fn, int repeats)
{
    measure(name, fn, 1, 0, repeats);
    minimise(fn, repeats);
    measure("  x Gaussian", fn, 1, 1, repeats);
    measure("  and lambda = 0.1", fn, 0.1, 1, repeats);
    submod_fn_free(fn);
}

static submod_fn *iwata(size_t n)
{
    submod_fn *fn = NULL;
    require(make_iwata(n, &fn));
    return fn;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 5;
    if (repeats < 1) {
        fprintf(stderr, "usage: bench-min-norm [REPEATS]\n");
        return EXIT_FAILURE;
    }
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    printf("libsubmod %s: minimum-norm points\n\n", submod_version());
    printf("%-22s %6s %-16s %8s %8s %8s %10s %10s\n", "function", "n", "method", "major", "minor",
           "chains", "ms", "gap/|dual|");
    compare("Iwata", iwata(1000), repeats);
    compare("Iwata", iwata(4000), repeats);
    compare("Watts-Strogatz cut", instance_random_cut(1000, 8, &rng), repeats);
    compare("two moons, one log-det", two_moons(200, 0, &rng), repeats);
    compare("two moons, two", two_moons(200, 1, &rng), repeats);
    return EXIT_SUCCESS;
}
