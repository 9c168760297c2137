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

size_t submodi_level_cuts(const submodi_projection *p, submodi_cut *cuts)
{
    size_t count = 0;
    double slack = 0;
    double size = 0; /* of what was added and subtracted: rounding is relative to it */
    for (size_t k = 1; k < p->n; k++) {
        int32_t e = p->order[k - 1];
        double above = p->t[e];
        double below = p->t[p->order[k]];
        slack += p->vertex[e] - p->s[e];
        size += fabs(p->vertex[e]) + fabs(p->s[e]);
        double rounding = 16 * DBL_EPSILON * (size + fabs(p->y[e]) + fabs(p->y[p->order[k]]));
        /* A slack below 0 shows that F is not submodular, and proves nothing. */
        if (slack >= -rounding && above - below > 2 * (fabs(slack) + rounding)) {
            cuts[count++] = (submodi_cut){k, below + (above - below) / 2};
        }
    }
    return count;
}
