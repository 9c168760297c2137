/* Standard problems of submodular minimisation, made from their formulas. */
#include "problems.h"
#include "combinations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

static void *array(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        abort();
    }
    return memory;
}

/* The first failure makes the result NULL. */
static submod_fn *made(submod_status status, submod_fn *fn)
{
    return status == SUBMOD_OK ? fn : NULL;
}

/* fn + w; frees fn. */
static submod_fn *plus_modular(submod_fn *fn, const double *w)
{
    submod_fn *sum = NULL;
    submod_status status = combine_plus(fn, w, &sum);
    submod_fn_free(fn);
    return made(status, sum);
}

/* ---- graphs ---- */

static problem_graph new_graph(size_t n, size_t m)
{
    return (problem_graph){.n = n,
                           .m = 0,
                           .tail = array(m, sizeof(int32_t)),
                           .head = array(m, sizeof(int32_t)),
                           .weight = array(m, sizeof(double))};
}

void problem_graph_clear(problem_graph *g)
{
    free(g->tail);
    free(g->head);
    free(g->weight);
    *g = (problem_graph){0};
}

static void add_arc(problem_graph *g, size_t tail, size_t head, double weight)
{
    g->tail[g->m] = (int32_t)tail;
    g->head[g->m] = (int32_t)head;
    g->weight[g->m++] = weight;
}

static submod_fn *cut_of(problem_graph *g, int directed)
{
    submod_fn *fn = NULL;
    submod_status status = submod_fn_cut(g->n, g->m, g->tail, g->head, g->weight, directed, &fn);
    problem_graph_clear(g);
    return made(status, fn);
}

static void shuffle(size_t *a, size_t n, submod_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = submod_rng_below(rng, i);
        size_t t = a[j];
        a[j] = a[i - 1];
        a[i - 1] = t;
    }
}

problem_graph problem_genrmf(size_t a, size_t b, int c1, int c2, submod_rng *rng)
{
    size_t frame = a * a;
    problem_graph g = new_graph(frame * b, 4 * a * (a - 1) * b + frame * (b - 1));
    size_t *partner = array(frame, sizeof *partner);
    double strong = c2 * (double)frame;
    for (size_t f = 0; f < b; f++) {
        for (size_t i = 0, column = 0; i < frame; i++) {
            size_t v = f * frame + i;
            column = column == a ? 1 : column + 1;
            if (column < a) {
                add_arc(&g, v, v + 1, strong);
                add_arc(&g, v + 1, v, strong);
            }
            if (i + a < frame) {
                add_arc(&g, v, v + a, strong);
                add_arc(&g, v + a, v, strong);
            }
            partner[i] = i;
        }
        shuffle(partner, frame, rng);
        for (size_t i = 0; f + 1 < b && i < frame; i++) {
            double weight = c1 + (double)submod_rng_below(rng, (uint64_t)c2 - (uint64_t)c1 + 1);
            add_arc(&g, f * frame + i, (f + 1) * frame + partner[i], weight);
        }
    }
    free(partner);
    return g;
}

void problem_genrmf_long(int k, size_t *a, size_t *b)
{
    *a = (size_t)lround(exp2(k / 4.0));
    *b = (size_t)lround(exp2(k / 2.0));
}

void problem_genrmf_wide(int k, size_t *a, size_t *b)
{
    *a = (size_t)lround(exp2(2 * k / 5.0));
    *b = (size_t)lround(exp2(k / 5.0));
}

/* Arcs from s are lost by joining A, arcs to t are paid; arcs into s and out of t are never cut. */
submod_fn *problem_st_cut(const problem_graph *graph)
{
    const int32_t t = (int32_t)graph->n - 1;
    problem_graph inner = new_graph(graph->n - 2, graph->m);
    double *w = array(inner.n, sizeof *w);
    for (size_t i = 0; i < graph->m; i++) {
        int32_t tail = graph->tail[i];
        int32_t head = graph->head[i];
        if (tail == 0 && head != t && head != 0) {
            w[head - 1] -= graph->weight[i];
        } else if (head == t && tail != 0 && tail != t) {
            w[tail - 1] += graph->weight[i];
        } else if (tail > 0 && tail < t && head > 0 && head < t) {
            add_arc(&inner, (size_t)tail - 1, (size_t)head - 1, graph->weight[i]);
        }
    }
    submod_fn *fn = plus_modular(cut_of(&inner, 1), w);
    free(w);
    return fn;
}

