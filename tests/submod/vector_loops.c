/* Compiled once per instruction set: loads from arrays, one operation of loss/tensors/vector.h,
 * stores. */
#include "vector_loops.h"

#include "base/isa.h"
#include "loss/tensors/vector.h"

static v_mask mask_of(uint32_t bits)
{
    return v_equal(v_all_int((int32_t)bits) >> v_lane_numbers() & 1, v_all_int(1));
}

static uint32_t bits_of(v_mask m)
{
    float truth[V_LANES];
    v_store(truth, v_select(m, v_all(1), v_all(0)));
    uint32_t bits = 0;
    for (unsigned l = 0; l < V_LANES; l++) {
        bits |= (truth[l] != 0 ? UINT32_C(1) : 0) << l;
    }
    return bits;
}

static void operators(const float *a, const float *b, const float *c, float *to)
{
    v_store(to, v_load(a) * v_load(b) + v_load(c));
}

static void operators_int(const int32_t *a, const int32_t *b, const int32_t *c, int32_t *to)
{
    v_store_int(to, v_load_int(a) >> v_load_int(b) & v_load_int(c));
}

static void multiply_add(const float *a, const float *b, const float *c, float *to)
{
    v_store(to, v_multiply_add(v_load(a), v_load(b), v_load(c)));
}

static float scalar_multiply_add(float a, float b, float c)
{
    return submodi_multiply_add(a, b, c);
}

static void min(const float *a, const float *b, float *to)
{
    v_store(to, v_min(v_load(a), v_load(b)));
}

static void max(const float *a, const float *b, float *to)
{
    v_store(to, v_max(v_load(a), v_load(b)));
}

static void max_bits(const int32_t *a, const int32_t *b, int32_t *to)
{
    v_store_int(to, v_max_bits(v_load_int(a), v_load_int(b)));
}

static uint32_t at_least(const float *a, const float *b)
{
    return bits_of(v_at_least(v_load(a), v_load(b)));
}

static uint32_t equal(const int32_t *a, const int32_t *b)
{
    return bits_of(v_equal(v_load_int(a), v_load_int(b)));
}

static uint32_t below(const int32_t *a, const int32_t *b)
{
    return bits_of(v_below(v_load_int(a), v_load_int(b)));
}

static uint32_t both(uint32_t m, uint32_t n)
{
    v_mask m_and_n = mask_of(m) & mask_of(n);
    return bits_of(m_and_n);
}

static uint32_t either(uint32_t m, uint32_t n)
{
    v_mask m_or_n = mask_of(m) | mask_of(n);
    return bits_of(m_or_n);
}

static uint32_t and_not(uint32_t m, uint32_t n)
{
    return bits_of(v_and_not(mask_of(m), mask_of(n)));
}

static void select(uint32_t m, const float *a, const float *b, float *to)
{
    v_store(to, v_select(mask_of(m), v_load(a), v_load(b)));
}

static bool any(uint32_t m)
{
    return v_any(mask_of(m));
}

static unsigned count(uint32_t m)
{
    return v_count(mask_of(m));
}

static unsigned compress(uint32_t m, const int32_t *a, int32_t *to)
{
    return v_compress(mask_of(m), v_load_int(a), to);
}

static void gather(const float *table, const int32_t *index, float *to)
{
    v_store(to, v_gather(table, v_load_int(index)));
}

static void stream(float *to, const float *a)
{
    v_stream(to, v_load(a));
    v_stream_end();
}

static void copy(const float *from, float *to)
{
    v_store(to, v_load(from));
}

static void copy_int(const int32_t *from, int32_t *to)
{
    v_store_int(to, v_load_int(from));
}

static void all(float x, float *to)
{
    v_store(to, v_all(x));
}

static void all_int(int32_t x, int32_t *to)
{
    v_store_int(to, v_all_int(x));
}

static void truncate(const float *a, int32_t *to)
{
    v_store_int(to, v_truncate(v_load(a)));
}

static void bits(const float *a, int32_t *to)
{
    v_store_int(to, v_bits(v_load(a)));
}

static void from_bits(const int32_t *a, float *to)
{
    v_store(to, v_from_bits(v_load_int(a)));
}

static void lane_numbers(int32_t *to)
{
    v_store_int(to, v_lane_numbers());
}

static uint32_t largest_bits(const int32_t *a)
{
    return v_largest_bits(v_load_int(a));
}

const vector_loops SUBMODI_TABLE(vector_loops) = {.lanes = V_LANES,
                                                  .operators = operators,
                                                  .operators_int = operators_int,
                                                  .multiply_add = multiply_add,
                                                  .scalar_multiply_add = scalar_multiply_add,
                                                  .min = min,
                                                  .max = max,
                                                  .max_bits = max_bits,
                                                  .at_least = at_least,
                                                  .equal = equal,
                                                  .below = below,
                                                  .both = both,
                                                  .either = either,
                                                  .and_not = and_not,
                                                  .select = select,
                                                  .any = any,
                                                  .count = count,
                                                  .compress = compress,
                                                  .gather = gather,
                                                  .stream = stream,
                                                  .copy = copy,
                                                  .copy_int = copy_int,
                                                  .all = all,
                                                  .all_int = all_int,
                                                  .truncate = truncate,
                                                  .bits = bits,
                                                  .from_bits = from_bits,
                                                  .lane_numbers = lane_numbers,
                                                  .largest_bits = largest_bits};
