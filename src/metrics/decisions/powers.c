/* Sums of powers, in parts of 64 and of 64 such parts: so few numbers are added to a large one that
 * a million of them lose two digits at most, in an order that depends on n alone. */
#include "metrics/decisions/powers.h"

enum { PART = 64, LONG_PART = PART * PART };

static submodi_powers part(const double *q, size_t n, double largest)
{
    submodi_powers sum = {{0}};
    for (size_t i = 0; i < n; i++) {
        submodi_powers_add(&sum, q[i] <= largest ? q[i] : 0);
    }
    return sum;
}

static submodi_powers long_part(const double *q, size_t n, double largest)
{
    submodi_powers sum = {{0}};
    for (size_t i = 0; i < n; i += PART) {
        submodi_powers more = part(q + i, n - i < PART ? n - i : PART, largest);
        submodi_powers_join(&sum, &more);
    }
    return sum;
}

submodi_powers submodi_powers_of(const double *q, size_t n, double largest)
{
    submodi_powers sum = {{0}};
    for (size_t i = 0; i < n; i += LONG_PART) {
        submodi_powers more = long_part(q + i, n - i < LONG_PART ? n - i : LONG_PART, largest);
        submodi_powers_join(&sum, &more);
    }
    return sum;
}
