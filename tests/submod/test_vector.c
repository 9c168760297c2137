/* Every operation of loss/tensors/vector.h, in every instruction set of this machine, lane by lane
 * against plain C: random lanes, and those where instruction sets are known to differ. Bits are
 * compared, so that 0 and -0 differ. */
#include "vector_loops.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "support.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISAS = 3, MOST = 16, ROUNDS = 1000 };
static const vector_loops *const tables[ISAS] = SUBMODI_TABLES(vector_loops); /* elsewhere one */

/* Whether this machine has it; then it is in use. */
static bool use(size_t isa)
{
    submodi_isa_choose(isas[isa]);
    return submodi_isa_in_use() == (submodi_isa)isa;
}

/* Runs `check` with the operations of each instruction set, many times, always on the same lanes.
 */
static void everywhere(void (*check)(const vector_loops *v, submod_rng *rng), int rounds)
{
    for (size_t isa = 0; isa < ISAS; isa++) {
        submod_rng rng;
        submod_rng_seed(&rng, 11);
        for (int round = 0; round < rounds && use(isa); round++) {
            check(tables[isa], &rng);
        }
    }
}

/* ---- lanes ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const float odd_floats[] = {
    0,          -0.0F,      1,         -1,       0.5F,    -0.5F,       0.99999994F,
    -1.5F,      2.5F,       FLT_MIN,   -FLT_MIN, FLT_MAX, -FLT_MAX,    FLT_TRUE_MIN,
    -0x1p-149F, INFINITY,   -INFINITY, NAN,      -NAN,    FLT_EPSILON, 1 + FLT_EPSILON,
    8388607.5F, 16777216.0F};
static const int32_t odd_ints[] = {0,          1,         -1,         2,          INT32_MAX,
                                   INT32_MIN,  -2,        0x55555555, 0x40000000, INT32_MIN + 1,
                                   0x00ffffff, 0x00010000};
enum {
    ODD_FLOATS = sizeof odd_floats / sizeof *odd_floats,
    ODD_INTS = sizeof odd_ints / sizeof *odd_ints
};

/* Half of them from the list; all bits, NaN among them, are possible otherwise. */
static void draw(submod_rng *rng, float *x)
{
    for (size_t l = 0; l < MOST; l++) {
        x[l] = submod_rng_below(rng, 2) ? odd_floats[submod_rng_below(rng, ODD_FLOATS)]
                                        : float_of((uint32_t)submod_rng_next(rng));
    }
}

static void draw_ints(submod_rng *rng, int32_t *x)
{
    for (size_t l = 0; l < MOST; l++) {
        x[l] = submod_rng_below(rng, 2) ? odd_ints[submod_rng_below(rng, ODD_INTS)]
                                        : (int32_t)(uint32_t)submod_rng_next(rng);
    }
}

/* Moderate ones: products and sums of them are rounded and do not overflow. */
static void draw_moderate(submod_rng *rng, float *x)
{
    for (size_t l = 0; l < MOST; l++) {
        x[l] = (float)(submod_rng_normal(rng) * exp(3 * submod_rng_normal(rng)));
    }
}

/* What must stay as it is beside an array. */
static const uint32_t untouched = 0x7ac0ffee;

static void fill(int32_t *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        x[i] = (int32_t)untouched;
    }
}

/* Bits or numbers that must be equal. Not ck_assert_..., which is slow also where it holds. */
static void same(const char *what, unsigned at, uint32_t got, uint32_t wanted)
{
    if (got != wanted) {
        ck_abort_msg("%s, %s %x: %08x instead of %08x", submod_isa(), what, at, got, wanted);
    }
}

static void check_floats(const vector_loops *v, const float *got, const float *wanted)
{
    for (unsigned l = 0; l < v->lanes; l++) {
        same("lane", l, bits_of(got[l]), bits_of(wanted[l]));
    }
}

