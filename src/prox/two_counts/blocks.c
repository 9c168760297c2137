/* The level sets of the prox of F(a, b), F submodular, by walks and looks. docs/mathematics.md,
 * section 7, has the proofs.
 *
 * A level set takes the largest values of each kind: it is a corner (a, b) of the lattice, and the
 * level sets are corners along one path from (0, 0) to (P, N). A part is a piece of that path
 * between two level sets that are known: some points of each kind. At first all are one part.
 *
 * A walk guesses the path through a part: always on to the kind whose next point has the larger
 * lambda x - g, g its gain. Its gains g are a base s of the part, so wherever
 * every lambda x - g before a place is larger than every one after it, the place is a level set.
 * Parts of one point are then done; so are parts of one kind, by isotonic regression.
 *
 * Where a walk does not cut, isotonic regression along it proposes blocks whose levels fall. A look
 * at a block tells whether it is at one level: whether no corner in it lies below 0 in F - s, s =
 * lambda (x - level), which monge.c finds. If so, s is a base on this block as well as g. With s
 * there, and g on the blocks that failed, the same test finds more level sets. Blocks that passed
 * and stand alone are done.
 *
 * If not even that cuts, the lowest corner of the part as one block is a level set inside, or the
 * part is at one level. Such cuts may be lopsided. The larger side, if it has more than 7/8, is
 * then cut at half of what is known about the range of its levels, counted in floating-point
 * numbers: at most 64 such halvings are there. So a point takes part in O(log p + 64) walks and
 * looks; a walk costs O(p) and a look O(p log p). In practice a few walks leave little to look at.
 */

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "prox/two_counts/parts.h"

enum { LOPSIDED = 8 };

enum step { WALK, LOOK, SPLIT, HALVE };

typedef submodi_span part;

/* Consecutive entries of the path that no level set is known to cut. */
typedef struct segment {
    uint32_t begin; /* rank; it ends where the next one begins */
    double low;     /* the least lambda x - s in it */
} segment;

typedef struct solver {
    submodi_blocks *b;
    submodi_path path;
    segment *segment;
    size_t segments;
    part *open, *next;
    size_t opens, nexts;
    submod_work *work;
} solver;

/* Whether q has most of p. */
static bool is_lopsided(const part *p, const part *q)
{
    return LOPSIDED * submodi_span_size(q) > (LOPSIDED - 1) * submodi_span_size(p);
}

static bool is_one_kind(const part *p)
{
    return p->fg_begin == p->fg_end || p->bg_begin == p->bg_end;
}

static submodi_block block_of(const part *p)
{
    return (submodi_block){.fg = p->fg_end - p->fg_begin, .bg = p->bg_end - p->bg_begin};
}

static bool is_inside(const part *p, const submodi_lattice_point *c)
{
    size_t corner = c->fg + c->bg;
    return corner > 0 && corner < submodi_span_size(p);
}

/* Adds entries of the path from rank `begin` on to the last segment, or to a new one: every
 * lambda x - s before a cut is larger than every one after it. low, high: its range among them. */
static void add_segment(solver *s, size_t begin, double low, double high)
{
    segment last = {(uint32_t)begin, low};
    for (; s->segments && s->segment[s->segments - 1].low <= high; s->segments--) {
        const segment *before = &s->segment[s->segments - 1];
        last.begin = before->begin;
        last.low = last.low < before->low ? last.low : before->low;
    }
    s->segment[s->segments++] = last;
}

static void settle(solver *s, const part *p, const submodi_block *block)
{
    s->b->block[submodi_span_rank(p)] = *block;
    s->b->count++;
}

static void open_part(solver *s, part p, int next)
{
    p.next = next;
    s->next[s->nexts++] = p;
}

/* The part of the path from rank `begin` to rank `end`; at: the points before it, moved behind it.
 */
static part piece(const solver *s, const part *of, size_t begin, size_t end, size_t at[2])
{
    part p = *of;
    p.fg_begin = (uint32_t)at[1];
    p.bg_begin = (uint32_t)at[0];
    for (size_t k = begin; k < end; k++) {
        at[s->path.is_fg[k]]++;
    }
    p.fg_end = (uint32_t)at[1];
    p.bg_end = (uint32_t)at[0];
    return p;
}

