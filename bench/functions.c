/* Functions with structure on instances of the literature: prox, minimum, and greedy maximisation.
 *
 *   bench-functions
 *
 * Each prox beside a sort of the same size, each maximisation beside the plain one, measured in the
 * same run; one thread.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod/select.h>
#include <time.h>

#include "instances.h"

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-functions: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static double *normals(size_t n, submod_rng *rng)
{
    double *x = malloc(n * sizeof *x);
    if (!x) {
        fprintf(stderr, "bench-functions: out of memory\n");
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = submod_rng_normal(rng);
    }
    return x;
}

/* Seconds that a sort of x takes. */
static double sort_seconds(const double *x, size_t n)
{
    int32_t *order = malloc(n * sizeof *order);
    struct timespec start, end;
    timespec_get(&start, TIME_UTC);
    require(order ? submod_argsort(x, n, order, NULL) : SUBMOD_ENOMEM);
    timespec_get(&end, TIME_UTC);
    free(order);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

/* Prints method, time and gap of a prox; frees fn. */
static void prox(const char *name, submod_fn *fn, double lambda, submod_rng *rng)
{
    size_t n = submod_fn_size(fn);
    double *x = normals(n, rng);
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info;
    settings.time_limit = 10;
    submod_status status = submod_prox(fn, x, lambda, NULL, NULL, &settings, &info, NULL);
    require(status);
    printf("%-30s %8zu  method %2d %10.1f ms  %8.1f sorts  gap %.1e  %s\n", name, n,
           (int)info.method, 1e3 * info.seconds, info.seconds / sort_seconds(x, n),
           info.gap / (fabs(info.primal) + fabs(info.dual)), submod_status_string(status));
    free(x);
    submod_fn_free(fn);
}

static void concave(size_t n, submod_concave_kind kind, const char *name, int equal,
                    submod_rng *rng)
{
    double *w = normals(n, rng);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        w[i] = equal ? 1 : fabs(w[i]);
    }
    require(submod_fn_concave(n, w, &(submod_concave){.kind = kind, .parameter = 0.25 * (double)n},
                              &fn));
    prox(name, fn, 1 / sqrt((double)n), rng);
    free(w);
}

/* Prints gains and time of each method beside those of the plain one; frees fn. */
static void maximise(const char *name, submod_fn *fn, size_t k)
{
    static const struct {
        submod_maximize_method method;
        const char *name;
    } methods[] = {{SUBMOD_MAXIMIZE_PLAIN, "plain"},
                   {SUBMOD_MAXIMIZE_LAZY, "lazy"},
                   {SUBMOD_MAXIMIZE_STOCHASTIC, "stochastic"}};
    submod_maximize_info plain = {0};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        submod_maximize_settings settings = submod_maximize_defaults();
        submod_maximize_info info;
        settings.method = methods[m].method;
        require(submod_maximize(fn, k, NULL, 0, NULL, NULL, NULL, &settings, &info));
        plain = m ? plain : info;
        printf("%-30s %8zu  k = %4zu %-10s %9llu gains (1 / %5.1f)  time 1 / %5.1f  value %.4f"
               "  >= %.3f of the best\n",
               m ? "" : name, submod_fn_size(fn), k, methods[m].name,
               (unsigned long long)info.evaluations,
               (double)plain.evaluations / (double)info.evaluations, plain.seconds / info.seconds,
               info.value / plain.value, info.ratio);
    }
    submod_fn_free(fn);
}

static submod_fn *facility(size_t n, size_t m, submod_rng *rng)
{
    double *place = normals(2 * n, rng);
    double *client = normals(2 * m, rng);
    double *benefit = normals(n * m, rng);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            benefit[i * n + j] =
                exp(-hypot(client[2 * i] - place[2 * j], client[2 * i + 1] - place[2 * j + 1]));
        }
    }
    require(submod_fn_facility(n, m, benefit, &fn));
    free(place);
    free(client);
    free(benefit);
    return fn;
}

int main(void)
{
    enum { MANY = 1000000, SIDE = 64 };
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    require(submod_set_num_threads(1));
    printf("libsubmod %s: functions with structure\n\n", submod_version());
    concave(MANY, SUBMOD_CONCAVE_SQRT, "sqrt of |A|", 1, &rng);
    concave(MANY, SUBMOD_CONCAVE_SQRT, "sqrt of a modular function", 0, &rng);
    concave(MANY, SUBMOD_CONCAVE_LOG1P, "log1p of a modular function", 0, &rng);
    concave(MANY, SUBMOD_CONCAVE_MIN, "min of a modular function, c", 0, &rng);
    double *image = instance_image(SIDE, &rng);
    prox("superpixels, 100 regions", instance_superpixels(SIDE, image, 100, 0.3, &rng), 1, &rng);
    prox("groupwise Iwata, 50 copies", instance_groupwise_iwata(5000, 50), 1, &rng);
    prox("random cut", instance_random_cut(1000, 8, &rng), 1, &rng);
    prox("hypergraph, all or nothing",
         instance_hypergraph(2000, 1000, 10, SUBMOD_CONCAVE_ALL_OR_NOTHING, &rng), 1, &rng);
    prox("hypergraph, product", instance_hypergraph(2000, 1000, 10, SUBMOD_CONCAVE_PRODUCT, &rng),
         1, &rng);
    prox("the same as cliques", instance_hypergraph(2000, 1000, 10, SUBMOD_CONCAVE_CLIQUE, &rng), 1,
         &rng);
    printf("\n");
    maximise("coverage", instance_coverage(20000, 10000, 20, &rng), 200);
    maximise("facility location", facility(2000, 500, &rng), 100);
    free(image);
    return EXIT_SUCCESS;
}
