/* Single instructions, translated from PTX, against the rules of NVIDIA's manual ("Parallel Thread
 * Execution ISA", 9.0): values worked out by hand from them, and by formulas in Python
 * (opcode_rules.py). test_forms.py compares what is tried here with what nvcc writes. */
#include <stdlib.h>

#include "ptx.h"
#include "support.h"

extern const ptx_module ptx_opcodes;

enum { LANES = 32 };

typedef uint64_t operands[3];

/* NULL, or what is wrong. */
static const char *run(const char *name, const operands in[LANES], uint64_t out[LANES])
{
    static _Alignas(16) uint64_t scratch[LANES][4];
    struct {
        const operands *from;
        uint64_t *to;
        void *scratch;
        _Alignas(16) uint64_t block[2];
    } parameters = {in, out, scratch, {0x8899aabbccddeeffU, 0xf123456789abcde7U}};
    for (uint32_t k = 0; k < ptx_opcodes.kernels; k++) {
        if (strcmp(ptx_opcodes.kernel[k].name, name) == 0) {
            return ptx_run(&ptx_opcodes, &ptx_opcodes.kernel[k], 1, LANES, 0, &parameters);
        }
    }
    ck_abort_msg("there is no kernel %s", name);
    return NULL;
}

/* ---- one thread's results ---- */

#define F(x) ptx_bits_f32(x)
#define D(x) ptx_bits_f64(x)
#define S(x) ((uint32_t)(int32_t)(x))

static const float nan_f = NAN;

typedef struct rule {
    const char *kernel;
    operands in;
    uint64_t expected;
} rule;

static void check(const rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        operands in[LANES];
        uint64_t out[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            memcpy(in[lane], rules[i].in, sizeof in[lane]);
        }
        const char *wrong = run(rules[i].kernel, in, out);
        ck_assert_msg(!wrong, "%s: %s", rules[i].kernel, wrong);
        for (int lane = 0; lane < LANES; lane++) {
            ck_assert_msg(out[lane] == rules[i].expected,
                          "%s(%#llx, %#llx, %#llx) = %#llx, not %#llx", rules[i].kernel,
                          (unsigned long long)in[0][0], (unsigned long long)in[0][1],
                          (unsigned long long)in[0][2], (unsigned long long)out[lane],
                          (unsigned long long)rules[i].expected);
        }
    }
}

/* Out of range: clamped. NaN: 0, or 2^(bits - 1) where 64 bits are on either side. */
START_TEST(conversions_to_integers)
{
    const rule rules[] = {
        {"cvt_rzi_s32_f32", {F(-2.9F)}, S(-2)},
        {"cvt_rzi_s32_f32", {F(3e9F)}, INT32_MAX},
        {"cvt_rzi_s32_f32", {F(-3e9F)}, S(INT32_MIN)},
        {"cvt_rzi_s32_f32", {F(-INFINITY)}, S(INT32_MIN)},
        {"cvt_rzi_s32_f32", {F(nan_f)}, 0},
        {"cvt_rzi_u32_f64", {D(2.999)}, 2},
        {"cvt_rzi_u32_f64", {D(-0.5)}, 0},
        {"cvt_rzi_u32_f64", {D(-5)}, 0},
        {"cvt_rzi_u32_f64", {D(4294967295.5)}, UINT32_MAX},
        {"cvt_rzi_u32_f64", {D(1e10)}, UINT32_MAX},
        {"cvt_rzi_u32_f64", {D((double)INFINITY)}, UINT32_MAX},
        {"cvt_rzi_u32_f64", {D((double)nan_f)}, 0x80000000U},
        {"cvt_rzi_u64_f64", {D(0x1p63)}, UINT64_C(1) << 63},
        {"cvt_rzi_u64_f64", {D(1e30)}, UINT64_MAX},
        {"cvt_rzi_u64_f64", {D(-1e30)}, 0},
        {"cvt_rzi_u64_f64", {D((double)nan_f)}, UINT64_C(1) << 63},
        {"cvt_s64_s32", {0x80000000U}, UINT64_C(0xffffffff80000000)},
        {"cvt_u64_u32", {UINT64_C(0xdead80000000)}, 0x80000000U},
    };
    check(rules, sizeof rules / sizeof *rules);
}
END_TEST

