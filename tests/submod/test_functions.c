/* Every set function against its definition, and its callbacks against each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "submod/fn_internal.h"
#include "support.h"

enum { N = 9 };

/* ---- all families ---- */

/* Along random orders: push, gain, chain and differences of eval agree, and telescope. */
START_TEST(callbacks_agree)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        double *F = subset_values(fn);
        double tol = 1e-13 * value_scale(F, N);
        submod_state *state = NULL;
        ck_assert_ok(submod_state_create(fn, &state));
        for (int repeat = 0; repeat < 50; repeat++) {
            int32_t order[N];
            double chained[N];
            double total = 0;
            uint32_t mask = 0;
            random_order(&rng, order, N);
            ck_assert_ok(submod_fn_chain(fn, order, N, chained, NULL));
            ck_assert_ok(submod_state_reset(state));
            for (size_t k = 0; k < N; k++) {
                double gain, pushed;
                uint32_t next = mask | UINT32_C(1) << order[k];
                ck_assert_ok(submod_state_gain(state, order[k], &gain));
                ck_assert_ok(submod_state_push(state, order[k], &pushed));
                ck_assert_near(pushed, F[next] - F[mask], tol);
                ck_assert_near(gain, pushed, 0);
                ck_assert_near(chained[k], pushed, tol);
                total += pushed;
                mask = next;
            }
            ck_assert_near(total, F[mask], N * tol);
            const int32_t *set;
            ck_assert_uint_eq(submod_state_set(state, &set), N);
            ck_assert_mem_eq(set, order, sizeof order);
        }
        submod_state_free(state);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* chain continues where pushes ended, in pieces of any length. */
START_TEST(chain_continues)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        void *state = malloc(submodi_fn_state_size(fn));
        for (size_t split = 0; split <= N; split++) {
            int32_t order[N];
            double whole[N], pieces[N];
            random_order(&rng, order, N);
            ck_assert_ok(submod_fn_chain(fn, order, N, whole, NULL));
            ck_assert_ok(submodi_fn_reset(fn, state));
            ck_assert_ok(submodi_fn_chain(fn, state, order, split, pieces));
            ck_assert_ok(submodi_fn_chain(fn, state, order + split, N - split, pieces + split));
            for (size_t k = 0; k < N; k++) {
                ck_assert_near(pieces[k], whole[k], 1e-13 * fmax(1, fabs(whole[k])));
            }
        }
        free(state);
        submod_fn_free(fn);
    }
}
END_TEST

/* Averages over tied blocks: the same for any order of the block, the same for elements that F
 * cannot tell apart, and inside the base polytope. */
START_TEST(tied_gains_are_fair)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        if (!fn->ops.tied) {
            submod_fn_free(fn);
            continue;
        }
        double *F = subset_values(fn);
        double tol = 1e-13 * value_scale(F, N);
        void *state = malloc(submodi_fn_state_size(fn));
        for (int repeat = 0; repeat < 50; repeat++) {
            int32_t order[N], shuffled[N];
            double s[N];
            random_order(&rng, order, N);
            size_t first = submod_rng_below(&rng, N);
            size_t length = 1 + submod_rng_below(&rng, N - first);
            double first_answer[N] = {0};
            for (int again = 0; again < 2; again++) {
                double gains[N];
                memcpy(shuffled, order, sizeof order);
                for (size_t k = 1; again && k < length; k++) { /* another order of the block */
                    size_t j = submod_rng_below(&rng, k + 1);
                    int32_t swap = shuffled[first + k];
                    shuffled[first + k] = shuffled[first + j];
                    shuffled[first + j] = swap;
                }
                ck_assert_ok(submodi_fn_reset(fn, state));
                ck_assert_ok(submodi_fn_chain(fn, state, shuffled, first, gains));
                ck_assert_ok(submodi_fn_tied(fn, state, shuffled + first, length, gains + first));
                size_t rest = first + length;
                ck_assert_ok(submodi_fn_chain(fn, state, shuffled + rest, N - rest, gains + rest));
                for (size_t k = 0; k < N; k++) {
                    s[shuffled[k]] = gains[k];
                }
                for (size_t e = 0; e < N; e++) {
                    ck_assert(!again || s[e] == first_answer[e]);
                    first_answer[e] = s[e];
                }
            }
            ck_assert(worst_excess(F, N, s) <= N * tol);
            double total = 0;
            for (size_t e = 0; e < N; e++) {
                total += s[e];
            }
            ck_assert_near(total, F[(1 << N) - 1] - F[0], N * tol);
        }
        free(state);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* Elements that F cannot tell apart get the same: all of them for functions of the cardinality,
 * those of one label for Jaccard. The mean is over tabulated increments: nothing cancels. */
