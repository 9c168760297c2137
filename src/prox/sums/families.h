/* A cut as a sum of families of chains. */
#ifndef SUBMODI_PROX_SUMS_FAMILIES_H
#define SUBMODI_PROX_SUMS_FAMILIES_H

#include "base/memory.h"
#include "prox/solver.h"
#include "submod/functions/cut.h"

/* The vertices start, start + d, start + 2 d, .., `length` of them. */
typedef struct submodi_line {
    size_t start, length;
    size_t at; /* where its points begin among those of the family */
} submodi_line;

/* Lines that are dealt with together, so that what lies in one cache line is used at once. */
typedef struct submodi_bundle {
    size_t first, last; /* lines first .. last - 1 */
} submodi_bundle;

/* All edges between vertices whose numbers differ by d: disjoint chains. */
typedef struct submodi_family {
    size_t d;
    size_t points; /* on all lines together */
    submodi_line *lines;
    size_t nlines;
    submodi_bundle *bundles;
    size_t nbundles;
    size_t longest; /* points of the largest bundle */
    /* Weights of the arcs from each point to the next one on its line and back; 0 at the end of a
     * line. They may be the same array. */
    double *out, *in;
} submodi_family;

enum { SUBMODI_FAMILIES_MAX = 8 };

/* The number of families of the cut, 0 if there are more than SUBMODI_FAMILIES_MAX. */
size_t submodi_count_families(const submodi_cut *cut);

/* Fills families[submodi_count_families(cut)], with all weights multiplied by scale. The memory is
 * taken from work. False: out of memory. */
bool submodi_split_into_families(const submodi_cut *cut, double scale, submodi_family *families,
                                 submod_work *work);

/* to = the entries of v on the lines of a bundle, by line. */
void submodi_bundle_gather(const submodi_family *f, const submodi_bundle *b, const double *v,
                           double *to);
/* The reverse. */
void submodi_bundle_scatter(const submodi_family *f, const submodi_bundle *b, const double *from,
                            double *v);

#endif
