/* How many of the ranked pixels to choose. q falls along the order. */
#ifndef SUBMODI_DECISIONS_METHODS_H
#define SUBMODI_DECISIONS_METHODS_H

#include "metrics/decisions/prefixes.h"

/* The number of pixels whose probability is above the cut. */
size_t submodi_above(const submodi_prefixes *s, double cut);

/* The k with the largest expected score, the smallest among equals; *best: no score is larger.
 * found: room for p + 1 intervals. */
size_t submodi_choose_ranked(const submodi_prefixes *s, submodi_interval *found, double *best);

/* The first k whose expected score the next pixel does not raise. found: as above. */
size_t submodi_choose_greedily(const submodi_prefixes *s, submodi_interval *found);

/* The k with the largest ratio of expectations. */
size_t submodi_choose_threshold(const submodi_prefixes *s);

#endif
