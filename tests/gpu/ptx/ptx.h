/* What translated kernels are made of: the tables that translate.py writes, and the meaning of the
 * instructions that C has no operator for, after NVIDIA's "Parallel Thread Execution ISA". */
#ifndef SUBMOD_TESTS_GPU_PTX_H
#define SUBMOD_TESTS_GPU_PTX_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "hooks.h"
#include "threads.h"

/* ---- tables ---- */

enum { PTX_MOST_PARAMETERS = 16 };

typedef struct ptx_kernel {
    const char *name; /* mangled */
    void (*run)(const void *parameters);
    uint32_t shared; /* bytes of its own; what a launch asks for comes after them */
    uint32_t parameter_bytes, parameter_count;
    struct {
        uint32_t offset, bytes;
    } parameter[PTX_MOST_PARAMETERS];
    uint32_t first, count; /* its instructions */
} ptx_kernel;

typedef struct ptx_instruction {
    uint32_t kernel;
    uint32_t ptx_line;
    const char *opcode, *text; /* "add.s32", "add.s32 %r1, %r2, %r3" */
    const char *file;          /* in the source, without CUDA's headers and device.h */
    int line;
    const char *called_from; /* the places of calls, if it was inlined */
} ptx_instruction;

typedef struct ptx_module {
    int architecture; /* 75, 80, .. */
    const ptx_kernel *kernel;
    uint32_t kernels;
    const ptx_instruction *instruction;
    uint32_t instructions;
} ptx_module;

/* Runs a kernel of a module on fibers. parameters: as the kernel's table says. shared: bytes that
 * the launch asks for. NULL, or what is wrong. */
const char *ptx_run(const ptx_module *module, const ptx_kernel *kernel, uint32_t blocks,
                    uint32_t threads, size_t shared, const void *parameters);

/* ---- registers ---- */

/* What a register holds before it is written. */
#define PTX_RUBBISH_bool true
#define PTX_RUBBISH_uint8_t 0xa5U
#define PTX_RUBBISH_uint16_t 0xa5a5U
#define PTX_RUBBISH_uint32_t 0xa5a5a5a5U
#define PTX_RUBBISH_uint64_t 0xa5a5a5a5a5a5a5a5U
#define PTX_RUBBISH_float NAN
#define PTX_RUBBISH_double ((double)NAN)

static inline uint32_t ptx_bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t ptx_bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float ptx_from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double ptx_from_bits_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define PTX_INDEX(name, member) \
    static inline uint32_t ptx_##name##_x(void) \
    { \
        return threads_self().member; \
    }
PTX_INDEX(tid, thread)
PTX_INDEX(ntid, threads)
PTX_INDEX(ctaid, block)
PTX_INDEX(nctaid, blocks)
#undef PTX_INDEX

/* Grids and blocks have one dimension here (ptx_run). */
#define PTX_ONE_DIMENSION(name, value) \
    static inline uint32_t ptx_##name(void) \
    { \
        return value; \
    }
PTX_ONE_DIMENSION(tid_y, 0)
PTX_ONE_DIMENSION(tid_z, 0)
PTX_ONE_DIMENSION(ntid_y, 1)
PTX_ONE_DIMENSION(ntid_z, 1)
PTX_ONE_DIMENSION(ctaid_y, 0)
PTX_ONE_DIMENSION(ctaid_z, 0)
PTX_ONE_DIMENSION(nctaid_y, 1)
PTX_ONE_DIMENSION(nctaid_z, 1)
#undef PTX_ONE_DIMENSION

static inline uint32_t ptx_laneid(void)
{
    return ptx_tid_x() % 32;
}

static inline uint32_t ptx_lanemask_eq(void)
{
    return UINT32_C(1) << ptx_laneid();
}

static inline uint32_t ptx_lanemask_lt(void)
{
    return (UINT32_C(1) << ptx_laneid()) - 1;
}

static inline uint32_t ptx_lanemask_le(void)
{
    return UINT32_C(0xffffffff) >> (31 - ptx_laneid());
}

static inline uint32_t ptx_lanemask_gt(void)
{
    return ~ptx_lanemask_le();
}

static inline uint32_t ptx_lanemask_ge(void)
{
    return ~ptx_lanemask_lt();
}

/* ---- memory ---- */

