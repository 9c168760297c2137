/* Errors, and records of them (see rank_loops.h). */
#include "loss/rank_loops.h"

#include <math.h>

#include "loss/pointwise_vector.h"
#include "loss/tile.h"

/* ---- errors ---- */

static inline v_int signed_errors_at(const submodi_rank_row *row, size_t i, v_float *least,
                                     v_float *most)
{
    v_int code = v_load_int(row->code + i);
    v_float v = v_load(row->v + i) * v_load(row->factor + i);
    v_mask foreground = v_equal(code, v_all_int(row->target));
    v_mask valid = v_below(code, v_all_int(row->classes));
    v_float error = v_max(v_select(foreground, 1.0F - v, row->bias + v), v_all(0));
    *least = v_min(*least, v_select(foreground, error, *least));
    *most = v_max(*most, v_select(valid, error, *most));
    v_float signed_error = v_from_bits(v_bits(error) | INT32_MIN);
    error = v_select(foreground, signed_error, error);
    return v_bits(v_select(valid, error, v_all(NAN)));
}

static inline void all_errors(const submodi_rank_row *row, bool stream, float *error,
                              submodi_rank_range *range)
{
    v_float least = v_from_bits(v_all_int(range->smallest));
    v_float most = v_from_bits(v_all_int(range->largest));
    for (size_t i = 0; i < row->width; i += V_LANES) {
        v_float e = v_from_bits(signed_errors_at(row, i, &least, &most));
        if (stream) {
            v_stream(error + i, e);
        } else {
            v_store(error + i, e);
        }
    }
    for (size_t l = 0; l < V_LANES; l++) { /* floats >= 0: as their bits */
        int32_t low = v_bits(least)[l];
        int32_t high = v_bits(most)[l];
        range->smallest = low < range->smallest ? low : range->smallest;
        range->largest = high > range->largest ? high : range->largest;
    }
}

static void errors(const submodi_rank_row *row, bool stream, float *error,
                   submodi_rank_range *range)
{
    submodi_rank_row r = *row;
    if (stream) {
        all_errors(&r, true, error, range);
        v_stream_end();
    } else {
        all_errors(&r, false, error, range);
    }
}

/* ---- records ---- */

/* So many vectors are looked at before the first branch (see histogram_loops.c). */
enum { BLOCK = 4, BLOCK_LANES = BLOCK * V_LANES };

/* Keys and places, before they become records. */
typedef struct list {
    size_t n;
    int32_t key[SUBMODI_TILE_MAX + SUBMODI_LANES], place[SUBMODI_TILE_MAX + SUBMODI_LANES];
} list;

static inline v_mask kept_of(v_int bits, const submodi_rank_limits *l)
{
    v_int size = bits & INT32_MAX;
    v_mask foreground = v_below(bits, v_all_int(0));
    v_mask above = v_below(v_all_int(l->background), size);
    v_mask from = v_below(v_all_int(l->foreground - 1), size);
    v_mask ignored = v_below(v_all_int(SUBMODI_NO_ERROR), size);
    return v_and_not(v_and_not(above, foreground) | (from & foreground), ignored);
}

static inline void append(v_int bits, v_mask kept, size_t i, int32_t largest, list *x)
{
    v_mask foreground = v_below(bits, v_all_int(0));
    v_float background = v_select(foreground, v_all(0), v_from_bits(v_all_int(1)));
    v_int key = (largest - (bits & INT32_MAX)) << 1 | v_bits(background);
    v_compress(kept, key, x->key + x->n);
    x->n += v_compress(kept, v_lane_numbers() + (int32_t)i, x->place + x->n);
}

/* What takes the place of errors: the weights of pixels that are kept, if they have any, else 0. */
static inline v_float left_of(v_mask kept, const float *weight)
{
    return weight ? v_select(kept, v_load(weight), v_all(0)) : v_all(0);
}

/* The last errors of a row, which do not fill a vector. */
static void append_rest(float *error, const float *weight, size_t i, size_t n,
                        const submodi_rank_limits *l, list *x)
{
    int32_t rest[V_LANES];
    float left[V_LANES];
    v_store_int(rest, v_bits(v_all(NAN)));
    memcpy(rest, error + i, (n - i) * sizeof *error);
    v_int bits = v_load_int(rest);
    v_mask kept = kept_of(bits, l);
    v_store(left, left_of(kept, weight ? weight + i : NULL));
    memcpy(error + i, left, (n - i) * sizeof *error);
    append(bits, kept, i, l->largest, x);
}

/* The compiler makes a copy with weights and one without. */
static inline void make_list(float *error, const float *weight, size_t n,
                             const submodi_rank_limits *limits, list *x)
{
    const submodi_rank_limits l = *limits;
    size_t i = 0;
    x->n = 0;
    for (; i + BLOCK_LANES <= n; i += BLOCK_LANES) {
        v_int bits[BLOCK];
        v_mask kept[BLOCK];
        for (size_t j = 0; j < BLOCK; j++) {
            size_t at = i + j * V_LANES;
            bits[j] = v_bits(v_load(error + at));
            kept[j] = kept_of(bits[j], &l);
            v_store(error + at, left_of(kept[j], weight ? weight + at : NULL));
        }
        if (v_any(kept[0] | kept[1] | kept[2] | kept[3])) {
            for (size_t j = 0; j < BLOCK; j++) {
                append(bits[j], kept[j], i + j * V_LANES, l.largest, x);
            }
        }
    }
    for (; i < n; i += V_LANES) {
        append_rest(error, weight, i, n - i < V_LANES ? n : i + V_LANES, &l, x);
    }
}

/* The compiler makes a copy for each number of digits. */
static inline void count_keys(const list *x, unsigned width, unsigned number, uint32_t *count)
{
    const uint32_t mask = (UINT32_C(1) << width) - 1;
    for (size_t j = 0; j < x->n; j++) {
        uint32_t key = (uint32_t)x->key[j];
        for (unsigned d = 0; d < number; d++) {
            count[(d << width) + (key >> d * width & mask)]++;
        }
    }
}

static void count_list(const list *x, const submodi_digits *d, uint32_t *count)
{
    switch (d->number) {
    case 1: count_keys(x, d->width, 1, count); break;
    case 2: count_keys(x, d->width, 2, count); break;
    case 3: count_keys(x, d->width, 3, count); break;
    default: count_keys(x, d->width, d->number, count); break;
    }
}

static size_t records(float *error, const float *weight, size_t n,
                      const submodi_rank_limits *limits, uint32_t offset, uint64_t *to,
                      const submodi_digits *digits, uint32_t *count)
{
    list x;
    if (weight) {
        make_list(error, weight, n, limits, &x);
    } else {
        make_list(error, NULL, n, limits, &x);
    }
    for (size_t j = 0; j < x.n; j++) {
        uint64_t key = (uint32_t)x.key[j];
        to[j] = key << SUBMODI_OFFSET_BITS | (offset + (uint32_t)x.place[j]);
    }
    if (digits) {
        count_list(&x, digits, count);
    }
    return x.n;
}

const submodi_rank_loops SUBMODI_TABLE(submodi_ranks) = {.errors = errors, .records = records};
