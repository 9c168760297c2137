/* An allocator that counts and fails on demand, and one that guards what it hands out. */
#include "allocations.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

allocation_counts allocations = {.left = -1};

static void *counted_alloc(size_t alignment, size_t size)
{
    if (allocations.left == 0) {
        allocations.failed++;
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

/* A block: its size and alignment at the beginning, the memory, GUARD bytes. */
enum { GUARD = 64, MARK = 0xA5 };

static void *guarded_alloc(size_t alignment, size_t size)
{
    unsigned char *block = aligned_alloc(GUARD, size + 2 * GUARD);
    if (!block || alignment > GUARD) {
        free(block);
        return NULL;
    }
    memset(block, MARK, size + 2 * GUARD);
    memset(block + GUARD, 0xFF, size); /* as numbers NaN */
    memcpy(block, &size, sizeof size);
    return block + GUARD;
}

static void guarded_free(void *memory)
{
    if (!memory) {
        return;
    }
    unsigned char *block = (unsigned char *)memory - GUARD;
    size_t size;
    memcpy(&size, block, sizeof size);
    for (size_t i = 0; i < GUARD; i++) { /* an assertion each would take a hundred times longer */
        if (block[GUARD + size + i] != MARK || (i >= sizeof size && block[i] != MARK)) {
            ck_abort_msg("something was written around %zu bytes", size);
        }
    }
    free(block);
}

const submod_allocator guarding_allocator = {guarded_alloc, guarded_free};
