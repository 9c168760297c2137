/* The best prefix, for certain up to the width of its interval: rough intervals for all k, O(p);
 * narrow ones for those k alone that may still be best. These are about sqrt(p) many: rough
 * intervals are about 1/n wide, relatively, and the score falls off like ((k - best) / n)^2.
 */
#include <math.h>

#include "metrics/decisions/methods.h"

size_t submodi_choose_ranked(const submodi_prefixes *s, submodi_interval *found, double *best)
{
    double floor = 0;
    for (size_t k = 0; k <= s->p; k++) {
        floor = fmax(floor, submodi_roughly(s, k).lower);
    }
    size_t first = 0;
    while (submodi_roughly(s, first).upper < floor) {
        first++;
    }
    size_t last = s->p;
    while (submodi_roughly(s, last).upper < floor) {
        last--;
    }
    submodi_expect(s, first, last, floor, found);
    size_t chosen = first;
    *best = 0;
    for (size_t k = first; k <= last; k++) {
        *best = fmax(*best, found[k - first].upper);
        if (submodi_middle(found[k - first]) > submodi_middle(found[chosen - first]) &&
            found[k - first].upper >= floor) {
            chosen = k;
        }
    }
    return chosen;
}
