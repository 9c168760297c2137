/* The prox of a sum of submodular functions whose terms are spread over the ranks of MPI.
 *
 *   mpirun -n 2 sum_over_ranks [lines | regions | kernels] [SIZE] [TOLERANCE]
 *
 *     min over u of  sum of f_j(u) + lambda/2 |u - x|^2,      x a noisy image of SIZE x SIZE
 *
 * lines     total variation: each row and each column is a chain; a term costs microseconds
 * regions   |A and R| |R less A| / |R| for discs R that overlap, functions of the cardinality
 * kernels   log-determinants of Gaussian kernels on patches of 8 x 8 pixels that overlap: no fast
 *           prox, Fujishige-Wolfe for each; a term costs milliseconds
 *
 * Each rank owns a run of the terms, so that those that overlap are mostly together, and never sees
 * the others. Prints what an iteration costs, and what one process with the whole sum needs
 * (submod_prox, as many threads as OMP_NUM_THREADS says). Times are the shortest of 5. The exit
 * code says whether both results agree as closely as their gaps promise. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>
#include <submod/mpi.h>

enum { PATCH = 8, STRIDE = 6, LEAST = 16, TIMES = 5 };

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "sum_over_ranks: %s\n", submod_last_error());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "sum_over_ranks: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- terms: number j of an image of h x h ---- */

static submod_fn *embed(submod_fn *inner, size_t h, const int32_t *elements)
{
    submod_fn *fn = NULL;
    require(submod_fn_embed(inner, h * h, elements, &fn));
    submod_fn_free(inner);
    return fn;
}

static submod_fn *make_line(size_t h, size_t j)
{
    int32_t *at = allocate(3 * h, sizeof *at);
    int32_t *tail = at + h;
    int32_t *head = tail + h;
    double *weight = allocate(h, sizeof *weight);
    submod_fn *chain = NULL;
    for (size_t i = 0; i < h; i++) {
        at[i] = (int32_t)(j < h ? j * h + i : i * h + j - h);
        tail[i] = (int32_t)i;
        head[i] = (int32_t)i + 1;
        weight[i] = 0.2;
    }
    require(submod_fn_cut(h, h - 1, tail, head, weight, 0, &chain));
    submod_fn *fn = embed(chain, h, at);
    free(at);
    free(weight);
    return fn;
}

static submod_fn *make_region(size_t h, size_t j)
{
    int32_t *at = allocate(h * h, sizeof *at);
    submod_rng rng;
    submod_rng_seed(&rng, 100 + j);
    double row = (double)h * submod_rng_uniform(&rng);
    double column = (double)h * submod_rng_uniform(&rng);
    double radius = (double)h / 6;
    size_t k = 0;
    for (size_t i = 0; i < h * h; i++) {
        size_t here = i / h;
        double down = (double)here - row;
        double right = (double)(i % h) - column;
        if (down * down + right * right <= radius * radius) {
            at[k++] = (int32_t)i;
        }
    }
    double *value = allocate(k + 1, sizeof *value);
    for (size_t i = 0; i <= k; i++) {
        value[i] = 0.5 * (double)i * (double)(k - i) / (double)k;
    }
    submod_fn *inner = NULL;
    require(submod_fn_cardinality(k, value, &inner));
    submod_fn *fn = embed(inner, h, at);
    free(at);
    free(value);
    return fn;
}

static size_t patches_along(size_t h)
{
    return (h - PATCH) / STRIDE + 1;
}

static submod_fn *make_kernel(size_t h, size_t j)
{
    enum { K = PATCH * PATCH };
    int32_t at[K];
    double kernel[K * K];
    size_t top = j / patches_along(h) * STRIDE;
    size_t left = j % patches_along(h) * STRIDE;
    submod_fn *inner = NULL;
    for (size_t i = 0; i < K; i++) {
        at[i] = (int32_t)((top + i / PATCH) * h + left + i % PATCH);
        for (size_t l = 0; l < K; l++) {
            int down = (int)i / PATCH - (int)l / PATCH;
            int right = (int)i % PATCH - (int)l % PATCH;
            kernel[i * K + l] = exp(-0.25 * (down * down + right * right)) + (i == l ? 1 : 0);
        }
    }
    require(submod_fn_logdet(K, kernel, &inner));
    return embed(inner, h, at);
}

typedef struct kind {
    const char *name;
    submod_fn *(*make)(size_t h, size_t j);
    size_t size; /* unless another one is asked for */
    double lambda;
} kind;

static const kind kinds[] = {{"lines", make_line, 256, 1},
                             {"regions", make_region, 128, 10},
                             {"kernels", make_kernel, 50, 2}};

static size_t terms_of(const kind *what, size_t h)
{
    size_t along = patches_along(h);
    return what->make == make_line ? 2 * h : what->make == make_region ? 48 : along * along;
}

