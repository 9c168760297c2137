/* Total variation along a line by its taut string: against dynamic programming, by the conditions
 * of optimality, and the number of steps on inputs made to be hard. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/sums.h"
#include "line.h"
#include "support.h"

typedef struct line {
    size_t n;
    double lambda;
    double *x, *out, *in, *u, *s;
} line;

static line make_line(size_t n)
{
    line l = {.n = n, .lambda = 1};
    double **vectors[] = {&l.x, &l.out, &l.in, &l.u, &l.s};
    for (size_t i = 0; i < 5; i++) {
        *vectors[i] = calloc(n, sizeof(double));
        ck_assert_ptr_nonnull(*vectors[i]);
    }
    return l;
}

static void free_line(line *l)
{
    free(l->x);
    free(l->out);
    free(l->in);
    free(l->u);
    free(l->s);
}

/* The arcs of a line in one direction. */
static submod_fn *one_way(size_t n, const double *weight, int32_t from, int32_t to)
{
    int32_t *tail = malloc(n * sizeof *tail), *head = malloc(n * sizeof *head);
    submod_fn *fn = NULL;
    ck_assert(tail && head);
    for (size_t i = 0; i < n; i++) {
        tail[i] = (int32_t)i + from;
        head[i] = (int32_t)i + to;
    }
    ck_assert_ok(submod_fn_cut(n, n - 1, tail, head, weight, 1, &fn));
    free(tail);
    free(head);
    return fn;
}

/* Both directions fold into one cut. */
static submod_status solve(line *l, submod_prox_info *info)
{
    submod_fn *out = one_way(l->n, l->out, 0, 1), *in = one_way(l->n, l->in, 1, 0), *fn = NULL;
    const submod_term both[] = {{out, 1, NULL}, {in, 1, NULL}};
    ck_assert_ok(submod_fn_combine(l->n, both, 2, NULL, &fn));
    submod_status status = submod_prox(fn, l->x, l->lambda, l->u, l->s, NULL, info, NULL);
    ck_assert(status < 0 || info->method == SUBMOD_PROX_CHAIN);
    submod_fn_free(out);
    submod_fn_free(in);
    submod_fn_free(fn);
    return status;
}

/* The objectives are those of the definition. */
static void check_objectives(const line *l, const submod_prox_info *info)
{
    double primal = 0, dual = 0, size = DBL_MIN;
    for (size_t i = 0; i < l->n; i++) {
        double step = i + 1 < l->n ? l->u[i] - l->u[i + 1] : 0;
        double off = l->u[i] - l->x[i];
        primal += (step > 0 ? l->out[i] : step < 0 ? -l->in[i] : 0) * step;
        primal += l->lambda / 2 * off * off;
        dual += l->s[i] * (l->x[i] - l->s[i] / l->lambda / 2);
        size += fabs(l->s[i]) * (fabs(l->x[i]) + fabs(l->s[i]) / l->lambda);
    }
    ck_assert_near(info->primal, primal, 1e-12 * size);
    ck_assert_near(info->dual, dual, 1e-12 * size);
    ck_assert_near(info->gap, 0, 1e-14 * size);
}

/* What flows along each link lies within its weights, and meets them where u jumps. The sum starts
 * anew at each jump. share: rounding, relative to all that is added up between two jumps. */
static void check_optimal(const line *l, double share)
{
    submodi_compensated_sum flow = {0, 0};
    double largest = max_abs(l->x, l->n);
    double terms = 0;
    for (size_t i = 0; i < l->n; i++) {
        double out = i + 1 < l->n ? l->out[i] : 0;
        double in = i + 1 < l->n ? l->in[i] : 0;
        double step = i + 1 < l->n ? l->u[i] - l->u[i + 1] : 0;
        flow = submodi_compensated_add(flow, l->s[i]);
        double now = flow.hi + flow.lo;
        double must = step == 0 ? fmax(-in, fmin(out, now)) : step > 0 ? out : -in;
        terms += fabs(l->s[i]) + l->lambda * largest;
        bool right = fabs(now - must) <= share * (terms + out + in);
        double size = largest + fabs(l->s[i]) / l->lambda;
        bool moved = fabs(l->x[i] - l->s[i] / l->lambda - l->u[i]) <= 8 * DBL_EPSILON * size;
        if (!right || !moved) {
            ck_abort_msg("%zu of %zu: flow %.17g not in [%g, %g], u = %.17g, x = %.17g, s = %.17g",
                         i, l->n, now, -in, out, l->u[i], l->x[i], l->s[i]);
        }
        flow = step == 0 ? flow : (submodi_compensated_sum){must, 0};
        terms = step == 0 ? terms : fabs(must);
    }
}

static void check_by_programming(const line *l)
{
    double *v = malloc((l->n + 1) * sizeof *v);
    ck_assert_ptr_nonnull(v);
    line_by_programming(l->n, l->x, l->out, l->in, l->lambda, v);
    double largest = max_abs(l->x, l->n);
    double worst = 0;
    for (size_t i = 0; i < l->n; i++) {
        double off = fabs(l->u[i] - v[i]) / (largest + fabs(v[i]) + DBL_MIN);
        worst = off <= worst ? worst : off;
    }
    ck_assert_near(worst, 0, 1e-14);
    free(v);
}

/* A whole number, or any. */
static double random_weight(submod_rng *rng, int whole)
{
    return whole ? (double)submod_rng_below(rng, 4) : 2 * submod_rng_uniform(rng);
}