/* To the nearest, ties to even; down; up. The sign of a zero stays. */
START_TEST(rounding)
{
    const rule rules[] = {
        {"cvt_rni_f64_f64", {D(2.5)}, D(2)},
        {"cvt_rni_f64_f64", {D(3.5)}, D(4)},
        {"cvt_rni_f64_f64", {D(-0.5)}, D(-0.0)},
        {"cvt_rmi_f64_f64", {D(-0.5)}, D(-1)},
        {"cvt_rmi_f64_f64", {D(0x1p60)}, D(0x1p60)},
        {"cvt_rpi_f64_f64", {D(-0.5)}, D(-0.0)},
        {"cvt_rpi_f64_f64", {D(1.25)}, D(2)},
        {"cvt_rn_f32_f64", {D(1 + 0x1p-24)}, F(1)},
        {"cvt_rn_f32_f64", {D(1 + 0x1.8p-23)}, F(1 + 0x1p-22F)},
        {"cvt_rn_f32_f64", {D(3.5e38)}, F(INFINITY)},
        {"cvt_rn_f32_f64", {D(0x1p-150)}, F(0)},
        {"cvt_rn_f32_f64", {D(0x1.8p-149)}, F(0x1p-148F)},
        {"cvt_rn_f32_u32", {16777217}, F(16777216)},
        {"cvt_rn_f32_u32", {16777219}, F(16777220)},
        {"cvt_rn_f64_u64", {(UINT64_C(1) << 53) + 1}, D(0x1p53)},
        {"cvt_rn_f64_u64", {UINT64_MAX}, D(0x1p64)},
        {"cvt_f64_f32", {F(0x1p-149F)}, D(0x1p-149)},
        {"fma_rn_f32", {F(1 + 0x1p-23F), F(1 + 0x1p-23F), F(-1 - 0x1p-22F)}, F(0x1p-46F)},
        {"fma_rn_f32", {F(0x1p-100F), F(0x1p-49F), F(0)}, F(0x1p-149F)},
        {"mul_rn_f32", {F(1 + 0x1p-23F), F(1 + 0x1p-23F)}, F(1 + 0x1p-22F)},
        {"mul_rn_f32", {F(0x1p-100F), F(0x1p-49F)}, F(0x1p-149F)},
        {"add_rn_f32", {F(1), F(0x1p-24F)}, F(1)},
        {"add_rn_f32", {F(1 + 0x1p-23F), F(0x1p-24F)}, F(1 + 0x1p-22F)},
        {"div_rn_f64", {D(1), D(3)}, UINT64_C(0x3fd5555555555555)},
        {"div_rn_f64", {D(-1), D(0)}, D((double)-INFINITY)},
        {"rcp_rn_f32", {F(3)}, UINT32_C(0x3eaaaaab)},
        {"rcp_rn_f32", {F(-0.0F)}, F(-INFINITY)},
    };
    check(rules, sizeof rules / sizeof *rules);
}
END_TEST

/* max and min give the other one for a NaN, and -0 is below 0. Comparisons with a NaN are false,
 * with a u at the end true. */
