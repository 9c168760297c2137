#include "allocations.h"

#include <stdlib.h>

allocation_counts allocations = {.left = -1};

static void *counted_alloc(size_t alignment, size_t size)
{
    if (allocations.left == 0) {
        allocations.left -= allocations.only_one;
        return NULL;
    }
    allocations.left -= allocations.left > 0;
    allocations.live++;
    return aligned_alloc(alignment, size);
}

static void counted_free(void *memory)
{
    allocations.live -= memory != NULL;
    free(memory);
}

const submod_allocator counting_allocator = {counted_alloc, counted_free};