static double weight(submod_rng *rng)
{
    return 0.01 + 0.99 * submod_rng_uniform(rng);
}

submod_fn *problem_watts_strogatz(size_t n, submod_rng *rng)
{
    enum { SIDE = 8 };
    problem_graph g = new_graph(n, n * SIDE);
    double *w = array(n, sizeof *w);
    for (size_t v = 0; v < n; v++) {
        for (size_t step = 1; step <= SIDE; step++) {
            size_t u = (v + step) % n;
            while (submod_rng_uniform(rng) < 0.25 || u == v) {
                u = submod_rng_below(rng, n);
                if (u != v) {
                    break;
                }
            }
            add_arc(&g, v, u, weight(rng));
        }
        w[v] = (submod_rng_below(rng, 2) ? 4 : -4) * weight(rng);
    }
    submod_fn *fn = plus_modular(cut_of(&g, 0), w);
    free(w);
    return fn;
}

submod_fn *problem_image(size_t width, size_t height, submod_rng *rng)
{
    size_t n = width * height;
    double *brightness = array(n, sizeof *brightness);
    problem_graph g = new_graph(n, 2 * n);
    for (size_t i = 0; i < n; i++) {
        size_t row = i / width;
        double dx = (double)(i - row * width) / (double)width - 0.5;
        double dy = (double)row / (double)height - 0.5;
        brightness[i] = (dx * dx + dy * dy < 0.09 ? 0.5 : -0.5) + 0.5 * submod_rng_normal(rng);
    }
    for (size_t i = 0; i < n; i++) {
        for (int down = 0; down < 2; down++) {
            size_t j = down ? i + width : i + 1;
            if (down ? j < n : i % width + 1 < width) {
                double contrast = brightness[i] - brightness[j];
                add_arc(&g, i, j, 0.1 + 0.9 * exp(-contrast * contrast));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        brightness[i] = -brightness[i];
    }
    submod_fn *fn = plus_modular(cut_of(&g, 0), brightness);
    free(brightness);
    return fn;
}

submod_fn *problem_coverage(size_t n, submod_rng *rng)
{
    enum { EACH = 8 };
    size_t items = 2 * n;
    size_t *start = array(n + 1, sizeof *start);
    int32_t *item = array(n * EACH, sizeof *item);
    double *value = array(items, sizeof *value);
    double *cost = array(n, sizeof *cost);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < items; i++) {
        value[i] = weight(rng);
    }
    for (size_t e = 0; e < n; e++) {
        start[e + 1] = (e + 1) * EACH;
        for (size_t i = start[e]; i < start[e + 1]; i++) {
            item[i] = (int32_t)submod_rng_below(rng, items);
        }
        cost[e] = -2 * EACH * submod_rng_uniform(rng) / 3;
    }
    submod_status status = submod_fn_coverage(n, start, item, items, value, &fn);
    fn = status == SUBMOD_OK ? plus_modular(fn, cost) : NULL;
    free(start);
    free(item);
    free(value);
    free(cost);
    return fn;
}

/* ---- two moons ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* K = exp(-8 D / median D) + 1e-4 n I, D the squared distances of all pairs. */
static void moon_kernel(const double *x, const double *y, size_t n, double *K)
{
    size_t pairs = 0;
    double *D = array(n * (n - 1) / 2, sizeof *D);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            K[i * n + j] = (x[i] - x[j]) * (x[i] - x[j]) + (y[i] - y[j]) * (y[i] - y[j]);
            if (j < i) {
                D[pairs++] = K[i * n + j];
            }
        }
    }
    qsort(D, pairs, sizeof *D, ascending);
    double median = pairs % 2 ? D[pairs / 2] : (D[pairs / 2 - 1] + D[pairs / 2]) / 2;
    for (size_t i = 0; i < n * n; i++) {
        K[i] = exp(-8 * K[i] / median) + (i % (n + 1) == 0 ? 1e-4 * (double)n : 0);
    }
    free(D);
}

