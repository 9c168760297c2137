/* The operations of vector.h in plain C with vectors of 4 lanes, which every machine has in some
 * form; a mask has all bits of a lane set, or none. */
#ifndef SUBMODI_VECTOR_PLAIN_H
#define SUBMODI_VECTOR_PLAIN_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/host_device.h"

typedef float v_float __attribute__((vector_size(16)));
typedef int32_t v_int __attribute__((vector_size(16)));
typedef v_int v_mask;

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

static inline v_float v_select(v_mask m, v_float a, v_float b)
{
    return (v_float)((m & (v_int)a) | (~m & (v_int)b));
}

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
    typedef uint32_t unsigned_lanes __attribute__((vector_size(16)));
    v_mask larger = (v_mask)((unsigned_lanes)a > (unsigned_lanes)b);
    return (larger & a) | (~larger & b);
}

static inline v_mask v_at_least(v_float a, v_float b)
{
    return a >= b;
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

static inline unsigned v_count(v_mask m)
{
    return (unsigned)-(m[0] + m[1] + m[2] + m[3]);
}

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

static inline v_float v_gather(const float *table, v_int index)
{
    return (v_float){table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
}

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
