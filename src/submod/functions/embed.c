/* A function of few elements inside a large ground set: A -> f(A intersected with S), where S is a
 * list of elements and f a function of their places in it.
 *
 * A sorted copy of the list finds the place of an element in O(log k), k = |S|, so the memory is
 * O(k) whatever n is. Apart from that search costs are those of f on what lies in S. A sum of many
 * such functions needs no search: it keeps lists from elements to places (sum.c). State: that of f,
 * then k places, k positions and k gains.
 * An embedded function that is embedded again becomes one with both lists combined.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/embed.h"
#include "submod/inseparable.h"

typedef struct place {
    int32_t element, number; /* elements[number] = element */
} place;

typedef struct embedded {
    submod_fn *fn;
    int32_t *elements; /* k */
    place *places;     /* k, by element */
} embedded;

static void destroy(void *ctx)
{
    embedded *m = ctx;
    submod_fn_free(m->fn);
    submodi_free(m->elements);
    submodi_free(m->places);
    submodi_free(m);
}

static int by_element(const void *a, const void *b)
{
    const place *p = a;
    const place *q = b;
    return (p->element > q->element) - (p->element < q->element);
}

/* The number of e in f, -1 if e is not in S. */
static int32_t number_of(const embedded *m, int32_t e)
{
    const place key = {.element = e};
    const place *found = bsearch(&key, m->places, m->fn->n, sizeof key, by_element);
    return found ? found->number : -1;
}

/* Lists the elements that lie in S: their numbers in f, and where they stand among those given
 * (NULL: nobody asks). Returns how many. */
static size_t select_inside(const embedded *m, const int32_t *elements, size_t k, int32_t *numbers,
                            int32_t *positions)
{
    size_t inside = 0;
    for (size_t i = 0; i < k; i++) {
        int32_t number = number_of(m, elements[i]);
        if (number >= 0) {
            numbers[inside] = number;
            if (positions) {
                positions[inside] = (int32_t)i;
            }
            inside++;
        }
    }
    return inside;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const embedded *m = ctx;
    int32_t *numbers = submodi_alloc(m->fn->n, sizeof *numbers);
    if (!numbers) {
        return submodi_nomem("eval of an embedded function");
    }
    size_t inside = select_inside(m, set, k, numbers, NULL);
    submod_status status = submodi_fn_eval(m->fn, numbers, inside, value);
    submodi_free(numbers);
    return status;
}

static submod_status reset(const void *ctx, void *state)
{
    return submodi_fn_reset(((const embedded *)ctx)->fn, state);
}

static submod_status push(const void *ctx, void *state, int32_t e, double *gain)
{
    const embedded *m = ctx;
    int32_t number = number_of(m, e);
    *gain = 0;
    return number < 0 ? SUBMOD_OK : submodi_fn_push(m->fn, state, number, gain);
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const embedded *m = ctx;
    int32_t number = number_of(m, e);
    *result = 0;
    return number < 0 ? SUBMOD_OK : submodi_fn_gain(m->fn, state, number, result);
}

/* submodi_fn_chain or submodi_fn_tied: the gains of a block. */
typedef submod_status block_call(const submod_fn *fn, void *state, const int32_t *elements,
                                 size_t k, double *gains);

static submod_status gains_inside(const embedded *m, void *state, const int32_t *elements, size_t k,
                                  block_call *call, double *gains)
{
    size_t room = m->fn->n;
    double *found = (void *)((char *)state + submodi_fn_state_size(m->fn));
    int32_t *numbers = (void *)(found + room);
    int32_t *positions = numbers + room;
    size_t inside = select_inside(m, elements, k, numbers, positions);
    memset(gains, 0, k * sizeof *gains);
    submod_status status = inside ? call(m->fn, state, numbers, inside, found) : SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < inside; i++) {
        gains[positions[i]] = found[i];
    }
    return status;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    return gains_inside(ctx, state, elements, k, submodi_fn_chain, gains);
}

/* Averaged over the orders of the block, elements outside S make no difference. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    return gains_inside(ctx, state, elements, k, submodi_fn_tied, gains);
}

/* Elements outside S are modular: they are in for z > 0, and for z = 0 if the largest set is
 * wanted. */