/* The inverse of a positive definite matrix, in place: Gauss and Jordan without pivoting. */
static void invert(double *K, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double pivot = 1 / K[k * n + k];
        K[k * n + k] = 1;
        for (size_t j = 0; j < n; j++) {
            K[k * n + j] *= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = K[i * n + k];
            if (i == k || factor == 0) {
                continue;
            }
            K[i * n + k] = 0;
            for (size_t j = 0; j < n; j++) {
                K[i * n + j] -= factor * K[k * n + j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            K[i * n + j] = K[j * n + i] = (K[i * n + j] + K[j * n + i]) / 2;
        }
    }
}

/* log det K_AA + log det (K^-1)_AA; K is overwritten. */
static submod_fn *mutual_information(double *K, size_t n)
{
    submod_fn *terms[2] = {NULL, NULL};
    submod_fn *fn = NULL;
    submod_status status = submod_fn_logdet(n, K, &terms[0]);
    invert(K, n);
    status = status ? status : submod_fn_logdet(n, K, &terms[1]);
    status = status ? status : combine_sum(terms, NULL, 2, &fn);
    submod_fn_free(terms[0]);
    submod_fn_free(terms[1]);
    return made(status, fn);
}

submod_fn *problem_two_moons(size_t each, submod_rng *rng)
{
    enum { LABELLED = 8 };
    const double pi = acos(-1);
    size_t n = 2 * each;
    double *x = array(n, sizeof *x);
    double *y = array(n, sizeof *y);
    double *K = array(n * n, sizeof *K);
    double *s = array(n, sizeof *s);
    for (size_t i = 0; i < n; i++) {
        int second = i >= each;
        double radius = 2 + 0.4 * submod_rng_normal(rng);
        double angle = pi * (submod_rng_uniform(rng) + (second ? 0.5 : -0.5));
        x[i] = (second ? 0.5 : -0.5) + radius * cos(angle);
        y[i] = (second ? -1 : 1) + radius * sin(angle);
    }
    moon_kernel(x, y, n, K);
    submod_fn *fn = mutual_information(K, n);
    double largest = 0;
    for (int32_t e = 0; fn && (size_t)e < n; e++) {
        double value = 0;
        submod_fn_eval(fn, &e, 1, &value);
        largest = fmax(largest, value);
    }
    for (size_t i = 0; i < LABELLED && i < each; i++) {
        s[i] = -2 * largest;
        s[each + i] = 2 * largest;
    }
    fn = fn ? plus_modular(fn, s) : NULL;
    free(x);
    free(y);
    free(K);
    free(s);
    return fn;
}

/* ---- groups of Iwata's function ---- */

typedef struct groups {
    size_t n, count;
} groups;

static size_t group_size(const groups *g, size_t group)
{
    return g->n / g->count + (group < g->n % g->count);
}

/* What element e adds to its copy when k elements of it are there: h(k + 1) - h(k) - (5 j - 2 n).
 */
static double grouped_gain(const groups *g, size_t e, size_t k)
{
    double n = (double)group_size(g, e % g->count);
    size_t j = e / g->count + 1;
    return n - 2 * (double)k - 1 - (5 * (double)j - 2 * n);
}

static submod_status grouped_reset(const void *ctx, void *state)
{
    const groups *g = ctx;
    memset(state, 0, g->count * sizeof(size_t));
    return SUBMOD_OK;
}

static submod_status grouped_push(const void *ctx, void *state, int32_t e, double *gain)
{
    const groups *g = ctx;
    size_t *size = state;
    *gain = grouped_gain(g, (size_t)e, size[(size_t)e % g->count]++);
    return SUBMOD_OK;
}

static submod_status grouped_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                                   double *gains)
{
    for (size_t i = 0; i < k; i++) {
        grouped_push(ctx, state, elements[i], &gains[i]);
    }
    return SUBMOD_OK;
}

static submod_status grouped_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const groups *g = ctx;
    size_t *size = array(g->count, sizeof *size);
    *value = 0;
    for (size_t i = 0; i < k; i++) {
        double gain;
        grouped_push(g, size, set[i], &gain);
        *value += gain;
    }
    free(size);
    return SUBMOD_OK;
}

submod_fn *problem_grouped_iwata(size_t n, size_t copies)
{
    groups *g = array(1, sizeof *g);
    *g = (groups){n, copies};
    submod_fn_ops ops = {.eval = grouped_eval,
                         .state_size = copies * sizeof(size_t),
                         .reset = grouped_reset,
                         .chain = grouped_chain,
                         .destroy = free};
    submod_fn *fn = NULL;
    submod_status status = submod_fn_custom(n, &ops, g, &fn);
    if (status != SUBMOD_OK) {
        free(g);
    }
    return made(status, fn);
}