/* ---- the problem ---- */

static void fill_image(size_t h, double *x)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < h * h; i++) {
        size_t row = i / h;
        double down = (double)row / (double)h;
        double right = (double)(i % h) / (double)h;
        double disc = (right - 0.35) * (right - 0.35) + (down - 0.4) * (down - 0.4);
        x[i] = (disc < 0.06 ? 0.9 : 0.2) + 0.2 * submod_rng_normal(&rng);
    }
}

typedef struct problem {
    const kind *what;
    size_t h, n;
    double *x;
    submod_prox_settings settings;
} problem;

/* Part number `part` of `parts`. */
static submod_fn **make_terms(const problem *p, int part, int parts, size_t *count)
{
    size_t all = terms_of(p->what, p->h);
    size_t first = all * (size_t)part / (size_t)parts;
    *count = all * (size_t)(part + 1) / (size_t)parts - first;
    submod_fn **terms = allocate(*count, sizeof(submod_fn *));
    for (size_t j = 0; j < *count; j++) {
        terms[j] = p->what->make(p->h, first + j);
    }
    return terms;
}

static void free_terms(submod_fn **terms, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        submod_fn_free(terms[j]);
    }
    free(terms);
}

/* ---- both ways ---- */

static submod_prox_info over_ranks(const problem *p, const submod_comm *comm, double *u)
{
    size_t count;
    submod_prox_info info;
    submod_fn **terms = make_terms(p, comm->rank, comm->ranks, &count);
    double least = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        require(submod_dist_prox_sum(comm, p->n, terms, count, p->x, p->what->lambda, u, NULL,
                                     &p->settings, &info, NULL));
        least = fmin(least, info.seconds);
    }
    free_terms(terms, count);
    info.seconds = least;
    return info;
}

static submod_prox_info in_one_process(const problem *p, double *u)
{
    size_t count;
    submod_prox_info info;
    submod_fn *sum = NULL;
    submod_fn **terms = make_terms(p, 0, 1, &count);
    require(submod_fn_sum(terms, NULL, count, &sum));
    double least = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        require(submod_prox(sum, p->x, p->what->lambda, u, NULL, &p->settings, &info, NULL));
        least = fmin(least, info.seconds);
    }
    submod_fn_free(sum);
    free_terms(terms, count);
    info.seconds = least;
    return info;
}

static int report(const problem *p, int ranks, const double *u, submod_prox_info dist)
{
    double *alone = allocate(p->n, sizeof *alone);
    submod_prox_info one = in_one_process(p, alone);
    double square = 0;
    for (size_t i = 0; i < p->n; i++) {
        square += (u[i] - alone[i]) * (u[i] - alone[i]);
    }
    double promised =
        sqrt(2 * dist.gap / p->what->lambda) + sqrt(2 * fmax(one.gap, 0) / p->what->lambda);
    int agree = sqrt(square) <= promised + 1e-9;
    printf("%-8s %zu pixels, %zu terms, %d ranks: %zu iterations of %.3f ms, %zu bytes each; "
           "%.3f s, gap %.1e\n",
           p->what->name, p->n, terms_of(p->what, p->h), ranks, dist.iterations,
           1e3 * dist.seconds / (double)(dist.iterations + 1), 8 * (p->n + 7), dist.seconds,
           dist.gap);
    printf("         one process: %zu iterations, %.3f s, gap %.1e; |difference| = %.1e, promised "
           "%.1e: %s\n",
           one.iterations, one.seconds, one.gap, sqrt(square), promised, agree ? "good" : "BAD");
    free(alone);
    return agree ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    fprintf(stderr, "sum_over_ranks: '%s' must be lines, regions or kernels\n", name);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    problem p = {.what = find_kind(argc > 1 ? argv[1] : "lines"),
                 .settings = submod_prox_defaults()};
    p.h = argc > 2 ? strtoul(argv[2], NULL, 10) : p.what->size;
    p.h = p.h < LEAST ? LEAST : p.h;
    p.settings.tolerance = argc > 3 ? strtod(argv[3], NULL) : 1e-6;
    p.n = p.h * p.h;
    p.x = allocate(p.n, sizeof *p.x);
    fill_image(p.h, p.x);
    double *u = allocate(p.n, sizeof *u);
    submod_comm *comm = NULL;
    require(submod_mpi_comm_create(MPI_COMM_WORLD, &comm));
    int rank = comm->rank;
    int ranks = comm->ranks;
    submod_prox_info dist = over_ranks(&p, comm, u);
    submod_mpi_comm_free(comm);
    MPI_Finalize(); /* before the other way, so that nobody waits for it on a core */
    int outcome = rank == 0 ? report(&p, ranks, u, dist) : EXIT_SUCCESS;
    free(p.x);
    free(u);
    return outcome;
}
