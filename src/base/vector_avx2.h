/* The operations of vector.h for AVX2: 8 lanes; a mask has all bits of a lane set, or none. */
#ifndef SUBMODI_VECTOR_AVX2_H
#define SUBMODI_VECTOR_AVX2_H

#include <immintrin.h>

#include "base/vector_order8.h"

typedef float v_float __attribute__((vector_size(32)));
typedef int32_t v_int __attribute__((vector_size(32)));
typedef v_int v_mask;

static inline v_float v_multiply_add(v_float a, v_float b, v_float c)
{
    return (v_float)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static inline v_float v_min(v_float a, v_float b)
{
    return (v_float)_mm256_min_ps((__m256)a, (__m256)b);
}

static inline v_float v_max(v_float a, v_float b)
{
    return (v_float)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline v_int v_max_bits(v_int a, v_int b)
{
    return (v_int)_mm256_max_epu32((__m256i)a, (__m256i)b);
}

static inline v_mask v_at_least(v_float a, v_float b)
{
    return (v_mask)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GE_OQ);
}

static inline v_mask v_equal(v_int a, v_int b)
{
    return a == b;
}

static inline v_mask v_below(v_int a, v_int b)
{
    return a < b;
}

static inline v_mask v_and_not(v_mask m, v_mask n)
{
    return m & ~n;
}

static inline v_float v_select(v_mask m, v_float a, v_float b)
{
    return (v_float)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}

static inline bool v_any(v_mask m)
{
    return _mm256_movemask_ps((__m256)m) != 0;
}

static inline unsigned v_count(v_mask m)
{
    return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps((__m256)m));
}

static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    unsigned kept = (unsigned)_mm256_movemask_ps((__m256)m);
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)&submodi_lane_order8[kept]);
    __m256i lanes = _mm256_cvtepu8_epi32(bytes);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32((__m256i)a, lanes));
    return (unsigned)__builtin_popcount(kept);
}

static inline v_float v_gather(const float *table, v_int index)
{
    return (v_float)_mm256_i32gather_ps(table, (__m256i)index, 4);
}

static inline void v_stream(float *to, v_float a)
{
    _mm256_stream_ps(to, (__m256)a);
}

static inline void v_stream_end(void)
{
    _mm_sfence();
}

#endif
