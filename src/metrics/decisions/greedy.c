/* Grows the segmentation from nothing, always by the pixel that raises the expected score most, as
 * long as one does. That pixel is the most probable one that is left: exchanging a chosen pixel for
 * a more probable one never lowers the score. The expected score may fall and rise again along the
 * order, so this can stop too early.
 */
#include "metrics/decisions/methods.h"

size_t submodi_choose_greedily(const submodi_prefixes *s, submodi_interval *found)
{
    submodi_expect(s, 0, s->p, 0, found);
    size_t k = 0;
    while (k < s->p && submodi_middle(found[k + 1]) > submodi_middle(found[k])) {
        k++;
    }
    return k;
}
