/* The operations of vector.h for NEON on 64-bit ARM: 4 lanes; a mask has all bits of a lane set, or
 * none. */
#ifndef SUBMODI_VECTOR_NEON_H
#define SUBMODI_VECTOR_NEON_H

#include <arm_neon.h>

#include "base/vector_order.h"

typedef float v_float __attribute__((vector_size(16)));
typedef int32_t v_int __attribute__((vector_size(16)));
typedef v_int v_mask;

static inline v_float v_multiply_add(v_float a, v_float b, v_float c)
{
    return (v_float)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

static inline v_float v_select(v_mask m, v_float a, v_float b)
{
    return (v_float)vbslq_f32((uint32x4_t)m, (float32x4_t)a, (float32x4_t)b);
}

/* Not vminq_f32 and vmaxq_f32, which order -0 before 0. */
static inline v_float v_min(v_float a, v_float b)
{
    return v_select((v_mask)(a < b), a, b);
}

static inline v_float v_max(v_float a, v_float b)
{
    return v_select((v_mask)(a > b), a, b);
}

static inline v_int v_max_bits(v_int a, v_int b)
{
    return (v_int)vmaxq_u32((uint32x4_t)a, (uint32x4_t)b);
}

static inline v_mask v_at_least(v_float a, v_float b)
{
    return (v_mask)(a >= b);
}

static inline v_mask v_equal(v_int a, v_int b)
{
    return (v_mask)(a == b);
}

static inline v_mask v_below(v_int a, v_int b)
{
    return (v_mask)(a < b);
}

static inline v_mask v_and_not(v_mask m, v_mask n)
{
    return m & ~n;
}

static inline bool v_any(v_mask m)
{
    return vmaxvq_u32((uint32x4_t)m) != 0;
}

static inline unsigned v_count(v_mask m)
{
    return (unsigned)-vaddvq_s32((int32x4_t)m);
}

/* The bytes of the lanes kept, by a table of lanes. */
static inline unsigned v_compress(v_mask m, v_int a, int32_t *to)
{
    const v_int bit = {1, 2, 4, 8};
    unsigned kept = (unsigned)vaddvq_s32((int32x4_t)(m & bit));
    v_int lane;
    __builtin_memcpy(&lane, submodi_lane_order[kept], sizeof lane);
    v_int byte = lane * 0x04040404 + 0x03020100;
    vst1q_s32(to, (int32x4_t)vqtbl1q_u8((uint8x16_t)a, (uint8x16_t)byte));
    return v_count(m);
}

static inline v_float v_gather(const float *table, v_int index)
{
    return (v_float){table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
}

/* There is no store around the caches that both compilers know. */
static inline void v_stream(float *to, v_float a)
{
    vst1q_f32(to, (float32x4_t)a);
}

static inline void v_stream_end(void)
{
}

#endif
