/* Vectors of floats and of 32-bit integers, as wide as the instruction set in use has them. For the
 * files ..._loops.c, which are compiled once per instruction set (isa.h).
 *
 * Arithmetic is written with C's own operators, which gcc and clang have for vectors: a * b + c,
 * x & mask, v - 1.0F. This header adds the operations without an operator, for AVX-512, AVX2, NEON,
 * and in plain C for everything else. Each lane does the same operations at any width, so results
 * do not depend on it. The names begin with v_ alone, because they are read like operators. */
#ifndef SUBMODI_VECTOR_H
#define SUBMODI_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(SUBMODI_LOOPS_AVX512) || defined(SUBMODI_LOOPS_AVX2)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "loss/tensors/float_bits.h"

#if defined(SUBMODI_LOOPS_AVX512)
#define V_BYTES 64
#elif defined(SUBMODI_LOOPS_AVX2)
#define V_BYTES 32
#else
#define V_BYTES 16
#endif

enum { V_LANES = V_BYTES / sizeof(float) };

typedef float v_float __attribute__((vector_size(V_BYTES)));
typedef int32_t v_int __attribute__((vector_size(V_BYTES)));
/* Integers without sign, whose sums and shifts may overflow. */
typedef uint32_t v_unsigned __attribute__((vector_size(V_BYTES)));

/* The operations; v_mask holds one truth value per lane:
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
 *     v_compress(m, a, to)      writes the lanes of a in which m holds to `to`, side by side, and
 *                               returns their number; the rest of the V_LANES entries at `to` is
 *                               unspecified
 *     v_gather(table, index)    table[index[lane]]
 *     v_stream(to, a)           a store that bypasses the caches; `to` is aligned to the vector
 *     v_stream_end()            before other threads read streamed data */

/* Defines an operation of one expression. */
#define V_INLINE(type, name, arguments, ...) \
    static inline type name arguments \
    { \
        return __VA_ARGS__; \
    }

#if defined(SUBMODI_LOOPS_AVX512)

typedef __mmask16 v_mask;

V_INLINE(v_float, v_multiply_add, (v_float a, v_float b, v_float c),
         (v_float)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c))
V_INLINE(v_float, v_min, (v_float a, v_float b), (v_float)_mm512_min_ps((__m512)a, (__m512)b))
V_INLINE(v_float, v_max, (v_float a, v_float b), (v_float)_mm512_max_ps((__m512)a, (__m512)b))
V_INLINE(v_int, v_max_bits, (v_int a, v_int b), (v_int)_mm512_max_epu32((__m512i)a, (__m512i)b))
V_INLINE(v_mask, v_at_least, (v_float a, v_float b),
         _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ))
V_INLINE(v_mask, v_equal, (v_int a, v_int b), _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b))
V_INLINE(v_mask, v_below, (v_int a, v_int b), _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b))
V_INLINE(v_mask, v_and_not, (v_mask m, v_mask n), _kandn_mask16(n, m))
V_INLINE(v_float, v_select, (v_mask m, v_float a, v_float b),
         (v_float)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a))
V_INLINE(bool, v_any, (v_mask m), m != 0)
V_INLINE(unsigned, v_count, (v_mask m), (unsigned)__builtin_popcount(m))

/* By way of a register: a compressed store is slow on some CPUs. */
static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, (__m512i)a));
    return v_count(m);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* without optimisation it is a macro */
V_INLINE(v_float, v_gather, (const float *table, v_int index),
         (v_float)_mm512_i32gather_ps((__m512i)index, table, 4))
#pragma GCC diagnostic pop

static inline void v_stream(float *to, v_float a)
{
    _mm512_stream_ps(to, (__m512)a);
}

static inline void v_stream_end(void)
{
    _mm_sfence();
}

#else

/* All bits of a lane are set, or none. */
typedef v_int v_mask;

V_INLINE(v_mask, v_at_least, (v_float a, v_float b), (v_mask)(a >= b))
V_INLINE(v_mask, v_equal, (v_int a, v_int b), (v_mask)(a == b))
V_INLINE(v_mask, v_below, (v_int a, v_int b), (v_mask)(a < b))
V_INLINE(v_mask, v_and_not, (v_mask m, v_mask n), m & ~n)

#if defined(SUBMODI_LOOPS_AVX2)

/* Entry m of v_order, from its lowest byte on: the numbers of the bits set in m, ascending. */
#define V_BIT(m, i) \
    ((m) >> (i)&1 ? (uint64_t)(i) << 8 * __builtin_popcount((m) & ((1 << (i)) - 1)) : 0)
#define V_ORDER(m) \
    (V_BIT(m, 0) | V_BIT(m, 1) | V_BIT(m, 2) | V_BIT(m, 3) | V_BIT(m, 4) | V_BIT(m, 5) | \
     V_BIT(m, 6) | V_BIT(m, 7))
#define V_ORDER4(m) V_ORDER(m), V_ORDER((m) + 1), V_ORDER((m) + 2), V_ORDER((m) + 3)
#define V_ORDER16(m) V_ORDER4(m), V_ORDER4((m) + 4), V_ORDER4((m) + 8), V_ORDER4((m) + 12)
#define V_ORDER64(m) V_ORDER16(m), V_ORDER16((m) + 16), V_ORDER16((m) + 32), V_ORDER16((m) + 48)
static const uint64_t v_order[256] = {V_ORDER64(0), V_ORDER64(64), V_ORDER64(128), V_ORDER64(192)};

V_INLINE(v_float, v_multiply_add, (v_float a, v_float b, v_float c),
         (v_float)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c))
