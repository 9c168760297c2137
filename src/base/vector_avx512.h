/* The operations of vector.h for AVX-512: 16 lanes, masks in registers of their own. */
#ifndef SUBMODI_VECTOR_AVX512_H
#define SUBMODI_VECTOR_AVX512_H

#include <immintrin.h>

typedef float v_float __attribute__((vector_size(64)));
typedef int32_t v_int __attribute__((vector_size(64)));
typedef __mmask16 v_mask;

static inline v_float v_multiply_add(v_float a, v_float b, v_float c)
{
    return (v_float)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static inline v_float v_min(v_float a, v_float b)
{
    return (v_float)_mm512_min_ps((__m512)a, (__m512)b);
}

static inline v_float v_max(v_float a, v_float b)
{
    return (v_float)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline v_int v_max_bits(v_int a, v_int b)
{
    return (v_int)_mm512_max_epu32((__m512i)a, (__m512i)b);
}

static inline v_mask v_at_least(v_float a, v_float b)
{
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ);
}

static inline v_mask v_equal(v_int a, v_int b)
{
    return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b);
}

static inline v_mask v_below(v_int a, v_int b)
{
    return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b);
}

static inline v_mask v_and_not(v_mask m, v_mask n)
{
    return _kandn_mask16(n, m);
}

static inline v_float v_select(v_mask m, v_float a, v_float b)
{
    return (v_float)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a);
}

static inline bool v_any(v_mask m)
{
    return m != 0;
}

static inline unsigned v_count(v_mask m)
{
    return (unsigned)__builtin_popcount(m);
}

/* By way of a register: a compressed store is slow on some CPUs. */
static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, (__m512i)a));
    return v_count(m);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* without optimisation it is a macro */
static inline v_float v_gather(const float *table, v_int index)
{
    return (v_float)_mm512_i32gather_ps((__m512i)index, table, 4);
}
#pragma GCC diagnostic pop

static inline void v_stream(float *to, v_float a)
{
    _mm512_stream_ps(to, (__m512)a);
}

static inline void v_stream_end(void)
{
    _mm_sfence();
}

#endif
