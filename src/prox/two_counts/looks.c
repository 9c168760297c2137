/* Looks: blocks that a path proposes, and whether they are at one level. Regression costs O(p), a
 * look O(p log p) values of F (monge.c). Sums are long ones: a block of many pixels that is at one
 * level must not seem to be at two. */
#include "base/long_sum.h"
#include "prox/two_counts/parts.h"

submod_status submodi_increment_at(const submodi_blocks *b, size_t fg, size_t bg,
                                   submodi_increment *rise)
{
    return submodi_increment_from(b->measure, b->P, b->N, submodi_pixels_before(&b->fg, fg),
                                  submodi_pixels_before(&b->bg, bg), rise);
}

submod_status submodi_block_gain(const submodi_blocks *b, size_t fg_begin, size_t bg_begin,
                                 const submodi_block *block, double *gain)
{
    submodi_increment rise;
    double f = submodi_pixels_before(&b->fg, fg_begin + block->fg) -
               submodi_pixels_before(&b->fg, fg_begin);
    double g = submodi_pixels_before(&b->bg, bg_begin + block->bg) -
               submodi_pixels_before(&b->bg, bg_begin);
    submod_status status = submodi_increment_at(b, fg_begin, bg_begin, &rise);
    return status ? status : submodi_increment_by(&rise, f, g, gain);
}

/* Sum of value - ref over the pixels of points [begin, end). */
static double sum_from(const submodi_point_list *list, size_t begin, size_t end, double ref)
{
    submodi_long_sum sum = {0, 0};
    for (size_t i = begin; i < end; i++) {
        sum = submodi_long_add(sum, submodi_pixels_of(list, i) * (list->value[i] - ref));
    }
    return sum.hi + sum.lo;
}

submod_status submodi_pool_span(const submodi_blocks *b, const submodi_span *p,
                                submodi_block *block)
{
    double gain = 0;
    double ref = submodi_span_ref(b, p);
    double pixels =
        submodi_pixels_before(&b->fg, p->fg_end) - submodi_pixels_before(&b->fg, p->fg_begin) +
        submodi_pixels_before(&b->bg, p->bg_end) - submodi_pixels_before(&b->bg, p->bg_begin);
    double sum = sum_from(&b->fg, p->fg_begin, p->fg_end, ref) +
                 sum_from(&b->bg, p->bg_begin, p->bg_end, ref);
    *block = (submodi_block){.fg = p->fg_end - p->fg_begin, .bg = p->bg_end - p->bg_begin};
    submod_status status = submodi_block_gain(b, p->fg_begin, p->bg_begin, block, &gain);
    block->offset = (gain - b->lambda * sum) / pixels;
    return status;
}

submod_status submodi_look(submodi_path *s, const submodi_span *p, double ref, double offset,
                           submodi_lattice_point *found)
{
    const submodi_blocks *b = s->b;
    const submodi_point_list *list[2] = {&b->bg, &b->fg};
    const size_t begin[2] = {p->bg_begin, p->fg_begin};
    const size_t end[2] = {p->bg_end, p->fg_end};
    submodi_prefix_sums kind[2];
    for (int k = 0; k < 2; k++) {
        submodi_long_sum sum = {0, 0};
        s->sum[k][0] = 0;
        for (size_t i = begin[k]; i < end[k]; i++) {
            double share = offset + b->lambda * (list[k]->value[i] - ref);
            sum = submodi_long_add(sum, submodi_pixels_of(list[k], i) * share);
            s->sum[k][i + 1 - begin[k]] = sum.hi + sum.lo;
        }
        kind[k] =
            (submodi_prefix_sums){.count = end[k] - begin[k],
                                  .amount = list[k]->before ? list[k]->before + begin[k] : NULL,
                                  .first = (double)begin[k],
                                  .sum = s->sum[k]};
    }
    submodi_increment rise;
    submod_status status = submodi_increment_at(b, begin[1], begin[0], &rise);
    return status
               ? status
               : submodi_monge_minimum(&rise, &kind[1], &kind[0], 0, found, &s->b->work, s->work);
}

size_t submodi_regress(submodi_path *s, const submodi_span *p)
{
    const submodi_blocks *b = s->b;
    const submodi_point_list *list[2] = {&b->bg, &b->fg};
    size_t at[2] = {p->bg_begin, p->fg_begin};
    submodi_span_pool *pools = s->pools;
    size_t count = 0;
    size_t end = submodi_span_rank(p) + submodi_span_size(p);
    for (size_t k = submodi_span_rank(p); k < end; k++) {
        bool fg = s->is_fg[k];
        size_t i = at[fg]++;
        submodi_span_pool last = {(uint32_t)k, list[fg]->value[i], s->gain[fg][i],
                                  submodi_pixels_of(list[fg], i)};
        for (; count; count--) {
            const submodi_span_pool *before = &pools[count - 1];
            if (b->lambda * (before->x - last.x) > before->g - last.g) {
                break;
            }
            double share = before->pixels / (before->pixels + last.pixels);
            last.x += share * (before->x - last.x);
            last.g += share * (before->g - last.g);
            last.pixels += before->pixels;
            last.begin = before->begin;
        }
        pools[count++] = last;
    }
    return count;
}