static void check_ints(const vector_loops *v, const int32_t *got, const int32_t *wanted)
{
    for (unsigned l = 0; l < v->lanes; l++) {
        same("lane", l, (uint32_t)got[l], (uint32_t)wanted[l]);
    }
}

/* Bit l of a mask. */
static bool holds(uint32_t mask, unsigned l)
{
    return mask >> l & 1;
}

static uint32_t all_masks(const vector_loops *v)
{
    return UINT32_C(1) << v->lanes;
}

/* ---- loads, stores, constants ---- */

static void check_copies(const vector_loops *v, submod_rng *rng)
{
    float x[MOST];
    int32_t n[MOST], to[MOST + 2];
    draw(rng, x);
    draw_ints(rng, n);
    fill(to, MOST + 2);
    v->copy_int(n, to + 1); /* aligned like an int32_t, not like a vector */
    check_ints(v, to + 1, n);
    same("before", 0, (uint32_t)to[0], untouched);
    same("behind", 0, (uint32_t)to[v->lanes + 1], untouched);

    float copy[MOST + 2];
    copy[0] = copy[v->lanes + 1] = float_of(untouched);
    v->copy(x, copy + 1);
    check_floats(v, copy + 1, x);
    same("before", 0, bits_of(copy[0]), untouched);
    same("behind", 0, bits_of(copy[v->lanes + 1]), untouched);
}

static void check_bits(const vector_loops *v, submod_rng *rng)
{
    float x[MOST], back[MOST];
    int32_t bits[MOST];
    draw(rng, x);
    v->bits(x, bits);
    v->from_bits(bits, back);
    check_floats(v, back, x);
    for (unsigned l = 0; l < v->lanes; l++) {
        same("lane", l, (uint32_t)bits[l], bits_of(x[l]));
    }
}

START_TEST(lanes_go_in_and_out_as_they_are)
{
    everywhere(check_copies, ROUNDS);
    everywhere(check_bits, ROUNDS);
}
END_TEST

static void check_constants(const vector_loops *v, submod_rng *rng)
{
    (void)rng;
    float x[MOST];
    int32_t n[MOST];
    for (size_t i = 0; i < ODD_FLOATS; i++) { /* -0 among them */
        v->all(odd_floats[i], x);
        for (unsigned l = 0; l < v->lanes; l++) {
            same("lane", l, bits_of(x[l]), bits_of(odd_floats[i]));
        }
    }
    for (size_t i = 0; i < ODD_INTS; i++) {
        v->all_int(odd_ints[i], n);
        for (unsigned l = 0; l < v->lanes; l++) {
            same("lane", l, (uint32_t)n[l], (uint32_t)odd_ints[i]);
        }
    }
    v->lane_numbers(n);
    for (unsigned l = 0; l < v->lanes; l++) {
        same("lane", l, (uint32_t)n[l], l);
    }
}

START_TEST(constants_are_in_all_lanes)
{
    everywhere(check_constants, 1);
}
END_TEST

/* Into the middle of three vectors. */
static void check_stream(const vector_loops *v, submod_rng *rng)
{
    alignas(64) float to[3 * MOST];
    float x[MOST];
    for (size_t i = 0; i < 3 * MOST; i++) {
        to[i] = float_of(untouched);
    }
    draw(rng, x);
    v->stream(to + v->lanes, x);
    check_floats(v, to + v->lanes, x);
    for (unsigned l = 0; l < v->lanes; l++) {
        same("lane", l, bits_of(to[l]), untouched);
        same("lane", l, bits_of(to[2 * v->lanes + l]), untouched);
    }
}

START_TEST(streams_write_one_vector)
{
    everywhere(check_stream, ROUNDS);
}
END_TEST

