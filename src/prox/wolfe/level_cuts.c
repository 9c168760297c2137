/* Certified cuts. Let t* be the solution, s any base, t = y - s, and A the first k elements in the
 * order of t. If
 *
 *     t_k - t_(k+1)  >  2 (F(A) - s(A)),
 *
 * then A is a level set of t*: with alpha half way between t_k and t_(k+1), t* > alpha on A and
 * t* < alpha elsewhere.
 *
 * Proof. G(B) = F(B) - sum over B of (y - alpha) has {t* > alpha} as its smallest minimiser and
 * {t* >= alpha} as its largest. For any B, since s(B) <= F(B),
 *
 *     G(B) >= - sum over B of (t - alpha) = - sum over A of (t - alpha)
 *                                           + sum of |t - alpha| where B and A differ.
 *
 * The first sum is G(A) - (F(A) - s(A)). So if B and A differ anywhere, where |t - alpha| is at
 * least half the jump, G(B) > G(A).
 *
 * The slack F(A) - s(A) is that of one prefix, which the gap bounds only through the jump: slack
 * times jump <= f(t) - <s, t>. So whatever the gap would prove about A (jump > 2 sqrt(gap)), this
 * proves too, and much of it earlier. Cost: O(n), from the gains of the last look. */
#include "prox/wolfe/level_cuts.h"

#include <float.h>
#include <math.h>

/* Whether the jump behind rank k proves a cut; size: of what the slack was added up from, which
 * rounding is relative to. A slack below 0 shows that F is not submodular, and proves nothing. */
static bool proved(const submodi_projection *p, size_t k, double jump, double slack, double size)
{
    double y = fabs(p->y[p->order[k - 1]]) + fabs(p->y[p->order[k]]);
    double rounding = 16 * DBL_EPSILON * (size + y);
    return slack >= -rounding && jump > 2 * (fabs(slack) + rounding);
}

/* Most jumps are too small even without rounding: they take a dozen instructions each. */
size_t submodi_level_cuts(const submodi_projection *p, submodi_cut *cuts)
{
    const double *t = p->t;
    size_t count = 0;
    double slack = 0;
    double size = 0;
    double above = t[p->order[0]];
    for (size_t k = 1; k < p->n; k++) {
        int32_t e = p->order[k - 1];
        double below = t[p->order[k]];
        double jump = above - below;
        slack += p->vertex[e] - p->s[e];
        size += fabs(p->vertex[e]) + fabs(p->s[e]);
        if (jump > 2 * fabs(slack) && proved(p, k, jump, slack, size)) {
            cuts[count++] = (submodi_cut){k, below + jump / 2};
        }
        above = below;
    }
    return count;
}