START_TEST(not_a_number)
{
    const rule rules[] = {
        {"max_f32", {F(nan_f), F(-3)}, F(-3)},
        {"max_f32", {F(-3), F(nan_f)}, F(-3)},
        {"max_f32", {F(-0.0F), F(0)}, F(0)},
        {"max_f32", {F(0), F(-0.0F)}, F(0)},
        {"min_f64", {D((double)nan_f), D(3)}, D(3)},
        {"min_f64", {D(0), D(-0.0)}, D(-0.0)},
        {"min_f64", {D(-0.0), D(0)}, D(-0.0)},
        {"max_f64", {D(1), D(2)}, D(2)},
        {"abs_f32", {F(-0.0F)}, F(0)},
        {"neg_f64", {D(0)}, D(-0.0)},
        {"setp_ne_f32", {F(nan_f), F(1)}, 0},
        {"setp_ne_f32", {F(2), F(1)}, 1},
        {"setp_ne_f32", {F(-0.0F), F(0)}, 0},
        {"setp_neu_f32", {F(nan_f), F(1)}, 1},
        {"setp_neu_f32", {F(1), F(1)}, 0},
        {"setp_equ_f32", {F(nan_f), F(1)}, 1},
        {"setp_equ_f32", {F(2), F(1)}, 0},
        {"setp_equ_f32", {F(1), F(1)}, 1},
        {"setp_lt_f64", {D((double)nan_f), D(1)}, 0},
        {"setp_lt_f64", {D(0.5), D(1)}, 1},
        {"setp_geu_f64", {D((double)nan_f), D(1)}, 1},
        {"setp_geu_f64", {D(0.5), D(1)}, 0},
        {"setp_geu_f64", {D(1), D(1)}, 1},
        {"setp_leu_f32", {F(INFINITY), F(3e38F)}, 0},
        {"setp_leu_f32", {F(1), F(nan_f)}, 1},
    };
    check(rules, sizeof rules / sizeof *rules);
}
END_TEST

/* Integers wrap around. */
START_TEST(integers)
{
    const rule rules[] = {
        {"add_s32", {INT32_MAX, 1}, 0x80000000U},
        {"mul_lo_s32", {0x10001, 0x10001}, 0x20001},
        {"mul_lo_s32", {S(-3), 7}, S(-21)},
        {"mul_wide_s32", {S(-3), 0x7fffffff}, (uint64_t)(-3 * INT64_C(0x7fffffff))},
        {"mul_wide_u32", {UINT32_MAX, UINT32_MAX}, UINT64_C(0xfffffffe00000001)},
        {"mul_hi_u32", {UINT32_MAX, UINT32_MAX}, 0xfffffffeU},
        {"mad_lo_s64", {UINT64_C(1) << 63, 3, 5}, (UINT64_C(1) << 63) + 5},
        {"div_u32", {0xfffffffeU, 5}, 858993458},
        {"rem_u32", {0xfffffffeU, 5}, 4},
        {"abs_s32", {S(-5)}, 5},
        {"neg_s64", {1}, UINT64_MAX},
        {"max_s32", {S(-1), 1}, 1},
        {"max_u32", {S(-1), 1}, UINT32_MAX},
        {"setp_lt_s32", {S(-1), 1}, 1},
        {"setp_lt_u32", {S(-1), 1}, 0},
        {"selp_b32", {11, 22, 1}, 11},
        {"selp_b32", {11, 22, 0}, 22},
        {"xor_pred", {5, 7}, 0},
        {"xor_pred", {5, 0}, 1},
        {"mov_halves", {UINT64_C(0x1122334455667788)}, UINT64_C(0x5566778811223344)},
        {"guard", {0, 1}, 5},
        {"guard", {1, 1}, 6},
        {"guard", {1, 0}, 7},
    };
    check(rules, sizeof rules / sizeof *rules);
}
END_TEST

/* Shifts clamp what they shift by; bfi and bmsk clamp where they write. */
START_TEST(bits)
{
    const rule rules[] = {
        {"shl_b32", {3, 31}, 0x80000000U},
        {"shl_b32", {3, 32}, 0},
        {"shl_b32", {3, UINT32_MAX}, 0},
        {"shr_u64", {UINT64_C(1) << 63, 63}, 1},
        {"shr_u64", {UINT64_C(1) << 63, 64}, 0},
        {"shr_s32", {S(-8), 1}, S(-4)},
        {"shr_s32", {S(-8), 32}, S(-1)},
        {"shr_s32", {8, 1000}, 0},
        {"bfi_b32", {0xab, 0x11111111, 4}, 0x11111ab1},
        {"bfi_b32", {0xab, 0x11111111, 28}, 0xb1111111U},
        {"bfi_b32", {0xab, 0x11111111, 32}, 0x11111111},
        {"bfi_b64", {5, 9, 32}, UINT64_C(0x500000009)},
        {"bfi_b64", {5, 9, 0}, 9},
        {"bmsk_clamp_b32", {4, 3}, 0x70},
        {"bmsk_clamp_b32", {0, 32}, UINT32_MAX},
        {"bmsk_clamp_b32", {30, 99}, 0xc0000000U},
        {"bmsk_clamp_b32", {32, 3}, 0},
        {"clz_b32", {0}, 32},
        {"clz_b32", {0x00010000}, 15},
        {"popc_b32", {0xf0f0f0f1U}, 17},
    };
    check(rules, sizeof rules / sizeof *rules);
}
END_TEST