START_TEST(tied_gains_are_equal)
{
    enum { MANY = 1000000 };
    const uint8_t mask[N] = {1, 0, 1, 0, 0, 1, 0, 1, 0};
    const int32_t block[N - 2] = {7, 1, 8, 0, 4, 6, 3};
    submod_fn *fn[3] = {NULL};
    double gains[N], state[64];
    ck_assert_ok(
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn[0]));
    ck_assert_ok(
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_LOG1P}, &fn[1]));
    ck_assert_ok(submod_fn_jaccard(N, mask, &fn[2]));
    for (int which = 0; which < 3; which++) {
        ck_assert_uint_le(submodi_fn_state_size(fn[which]), sizeof state);
        ck_assert_ok(submodi_fn_reset(fn[which], state));
        ck_assert_ok(submodi_fn_tied(fn[which], state, block, N - 2, gains));
        for (int i = 0; i < N - 2; i++) {
            for (int j = 0; j < N - 2; j++) {
                bool alike = which < 2 || mask[block[i]] == mask[block[j]];
                ck_assert(!alike || gains[i] == gains[j]);
            }
        }
        submod_fn_free(fn[which]);
    }
    int32_t *order = malloc(MANY * sizeof *order);
    double *chained = malloc(MANY * sizeof *chained);
    submod_fn *root = NULL;
    for (int i = 0; i < MANY; i++) {
        order[i] = i;
    }
    ck_assert_ok(
        submod_fn_concave(MANY, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
    ck_assert_ok(submodi_fn_reset(root, state));
    ck_assert_ok(submodi_fn_chain(root, state, order, MANY - 2, chained));
    ck_assert_ok(submodi_fn_tied(root, state, order + MANY - 2, 2, gains));
    long double exact = 1 / (sqrtl(MANY) + sqrtl(MANY - 2));
    ck_assert(fabsl((long double)gains[0] - exact) <= 1e-14L * exact);
    submod_fn_free(root);
    free(order);
    free(chained);
}
END_TEST

/* ---- each function against its definition, on all subsets ---- */

START_TEST(jaccard_by_definition)
{
    for (uint32_t foreground = 0; foreground < 64; foreground++) {
        uint8_t mask[6];
        for (int i = 0; i < 6; i++) {
            mask[i] = (uint8_t)((foreground >> i & 1) * 7); /* any nonzero byte */
        }
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(6, mask, &fn));
        double *F = subset_values(fn);
        for (uint32_t wrong = 0; wrong < 64; wrong++) {
            uint32_t predicted = foreground ^ wrong;
            int intersection = __builtin_popcount(foreground & predicted);
            int union_ = __builtin_popcount(foreground | predicted);
            double index = union_ ? (double)intersection / union_ : 1;
            ck_assert_near(F[wrong], 1 - index, 1e-15);
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* With integer counts the gains are right to the last bit or two, for any n. */
START_TEST(jaccard_gains_are_accurate)
{
    enum { BIG = 1 << 20 };
    uint8_t *mask = malloc(BIG);
    int32_t *order = malloc(BIG * sizeof *order);
    double *gains = malloc(BIG * sizeof *gains);
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    long double P = 0;
    for (size_t i = 0; i < BIG; i++) {
        mask[i] = submod_rng_uniform(&rng) < 0.02;
        P += mask[i];
    }
    random_order(&rng, order, BIG);
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(BIG, mask, &fn));
    for (int threads = 1; threads <= 3; threads++) {
        ck_assert_ok(submod_set_num_threads(threads));
        ck_assert_ok(submod_fn_chain(fn, order, BIG, gains, NULL));
        long double a = 0, b = 0, worst = 0, total = 0;
        for (size_t i = 0; i < BIG; i++) {
            int fg = mask[order[i]];
            long double exact = fg ? 1 / (P + b) : (P - a) / ((P + b) * (P + b + 1));
            long double error = fabsl((long double)gains[i] - exact);
            worst = exact > 0 && error / exact > worst ? error / exact : worst;
            total += (long double)gains[i];
            a += fg;
            b += !fg;
        }
        ck_assert_msg(worst <= 2 * 0x1p-53L, "relative error %Lg", worst);
        ck_assert_near((double)total, 1, 1e-14);
    }
    ck_assert_ok(submod_set_num_threads(0));
    submod_fn_free(fn);
    free(mask);
    free(order);
    free(gains);
}
END_TEST

START_TEST(cardinality_by_definition)
{
    submod_fn *fn[4] = {NULL};
    ck_assert_ok(submod_fn_hamming(N, &fn[0]));
    ck_assert_ok(
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn[1]));
    ck_assert_ok(
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_LOG1P}, &fn[2]));
    ck_assert_ok(submod_fn_concave(
        N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = (double)(4)}, &fn[3]));
    for (int which = 0; which < 4; which++) {
        double *F = subset_values(fn[which]);
        for (uint32_t set = 0; set < 1 << N; set++) {
            double k = __builtin_popcount(set);
            const double expected[4] = {k / N, sqrt(k), log(1 + k), k < 4 ? k : 4};
            ck_assert_near(F[set], expected[which], 1e-15);
        }
        free(F);
        submod_fn_free(fn[which]);
    }
}
END_TEST

