/* The greedy path: Algorithm 2 of the paper's supplement, "Computation of prox", for any F.
 *
 * In this algorithm runs of equal entries never separate again, but the optimum often needs that.
 * So the result is not always the prox; bench/studies/prox/study.c shows how far off it is. u is
 * what the algorithm returns. Then lambda (x - u) need not be a base. So s is the greedy vector at
 * u, which always is one, and the gap is true.
 *
 * No path has to be followed. Every g is a projection of all earlier ones on a smaller subspace, so
 * <g_earlier, g> = <g, g>, and line 11 says: stop = 1 / lambda - time elapsed. So p points of equal
 * mass move with speeds g for the time 1 / lambda. Points that meet stick together and go on at
 * their mean speed. Each run ends at the mean of the free end points v0 - g / lambda of its
 * members. Its upper part, which wanted to fall further, has the lower mean. So the result is the
 * projection of the free end points on the decreasing sequences. This is isotonic regression: one
 * pass that pools adjacent violators, after the runs of line 4.
 *
 * The wall at 0 is applied at the end, by max(v, min(v0, 0)); prox.c does this for every method.
 * The hinge needs a monotone F, so all g are >= 0, and points that meet below 0 do not affect those
 * above.
 *
 * O(p log p) for the sort and one chain of F, then O(p).
 */
/* clang-format off */
/* The algorithm as published, with what had to be repaired:
 *
 *    1  v0, pi <- decreasing ordering of the margins and its permutation.
 *    2  v <- v0.
 *    3  g <- gradient of f as a function of the sorted margins: the greedy gains.
 *    4  E <- a constraint g_i = .. = g_i+p for each run of equal v_i = .. = v_i+p.
 *    5  c_z <- "g_z+1 = .. = g_d for z the first index with v_z < 0".
 *       Repaired: g_i = 0 for all i with v_i <= 0, because the hinge is flat there. An entry that
 *       comes down to 0 stays. Equality with the others below is too weak: all could fall together.
 *    6-7  while not finished:
 *    8    if g = 0: break.
 *    9    g <- projection of g on the constraints: the mean over each run, 0 below zero.
 *   10    v_next <- the closest edge of f from v "in the direction g".
 *         Repaired: in the direction -g, because g is a gradient and one goes down. The edge is
 *         where two neighbours meet, or one meets 0.
 *   11    stop <- 1 / lambda + <v - v0, g> / <g, g>.
 *         Right as printed if the path is v - t g: this minimises f(v - t g) +
 *         lambda/2 |v - t g - v0|^2 over t.
 *   12    if stop < |v_next - v|:
 *         Repaired: stop is a time and |v_next - v| a length. Compare with |v_next - v| / |g|.
 *   13      v <- v + stop g. Repaired: v - stop g.
 *   14      finished.
 *   15    else v <- v_next, and the new constraint goes to E or c_z.
 *   16  return v in the order of the margins.
 */
/* clang-format on */
#include "base/error.h"
#include "base/memory.h"
#include "prox/isotonic.h"
#include "prox/solver.h"
#include <submod/lovasz.h>

/* Line 4: replaces the gains over each run of equal x by their mean. The regression then keeps ties
 * together. */
static void average_over_ties(const double *x, double *gain, size_t n)
{
    for (size_t begin = 0, end; begin < n; begin = end) {
        double sum = 0;
        for (end = begin; end < n && x[end] == x[begin]; end++) {
            sum += gain[end];
        }
        for (size_t i = begin; i < end; i++) {
            gain[i] = sum / (double)(end - begin);
        }
    }
}

bool submodi_can_greedy_path(const submod_fn *fn)
{
    (void)fn;
    return true;
}

submod_status submodi_prox_greedy_path(const submodi_prox_problem *p, double *u, double *s,
                                       submod_prox_info *info, submod_work *work)
{
    size_t n = p->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    int32_t *order = submodi_take(w, n, sizeof *order);
    double *gain = submodi_take(w, n, sizeof *gain);
    double *x = submodi_take(w, n, sizeof *x);
    submodi_pool *pools = submodi_take(w, n, sizeof *pools);
    submod_status status = order && gain && x && pools ? SUBMOD_OK : submodi_nomem(p->who);
    submod_lovasz_settings vertex = submod_lovasz_defaults();
    vertex.ties = SUBMOD_TIES_INDEX;
    status = status ? status : submod_lovasz(p->fn, p->x, NULL, s, order, &vertex, w);
    if (status == SUBMOD_OK) {
        for (size_t i = 0; i < n; i++) {
            gain[i] = s[order[i]];
            x[i] = p->x[order[i]];
        }
        average_over_ties(x, gain, n);
        submodi_isotonic(n, x, gain, p->lambda, pools, x, gain);
        for (size_t i = 0; i < n; i++) {
            u[order[i]] = x[i];
            info->iterations += i == 0 || x[i] != x[i - 1];
        }
        info->work = 2 * n;
        info->oracle_calls = 2;
        status = submodi_all_finite(u, n)
                     ? submod_lovasz(p->fn, u, NULL, s, NULL, NULL, w)
                     : submodi_fail(SUBMOD_ENUMERIC, "%s: x - g / lambda overflows", p->who);
    }
    submodi_scope_close(&scope);
    return status;
}