/* ---- by formulas ---- */

typedef enum { BITS, NAN_F32, NAN_F64 } comparison; /* NAN: any NaN is as good as another */

enum { ROWS = 64 };

typedef struct formula {
    const char *kernel;
    comparison how;
    const uint64_t (*rows)[4]; /* three operands and the result */
} formula;

#include "opcode_rules.h"

static bool is_same(comparison how, uint64_t a, uint64_t b)
{
    return a == b ||
           (how == NAN_F32 && isnan(ptx_from_bits_f32((uint32_t)a)) &&
            isnan(ptx_from_bits_f32((uint32_t)b))) ||
           (how == NAN_F64 && isnan(ptx_from_bits_f64(a)) && isnan(ptx_from_bits_f64(b)));
}

/* A row for each lane. */
START_TEST(all_forms)
{
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++) {
        for (size_t first = 0; first < ROWS; first += LANES) {
            operands in[LANES];
            uint64_t out[LANES];
            for (size_t lane = 0; lane < LANES; lane++) {
                memcpy(in[lane], formulas[f].rows[first + lane], sizeof in[lane]);
            }
            const char *wrong = run(formulas[f].kernel, in, out);
            ck_assert_msg(!wrong, "%s: %s", formulas[f].kernel, wrong);
            for (size_t lane = 0; lane < LANES; lane++) {
                uint64_t expected = formulas[f].rows[first + lane][3];
                ck_assert_msg(is_same(formulas[f].how, out[lane], expected),
                              "%s(%#llx, %#llx, %#llx) = %#llx, not %#llx", formulas[f].kernel,
                              (unsigned long long)in[lane][0], (unsigned long long)in[lane][1],
                              (unsigned long long)in[lane][2], (unsigned long long)out[lane],
                              (unsigned long long)expected);
            }
        }
    }
}
END_TEST

START_TEST(control)
{
    const rule rules[] = {
        {"branches", {0, 0}, 1},         {"branches", {1, 0}, 2},
        {"branches", {1, 1}, 10},        {"exit_early", {0}, 5},
        {"exit_early", {7}, 7},          {"ret_early", {0}, 5},
        {"ret_early", {7}, 7},           {"fence", {9}, 9},
        {"generic_of_global", {77}, 77}, {"generic_of_local", {78}, 78},
        {"shared_of_generic", {0}, 0},
    };
    check(rules, sizeof rules / sizeof *rules);
}
END_TEST

/* ---- several threads ---- */

/* What CUDA's __shfl_.._sync with this width gives lane `lane`: a lane, and whether it is inside.
 */
static int source_lane(int mode, int lane, int distance, int width, bool *inside)
{
    int from = lane, begin = lane / width * width;
    switch (mode) {
    case 0: from = lane - distance; break;
    case 1: from = lane + distance; break;
    case 2: from = lane ^ distance; break;
    default: from = begin + distance % width; break;
    }
    *inside = from < begin + width && (mode == 2 || from >= begin); /* xor may reach below */
    return *inside ? from : lane;
}