static submod_status root(const void *ctx, double t, double *value)
{
    (void)ctx;
    *value = cbrt(8 + t) - 3; /* g(0) is not 0 */
    return SUBMOD_OK;
}

START_TEST(concave_by_definition)
{
    enum { M = 6, FUNCTIONS = 6 };
    const double w[M] = {0.5, 0, 2, 1.25, 3, 2};
    const double t[4] = {0, 2, 5, 6}, g[4] = {1, 5, 8, 8.5}; /* then on with slope 1/2 */
    const submod_concave custom = {.kind = SUBMOD_CONCAVE_CUSTOM, .value = root};
    submod_fn *fn[FUNCTIONS] = {NULL};
    ck_assert_ok(submod_fn_concave(
        M, w, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT, .parameter = NAN}, &fn[0]));
    ck_assert_ok(submod_fn_concave(
        M, w, &(submod_concave){.kind = SUBMOD_CONCAVE_LOG1P, .parameter = NAN}, &fn[1]));
    ck_assert_ok(submod_fn_concave(
        M, w, &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = 3.25}, &fn[2]));
    ck_assert_ok(submod_fn_concave(
        M, w, &(submod_concave){.kind = SUBMOD_CONCAVE_POWER, .parameter = 0.7}, &fn[3]));
    ck_assert_ok(submod_fn_concave(
        M, w, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = 4, .t = t, .g = g},
        &fn[4]));
    ck_assert_ok(submod_fn_concave(M, w, &custom, &fn[5]));
    for (int which = 0; which < FUNCTIONS; which++) {
        double *F = subset_values(fn[which]);
        for (uint32_t set = 0; set < 1 << M; set++) {
            double sum = 0;
            for (int e = 0; e < M; e++) {
                sum += set >> e & 1 ? w[e] : 0;
            }
            double by_points = fmin(fmin(1 + 2 * sum, 3 + sum), 5.5 + sum / 2);
            const double expected[FUNCTIONS] = {sqrt(sum),     log(1 + sum), fmin(sum, 3.25),
                                                pow(sum, 0.7), by_points,    cbrt(8 + sum) - 3};
            ck_assert_near(F[set], expected[which], 1e-14);
        }
        free(F);
        submod_fn_free(fn[which]);
    }
}
END_TEST