static submod_status minimize(const void *ctx, const int32_t *base, size_t nbase,
                              const int32_t *block, size_t nblock, const double *z, int largest,
                              uint8_t *in)
{
    const embedded *m = ctx;
    size_t room = m->fn->n;
    int32_t *lists = submodi_alloc(3 * room, sizeof *lists);
    double *z_inside = submodi_alloc(room, sizeof *z_inside);
    uint8_t *in_inside = submodi_alloc(room, 1);
    submod_status status = SUBMOD_ENOMEM;
    if (lists && z_inside && in_inside) {
        int32_t *numbers = lists + room;
        int32_t *positions = numbers + room;
        size_t nbase_inside = select_inside(m, base, nbase, lists, NULL);
        size_t inside = select_inside(m, block, nblock, numbers, positions);
        for (size_t i = 0; i < inside; i++) {
            z_inside[i] = z[positions[i]];
        }
        status = inside ? submodi_fn_minimize(m->fn, lists, nbase_inside, numbers, inside, z_inside,
                                              largest, in_inside)
                        : SUBMOD_OK;
        for (size_t j = 0; status == SUBMOD_OK && j < nblock; j++) {
            in[j] = largest ? z[j] >= 0 : z[j] > 0;
        }
        for (size_t i = 0; status == SUBMOD_OK && i < inside; i++) {
            in[positions[i]] = in_inside[i];
        }
    } else {
        submodi_nomem("minimize of an embedded function");
    }
    submodi_free(lists);
    submodi_free(z_inside);
    submodi_free(in_inside);
    return status;
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    const embedded *m = ctx;
    const submodi_inside inside = {.fn = m->fn, .outer = m->elements, .count = m->fn->n};
    return submodi_fn_join_inside(&inside, ties, forest, work);
}

const submod_fn *submodi_embedded(const submod_fn *fn, const int32_t **elements)
{
    if (fn->ops.eval != eval) {
        return NULL;
    }
    const embedded *m = fn->ctx;
    *elements = m->elements;
    return m->fn;
}

/* f or, if f is embedded itself, the function inside; its elements in the new ground set. NULL:
 * out of memory. */
static embedded *place_in(const submod_fn *f, const int32_t *elements)
{
    const embedded *inner = f->ops.eval == eval ? f->ctx : NULL;
    const submod_fn *core = inner ? inner->fn : f;
    embedded *m = submodi_alloc(1, sizeof *m);
    if (!m) {
        return NULL;
    }
    m->fn = submod_fn_share(core);
    m->elements = submodi_alloc(core->n, sizeof *m->elements);
    m->places = submodi_alloc(core->n, sizeof *m->places);
    if (!m->elements || !m->places) {
        destroy(m);
        return NULL;
    }
    for (size_t i = 0; i < core->n; i++) {
        m->elements[i] = elements[inner ? inner->elements[i] : (int32_t)i];
        m->places[i] = (place){m->elements[i], (int32_t)i};
    }
    qsort(m->places, core->n, sizeof *m->places, by_element);
    return m;
}

submod_status submodi_fn_embed(const char *who, const submod_fn *f, size_t n,
                               const int32_t *elements, submod_fn **fn)
{
    embedded *m = place_in(f, elements);
    if (!m) {
        return submodi_nomem(who);
    }
    size_t k = m->fn->n;
    const submod_fn_ops *inner = &m->fn->ops;
    submod_fn_ops ops = {.eval = eval,
                         .state_size = submodi_fn_state_size(m->fn) +
                                       k * (sizeof(double) + 2 * sizeof(int32_t)),
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .chain = chain,
                         .tied = inner->tied ? tied : NULL,
                         .minimize = inner->minimize ? minimize : NULL,
                         .destroy = destroy};
    submodi_traits traits = {.modular = m->fn->traits.modular,
                             .cardinality =
                                 m->fn->traits.modular || (m->fn->traits.cardinality && k == n),
                             .join = join,
                             .calls_back = m->fn->traits.calls_back,
                             .depth = m->fn->traits.depth + 1};
    return submodi_fn_new("embed", n, &ops, &traits, m, fn);
}

submod_status submod_fn_embed(const submod_fn *f, size_t n, const int32_t *elements, submod_fn **fn)
{
    static const char who[] = "submod_fn_embed";
    submod_status status = submodi_require_given(who, "f", f);
    status = status ? status : submodi_require_size(who, n, fn);
    status = status ? status : submodi_require_set(who, n, "elements", elements, f->n);
    status = status ? status : submodi_require_depth(who, f->traits.depth);
    return status ? status : submodi_fn_embed(who, f, n, elements, fn);
}
