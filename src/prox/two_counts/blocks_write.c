/* From blocks to u and s of every point, and f(u) on the way.
 *
 * Along the blocks u falls, so this is the order in which f(u) and f(u) - <s, u> are added up, as
 * in gap.c. Inside a block u is constant: its points count as one. O(p). */
#include <math.h>

#include "prox/two_counts/blocks.h"

enum { AHEAD = 24 }; /* points whose place is fetched before it is their turn */

typedef struct writer {
    const submodi_blocks *b;
    submodi_origin origin[2]; /* of the background, of the foreground */
    submodi_u_form form;
    submodi_prox_pair *pair;
} writer;

/* Writes points [begin, end) of a kind. Returns the sum of s over their pixels. */
static double write_points(const writer *w, bool fg, size_t begin, size_t end, double ref,
                           double offset)
{
    const submodi_point_list *list = fg ? &w->b->fg : &w->b->bg;
    const submodi_origin *origin = &w->origin[fg];
    const double lambda = w->b->lambda;
    const double u = ref - offset / lambda;
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        size_t soon = i + AHEAD < list->count ? i + AHEAD : i;
        __builtin_prefetch(&w->pair[origin->record[soon] & origin->mask], 1);
        double x = list->value[i];
        submodi_prox_pair pair = {u, offset + lambda * (x - ref)};
        pair = submodi_in_form(pair, x, lambda, w->form);
        w->pair[origin->record[i] & origin->mask] = pair;
        sum += submodi_pixels_of(list, i) * pair.s;
    }
    return sum;
}

submod_status submodi_blocks_write(const submodi_blocks *b, submodi_origin fg, submodi_origin bg,
                                   submodi_u_form form, submodi_prox_pair *pair,
                                   submodi_extension *result)
{
    const writer w = {b, {bg, fg}, form, pair};
    submodi_extension f = {.known = true};
    double slack = 0;
    double last = 0;
    double largest = 0;
    double total = 0;
    size_t a = 0;
    size_t c = 0;
    while (a + c < b->fg.count + b->bg.count) {
        const submodi_block *block = &b->block[a + c];
        bool single = block->fg + block->bg == 1;
        double ref = block->fg ? b->fg.value[a] : b->bg.value[c];
        double gain =
            block->offset *
            (single ? submodi_pixels_of(block->fg ? &b->fg : &b->bg, block->fg ? a : c) : 0);
        submod_status status = single ? SUBMOD_OK : submodi_block_gain(b, a, c, block, &gain);
        if (status != SUBMOD_OK) {
            return status;
        }
        double at = submodi_argument(ref - block->offset / b->lambda, form);
        f.excess += slack * (last - at);
        f.value += gain * at;
        slack += gain - write_points(&w, true, a, a + block->fg, ref, block->offset) -
                 write_points(&w, false, c, c + block->bg, ref, block->offset);
        last = at;
        largest = fmax(largest, fabs(at));
        total += fabs(gain);
        a += block->fg;
        c += block->bg;
    }
    f.excess += slack * last;
    f.size = 2 * largest * total;
    *result = f;
    return SUBMOD_OK;
}