/* Small steps far out do not cancel. */
/* Points of a line, some of them close together: what their rounding does to slopes is allowed. */
START_TEST(concave_points_are_rounded)
{
    const double w[2] = {1, 1};
    submod_rng rng;
    submod_rng_seed(&rng, 65);
    for (int repeat = 0; repeat < 100; repeat++) {
        double near = ldexp(1 + submod_rng_uniform(&rng), -(int)submod_rng_below(&rng, 40));
        const double t[5] = {0, 1, 1 + near, 3 + near, 3 + 2 * near};
        double slope = submod_rng_normal(&rng), g[5];
        submod_fn *fn = NULL;
        for (size_t i = 0; i < 5; i++) {
            g[i] = slope * t[i];
        }
        ck_assert_ok(submod_fn_concave(
            2, w, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = 5, .t = t, .g = g},
            &fn));
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(concave_gains_are_accurate)
{
    const double w[2] = {1e12, 1e-3};
    const long double t = 1e12L, step = 1e-3;
    const long double expected[4] = {step / (sqrtl(t + step) + sqrtl(t)), log1pl(step / (1 + t)),
                                     step, powl(t, 0.3L) * expm1l(0.3L * log1pl(step / t))};
    const double parameter[4] = {0, 0, 2e12, 0.3};
    for (int kind = 0; kind < 4; kind++) {
        submod_fn *fn = NULL;
        double gains[2];
        ck_assert_ok(submod_fn_concave(
            2, w,
            &(submod_concave){.kind = (submod_concave_kind)kind, .parameter = parameter[kind]},
            &fn));
        ck_assert_ok(submod_fn_chain(fn, (int32_t[]){0, 1}, 2, gains, NULL));
        ck_assert_near(gains[1] / (double)expected[kind], 1, 1e-14);
        submod_fn_free(fn);
    }
}
END_TEST

enum { HYPERNODES = 9, HYPEREDGES = 6 };
static const size_t hyper_start[HYPEREDGES + 1] = {0, 2, 5, 5, 6, 11, 18};
static const int32_t hyper_nodes[18] = {0, 3, 1, 2, 3, 4, 8, 0, 2, 4, 6, 1, 3, 5, 7, 0, 2, 8};

/* How many nodes of an edge are in a set, and how many it has. */
static void count_inside(uint32_t set, int edge, double *inside, double *all)
{
    *inside = 0;
    *all = (double)(hyper_start[edge + 1] - hyper_start[edge]);
    for (size_t j = hyper_start[edge]; j < hyper_start[edge + 1]; j++) {
        *inside += set >> hyper_nodes[j] & 1;
    }
}

START_TEST(groups_by_definition)
{
    const double weight[HYPEREDGES] = {1, 2, 4, 8, 0.5, 0.25}, parameter[4] = {0, 0, 2.5, 0.4};
    double amount[18];
    for (int j = 0; j < 18; j++) {
        amount[j] = (double)(j % 4) / 2;
    }
    for (int kind = 0; kind < 8; kind++) { /* without amounts, then with */
        const double *given = kind < 4 ? NULL : amount;
        double p = parameter[kind % 4];
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_groups(
            HYPERNODES,
            &(submod_groups){.count = HYPEREDGES,
                             .start = hyper_start,
                             .elements = hyper_nodes,
                             .amount = given,
                             .weight = given ? NULL : weight},
            &(submod_concave){.kind = (submod_concave_kind)(kind % 4), .parameter = p}, &fn));
        ck_assert_str_eq(submod_fn_name(fn), "groups");
        double *F = subset_values(fn);
        for (uint32_t set = 0; set < 1 << HYPERNODES; set++) {
            double sum = 0;
            for (int i = 0; i < HYPEREDGES; i++) {
                double t = 0;
                for (size_t j = hyper_start[i]; j < hyper_start[i + 1]; j++) {
                    t += set >> hyper_nodes[j] & 1 ? given ? given[j] : 1 : 0;
                }
                const double g[4] = {sqrt(t), log(1 + t), fmin(t, p), pow(t, p)};
                sum += (given ? 1 : weight[i]) * g[kind % 4];
            }
            ck_assert_near(F[set], sum, 1e-13);
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(hypergraph_by_definition)
{
    const double weight[HYPEREDGES] = {1, 2, 4, 8, 0.5, 0.25};
    for (int kind = 0; kind < 4; kind++) {
        for (int edges = 0; edges <= HYPEREDGES; edges++) { /* only small ones; then all */
            submod_fn *fn = NULL;
            ck_assert_ok(submod_fn_groups(
                HYPERNODES,
                &(submod_groups){.count = (size_t)edges,
                                 .start = hyper_start,
                                 .elements = hyper_nodes,
                                 .weight = edges % 2 ? weight : NULL},
                &(submod_concave){.kind =
                                      (submod_concave_kind)(SUBMOD_CONCAVE_ALL_OR_NOTHING + kind)},
                &fn));
            bool ordinary = kind == 3 || edges < 5;
            ck_assert_str_eq(submod_fn_name(fn), ordinary ? "cut" : "groups");
            double *F = subset_values(fn);
            for (uint32_t set = 0; set < 1 << HYPERNODES; set++) {
                double sum = 0;
                for (int i = 0; i < edges; i++) {
                    double in, all;
                    count_inside(set, i, &in, &all);
                    double out = all - in;
                    const double cost[4] = {in > 0 && out > 0, fmin(in, out), in * out, in * out};
                    sum += (edges % 2 ? weight[i] : 1) * cost[kind];
                }
                ck_assert_near(F[set], sum, 1e-13);
            }
            free(F);
            submod_fn_free(fn);
        }
    }
}
END_TEST

START_TEST(cut_by_definition)
{
    enum { EDGES = 7 };
    const int32_t tail[EDGES] = {0, 1, 1, 3, 4, 2, 2};
    const int32_t head[EDGES] = {1, 0, 2, 0, 4, 3, 3}; /* a loop, two parallel edges */
    const double weight[EDGES] = {1, 2, 4, 8, 16, 32, 64};
    for (int directed = 0; directed < 2; directed++) {
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_cut(5, EDGES, tail, head, weight, directed, &fn));
        double *F = subset_values(fn);
        for (uint32_t set = 0; set < 32; set++) {
            double expected = 0;
            for (int i = 0; i < EDGES; i++) {
                bool from = set >> tail[i] & 1, to = set >> head[i] & 1;
                expected += (from && !to) || (!directed && !from && to) ? weight[i] : 0;
            }
            ck_assert_near(F[set], expected, 0);
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* Determinant by expansion along the first row. */
static double determinant(const double *a, size_t n)
{
    if (n == 0) {
        return 1;
    }
    double sum = 0;
    double minor[64];
    for (size_t column = 0; column < n; column++) {
        size_t next = 0;
        for (size_t i = 1; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                if (j != column) {
                    minor[next++] = a[i * n + j];
                }
            }
        }
        sum += (column % 2 ? -1 : 1) * a[column] * determinant(minor, n - 1);
    }
    return sum;
}

START_TEST(logdet_by_definition)
{
    const double K[16] = {4, 1, 0, .5, 1, 3, -1, 0, 0, -1, 2, .25, .5, 0, .25, 1};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_logdet(4, K, &fn));
    double *F = subset_values(fn);
    for (uint32_t mask = 0; mask < 16; mask++) {
        int32_t set[32];
        double a[16];
        size_t k = subset_elements(mask, set);
        for (size_t i = 0; i < k; i++) {
            for (size_t j = 0; j < k; j++) {
                a[i * k + j] = K[set[i] * 4 + set[j]];
            }
        }
        ck_assert_near(F[mask], log(determinant(a, k)), 1e-14);
    }
    free(F);
    submod_fn_free(fn);
}
END_TEST

START_TEST(iwata_by_definition)
{
    submod_fn *fn = NULL;
    ck_assert_ok(make_iwata(N, &fn));
    double *F = subset_values(fn);
    for (uint32_t set = 0; set < 1 << N; set++) {
        int size = __builtin_popcount(set);
        int expected = size * (N - size);
        for (int j = 1; j <= N; j++) {
            expected -= set >> (j - 1) & 1 ? 5 * j - 2 * N : 0;
        }
        ck_assert_near(F[set], expected, 0);
    }
    free(F);
    submod_fn_free(fn);
}
END_TEST

/* f(A intersected with S), also twice embedded, and as terms of a sum that overlap. */
START_TEST(embeddings_by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 16);
    submod_fn *f = families[0].make(3, &rng), *g = families[13].make(2, &rng), *sum = NULL;
    submod_fn *small = NULL, *large = NULL, *other = NULL;
    const int32_t in_five[3] = {4, 0, 2}, in_six[5] = {5, 1, 0, 2, 3}, pair[2] = {1, 3};
    ck_assert_ok(combine_embedded(f, 5, in_five, &small));
    ck_assert_ok(combine_embedded(small, 6, in_six, &large));
    ck_assert_ok(combine_embedded(g, 6, pair, &other));
    submod_fn *const terms[3] = {large, other, large};
    const double coefficient[3] = {1, 3, 0.5};
    ck_assert_ok(combine_sum(terms, coefficient, 3, &sum));
    ck_assert_str_eq(submod_fn_name(large), "combination");
    double *F = subset_values(f), *G = subset_values(g), *of_small = subset_values(small),
           *of_large = subset_values(large), *of_sum = subset_values(sum);
    for (uint32_t set = 0; set < 64; set++) {
        uint32_t inner = 0;
        for (int j = 0; j < 3; j++) {
            inner |= (set >> in_five[j] & 1) << j;
        }
        ck_assert_near(of_small[set % 32], F[inner & 7], set < 32 ? 0 : INFINITY);
        uint32_t twice = 0;
        for (int j = 0; j < 3; j++) {
            twice |= (set >> in_six[in_five[j]] & 1) << j;
        }
        ck_assert_near(of_large[set], F[twice], 0);
        uint32_t two = (set >> 1 & 1) | (set >> 3 & 1) << 1;
        ck_assert_near(of_sum[set], 1.5 * F[twice] + 3 * G[two], 1e-14);
    }
    double *const values[] = {F, G, of_small, of_large, of_sum};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        free(values[i]);
    }
    submod_fn *const made[] = {f, g, small, large, other, sum};
    for (size_t i = 0; i < sizeof made / sizeof(submod_fn *); i++) {
        submod_fn_free(made[i]);
    }
}
END_TEST

/* Calls of eval in a chain over a sum of embedded terms: one per element of each term, not one per
 * element and term. */
static submod_status counting_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)set;
    ++**(size_t *const *)ctx;
    *value = sqrt((double)k);
    return SUBMOD_OK;
}

