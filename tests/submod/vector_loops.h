/* The operations of loss/tensors/vector.h as functions over arrays, so that a test can call those
 * of every instruction set. Arrays have as many entries as a vector has lanes, and may lie
 * anywhere. Masks are given as bits: bit l is what holds in lane l. */
#ifndef SUBMOD_TESTS_VECTOR_LOOPS_H
#define SUBMOD_TESTS_VECTOR_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"

typedef struct vector_loops {
    unsigned lanes;
    /* What C's operators do: a * b + c, and (a >> b) & c. */
    void (*operators)(const float *a, const float *b, const float *c, float *to);
    void (*operators_int)(const int32_t *a, const int32_t *b, const int32_t *c, int32_t *to);
    void (*multiply_add)(const float *a, const float *b, const float *c, float *to);
    float (*scalar_multiply_add)(float a, float b, float c);
    void (*min)(const float *a, const float *b, float *to);
    void (*max)(const float *a, const float *b, float *to);
    void (*max_bits)(const int32_t *a, const int32_t *b, int32_t *to);
    uint32_t (*at_least)(const float *a, const float *b);
    uint32_t (*equal)(const int32_t *a, const int32_t *b);
    uint32_t (*below)(const int32_t *a, const int32_t *b);
    uint32_t (*both)(uint32_t m, uint32_t n);   /* m & n */
    uint32_t (*either)(uint32_t m, uint32_t n); /* m | n */
    uint32_t (*and_not)(uint32_t m, uint32_t n);
    void (*select)(uint32_t m, const float *a, const float *b, float *to);
    bool (*any)(uint32_t m);
    unsigned (*count)(uint32_t m);
    unsigned (*compress)(uint32_t m, const int32_t *a, int32_t *to);
    void (*gather)(const float *table, const int32_t *index, float *to);
    void (*stream)(float *to, const float *a); /* and v_stream_end */
    void (*copy)(const float *from, float *to);
    void (*copy_int)(const int32_t *from, int32_t *to);
    void (*all)(float x, float *to);
    void (*all_int)(int32_t x, int32_t *to);
    void (*truncate)(const float *a, int32_t *to);
    void (*bits)(const float *a, int32_t *to);
    void (*from_bits)(const int32_t *a, float *to);
    void (*lane_numbers)(int32_t *to);
    uint32_t (*largest_bits)(const int32_t *a);
} vector_loops;

extern const vector_loops vector_loops_baseline, vector_loops_avx2, vector_loops_avx512;

#endif
