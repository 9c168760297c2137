/* The allocator, and sums and products of sizes that do not overflow. */
#include "base/memory.h"

#include <stdlib.h>

#include "base/error.h"

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
    for (int i = 0; i < 3; i++) {
        if (count[i] == 0) {
            return true;
        }
    }
    for (int i = 0; i < 3; i++) {
        size_t step = stride[i] < 0 ? -(size_t)stride[i] : (size_t)stride[i];
        size_t more = submodi_times(count[i] - 1, step);
        if (more > PTRDIFF_MAX - farthest) {
            return false;
        }
        farthest += more;
    }
    return farthest < PTRDIFF_MAX / size;
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