START_TEST(embedded_terms_cost_what_they_touch)
{
    enum { MANY = 200, EACH = 3 };
    static submod_fn *terms[MANY];
    static double gains[MANY + EACH], pushed;
    static int32_t order[MANY + EACH];
    size_t calls = 0, *counter = &calls;
    submod_fn_ops ops = {.eval = counting_eval};
    submod_fn *small = NULL, *sum = NULL;
    submod_state *state = NULL;
    ck_assert_ok(submod_fn_custom(EACH, &ops, &counter, &small));
    for (int32_t i = 0; i < MANY; i++) {
        ck_assert_ok(combine_embedded(small, MANY + EACH, (int32_t[]){i, i + 1, i + 3}, &terms[i]));
    }
    ck_assert_ok(combine_sum(terms, NULL, MANY, &sum));
    submod_rng rng;
    submod_rng_seed(&rng, 17);
    random_order(&rng, order, MANY + EACH);
    ck_assert_ok(submod_fn_chain(sum, order, MANY + EACH, gains, NULL));
    ck_assert_uint_eq(calls, MANY + MANY * EACH); /* one for each empty set */
    ck_assert_ok(submod_state_create(sum, &state));
    for (size_t i = 0; i < MANY + EACH; i++) {
        calls = 0;
        ck_assert_ok(submod_state_gain(state, order[i], &pushed));
        ck_assert_uint_le(calls, EACH);
        ck_assert_ok(submod_state_push(state, order[i], &pushed));
        ck_assert_near(pushed, gains[i], 1e-14);
    }
    submod_state_free(state);
    for (int i = 0; i < MANY; i++) {
        submod_fn_free(terms[i]);
    }
    submod_fn_free(sum);
    submod_fn_free(small);
}
END_TEST

