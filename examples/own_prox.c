/* A set function of your own that brings its own proximal operator.
 *
 * F(A) = cost if A is not empty, the price of using a label at all. Its Lovasz extension is
 * cost max(u_i), its base polytope a simplex, and so its prox a projection onto a simplex. The
 * library knows none of this: it calls the prox slot, also inside a sum, and measures the gap
 * itself.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <submod.h>

enum { SIDE = 24, N = SIDE * SIDE, HALF = N / 2 };
static const double cost = 6;
static double image[N], u[N], plain_u[N];
static int calls;

static submod_status label_cost(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)set;
    *value = k ? *(const double *)ctx : 0;
    return SUBMOD_OK;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* s = max(lambda (x - level), 0) with the level at which the sum of s is the cost. */
static submod_status label_prox(const void *ctx, const double *x, double lambda, double *to,
                                double *s)
{
    double sorted[HALF], sum = -*(const double *)ctx / lambda, level = 0;
    for (size_t i = 0; i < HALF; i++) {
        sorted[i] = x[i];
    }
    qsort(sorted, HALF, sizeof *sorted, descending);
    for (size_t k = 0; k < HALF && (k == 0 || sorted[k] > level); k++) {
        sum += sorted[k];
        level = sum / (double)(k + 1);
    }
    for (size_t i = 0; i < HALF; i++) {
        to[i] = fmin(x[i], level);
        s[i] = lambda * (x[i] - to[i]);
    }
    calls++;
    return SUBMOD_OK;
}

/* Half of the image is noise around 0.3, the other half has a bright square. */
static void make_image(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int i = 0; i < N; i++) {
        int row = i / SIDE, column = i % SIDE;
        int bright = row > 14 && row < 21 && column > 7 && column < 16;
        image[i] = 0.5 * submod_rng_normal(&rng) + (bright ? 2 : -0.3);
    }
}

/* A grid's cut, and a label cost for each half of the image. */
static submod_status make_sum(const submod_fn_ops *ops, submod_fn **sum)
{
    static int32_t tail[2 * N], head[2 * N], upper[HALF], lower[HALF];
    static double weight[2 * N];
    size_t m = 0;
    for (int32_t i = 0; i < N; i++) {
        const int32_t next[2] = {i % SIDE + 1 < SIDE ? i + 1 : -1, i + SIDE < N ? i + SIDE : -1};
        for (int k = 0; k < 2; k++) {
            if (next[k] >= 0) {
                tail[m] = i;
                head[m] = next[k];
                weight[m++] = 0.4;
            }
        }
        upper[i % HALF] = i % HALF;
        lower[i % HALF] = HALF + i % HALF;
    }
    submod_fn *cut = NULL, *label = NULL;
    submod_status status = submod_fn_cut(N, m, tail, head, weight, 0, &cut);
    if (status == SUBMOD_OK) {
        status = submod_fn_custom(HALF, ops, (void *)&cost, &label);
    }
    if (status == SUBMOD_OK) {
        const submod_term terms[] = {{cut, 1, NULL}, {label, 1, upper}, {label, 1, lower}};
        status = submod_fn_combine(N, terms, 3, NULL, sum);
    }
    submod_fn_free(label);
    submod_fn_free(cut);
    return status;
}

static int solve(const submod_fn_ops *ops, double *to, submod_prox_info *info)
{
    submod_fn *sum = NULL;
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_SUM;
    submod_status status = make_sum(ops, &sum);
    if (status == SUBMOD_OK) {
        status = submod_prox(sum, image, 1, to, NULL, &settings, info, NULL);
    }
    if (status != SUBMOD_OK) {
        fprintf(stderr, "own_prox: %s\n", submod_last_error());
    }
    submod_fn_free(sum);
    return status != SUBMOD_OK;
}

int main(void)
{
    submod_fn_ops ops = {.name = "label cost", .eval = label_cost, .prox = label_prox};
    submod_prox_info info;
    int used[2] = {0, 0};
    make_image();
    if (solve(&ops, u, &info)) {
        return 1;
    }
    for (int i = 0; i < N; i++) {
        used[i / HALF] += u[i] > 0;
    }
    printf("gap %.1e after %zu sweeps and %d calls of the prox slot\n", info.gap, info.iterations,
           calls);
    printf("the label is used at %d and %d pixels of the halves\n", used[0], used[1]);

    double apart = 0;
    ops.prox = NULL; /* from values alone, by Fujishige-Wolfe */
    if (solve(&ops, plain_u, &info)) {
        return 1;
    }
    for (int i = 0; i < N; i++) {
        apart = fmax(apart, fabs(u[i] - plain_u[i]));
    }
    printf("without the slot u differs by %.0e\n", apart);
    return apart > 1e-3;
}