V_INLINE(v_float, v_min, (v_float a, v_float b), (v_float)_mm256_min_ps((__m256)a, (__m256)b))
V_INLINE(v_float, v_max, (v_float a, v_float b), (v_float)_mm256_max_ps((__m256)a, (__m256)b))
V_INLINE(v_int, v_max_bits, (v_int a, v_int b), (v_int)_mm256_max_epu32((__m256i)a, (__m256i)b))
V_INLINE(v_float, v_select, (v_mask m, v_float a, v_float b),
         (v_float)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m))
V_INLINE(bool, v_any, (v_mask m), _mm256_movemask_ps((__m256)m) != 0)
V_INLINE(unsigned, v_count, (v_mask m),
         (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps((__m256)m)))

static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    unsigned kept = (unsigned)_mm256_movemask_ps((__m256)m);
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)&v_order[kept]);
    __m256i lanes = _mm256_cvtepu8_epi32(bytes);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32((__m256i)a, lanes));
    return (unsigned)__builtin_popcount(kept);
}

V_INLINE(v_float, v_gather, (const float *table, v_int index),
         (v_float)_mm256_i32gather_ps(table, (__m256i)index, 4))

static inline void v_stream(float *to, v_float a)
{
    _mm256_stream_ps(to, (__m256)a);
}

static inline void v_stream_end(void)
{
    _mm_sfence();
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

/* Row m: the numbers of the bits set in m, in ascending order, then anything. */
static const int32_t v_order[16][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0},
                                       {2, 0, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 2, 0},
                                       {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0},
                                       {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};

V_INLINE(v_float, v_multiply_add, (v_float a, v_float b, v_float c),
         (v_float)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b))
V_INLINE(v_float, v_select, (v_mask m, v_float a, v_float b),
         (v_float)vbslq_f32((uint32x4_t)m, (float32x4_t)a, (float32x4_t)b))

/* Not vminq_f32 and vmaxq_f32, which order -0 before 0. */
V_INLINE(v_float, v_min, (v_float a, v_float b), v_select((v_mask)(a < b), a, b))
V_INLINE(v_float, v_max, (v_float a, v_float b), v_select((v_mask)(a > b), a, b))
V_INLINE(v_int, v_max_bits, (v_int a, v_int b), (v_int)vmaxq_u32((uint32x4_t)a, (uint32x4_t)b))
V_INLINE(bool, v_any, (v_mask m), vmaxvq_u32((uint32x4_t)m) != 0)
V_INLINE(unsigned, v_count, (v_mask m), (unsigned)-vaddvq_s32((int32x4_t)m))

/* The bytes of the lanes kept, by a table of lanes. */
static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    const v_int bit = {1, 2, 4, 8};
    unsigned kept = (unsigned)vaddvq_s32((int32x4_t)(m & bit));
    v_int lane;
    __builtin_memcpy(&lane, v_order[kept], sizeof lane);
    v_int byte = lane * 0x04040404 + 0x03020100;
    vst1q_s32(to, (int32x4_t)vqtbl1q_u8((uint8x16_t)a, (uint8x16_t)byte));
    return v_count(m);
}

V_INLINE(v_float, v_gather, (const float *table, v_int index),
         (v_float){table[index[0]], table[index[1]], table[index[2]], table[index[3]]})

/* There is no store around the caches that both compilers know. */

static inline void v_stream(float *to, v_float a)
{
    vst1q_f32(to, (float32x4_t)a);
}

static inline void v_stream_end(void)
{
}

#else

/* Fuses if the whole library is compiled for a machine that can, like submodi_multiply_add. */
static inline v_float v_multiply_add(v_float a, v_float b, v_float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    for (int l = 0; l < 4; l++) {
        c[l] = submodi_multiply_add(a[l], b[l], c[l]);
    }
    return c;
#else
    return a * b + c;
#endif
}

V_INLINE(v_float, v_select, (v_mask m, v_float a, v_float b),
         (v_float)((m & (v_int)a) | (~m & (v_int)b)))

static inline v_float v_min(v_float a, v_float b)
{
#if defined(__SSE2__)
    return (v_float)_mm_min_ps((__m128)a, (__m128)b);
#else
    return v_select(a < b, a, b);
#endif
}

static inline v_float v_max(v_float a, v_float b)
{
#if defined(__SSE2__)
    return (v_float)_mm_max_ps((__m128)a, (__m128)b);
#else
    return v_select(a > b, a, b);
#endif
}

static inline v_int v_max_bits(v_int a, v_int b)
{
    v_mask larger = (v_mask)((v_unsigned)a > (v_unsigned)b);
    return (larger & a) | (~larger & b);
}

V_INLINE(unsigned, v_count, (v_mask m), (unsigned)-(m[0] + m[1] + m[2] + m[3]))

static inline bool v_any(v_mask m)
{
#if defined(__SSE2__)
    return _mm_movemask_epi8((__m128i)m) != 0;
#else
    return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}

static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    unsigned next = 0;
    for (unsigned l = 0; l < 4; l++) {
        to[next] = a[l];
        next += (unsigned)-m[l];
    }
    return next;
}

V_INLINE(v_float, v_gather, (const float *table, v_int index),
         (v_float){table[index[0]], table[index[1]], table[index[2]], table[index[3]]})

static inline void v_stream(float *to, v_float a)
{
#if defined(__SSE2__)
    _mm_stream_ps(to, (__m128)a);
#else
    __builtin_memcpy(to, &a, sizeof a);
#endif
}

static inline void v_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
#endif

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