/* From a table with entries on both sides of its address. */
static void check_gather(const vector_loops *v, submod_rng *rng)
{
    enum { HALF = 300 };
    float table[2 * HALF], got[MOST], wanted[MOST] = {0};
    int32_t index[MOST];
    for (size_t i = 0; i < 2 * HALF; i++) {
        table[i] = float_of((uint32_t)submod_rng_next(rng));
    }
    for (unsigned l = 0; l < v->lanes; l++) {
        index[l] = (int32_t)submod_rng_below(rng, 2 * HALF) - HALF;
        index[l] = l == 1 ? -HALF : l == 2 ? HALF - 1 : index[l];
        wanted[l] = table[HALF + index[l]];
    }
    v->gather(table + HALF, index, got);
    check_floats(v, got, wanted);
}

START_TEST(gathers_look_up_every_lane)
{
    everywhere(check_gather, ROUNDS / 10);
}
END_TEST

/* ---- arithmetic ---- */

/* Neither may be contracted: volatile keeps the compiler of this file from it. */
static float rounded_twice(float a, float b, float c)
{
    volatile float product = a * b;
    return product + c;
}

static void check_operators(const vector_loops *v, submod_rng *rng)
{
    float a[MOST], b[MOST], c[MOST], got[MOST], wanted[MOST];
    int32_t n[MOST], by[MOST], and[MOST], shifted[MOST], wanted_int[MOST];
    draw_moderate(rng, a);
    draw_moderate(rng, b);
    draw_moderate(rng, c);
    draw_ints(rng, n);
    draw_ints(rng, and);
    for (size_t l = 0; l < MOST; l++) {
        by[l] = (int32_t)submod_rng_below(rng, 32);
        wanted[l] = rounded_twice(a[l], b[l], c[l]);
        /* n >> by with the sign moved in, without relying on what C leaves open */
        int64_t floor = n[l] < 0 ? ~(~(int64_t)n[l] >> by[l]) : n[l] >> by[l];
        wanted_int[l] = (int32_t)floor & and[l];
    }
    v->operators(a, b, c, got);
    check_floats(v, got, wanted);
    v->operators_int(n, by, and, shifted);
    check_ints(v, shifted, wanted_int);
}

START_TEST(operators_round_each_operation)
{
    everywhere(check_operators, ROUNDS);
}
END_TEST

/* 2^-24 is lost between two roundings of (1 + 2^-12)^2. */
static bool fuses(const vector_loops *v)
{
    float root[MOST], minus[MOST], rest[MOST];
    for (size_t l = 0; l < MOST; l++) {
        root[l] = 1 + 0x1p-12F;
        minus[l] = -1 - 0x1p-11F;
    }
    v->multiply_add(root, root, minus, rest);
    return rest[0] != 0;
}

static void check_multiply_add(const vector_loops *v, submod_rng *rng)
{
    float a[MOST], b[MOST], c[MOST], got[MOST], wanted[MOST];
    draw_moderate(rng, a);
    draw_moderate(rng, b);
    draw_moderate(rng, c);
    if (submod_rng_below(rng, 2)) { /* differences, where a second rounding shows */
        for (size_t l = 0; l < MOST; l++) {
            c[l] = -(a[l] * b[l]);
        }
    }
    bool fused = fuses(v);
    for (size_t l = 0; l < MOST; l++) {
        wanted[l] = fused ? fmaf(a[l], b[l], c[l]) : rounded_twice(a[l], b[l], c[l]);
    }
    v->multiply_add(a, b, c, got);
    check_floats(v, got, wanted);
    for (unsigned l = 0; l < v->lanes; l++) { /* vectors and the rest of a row agree */
        same("lane", l, bits_of(v->scalar_multiply_add(a[l], b[l], c[l])), bits_of(wanted[l]));
    }
}

START_TEST(multiply_add_is_that_of_scalars)
{
    everywhere(check_multiply_add, ROUNDS);
    for (size_t isa = 0; isa < ISAS; isa++) { /* base.h promises that these do */
        if (use(isa) && isa > 0) {
            ck_assert(fuses(tables[isa]));
        }
    }
#if defined(__aarch64__)
    ck_assert(fuses(tables[0]));
#endif
}
END_TEST

