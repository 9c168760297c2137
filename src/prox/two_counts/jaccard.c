/* Exact prox of the Jaccard extension: once foreground and background are sorted, each by itself
 * (prox.c), find the levels (levels.c), write them back (levels_write.c). O(p log p).
 *
 * Bytes per pixel that move, for 80 % background in levels of one pixel each:
 *
 *     8 + 8 + 16    x checked; its range; x read and a record written
 *     8 + 32 + 8    records counted, moved in two passes (16 more for a third), tidied up
 *     24            values in sorted order: a record, x at a random place, the value written
 *     8 + 22        values read; a level of 24 written per background, a sum of 16 per foreground
 *     35 + 16       value, level and record read; u and s written as a pair at a random place
 *     24 + 32       pair and x read for the certificate; the pair copied to the caller's u and s
 *
 * About 240 in all. Yet levels and writing back wait for divisions and for branches that depend on
 * the data more than for memory.
 *
 * Memory per pixel: 16 bytes for the sort and the sorted values, then 16 for a pixel of the
 * foreground (its prefix sum) or 24 for one of the background (its level), 16 for u and s: 56 at
 * most. */
#include "prox/two_counts/jaccard_prox.h"

#include <stdbool.h>

#include "base/internal.h"
#include "base/sort.h"

/* For the number of foreground pixels that needs most. */
size_t submodi_jaccard_prox_bytes(size_t n, int threads)
{
    size_t bytes = 0;
    bool good = submodi_add_size(&bytes, 2 * n, sizeof(uint64_t)) &&
                submodi_add_size(&bytes, (size_t)threads, sizeof(submodi_digit_counts)) &&
                submodi_add_size(&bytes, n + 2, sizeof(submodi_level)) &&
                submodi_add_size(&bytes, 8, SUBMODI_ALIGN);
    return good ? bytes : SIZE_MAX;
}

submod_status submodi_jaccard_sorted(const submodi_two_kinds_problem *p,
                                     const submodi_sorted_kinds *kinds, submodi_prox_pair *pair,
                                     submodi_extension *found, submod_prox_info *info,
                                     submod_work *w)
{
    const submodi_sorted *bg = &kinds->sorted[0];
    const submodi_sorted *fg = &kinds->sorted[1];
    submodi_levels l = {.lambda = p->lambda,
                        .fg = submodi_sorted_points(p, fg, kinds->count[1]),
                        .bg = submodi_sorted_points(p, bg, kinds->count[0])};
    l.fg_sum = submodi_take(w, l.fg.count + 1, sizeof *l.fg_sum);
    l.level = submodi_take(w, l.bg.count + 2, sizeof *l.level);
    bool good = l.fg_sum && l.level;
    if (good && p->multiplicity) {
        good = submodi_sum_pixels(p, fg, &l.fg, w) && submodi_sum_pixels(p, bg, &l.bg, w);
    }
    if (!good) {
        return submodi_nomem(p->who);
    }
    submodi_levels_solve(&l);
    submodi_levels_write(&l, submodi_origin_of(fg), submodi_origin_of(bg), p->form, pair, found);
    info->iterations = l.count;
    info->work = l.work;
    return SUBMOD_OK;
}