/* ---- steps ---- */

/* lambda x - g of the next point of the path at rank k; at: the points before it. */
static double key_at(const solver *s, size_t k, size_t at[2])
{
    bool fg = s->path.is_fg[k];
    size_t i = at[fg]++;
    double x = (fg ? s->b->fg : s->b->bg).value[i];
    return s->b->lambda * x - s->path.gain[fg][i];
}

static submod_status walk(solver *s, const part *p)
{
    submod_status status = submodi_walk(&s->path, p);
    size_t end = submodi_span_rank(p) + submodi_span_size(p);
    size_t at[2] = {p->bg_begin, p->fg_begin};
    s->segments = 0;
    for (size_t k = submodi_span_rank(p); status == SUBMOD_OK && k < end; k++) {
        double key = key_at(s, k, at);
        add_segment(s, k, key, key);
    }
    at[0] = p->bg_begin;
    at[1] = p->fg_begin;
    for (size_t i = 0; status == SUBMOD_OK && i < s->segments; i++) {
        size_t from = s->segment[i].begin;
        size_t to = i + 1 < s->segments ? s->segment[i + 1].begin : end;
        part q = piece(s, p, from, to, at);
        if (to - from == 1) {
            bool fg = s->path.is_fg[from];
            submodi_block block = block_of(&q);
            block.offset = s->path.gain[fg][at[fg] - 1];
            settle(s, &q, &block);
        } else {
            /* A greedy walk through it would go the same way again. */
            open_part(s, q, submodi_walks_repeat(s->b) || is_lopsided(p, &q) ? LOOK : WALK);
        }
    }
    return status;
}

/* Adds a pool, part q of the path, as a segment. *block: the pool as a block, if it is at one
 * level; without points, if it is not. */
