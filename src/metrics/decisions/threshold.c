/* The largest ratio of expectations, by Dinkelbach's method: at a ratio J the best set of the
 * linear problem E I - J E(union) or 2 E I - J E(sum) is a threshold,
 *
 *     IoU:  q (1 + J) > J        Dice:  2 q > J,
 *
 * and its own ratio is at least J. J rises and the set shrinks until it stays. O(log p) a step.
 */
#include "metrics/decisions/methods.h"

size_t submodi_above(const submodi_prefixes *s, double cut)
{
    size_t low = 0; /* so many are above for certain */
    size_t high = s->p;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->q[middle] > cut) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t submodi_choose_threshold(const submodi_prefixes *s)
{
    size_t k = submodi_above(s, 0);
    for (;;) {
        double J = submodi_ratio(s, k);
        size_t next = submodi_above(s, s->score == SUBMOD_DECISION_IOU ? J / (1 + J) : J / 2);
        if (next >= k) {
            return k;
        }
        k = next;
    }
}
