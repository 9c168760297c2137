/* The minimiser of functions of two counts.
 *
 * Let A minimise F(base + A) - z(A). With the background of A fixed, what its foreground adds is a
 * concave function of a, so the foreground of the smallest (largest) minimiser is a prefix of the
 * order of z / w (concave.c); and so is its background. What weighs nothing is decided by z.
 * lowest.c finds the two prefixes. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "submod/functions/lowest.h"
#include "submod/functions/two_counts.h"
#include "submod/measures/values.h"

static const char minimiser[] = "minimize of a function of two counts";

/* One kind of a block, in the order of z / w. */
typedef struct list {
    submodi_prefixes prefixes;
    double *amount, *sum; /* room for all of the block */
} list;

static void start_list(list *l, bool weighted, double first)
{
    l->prefixes =
        (submodi_prefixes){.amount = weighted ? l->amount : NULL, .first = first, .sum = l->sum};
    l->amount[0] = first;
    l->sum[0] = 0;
}

static void append(list *l, double w, double z)
{
    size_t k = l->prefixes.count++;
    l->amount[k + 1] = l->amount[k] + w;
    l->sum[k + 1] = l->sum[k] + z;
}

typedef struct block {
    const int32_t *elements;
    size_t count;
    const double *z;
    double *ratio; /* z / w */
    list kind[2];  /* background, foreground */
} block;

static bool take_block(block *b, size_t room, submod_work *w)
{
    double **vectors[] = {&b->ratio,          &b->kind[0].amount, &b->kind[0].sum,
                          &b->kind[1].amount, &b->kind[1].sum,    NULL};
    return submodi_take_vectors(w, room + 1, vectors);
}

/* Takes the first of each kind, as many as found says. */
static void mark(const submodi_two_counts *t, const block *b, const submodi_sorted *sorted,
                 int largest, const submodi_corner *found, uint8_t *in)
{
    size_t left[2] = {found->bg, found->fg};
    for (size_t rank = 0; rank < b->count; rank++) {
        int32_t i = submodi_sorted_index(sorted, rank);
        int32_t e = b->elements[i];
        bool weighs = submodi_element_weight(t, e) > 0;
        size_t *of_kind = &left[submodi_in_foreground(t, e)];
        in[i] = weighs ? *of_kind > 0 : largest ? b->z[i] >= 0 : b->z[i] > 0;
        *of_kind -= weighs && *of_kind > 0;
    }
}

static submod_status minimize_after(const submodi_two_counts *t, submodi_wrong base, block *b,
                                    int largest, uint8_t *in, submod_work *work)
{
    if (!b->count) {
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < b->count; i++) {
        double weight = submodi_element_weight(t, b->elements[i]);
        b->ratio[i] = weight > 0 ? b->z[i] / weight : 0;
    }
    submodi_scope scope;
    submodi_sorted sorted;
    submodi_rise rise;
    submodi_corner found;
    uint64_t evaluations = 0;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = submodi_sort_f64(b->ratio, b->count, w, &sorted);
    status = status ? submodi_nomem(minimiser)
                    : submodi_rise_from(minimiser, &t->measure, t->P, t->N, base.a, base.b, &rise);
    if (status == SUBMOD_OK) {
        start_list(&b->kind[0], t->weight, base.b);
        start_list(&b->kind[1], t->weight, base.a);
        for (size_t rank = 0; rank < b->count; rank++) {
            int32_t i = submodi_sorted_index(&sorted, rank);
            double weight = submodi_element_weight(t, b->elements[i]);
            if (weight > 0) {
                append(&b->kind[submodi_in_foreground(t, b->elements[i])], weight, b->z[i]);
            }
        }
        status = submodi_find_lowest(&rise, &b->kind[1].prefixes, &b->kind[0].prefixes, largest,
                                     &found, &evaluations, w);
    }
    if (status == SUBMOD_OK) {
        mark(t, b, &sorted, largest, &found, in);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_minimize_two_counts(const void *ctx, const int32_t *base, size_t nbase,
                                          const int32_t *elements, size_t count, const double *z,
                                          int largest, uint8_t *in)
{
    const submodi_two_counts *t = ctx;
    submodi_wrong before = {0};
    submodi_add_wrong(t, &before, base, nbase);
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    block b = {.elements = elements, .count = count, .z = z};
    submod_status status = take_block(&b, count, w) ? minimize_after(t, before, &b, largest, in, w)
                                                    : submodi_nomem(minimiser);
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_minimize_two_counts_parts(const void *ctx, const int32_t *order,
                                                const int32_t *rank, const submodi_part *parts,
                                                size_t nparts, const double *z, uint8_t *in)
{
    const submodi_two_counts *t = ctx;
    (void)rank;
    size_t longest = 0;
    for (size_t j = 0; j < nparts; j++) {
        size_t size = parts[j].end - parts[j].begin;
        longest = size > longest ? size : longest;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    block b = {0};
    submod_status status = take_block(&b, longest, w) ? SUBMOD_OK : submodi_nomem(minimiser);
    submodi_wrong before = {0};
    size_t done = 0;
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        submodi_add_wrong(t, &before, order + done, begin - done);
        done = begin;
        b.elements = order + begin;
        b.count = parts[j].end - begin;
        b.z = z + begin;
        status = minimize_after(t, before, &b, 0, in + begin, w);
    }
    submodi_scope_close(&scope);
    return status;
}