/* b if they are equal or not ordered: 0 and -0 are equal. */
static void check_min_max(const vector_loops *v, submod_rng *rng)
{
    float a[MOST], b[MOST], got[MOST], smaller[MOST], larger[MOST];
    draw(rng, a);
    draw(rng, b);
    for (size_t l = 0; l < MOST; l++) {
        if (submod_rng_below(rng, 8) == 0) {
            b[l] = -a[l] * 0;
            a[l] *= 0;
        }
        smaller[l] = a[l] < b[l] ? a[l] : b[l];
        larger[l] = a[l] > b[l] ? a[l] : b[l];
    }
    v->min(a, b, got);
    check_floats(v, got, smaller);
    v->max(a, b, got);
    check_floats(v, got, larger);
}

START_TEST(min_and_max_are_comparisons)
{
    everywhere(check_min_max, ROUNDS);
}
END_TEST

static void check_max_bits(const vector_loops *v, submod_rng *rng)
{
    int32_t a[MOST], b[MOST], got[MOST], wanted[MOST];
    draw_ints(rng, a);
    draw_ints(rng, b);
    uint32_t largest = 0;
    for (unsigned l = 0; l < MOST; l++) {
        wanted[l] = (uint32_t)a[l] > (uint32_t)b[l] ? a[l] : b[l];
        if (l < v->lanes && (uint32_t)a[l] > largest) {
            largest = (uint32_t)a[l];
        }
    }
    v->max_bits(a, b, got);
    check_ints(v, got, wanted);
    same("largest", 0, v->largest_bits(a), largest);
    for (unsigned l = 0; l < v->lanes; l++) { /* wherever it stands */
        int32_t alone[MOST] = {0};
        alone[l] = a[l];
        same("alone", l, v->largest_bits(alone), (uint32_t)a[l]);
    }
}

START_TEST(bits_have_no_sign)
{
    everywhere(check_max_bits, ROUNDS);
}
END_TEST

static void check_truncate(const vector_loops *v, submod_rng *rng)
{
    float a[MOST];
    int32_t got[MOST], wanted[MOST];
    draw(rng, a);
    for (size_t l = 0; l < MOST; l++) {
        if (!(a[l] >= -0x1p31F && a[l] < 0x1p31F)) { /* the ends of what fits, or in between */
            uint64_t which = submod_rng_below(rng, 4);
            a[l] = which == 0   ? -0x1p31F
                   : which == 1 ? 0x1p31F - 128
                                : (float)(submod_rng_normal(rng) * 1000);
        }
        wanted[l] = (int32_t)a[l];
    }
    v->truncate(a, got);
    check_ints(v, got, wanted);
}

START_TEST(truncation_is_towards_0)
{
    everywhere(check_truncate, ROUNDS);
}
END_TEST

/* ---- masks ---- */

static void check_comparisons(const vector_loops *v, submod_rng *rng)
{
    float x[MOST], y[MOST];
    int32_t n[MOST], m[MOST];
    draw(rng, x);
    draw(rng, y);
    draw_ints(rng, n);
    draw_ints(rng, m);
    uint32_t at_least = 0, equal = 0, below = 0;
    for (unsigned l = 0; l < v->lanes; l++) {
        if (submod_rng_below(rng, 4) == 0) {
            y[l] = x[l]; /* NaN, too */
            m[l] = n[l];
        }
        at_least |= (x[l] >= y[l] ? UINT32_C(1) : 0) << l;
        equal |= (n[l] == m[l] ? UINT32_C(1) : 0) << l;
        below |= (n[l] < m[l] ? UINT32_C(1) : 0) << l;
    }
    same("at_least", 0, v->at_least(x, y), at_least);
    same("equal", 0, v->equal(n, m), equal);
    same("below", 0, v->below(n, m), below);
}