START_TEST(combinations_by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    submod_fn *f = families[0].make(5, &rng);
    submod_fn *g = families[10].make(5, &rng);
    submod_fn *const both[2] = {f, g};
    const double coefficient[2] = {2, 3}, w[5] = {1, -1, 2, -2, 0.5};
    const int32_t kept[3] = {4, 0, 2}, merged[2] = {3, 1};
    submod_fn *sum = NULL, *plain = NULL, *scaled = NULL, *shifted = NULL, *restricted = NULL,
              *contracted = NULL, *nothing = NULL;
    ck_assert_ok(combine_sum(both, coefficient, 2, &sum));
    ck_assert_ok(combine_sum(both, NULL, 2, &plain));
    ck_assert_ok(combine_scaled(g, 0.5, &scaled));
    ck_assert_ok(combine_scaled(g, 0, &nothing));
    ck_assert_ok(combine_plus(g, w, &shifted));
    ck_assert_ok(submod_fn_restrict(g, kept, 3, &restricted));
    ck_assert_ok(submod_fn_contract(g, merged, 2, &contracted));
    double *F = subset_values(f), *G = subset_values(g);
    submod_fn_free(f); /* combinations keep their own share */
    submod_fn_free(g);
    double *of_sum = subset_values(sum), *of_plain = subset_values(plain),
           *of_scaled = subset_values(scaled), *of_shifted = subset_values(shifted),
           *of_restricted = subset_values(restricted), *of_contracted = subset_values(contracted),
           *of_nothing = subset_values(nothing);
    for (uint32_t set = 0; set < 32; set++) {
        double modular = 0;
        for (int e = 0; e < 5; e++) {
            modular += set >> e & 1 ? w[e] : 0;
        }
        ck_assert_near(of_sum[set], 2 * F[set] + 3 * G[set], 1e-14);
        ck_assert_near(of_plain[set], F[set] + G[set], 1e-14);
        ck_assert_near(of_scaled[set], 0.5 * G[set], 1e-14);
        ck_assert_near(of_nothing[set], 0, 0);
        ck_assert_near(of_shifted[set], G[set] + modular, 1e-14);
    }
    for (uint32_t set = 0; set < 8; set++) {
        uint32_t inner = (set & 1) << 4 | (set >> 1 & 1) << 0 | (set >> 2 & 1) << 2;
        uint32_t outside = (set & 1) << 0 | (set >> 1 & 1) << 2 | (set >> 2 & 1) << 4;
        const uint32_t S = 1 << 3 | 1 << 1;
        ck_assert_near(of_restricted[set], G[inner], 1e-14);
        ck_assert_near(of_contracted[set], G[outside | S] - G[S], 1e-14);
    }
    double *arrays[] = {
        F, G, of_sum, of_plain, of_scaled, of_shifted, of_restricted, of_contracted, of_nothing};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    submod_fn *made[] = {sum, plain, scaled, shifted, restricted, contracted, nothing};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        submod_fn_free(made[i]);
    }
}
END_TEST

