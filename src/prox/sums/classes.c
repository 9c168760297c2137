/* Greedy colouring: members that share no element form a class, whose projections are independent.
 *
 * Each member goes to the first class that none of its elements is in. For each element the first
 * 64 classes are kept as bits; a member that fits in none of them gets a class of its own, as all
 * members of all elements do. These come last: parts whose extension is dear to evaluate at the
 * very end, since there the method knows it. Cost: O(sum of the members' sizes).
 */
#include "prox/sums/classes.h"

#include <string.h>

enum { CLASSES = 64 };

/* The place of a member in the cycle: embedded ones by their class, then families, then cuts, then
 * the rest. */
static uint32_t rank_of(const submodi_member *m, uint64_t *used)
{
    const int32_t *elements = m->part->elements;
    if (m->full || m->family) {
        return CLASSES + 1 +
               (m->family                         ? 0
                : submodi_cut_inside(m->part->fn) ? 1
                : m->fast                         ? 3
                                                  : 2);
    }
    uint64_t taken = 0;
    uint32_t first = 0;
    for (size_t i = 0; i < m->k; i++) {
        taken |= used[elements[i]];
    }
    while (first < CLASSES && taken >> first & 1) {
        first++;
    }
    for (size_t i = 0; first < CLASSES && i < m->k; i++) {
        used[elements[i]] |= UINT64_C(1) << first;
    }
    return first;
}

static double cost_of(const submodi_member *m)
{
    double k = (double)m->k;
    return m->fast ? k : k * k * k;
}

/* Counting sort by rank; start has one more entry than there are ranks. */
static void sort_by_rank(submodi_member *members, size_t count, const uint32_t *rank,
                         submodi_member *sorted, size_t *start, size_t ranks)
{
    memset(start, 0, (ranks + 1) * sizeof *start);
    for (size_t i = 0; i < count; i++) {
        start[rank[i] + 1]++;
    }
    for (size_t r = 0; r < ranks; r++) {
        start[r + 1] += start[r];
    }
    for (size_t i = 0; i < count; i++) {
        sorted[start[rank[i]]++] = members[i];
    }
    memcpy(members, sorted, count * sizeof *members);
}

size_t submodi_sort_into_classes(size_t n, submodi_member *members, size_t count,
                                 submodi_class *classes, submod_work *work)
{
    enum { RANKS = CLASSES + 5 };
    size_t start[RANKS + 1];
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    uint64_t *used = submodi_take(w, n, sizeof *used);
    uint32_t *rank = submodi_take(w, count, sizeof *rank);
    submodi_member *sorted = submodi_take(w, count, sizeof *sorted);
    size_t number = 0;
    if (used && rank && sorted) {
        memset(used, 0, n * sizeof *used);
        for (size_t i = 0; i < count; i++) {
            rank[i] = rank_of(&members[i], used);
        }
        sort_by_rank(members, count, rank, sorted, start, RANKS);
        /* start[r] is now where rank r ends */
        for (size_t i = 0, r = 0; i < count; i++) {
            bool fresh = i == 0 || r >= CLASSES;
            while (start[r] <= i) {
                r++;
                fresh = true;
            }
            if (fresh) {
                classes[number++] = (submodi_class){.first = i};
            }
            submodi_class *c = &classes[number - 1];
            c->last = i + 1;
            c->cost =
                members[i].parallel && (c->cost > 0 || fresh) ? c->cost + cost_of(&members[i]) : 0;
        }
    }
    submodi_scope_close(&scope);
    return number;
}
