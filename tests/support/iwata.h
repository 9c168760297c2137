/* Iwata's test function for minimisers: F(A) = |A| (n - |A|) - sum over j in A of (5 j - 2 n), j =
 * 1 .. n. */
#ifndef SUBMOD_TESTS_IWATA_H
#define SUBMOD_TESTS_IWATA_H

#include <submod/function.h>

/* Creates Iwata's function of n elements. Its values are integers, exact in doubles up to n = 10^8.
 */
submod_status make_iwata(size_t n, submod_fn **fn);

#endif