/* A function that is not normalised: everything but eval works on F - F(empty). */
static submod_status shifted_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = 10 + sqrt((double)k);
    return SUBMOD_OK;
}

START_TEST(not_normalised)
{
    submod_fn_ops ops = {.eval = shifted_eval};
    submod_fn *fn = NULL, *contracted = NULL, *restricted = NULL;
    const int32_t order[3] = {2, 0, 1};
    double gains[3], value;
    ck_assert_ok(submod_fn_custom(3, &ops, NULL, &fn));
    ck_assert_ok(submod_fn_chain(fn, order, 3, gains, NULL));
    ck_assert_near(gains[0], 1, 1e-14);
    ck_assert_ok(submod_fn_contract(fn, NULL, 0, &contracted));
    ck_assert_ok(submod_fn_eval(contracted, order, 0, &value));
    ck_assert_near(value, 0, 0);
    ck_assert_ok(submod_fn_restrict(fn, order, 2, &restricted));
    ck_assert_ok(submod_fn_eval(restricted, order, 0, &value));
    ck_assert_near(value, 10, 0);
    submod_fn_free(fn);
    submod_fn_free(contracted);
    submod_fn_free(restricted);
}
END_TEST

/* ---- a custom function with a state: the last handle destroys, gain works on a copy ---- */

