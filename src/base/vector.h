/* Vectors of floats and of 32-bit integers, as wide as the instruction set in use has them. For the
 * files ..._loops.c, which are compiled once per instruction set (isa.h).
 *
 * Arithmetic is written with C's own operators, which gcc and clang have for vectors: a * b + c,
 * x & mask, v - 1.0F. What operators cannot say stands here, for AVX-512, AVX2, NEON, and in plain
 * C for everything else. Whatever the width, each lane does the same operations: results do not
 * depend on it. The names begin with v_ alone, because they are read like operators.
 *
 * Why no library: Highway and xsimd are C++; SIMDe emulates one machine's instructions on others,
 * where we need some 20 operations that all of them have, and would weigh more than libsubmod. */
#ifndef SUBMODI_VECTOR_H
#define SUBMODI_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(SUBMODI_LOOPS_AVX512)
#include "base/vector_avx512.h"
#elif defined(SUBMODI_LOOPS_AVX2)
#include "base/vector_avx2.h"
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include "base/vector_neon.h"
#else
#include "base/vector_plain.h"
#endif

enum { V_LANES = sizeof(v_float) / sizeof(float) };

/* Integers without sign, whose sums and shifts may overflow. */
typedef uint32_t v_unsigned __attribute__((vector_size(sizeof(v_float))));

/* Each of these headers defines, besides the types v_float, v_int and v_mask (one truth per lane):
 *
 *     v_multiply_add(a, b, c)   a * b + c, rounded once where submodi_multiply_add does so
 *     v_min(a, b), v_max(a, b)  a < b ? a : b, a > b ? a : b; so of 0 and -0 the second
 *     v_max_bits(a, b)          the larger of integers without sign
 *     v_at_least(a, b)          floats: a >= b
 *     v_equal(a, b)             integers
 *     v_below(a, b)             integers with sign: a < b
 *     v_and_not(m, n)           masks: m and not n; for the rest there are & and |
 *     v_select(m, a, b)         floats: a where m holds, else b
 *     v_any(m), v_count(m)      whether m holds in some lane, and in how many
 *     v_compress(m, a, to)      writes those lanes of a to `to` in which m holds, side by side, and
 *                               returns their number; the rest of the V_LANES entries at `to` is
 *                               overwritten with anything
 *     v_gather(table, index)    table[index[lane]]
 *     v_stream(to, a)           a store that does not go through the caches; `to` is aligned to the
 *                               vector
 *     v_stream_end()            before others may read what was streamed */

/* ---- in terms of C's vectors ---- */

static inline v_float v_load(const float *from)
{
    v_float a;
    __builtin_memcpy(&a, from, sizeof a);
    return a;
}

static inline void v_store(float *to, v_float a)
{
    __builtin_memcpy(to, &a, sizeof a);
}

static inline v_int v_load_int(const int32_t *from)
{
    v_int a;
    __builtin_memcpy(&a, from, sizeof a);
    return a;
}

static inline void v_store_int(int32_t *to, v_int a)
{
    __builtin_memcpy(to, &a, sizeof a);
}

/* x in every lane. */
static inline v_float v_all(float x)
{
    return x - (v_float){0};
}

static inline v_int v_all_int(int32_t x)
{
    return x - (v_int){0};
}

/* Towards 0; the floats fit into an int32_t. */
static inline v_int v_truncate(v_float a)
{
    return __builtin_convertvector(a, v_int);
}

/* The same bits, read as the other type. */
static inline v_int v_bits(v_float a)
{
    return (v_int)a;
}

static inline v_float v_from_bits(v_int a)
{
    return (v_float)a;
}

/* 0, 1, 2, .. */
static inline v_int v_lane_numbers(void)
{
    static const int32_t number[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return v_load_int(number);
}

/* The largest lane, as integers without sign. */
static inline uint32_t v_largest_bits(v_int a)
{
    uint32_t largest = 0;
    for (size_t l = 0; l < V_LANES; l++) {
        largest = (uint32_t)a[l] > largest ? (uint32_t)a[l] : largest;
    }
    return largest;
}

#endif
