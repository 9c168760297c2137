/* The elements of all blocks, block by block. */
#ifndef SUBMODI_PROX_BLOCK_ORDER_H
#define SUBMODI_PROX_BLOCK_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* order = the elements whose block is >= 0, sorted by block, then by element; end[j] = where block
 * j of count ends in it. Returns how many they are. A counting sort, O(n + count). */
static inline size_t submodi_block_order(size_t n, const int32_t *block, size_t count, size_t *end,
                                         int32_t *order)
{
    memset(end, 0, count * sizeof *end);
    for (size_t i = 0; i < n; i++) {
        if (block[i] >= 0) {
            end[block[i]]++;
        }
    }
    size_t begin = 0;
    for (size_t j = 0; j < count; j++) {
        size_t size = end[j];
        end[j] = begin;
        begin += size;
    }
    for (size_t i = 0; i < n; i++) {
        if (block[i] >= 0) {
            order[end[block[i]]++] = (int32_t)i;
        }
    }
    return begin;
}

#endif