START_TEST(random_lines)
{
    enum { MOST = 40 };
    line l = make_line(MOST);
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int repeat = 0; repeat < 30000; repeat++) {
        int whole = repeat % 3 == 0, directed = repeat % 2, zeros = repeat % 5 == 0;
        l.n = 1 + submod_rng_below(&rng, MOST);
        l.lambda = whole ? 1 : pow(10, 3 - 6 * submod_rng_uniform(&rng));
        random_vector(&rng, l.x, l.n, repeat % 4 == 1);
        for (size_t i = 0; i < l.n; i++) {
            l.x[i] = whole ? (double)submod_rng_below(&rng, 5) : l.x[i];
            l.out[i] = repeat % 7 ? random_weight(&rng, whole) : 1;
            l.out[i] *= zeros && submod_rng_below(&rng, 2) ? 0 : 1;
            l.in[i] = directed ? random_weight(&rng, whole) : l.out[i];
        }
        submod_prox_info info;
        ck_assert_ok(solve(&l, &info));
        check_optimal(&l, 1e-15);
        check_objectives(&l, &info);
        check_by_programming(&l);
    }
    l.n = MOST;
    free_line(&l);
}
END_TEST

/* Weights and lambda over the whole range of doubles. */
START_TEST(extreme_scales)
{
    enum { MOST = 30 };
    line l = make_line(MOST);
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < 3000; repeat++) {
        l.n = 1 + submod_rng_below(&rng, MOST);
        double scale = exp2(-1040 + (double)submod_rng_below(&rng, 2000));
        l.lambda = exp2(-1040 + (double)submod_rng_below(&rng, 2060));
        random_vector(&rng, l.x, l.n, repeat % 2);
        for (size_t i = 0; i < l.n; i++) {
            l.out[i] = scale * submod_rng_uniform(&rng);
            l.in[i] = scale * submod_rng_uniform(&rng);
        }
        submod_prox_info info;
        bool finite = solve(&l, &info) >= 0;
        for (size_t i = 0; i < l.n; i++) {
            finite = finite && fabs(l.s[i]) > 1e-290;
        }
        if (finite && l.lambda > 1e-290) {
            check_optimal(&l, 1e-14);
        }
    }
    free_line(&l);
}
END_TEST

/* Some shapes that make hulls long, strings follow them, or searches start anew. */
static double shape(int kind, size_t i, size_t n, submod_rng *rng)
{
    double t = (double)i / (double)n;
    double sign = i % 2 ? 1 : -1;
    switch (kind) {
    case 0: return (double)i;                               /* a ramp */
    case 1: return -t * t * (double)n;                      /* a parabola */
    case 2: return sign * (double)i;                        /* a saw that grows */
    case 3: return sign * (double)(n - i);                  /* and one that shrinks */
    case 4: return exp2(200 * (t - 0.5));                   /* geometric */
    case 5: return sign * exp2(200 * (t - 0.5));            /* and its saw */
    case 6: return floor(sqrt((double)i)) * sign;           /* stairs */
    case 7: return 1;                                       /* all equal */
    case 8: return i < n / 2 ? (double)i : (double)(n - i); /* a roof */
    default: return submod_rng_normal(rng) + 100 * t;
    }
}

START_TEST(steps_are_linear)
{
    enum { N = 5000, KINDS = 10 };
    line l = make_line(N);
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    double most = 0;
    for (int kind = 0; kind < KINDS * KINDS; kind++) {
        double largest = 0;
        for (size_t i = 0; i < N; i++) {
            l.x[i] = shape(kind / KINDS, i, N, &rng);
            largest = fmax(largest, fabs(l.x[i]));
        }
        for (int w = 0; w < 8; w++) {
            double scale = largest * pow(10, w - 3);
            for (size_t i = 0; i < N; i++) {
                double e = kind % KINDS == 9 ? submod_rng_uniform(&rng)
                                             : fabs(shape(kind % KINDS, i, N, &rng)) / N;
                l.out[i] = scale * e;
                l.in[i] = w % 2 ? l.out[i] : scale - fmin(scale, l.out[i]);
            }
            submod_prox_info info;
            ck_assert_ok(solve(&l, &info));
            most = fmax(most, (double)info.work / N);
            check_optimal(&l, 1e-14);
        }
    }
    ck_assert_msg(most <= 6, "%g steps per entry", most);
    free_line(&l);
}
END_TEST

/* A long line, far from 0: no digits are lost along it. */
START_TEST(long_lines_keep_their_digits)
{
    enum { N = 300000 };
    line l = make_line(N);
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < 6; repeat++) {
        double walk = 0;
        for (size_t i = 0; i < N; i++) {
            walk += submod_rng_normal(&rng);
            l.x[i] = repeat % 3 == 0 ? walk : 1000 + submod_rng_normal(&rng);
            l.x[i] = repeat % 3 == 1 ? rint(4 * l.x[i]) / 4 : l.x[i];
            l.out[i] = repeat < 3 ? 3 : 100 * submod_rng_uniform(&rng);
            l.in[i] = l.out[i];
        }
        submod_prox_info info;
        ck_assert_ok(solve(&l, &info));
        check_optimal(&l, 1e-14);
        check_by_programming(&l);
    }
    free_line(&l);
}
END_TEST

int main(void)
{
    return RUN_TESTS("chain", random_lines, extreme_scales, steps_are_linear,
                     long_lines_keep_their_digits);
}
