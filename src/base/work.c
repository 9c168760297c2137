/* Scratch memory: a block that grows to the most that a call has needed. */
#include "base/error.h"
#include "base/memory.h"

/* Header of an allocation that did not fit into the block; the memory follows at the next aligned
 * address. */
struct spill {
    struct spill *next;
};

submod_status submod_work_create(submod_work **work)
{
    if (!work) {
        return submodi_fail(SUBMOD_EINVAL, "submod_work_create: work is NULL");
    }
    submod_work *w = submodi_alloc(1, sizeof *w);
    if (!w) {
        return submodi_nomem("submod_work_create");
    }
    *w = (submod_work){0};
    *work = w;
    return SUBMOD_OK;
}

void submod_work_free(submod_work *work)
{
    if (work) {
        submodi_free(work->block);
        submodi_free(work);
    }
}

size_t submod_work_bytes(const submod_work *work)
{
    return work ? work->capacity : 0;
}

submod_work *submodi_scope_open(submodi_scope *scope, submod_work *work)
{
    scope->own = (submod_work){0};
    submod_work *w = work ? work : &scope->own;
    scope->work = w;
    scope->used = w->used;
    scope->spills = w->spills;
    scope->spilled = w->spilled;
    w->depth++;
    return w;
}

static void *take_from_block(submod_work *w, size_t bytes)
{
    char *memory = w->block + w->used;
    w->used += bytes;
    return memory;
}

static void *take_spill(submod_work *w, size_t bytes)
{
    size_t header = submodi_round_up(sizeof(struct spill));
    struct spill *spill = submodi_alloc(bytes + header, 1);
    if (!spill) {
        return NULL;
    }
    spill->next = w->spills;
    w->spills = spill;
    w->spilled += bytes;
    return (char *)spill + header;
}

void *submodi_take(submod_work *w, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!submodi_add_size(&bytes, count, size)) {
        return NULL;
    }
    bool fits = w->block && bytes <= w->capacity - w->used;
    void *memory = fits ? take_from_block(w, bytes) : take_spill(w, bytes);
    size_t total = w->used + w->spilled;
    w->peak = total > w->peak ? total : w->peak;
    return memory;
}

/* Makes the block as large as the most that a call has needed. If there is no memory for that, the
 * next call spills again; that is no error. */
static void grow(submod_work *w)
{
    submodi_free(w->block);
    w->block = submodi_alloc(w->peak, 1);
    w->capacity = w->block ? w->peak : 0;
}

bool submodi_take_vectors(submod_work *work, size_t n, double **const *vectors)
{
    bool good = true;
    for (; good && *vectors; vectors++) {
        **vectors = submodi_take(work, n, sizeof(double));
        good = **vectors != NULL;
    }
    return good;
}

void submodi_scope_close(submodi_scope *scope)
{
    submod_work *w = scope->work;
    while (w->spills != scope->spills) {
        struct spill *next = w->spills->next;
        submodi_free(w->spills);
        w->spills = next;
    }
    w->used = scope->used;
    w->spilled = scope->spilled;
    w->depth--;
    if (w->depth == 0 && w != &scope->own && !w->borrowed && w->peak > w->capacity) {
        grow(w);
    }
}