START_TEST(comparisons_hold_where_those_of_c_do)
{
    everywhere(check_comparisons, ROUNDS);
}
END_TEST

/* Every mask, with some others. */
static void check_masks(const vector_loops *v, submod_rng *rng)
{
    for (uint32_t m = 0; m < all_masks(v); m++) {
        unsigned count = 0;
        for (unsigned l = 0; l < v->lanes; l++) {
            count += holds(m, l);
        }
        same("count of", m, v->count(m), count);
        same("any of", m, v->any(m), m != 0);
        for (int i = 0; i < 4; i++) {
            uint32_t others[] = {m, ~m, (uint32_t)submod_rng_next(rng), UINT32_MAX};
            uint32_t n = others[i] & (all_masks(v) - 1);
            same("and_not of", m, v->and_not(m, n), m & ~n);
            same("both of", m, v->both(m, n), m & n);
            same("either of", m, v->either(m, n), m | n);
        }
    }
}

START_TEST(masks_are_sets_of_lanes)
{
    everywhere(check_masks, 1);
}
END_TEST

static void check_select(const vector_loops *v, submod_rng *rng)
{
    float a[MOST], b[MOST], got[MOST], wanted[MOST];
    draw(rng, a);
    draw(rng, b);
    for (uint32_t m = 0; m < all_masks(v); m++) {
        for (unsigned l = 0; l < v->lanes; l++) {
            wanted[l] = holds(m, l) ? a[l] : b[l];
        }
        v->select(m, a, b, got);
        check_floats(v, got, wanted);
    }
}

START_TEST(select_takes_each_lane_from_its_side)
{
    everywhere(check_select, 3);
}
END_TEST

/* What is beyond the lanes kept may be anything, what is beyond the vector may not be written. */
static void check_compress(const vector_loops *v, submod_rng *rng)
{
    int32_t a[MOST], to[MOST + 2], wanted[MOST];
    draw_ints(rng, a);
    for (uint32_t m = 0; m < all_masks(v); m++) {
        unsigned count = 0;
        for (unsigned l = 0; l < v->lanes; l++) {
            if (holds(m, l)) {
                wanted[count++] = a[l];
            }
        }
        fill(to, MOST + 2);
        same("compress of", m, v->compress(m, a, to + 1), count);
        for (unsigned l = 0; l < count; l++) {
            same("lane", l, (uint32_t)to[1 + l], (uint32_t)wanted[l]);
        }
        same("before", 0, (uint32_t)to[0], untouched);
        for (unsigned l = v->lanes + 1; l < MOST + 2; l++) {
            same("lane", l, (uint32_t)to[l], untouched);
        }
    }
}

START_TEST(compress_keeps_the_order)
{
    everywhere(check_compress, 3);
}
END_TEST

/* ---- the tables ---- */

/* Else the tests above would have compared one copy with itself, or nothing. */
START_TEST(every_instruction_set_has_its_width)
{
#if defined(__x86_64__)
    ck_assert_uint_eq(tables[SUBMODI_AVX2]->lanes, 8);
    ck_assert_uint_eq(tables[SUBMODI_AVX512]->lanes, 16);
#endif
    ck_assert_uint_eq(tables[SUBMODI_BASELINE]->lanes, 4);
    ck_assert(use(SUBMODI_BASELINE));
}
END_TEST

int main(void)
{
    return RUN_TESTS("vector", every_instruction_set_has_its_width, lanes_go_in_and_out_as_they_are,
                     constants_are_in_all_lanes, streams_write_one_vector,
                     gathers_look_up_every_lane, operators_round_each_operation,
                     multiply_add_is_that_of_scalars, min_and_max_are_comparisons,
                     bits_have_no_sign, truncation_is_towards_0,
                     comparisons_hold_where_those_of_c_do, masks_are_sets_of_lanes,
                     select_takes_each_lane_from_its_side, compress_keeps_the_order);
}