/* The memory of an access; wrong addresses end the launch. */
unsigned char *ptx_access_shared(uint32_t number, uint64_t offset, uint32_t bytes);
_Noreturn void ptx_misaligned(uint32_t number);
bool ptx_is_shared(uint64_t address);

static inline unsigned char *ptx_access(uint32_t number, ptx_space space, ptx_way way,
                                        uint64_t address, uint32_t bytes)
{
    if (address % bytes != 0) {
        ptx_misaligned(number);
    }
    if (space == PTX_SHARED) {
        address = (uint64_t)ptx_access_shared(number, address, bytes);
    }
    if (space == PTX_GENERIC) {
        space = ptx_is_shared(address) ? PTX_SHARED : PTX_GLOBAL;
    }
    PTX_ON_ACCESS(number, space, way, address, bytes);
    (void)number, (void)space, (void)way;
    return (unsigned char *)address; /* NOLINT(performance-no-int-to-ptr): PTX has numbers */
}

static inline uint64_t ptx_shared_to_generic(uint64_t offset)
{
    return (uint64_t)threads_shared() + offset;
}

static inline uint64_t ptx_generic_to_shared(uint64_t address)
{
    return address - (uint64_t)threads_shared();
}

#define PTX_MEMORY(type, value) \
    static inline value ptx_get_##type(const unsigned char *p) \
    { \
        value x; \
        memcpy(&x, p, sizeof x); \
        return x; \
    } \
    static inline void ptx_put_##type(unsigned char *p, value x) \
    { \
        memcpy(p, &x, sizeof x); \
    }
PTX_MEMORY(b8, uint8_t)
PTX_MEMORY(b16, uint16_t)
PTX_MEMORY(b32, uint32_t)
PTX_MEMORY(b64, uint64_t)
PTX_MEMORY(u8, uint8_t)
PTX_MEMORY(u16, uint16_t)
PTX_MEMORY(u32, uint32_t)
PTX_MEMORY(u64, uint64_t)
PTX_MEMORY(s8, int8_t)
PTX_MEMORY(s16, int16_t)
PTX_MEMORY(s32, int32_t)
PTX_MEMORY(s64, int64_t)
PTX_MEMORY(f32, float)
PTX_MEMORY(f64, double)
#undef PTX_MEMORY

/* ---- together with other threads; number: of the instruction ---- */

/* Returns whether one of the block's threads said yes. */
bool ptx_barrier(uint32_t number, bool yes);
void ptx_warp_barrier(uint32_t number, uint32_t mask);
typedef enum { PTX_UP, PTX_DOWN, PTX_BFLY, PTX_IDX } ptx_shuffle_kind;
/* x of another lane; its own where there is none, and then *inside is false. b and c as in the
 * manual: distance or lane, and the clamp with the mask of segments. */
uint32_t ptx_shuffle(uint32_t number, ptx_shuffle_kind kind, uint32_t x, uint32_t b, uint32_t c,
                     uint32_t mask, bool *inside);
/* A bit for each lane of the mask that said yes. */
uint32_t ptx_ballot(uint32_t number, bool yes, uint32_t mask);

/* ---- conversion: towards 0, clamped; NaN is 0, but of and to 64 bits it is the highest bit ----
 */

static inline int32_t ptx_to_s32_f32(float x)
{
    if (isnan(x)) {
        return 0;
    }
    return x >= 0x1p31F ? INT32_MAX : x <= -0x1p31F ? INT32_MIN : (int32_t)x;
}

static inline uint32_t ptx_to_u32_f64(double x)
{
    if (isnan(x)) {
        return UINT32_C(1) << 31;
    }
    return x <= 0 ? 0 : x >= 0x1p32 ? UINT32_MAX : (uint32_t)x;
}