static int destroyed;

static void count_destroy(void *ctx)
{
    (void)ctx;
    destroyed++;
}

typedef struct counter {
    double k;
} counter;

static submod_status counter_reset(const void *ctx, void *state)
{
    (void)ctx;
    ((counter *)state)->k = 0;
    return SUBMOD_OK;
}

static submod_status counter_push(const void *ctx, void *state, int32_t e, double *gain)
{
    counter *c = state;
    (void)ctx;
    (void)e;
    *gain = sqrt(c->k + 1) - sqrt(c->k);
    c->k++;
    return SUBMOD_OK;
}

CHAIN_OF_PUSHES(counter_chain, counter_push)

START_TEST(custom_with_state)
{
    submod_fn_ops ops = {.eval = shifted_eval,
                         .state_size = sizeof(counter),
                         .reset = counter_reset,
                         .chain = counter_chain,
                         .destroy = count_destroy};
    submod_fn *fn = NULL, *twice = NULL;
    submod_state *state = NULL;
    double gain;
    ck_assert_ok(submod_fn_custom(3, &ops, NULL, &fn));
    ck_assert_ok(combine_scaled(fn, 2, &twice));
    submod_fn *shared = submod_fn_retain(fn);
    ck_assert_ptr_eq(shared, fn);
    ck_assert_ok(submod_state_create(twice, &state));
    submod_fn_free(shared);
    submod_fn_free(fn);
    submod_fn_free(twice);
    ck_assert_int_eq(destroyed, 0);
    for (int32_t e = 0; e < 3; e++) {
        for (int again = 0; again < 3; again++) { /* gain leaves the state alone */
            ck_assert_ok(submod_state_gain(state, e, &gain));
            ck_assert_near(gain, 2 * (sqrt(e + 1.0) - sqrt(e)), 1e-15);
        }
        ck_assert_ok(submod_state_push(state, e, NULL));
    }
    submod_state_free(state);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

int main(void)
{
    return RUN_TESTS("functions", callbacks_agree, chain_continues, tied_gains_are_fair,
                     tied_gains_are_equal, jaccard_by_definition, jaccard_gains_are_accurate,
                     cardinality_by_definition, concave_by_definition, concave_points_are_rounded,
                     concave_gains_are_accurate, groups_by_definition, hypergraph_by_definition,
                     cut_by_definition, logdet_by_definition, iwata_by_definition,
                     embeddings_by_definition, embedded_terms_cost_what_they_touch,
                     combinations_by_definition, not_normalised, custom_with_state);
}