static submod_status add_pool(solver *s, const part *q, submodi_block *block)
{
    submodi_lattice_point found = {0};
    double ref = submodi_span_ref(s->b, q);
    submod_status status = submodi_pool_span(s->b, q, block);
    if (status == SUBMOD_OK && !is_one_kind(q)) {
        status = submodi_look(&s->path, q, ref, block->offset, &found);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    double low = s->b->lambda * ref - block->offset;
    double high = low;
    if (is_inside(q, &found)) {
        size_t at[2] = {q->bg_begin, q->fg_begin};
        low = INFINITY;
        high = -INFINITY;
        for (size_t k = submodi_span_rank(q); k < submodi_span_rank(q) + submodi_span_size(q);
             k++) {
            double key = key_at(s, k, at);
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
        block->fg = block->bg = 0;
    }
    add_segment(s, submodi_span_rank(q), low, high);
    return SUBMOD_OK;
}

static submod_status look(solver *s, const part *p)
{
    submod_status status = SUBMOD_OK;
    size_t count = submodi_regress(&s->path, p);
    s->segments = 0;
    size_t end = submodi_span_rank(p) + submodi_span_size(p);
    size_t at[2] = {p->bg_begin, p->fg_begin};
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        size_t to = i + 1 < count ? s->path.pools[i + 1].begin : end;
        part q = piece(s, p, s->path.pools[i].begin, to, at);
        status = add_pool(s, &q, &s->b->block[submodi_span_rank(&q)]);
    }
    at[0] = p->bg_begin;
    at[1] = p->fg_begin;
    for (size_t i = 0; status == SUBMOD_OK && i < s->segments; i++) {
        size_t to = i + 1 < s->segments ? s->segment[i + 1].begin : end;
        part q = piece(s, p, s->segment[i].begin, to, at);
        const submodi_block *block = &s->b->block[submodi_span_rank(&q)];
        if ((size_t)block->fg + block->bg == submodi_span_size(&q)) {
            s->b->count++; /* a block that passed, alone */
        } else {
            open_part(s, q, is_lopsided(p, &q) ? SPLIT : WALK);
        }
    }
    return status;
}

/* Both sides of a corner inside the part; `at`: the level that was looked at. */
static submod_status split(solver *s, const part *p, const submodi_lattice_point *c, double at,
                           int larger)
{
    submod_status status = SUBMOD_OK;
    part side[2] = {*p, *p};
    side[0].fg_end = side[1].fg_begin = p->fg_begin + (uint32_t)c->fg;
    side[0].bg_end = side[1].bg_begin = p->bg_begin + (uint32_t)c->bg;
    side[0].low = fmax(side[0].low, at);
    side[1].high = fmin(side[1].high, at);
    for (int i = 0; i < 2; i++) {
        if (submodi_span_size(&side[i]) > 1) {
            open_part(s, side[i], is_lopsided(p, &side[i]) ? larger : WALK);
        } else if (status == SUBMOD_OK) {
            submodi_block block;
            status = submodi_pool_span(s->b, &side[i], &block);
            settle(s, &side[i], &block);
        }
    }
    return status;
}

/* Whether the level falls from the first side of a corner to the second, as it must: else rounding
 * has made the corner, or F is not submodular. */
static submod_status falls(solver *s, const part *p, const submodi_lattice_point *c, bool *yes)
{
    submodi_block block[2];
    part side[2] = {*p, *p};
    side[0].fg_end = side[1].fg_begin = p->fg_begin + (uint32_t)c->fg;
    side[0].bg_end = side[1].bg_begin = p->bg_begin + (uint32_t)c->bg;
    submod_status status = submodi_pool_span(s->b, &side[0], &block[0]);
    status = status ? status : submodi_pool_span(s->b, &side[1], &block[1]);
    double lambda = s->b->lambda;
    *yes =
        !status && lambda * (submodi_span_ref(s->b, &side[0]) - submodi_span_ref(s->b, &side[1])) >
                       block[0].offset - block[1].offset;
    return status;
}

static submod_status split_part(solver *s, const part *p)
{
    submodi_block block;
    submodi_lattice_point found;
    double ref = submodi_span_ref(s->b, p);
    submod_status status = submodi_pool_span(s->b, p, &block);
    status = status ? status : submodi_look(&s->path, p, ref, block.offset, &found);
    bool inside = status == SUBMOD_OK && is_inside(p, &found);
    if (inside) {
        status = falls(s, p, &found, &inside);
    }
    if (status == SUBMOD_OK && inside) {
        status = split(s, p, &found, ref - block.offset / s->b->lambda, HALVE);
    } else if (status == SUBMOD_OK) {
        settle(s, p, &block);
    }
    return status;
}

/* Floating-point numbers in their order, as integers. */
static int64_t to_order(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static double from_order(int64_t order)
{
    int64_t bits = order < 0 ? INT64_MIN - order : order;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static submod_status halve(solver *s, part *p)
{
    double middle = from_order(to_order(p->low) / 2 + to_order(p->high) / 2);
    submodi_lattice_point found;
    submod_status status = submodi_look(&s->path, p, middle, 0, &found);
    if (status == SUBMOD_OK && is_inside(p, &found)) {
        status = split(s, p, &found, middle, SPLIT);
    } else if (status == SUBMOD_OK) {
        *(found.fg + found.bg ? &p->low : &p->high) = middle;
        open_part(s, *p, SPLIT);
    }
    return status;
}

/* ---- all of it ---- */

/* Every level lies between the least and the largest value less a gain: the first of a kind is its
 * largest, the last its least. */
static submod_status bound_levels(const submodi_blocks *b, part *all)
{
    double least = INFINITY;
    double most = -INFINITY;
    const submodi_point_list *list[2] = {&b->bg, &b->fg};
    submod_status status = SUBMOD_OK;
    all->low = INFINITY;
    all->high = -INFINITY;
    for (uint32_t fg = 0; fg < 2; fg++) {
        size_t count = list[fg]->count;
        if (count && status == SUBMOD_OK) {
            const submodi_block one = {.fg = fg, .bg = 1 - fg};
            double first = 0;
            double last = 0;
            status = submodi_block_gain(b, 0, 0, &one, &first);
            status = status ? status
                            : submodi_block_gain(b, b->fg.count - fg, b->bg.count - (1 - fg), &one,
                                                 &last);
            most = fmax(most, first / submodi_pixels_of(list[fg], 0));
            least = fmin(least, last / submodi_pixels_of(list[fg], count - 1));
            all->high = fmax(all->high, list[fg]->value[0]);
            all->low = fmin(all->low, list[fg]->value[count - 1]);
        }
    }
    all->low -= fmax(most, 0) / b->lambda;
    all->high -= fmin(least, 0) / b->lambda;
    return status;
}

static bool take_arrays(solver *s)
{
    size_t fg = s->b->fg.count;
    size_t bg = s->b->bg.count;
    size_t n = fg + bg;
    s->path.is_fg = submodi_take(s->work, n, sizeof *s->path.is_fg);
    s->path.gain[0] = submodi_take(s->work, bg, sizeof *s->path.gain[0]);
    s->path.gain[1] = submodi_take(s->work, fg, sizeof *s->path.gain[1]);
    s->path.sum[0] = submodi_take(s->work, bg + 1, sizeof *s->path.sum[0]);
    s->path.sum[1] = submodi_take(s->work, fg + 1, sizeof *s->path.sum[1]);
    s->path.pools = submodi_take(s->work, n, sizeof *s->path.pools);
    s->segment = submodi_take(s->work, n, sizeof *s->segment);
    s->open = submodi_take(s->work, n / 2 + 2, sizeof *s->open);
    s->next = submodi_take(s->work, n / 2 + 2, sizeof *s->next);
    return s->path.is_fg && s->path.gain[0] && s->path.gain[1] && s->path.sum[0] &&
           s->path.sum[1] && s->path.pools && s->segment && s->open && s->next;
}

/* The search of a look has at most n / 2 rows, and tables of its own. */
size_t submodi_blocks_bytes(size_t n)
{
    size_t bytes = 0;
    bool good = submodi_add_size(&bytes, n, sizeof(uint8_t)) &&
                submodi_add_size(&bytes, 2 * n + 2, sizeof(double)) &&
                submodi_add_size(&bytes, n, sizeof(submodi_span_pool)) &&
                submodi_add_size(&bytes, n, sizeof(segment)) &&
                submodi_add_size(&bytes, n + 4, sizeof(part)) &&
                submodi_add_size(&bytes, 1, submodi_monge_bytes(n)) &&
                submodi_add_size(&bytes, 16, SUBMODI_ALIGN);
    return good ? bytes : SIZE_MAX;
}

static submod_status sweep(solver *s)
{
    submod_status status = SUBMOD_OK;
    s->nexts = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < s->opens; i++) {
        part *p = &s->open[i];
        switch (p->next) {
        case WALK: status = walk(s, p); break;
        case LOOK: status = look(s, p); break;
        case SPLIT: status = split_part(s, p); break;
        case HALVE: status = halve(s, p); break;
        }
    }
    part *open = s->open;
    s->open = s->next;
    s->opens = s->nexts;
    s->next = open;
    return status;
}

submod_status submodi_blocks_solve(submodi_blocks *b, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    solver s = {.b = b, .path = {.b = b, .work = w}, .work = w};
    b->P = submodi_pixels_before(&b->fg, b->fg.count);
    b->N = submodi_pixels_before(&b->bg, b->bg.count);
    b->count = 0;
    b->work = 0;
    submod_status status = take_arrays(&s) ? SUBMOD_OK : submodi_nomem(b->who);
    if (status == SUBMOD_OK) {
        memset(s.path.gain[0], 0, b->bg.count * sizeof *s.path.gain[0]);
        memset(s.path.gain[1], 0, b->fg.count * sizeof *s.path.gain[1]);
        s.open[0] = (part){.fg_end = (uint32_t)b->fg.count, .bg_end = (uint32_t)b->bg.count};
        s.opens = 1;
        status = bound_levels(b, &s.open[0]);
    }
    while (status == SUBMOD_OK && s.opens) {
        status = sweep(&s);
    }
    submodi_scope_close(&scope);
    return status;
}