START_TEST(shuffles)
{
    const char *const kernels[] = {"shfl_up", "shfl_down", "shfl_bfly", "shfl_idx"};
    for (int mode = 0; mode < 4; mode++) {
        for (int width = 1; width <= 32; width *= 2) {
            for (int distance = 0; distance < 32; distance++) {
                operands in[LANES];
                uint64_t out[LANES];
                for (int lane = 0; lane < LANES; lane++) {
                    in[lane][0] = 1000 + (uint64_t)lane;
                    in[lane][1] = (uint64_t)distance;
                    in[lane][2] = ((uint64_t)(32 - width) << 8) | (mode == 0 ? 0 : 31);
                }
                ck_assert_ptr_null(run(kernels[mode], in, out));
                for (int lane = 0; lane < LANES; lane++) {
                    bool inside;
                    int from = source_lane(mode, lane, distance, width, &inside);
                    ck_assert_uint_eq(out[lane], (uint64_t)(1000 + from) | (uint64_t)inside << 32);
                }
            }
        }
    }
}
END_TEST

START_TEST(votes_barriers_atomics)
{
    operands in[LANES] = {{0}};
    uint64_t out[LANES];
    in[3][0] = in[31][0] = 1;
    ck_assert_ptr_null(run("vote_ballot", in, out));
    for (int lane = 0; lane < LANES; lane++) {
        ck_assert_uint_eq(out[lane], UINT32_C(1) << 31 | 1 << 3);
    }
    ck_assert_ptr_null(run("bar_red_or", in, out));
    ck_assert_uint_eq(out[0], 1);
    ck_assert_ptr_null(run("atom_add", in, out));
    ck_assert_uint_eq(out[17], 2);
    in[3][0] = in[31][0] = 0;
    ck_assert_ptr_null(run("bar_red_or", in, out));
    ck_assert_uint_eq(out[0], 0);
    ck_assert_ptr_null(run("lanemask_le", in, out));
    ck_assert(out[0] == 1 && out[4] == 31 && out[31] == UINT32_MAX);
    ck_assert_ptr_null(run("lanemask_lt", in, out));
    ck_assert(out[0] == 0 && out[4] == 15 && out[31] == INT32_MAX);
    ck_assert_ptr_null(run("lanemask_eq", in, out));
    ck_assert(out[0] == 1 && out[4] == 16 && out[31] == UINT32_C(1) << 31);
    ck_assert_ptr_null(run("lanemask_gt", in, out));
    ck_assert(out[0] == 0xfffffffeU && out[4] == 0xffffffe0U && out[31] == 0);
    ck_assert_ptr_null(run("lanemask_ge", in, out));
    ck_assert(out[0] == UINT32_MAX && out[4] == 0xfffffff0U && out[31] == UINT32_C(1) << 31);
    for (uint64_t lane = 0; lane < LANES; lane++) {
        in[lane][0] = 100 + lane;
    }
    ck_assert_ptr_null(run("warp_barrier", in, out));
    for (uint64_t lane = 0; lane < LANES; lane++) {
        ck_assert_uint_eq(out[lane], 100 + (lane ^ 1));
    }
    in[0][0] = 0;
    ck_assert_ptr_null(run("vote_other_name", in, out));
    ck_assert_uint_eq(out[5], 0xfffffffeU);
}
END_TEST

/* ---- memory ---- */

START_TEST(addresses)
{
    const operands in[LANES] = {{0}};
    uint64_t out[LANES];
    ck_assert_ptr_null(run("shared_is_generic", in, out));
    ck_assert_uint_eq(out[9], 7);
    const char *wrong = run("misaligned", in, out);
    ck_assert_msg(wrong && strstr(wrong, "not aligned") && strstr(wrong, "ld.shared.u32 %r0, [2]"),
                  "%s", wrong);
    wrong = run("beyond_shared", in, out);
    ck_assert_msg(wrong && strstr(wrong, "beyond the shared memory") &&
                      strstr(wrong, "ld.shared.u32 %r0, [4096]"),
                  "%s", wrong);
    ck_assert_ptr_null(run("shared_is_generic", in, out)); /* nothing is left of it */
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_ptx_opcodes", conversions_to_integers, rounding, not_a_number, integers,
                     bits, all_forms, control, shuffles, votes_barriers_atomics, addresses);
}
