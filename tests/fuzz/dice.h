/* Decisions made of bytes: whatever a fuzzer hands in becomes sizes, choices and numbers. */
#ifndef SUBMOD_TESTS_FUZZ_DICE_H
#define SUBMOD_TESTS_FUZZ_DICE_H

#include <stdbool.h>
#include <submod.h>

/* Once the bytes are used up it goes on with random numbers, seeded by the first byte, so that a
 * few bytes make a whole problem, and a change of a late byte keeps what was decided before. */
typedef struct dice {
    const uint8_t *at;
    size_t left;
    submod_rng rng;
} dice;

dice dice_of(const uint8_t *bytes, size_t size);

/* The next bytes as a number, at most 8. */
uint64_t dice_bits(dice *d, int bytes);
/* 0 .. bound - 1; 0 for bound = 0. */
size_t dice_below(dice *d, size_t bound);
/* True once in n times. */
bool dice_once_in(dice *d, size_t n);

/* What the numbers of an array are like. */
typedef enum numbers {
    NUMBERS_TIED,     /* few different ones */
    NUMBERS_ORDINARY, /* within [-4, 4) */
    NUMBERS_TINY,     /* about 1e-300, as floats 1e-30 */
    NUMBERS_HUGE,     /* about 1e300 */
    NUMBERS_DENORMAL, /* below the normal doubles */
    NUMBERS_WIDE,     /* from 1e-300 to 1e300 */
    NUMBERS_ANY,      /* any bits, NaN and Inf among them */
    NUMBERS_KINDS
} numbers;

/* Mostly the first two. */
numbers dice_numbers(dice *d);
double dice_real(dice *d, numbers kind);
/* The same as a float: other ends of the range. */
float dice_float(dice *d, numbers kind);

#endif
