/* Log-det and max-affine functions, whose work is linear algebra. To compare with and without
 * OpenBLAS, run the programs of two builds, one with -DSUBMOD_BLAS=OFF.
 *
 *   bench-linalg [THREADS [LARGEST_N]]
 *
 * For each n: F(V) of a log-det function (one Cholesky factor), a chain of all elements in
 * one block (solve, rank update, factor), the gain of the last element (one row solved), and the
 * value of a maximum of n affine functions of n variables. Minimum over repetitions, milliseconds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <submod.h>

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-linalg: %s\n", submod_last_error());
        exit(EXIT_FAILURE);
    }
}

static double *numbers(size_t count)
{
    double *x = malloc(count * sizeof *x);
    if (!x) {
        fprintf(stderr, "bench-linalg: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return x;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct problem {
    size_t n;
    submod_fn *logdet;
    submod_state *all_but_one;
    submod_problem max_affine;
    int32_t *order;
    double *x, *gains;
} problem;

static void eval(problem *p)
{
    require(submod_fn_eval(p->logdet, p->order, p->n, p->gains));
}

static void chain(problem *p)
{
    require(submod_fn_chain(p->logdet, p->order, p->n, p->gains, NULL));
}

static void gain(problem *p)
{
    require(submod_state_gain(p->all_but_one, p->order[p->n - 1], p->gains));
}

static void highest(problem *p)
{
    require(p->max_affine.value(p->max_affine.ctx, p->x, p->gains));
}

static problem make(size_t n)
{
    problem p = {
        .n = n, .order = malloc(n * sizeof *p.order), .x = numbers(n), .gains = numbers(n)};
    double *a = numbers(n * n);
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < n; i++) {
        p.order[i] = (int32_t)i;
        p.x[i] = submod_rng_normal(&rng);
        for (size_t j = 0; j <= i; j++) {
            a[i * n + j] = a[j * n + i] = exp(-fabs(submod_rng_normal(&rng)));
        }
        a[i * n + i] = (double)n;
    }
    require(submod_fn_logdet(n, a, &p.logdet));
    require(submod_problem_max_affine(n, n, a, NULL, &p.max_affine));
    require(submod_state_create(p.logdet, &p.all_but_one));
    for (size_t i = 0; i + 1 < n; i++) {
        require(submod_state_push(p.all_but_one, p.order[i], NULL));
    }
    free(a);
    return p;
}

static void clear(problem *p)
{
    submod_state_free(p->all_but_one);
    submod_fn_free(p->logdet);
    submod_problem_clear(&p->max_affine);
    free(p->order);
    free(p->x);
    free(p->gains);
}

/* The least time of a call, in milliseconds; repeats for about a quarter of a second. */
static double least(problem *p, void (*call)(problem *))
{
    double best = INFINITY;
    double begin = seconds();
    for (int i = 0; i < 3 || seconds() < begin + 0.25; i++) {
        double start = seconds();
        call(p);
        best = fmin(best, seconds() - start);
    }
    return 1e3 * best;
}

int main(int count, char **arguments)
{
    static const size_t sizes[] = {20, 50, 100, 200, 400, 1000, 2000, 4000};
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    size_t largest = count > 2 ? (size_t)atoi(arguments[2]) : 4000;
    require(submod_set_num_threads(threads));
    printf("libsubmod %s, %d threads: milliseconds\n%8s %12s %12s %12s %12s\n", submod_version(),
           threads, "n", "F(V)", "chain", "gain", "max-affine");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
        problem p = make(sizes[i]);
        printf("%8zu %12.4f %12.4f %12.4f %12.4f\n", p.n, least(&p, eval), least(&p, chain),
               least(&p, gain), least(&p, highest));
        fflush(stdout);
        clear(&p);
    }
    return EXIT_SUCCESS;
}