static inline uint64_t ptx_to_u64_f64(double x)
{
    if (isnan(x)) {
        return UINT64_C(1) << 63;
    }
    return x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

/* ---- floats ---- */

/* max and min leave out a NaN, and -0 is below 0. abs and neg touch the sign alone. */
#define PTX_FLOAT(type, value, f) \
    static inline value ptx_max_##type(value a, value b) \
    { \
        return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; \
    } \
    static inline value ptx_min_##type(value a, value b) \
    { \
        return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; \
    } \
    static inline value ptx_abs_##type(value a) \
    { \
        return fabs##f(a); \
    } \
    static inline value ptx_neg_##type(value a) \
    { \
        return -a; \
    } \
    static inline value ptx_fma_##type(value a, value b, value c) \
    { \
        return fma##f(a, b, c); \
    } \
    static inline value ptx_nearbyint_##type(value a) \
    { \
        return nearbyint##f(a); \
    } \
    static inline value ptx_floor_##type(value a) \
    { \
        return floor##f(a); \
    } \
    static inline value ptx_ceil_##type(value a) \
    { \
        return ceil##f(a); \
    } \
    static inline value ptx_trunc_##type(value a) \
    { \
        return trunc##f(a); \
    }
PTX_FLOAT(f32, float, f)
PTX_FLOAT(f64, double, )
#undef PTX_FLOAT

/* ---- integers and bits ---- */

/* Division by 0: the manual leaves it open; all ones is what devices give. */
#define PTX_DIVISION(type, value) \
    static inline value ptx_div_##type(value a, value b) \
    { \
        return b ? a / b : (value)-1; \
    } \
    static inline value ptx_rem_##type(value a, value b) \
    { \
        return b ? a % b : a; \
    }
PTX_DIVISION(u32, uint32_t)
PTX_DIVISION(u64, uint64_t)
#undef PTX_DIVISION

/* Shifts by more than the width give 0, or the sign. */
#define PTX_SHIFT_RIGHT(type, value) \
    static inline value ptx_shr_##type(value a, uint32_t by) \
    { \
        return (value)(by < 8 * sizeof a ? a >> by : 0); \
    }
PTX_SHIFT_RIGHT(b16, uint16_t)
PTX_SHIFT_RIGHT(u16, uint16_t)
PTX_SHIFT_RIGHT(b32, uint32_t)
PTX_SHIFT_RIGHT(u32, uint32_t)
PTX_SHIFT_RIGHT(b64, uint64_t)
PTX_SHIFT_RIGHT(u64, uint64_t)
#undef PTX_SHIFT_RIGHT

#define PTX_SHIFT_SIGNED(type, value) \
    static inline value ptx_shr_##type(value a, uint32_t by) \
    { \
        return (value)(a >> (by < 8 * sizeof a ? by : 8 * sizeof a - 1)); \
    }
PTX_SHIFT_SIGNED(s16, int16_t)
PTX_SHIFT_SIGNED(s32, int32_t)
PTX_SHIFT_SIGNED(s64, int64_t)
#undef PTX_SHIFT_SIGNED

#define PTX_SHIFT_LEFT(type, value) \
    static inline value ptx_shl_##type(value a, uint32_t by) \
    { \
        return (value)(by < 8 * sizeof a ? a << by : 0); \
    }
PTX_SHIFT_LEFT(b16, uint16_t)
PTX_SHIFT_LEFT(b32, uint32_t)
PTX_SHIFT_LEFT(b64, uint64_t)
#undef PTX_SHIFT_LEFT

/* `length` low bits of a, put into b from bit `at` on; both numbers have 8 bits. */
static inline uint64_t ptx_bfi_b64(uint64_t a, uint64_t b, uint32_t at, uint32_t length)
{
    at &= 0xff;
    length &= 0xff;
    if (at >= 64 || length == 0) {
        return b;
    }
    uint64_t ones = (length < 64 ? (UINT64_C(1) << length) - 1 : UINT64_MAX) << at;
    return (b & ~ones) | (a << at & ones);
}

static inline uint32_t ptx_bfi_b32(uint32_t a, uint32_t b, uint32_t at, uint32_t length)
{
    return (uint32_t)ptx_bfi_b64(a, b, at, length);
}

/* `length` ones from bit `at` on; numbers above 32 count as 32. */
static inline uint32_t ptx_bmsk_clamp(uint32_t at, uint32_t length)
{
    return (uint32_t)ptx_bfi_b64(UINT64_MAX, 0, at < 32 ? at : 32, length < 32 ? length : 32);
}

static inline uint32_t ptx_clz_b32(uint32_t a)
{
    return a ? (uint32_t)__builtin_clz(a) : 32;
}

static inline uint32_t ptx_popc_b32(uint32_t a)
{
    return (uint32_t)__builtin_popcount(a);
}

#endif
