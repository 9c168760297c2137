/* The allocator, overflow checks of sizes, and workspaces: blocks that grow to the largest size
 * that any call has needed. */
#include "base/internal.h"

#include <stdlib.h>

/* ---- allocation ---- */

static submod_allocator allocator = {aligned_alloc, free};

submod_status submod_set_allocator(const submod_allocator *a)
{
    if (a && (!a->alloc || !a->release)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "submod_set_allocator: alloc and release must not be NULL");
    }
    allocator = a ? *a : (submod_allocator){aligned_alloc, free};
    return SUBMOD_OK;
}

bool submodi_reachable(const size_t count[3], const ptrdiff_t stride[3], size_t size)
{
    size_t farthest = 0;
    bool empty = count[0] == 0 || count[1] == 0 || count[2] == 0;
    for (int i = 0; !empty && i < 3; i++) {
        size_t step = stride[i] < 0 ? -(size_t)stride[i] : (size_t)stride[i];
        size_t more = submodi_times(count[i] - 1, step);
        if (more > PTRDIFF_MAX - farthest) {
            return false;
        }
        farthest += more;
    }
    return empty || farthest < PTRDIFF_MAX / size;
}

bool submodi_add_size(size_t *bytes, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - SUBMODI_ALIGN) / size) {
        return false;
    }
    size_t more = submodi_round_up(count * size);
    if (more > SIZE_MAX - SUBMODI_ALIGN - *bytes) {
        return false;
    }
    *bytes += more;
    return true;
}

void *submodi_alloc(size_t count, size_t size)
{
    size_t bytes = 0;
    if (!submodi_add_size(&bytes, count, size)) {
        return NULL;
    }
    return allocator.alloc(SUBMODI_ALIGN, bytes ? bytes : SUBMODI_ALIGN);
}

void submodi_free(void *memory)
{
    allocator.release(memory);
}

void *submod_alloc(size_t count, size_t size)
{
    return submodi_alloc(count, size);
}

void submod_free(void *memory)
{
    submodi_free(memory);
}

/* ---- workspaces ---- */

/* Header of an allocation that did not fit into the block; the memory follows at the next aligned
 * address. */
struct spill {
    struct spill *next;
};

submod_status submod_work_create(submod_work **work)
{
    submod_work *w = work ? submodi_alloc(1, sizeof *w) : NULL;
    if (!w) {
        return submodi_return("submod_work_create",
                              work ? submodi_out_of_memory() : submodi_check_given("work", work));
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

submod_work *submodi_scope_open(submodi_scope *scope, submod_work *work)
{
    scope->own = (submod_work){0};
    submod_work *w = work ? work : &scope->own;
    scope->work = w;
    scope->used = w->used;
    scope->spills = w->spills;
    scope->spilled = w->spilled;
    w->failed = w->depth > 0 && w->failed;
    w->depth++;
    return w;
}

static void *alloc_spill(submod_work *w, size_t bytes)
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

void *submodi_work_alloc(submod_work *w, size_t count, size_t size)
{
    size_t bytes = 0;
    void *memory = NULL;
    if (!submodi_add_size(&bytes, count, size)) {
        w->failed = true;
        return NULL;
    }
    if (w->block && bytes <= w->capacity - w->used) {
        memory = w->block + w->used;
        w->used += bytes;
    } else {
        memory = alloc_spill(w, bytes);
    }
    size_t total = w->used + w->spilled;
    w->peak = total > w->peak ? total : w->peak;
    w->failed = w->failed || !memory;
    return memory;
}

submod_status submodi_work_status(const submod_work *work)
{
    return work->failed ? submodi_out_of_memory() : SUBMOD_OK;
}

bool submodi_take_vectors(submod_work *work, size_t n, double **const *vectors)
{
    bool good = true;
    for (; good && *vectors; vectors++) {
        **vectors = submodi_work_alloc(work, n, sizeof(double));
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
        /* A failure here is no error: the next call spills again. */
        submodi_free(w->block);
        w->block = submodi_alloc(w->peak, 1);
        w->capacity = w->block ? w->peak : 0;
    }
}
