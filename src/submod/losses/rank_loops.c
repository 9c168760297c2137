/* Records and their weights (see rank_loops.h). */
#include "submod/losses/rank_loops.h"

#include "submod/losses/pointwise_vector.h"
#include "submod/losses/tile.h"

/* ---- errors ---- */

typedef struct errors {
    v_mask foreground, valid;
    v_int bits;
} errors;

static inline errors errors_at(const submodi_rank_row *row, size_t i)
{
    v_int code = v_load_int(row->code + i);
    v_float v = v_load(row->v + i);
    errors e;
    e.foreground = v_equal(code, v_all_int(row->target));
    e.valid = v_below(code, v_all_int(row->classes));
    e.bits = v_bits(v_max(v_select(e.foreground, 1.0F - v, row->bias + v), v_all(0)));
    return e;
}

static void limits(const submodi_rank_row *row, int32_t *smallest, int32_t *largest)
{
    v_float least = v_from_bits(v_all_int(*smallest));
    v_float most = v_from_bits(v_all_int(*largest));
    for (size_t i = 0; i < row->width; i += V_LANES) {
        errors e = errors_at(row, i);
        v_float error = v_from_bits(e.bits);
        least = v_min(least, v_select(e.foreground, error, least));
        most = v_max(most, v_select(e.valid, error, most));
    }
    for (size_t l = 0; l < V_LANES; l++) { /* floats >= 0: as their bits */
        int32_t low = v_bits(least)[l];
        int32_t high = v_bits(most)[l];
        *smallest = low < *smallest ? low : *smallest;
        *largest = high > *largest ? high : *largest;
    }
}

/* ---- records ---- */

static size_t records(const submodi_rank_row *row, const submodi_rank_limits *l, uint32_t offset,
                      uint64_t *to)
{
    int32_t key[SUBMODI_TILE_MAX + SUBMODI_LANES];
    int32_t place[SUBMODI_TILE_MAX + SUBMODI_LANES];
    size_t n = 0;
    for (size_t i = 0; i < row->width; i += V_LANES) {
        errors e = errors_at(row, i);
        v_mask above = v_below(v_all_int(l->background), e.bits);
        v_mask from = v_below(v_all_int(l->foreground - 1), e.bits);
        v_mask kept = (v_and_not(above, e.foreground) | (from & e.foreground)) & e.valid;
        if (v_any(kept)) {
            v_float one = v_select(e.foreground, v_all(0), v_from_bits(v_all_int(1)));
            v_compress(kept, (l->largest - e.bits) << 1 | v_bits(one), key + n);
            n += v_compress(kept, v_lane_numbers() + (int32_t)i, place + n);
        }
    }
    for (size_t j = 0; j < n; j++) {
        to[j] = (uint64_t)(uint32_t)key[j] << SUBMODI_OFFSET_BITS | (offset + (uint32_t)place[j]);
    }
    return n;
}

/* ---- weights ---- */

enum { CHUNK = SUBMODI_RANK_CHUNK, VALUE_LANES = SUBMODI_VALUE_LANES };

typedef struct chunk {
    size_t n;
    uint32_t key[CHUNK + SUBMODI_LANES];
    int32_t first[CHUNK];  /* where the run of a record begins */
    int32_t length[CHUNK]; /* of the run */
    int32_t before[CHUNK]; /* background records of the chunk that come before the run */
} chunk;

/* Keys, as if nothing were tied. Returns the background records. */
static int32_t open_chunk(const uint64_t *record, size_t n, chunk *x)
{
    int32_t background = 0;
    x->n = n;
    for (size_t j = 0; j < n; j++) {
        x->key[j] = submodi_key_of(record[j]);
        x->first[j] = (int32_t)j;
        x->length[j] = 1;
    }
    for (size_t j = 0; j < n; j++) {
        x->before[j] = background;
        background += (int32_t)(x->key[j] & 1);
    }
    return background;
}

/* Where a key is that of the record before; their number. */
static size_t find_ties(const chunk *x, int32_t *tie)
{
    size_t ties = 0;
    for (size_t j = 1; j < x->n; j += V_LANES) {
        v_int lane = v_lane_numbers() + (int32_t)j;
        v_int key = v_load_int((const int32_t *)x->key + j);
        v_mask same = v_equal(key, v_load_int((const int32_t *)x->key + j - 1));
        ties += v_compress(same & v_below(lane, v_all_int((int32_t)x->n)), lane, tie + ties);
    }
    return ties;
}

static void join_runs(chunk *x)
{
    int32_t tie[CHUNK + SUBMODI_LANES];
    size_t ties = find_ties(x, tie);
    for (size_t k = 0; k < ties; k++) {
        int32_t j = tie[k];
        int32_t first = x->first[j - 1];
        x->first[j] = first;
        x->before[j] = x->before[first];
        if (k + 1 == ties || tie[k + 1] > j + 1) { /* the last of its run */
            for (int32_t i = first; i <= j; i++) {
                x->length[i] = j + 1 - first;
            }
        }
    }
}

/* What the weights of a chunk are made of, in doubles, so that the compiler can vectorise it. */
typedef struct arguments {
    double a[CHUNK], b[CHUNK], t[CHUNK], error[CHUNK], gain[CHUNK];
    int64_t background[CHUNK];
} arguments;

static void prepare(const chunk *x, submodi_rank_counts counts, int32_t largest, arguments *y)
{
    const double a = (double)(int64_t)counts.a;
    const double b = (double)(int64_t)counts.b;
    for (size_t j = 0; j < x->n; j++) {
        double before = (double)x->before[j];
        y->b[j] = b + before;
        y->a[j] = a + ((double)x->first[j] - before);
        y->t[j] = (double)x->length[j];
    }
    for (size_t j = 0; j < x->n; j++) {
        y->error[j] = (double)submodi_from_bits((uint32_t)largest - (x->key[j] >> 1));
        y->background[j] = x->key[j] & 1;
    }
}

/* Entry j of the value goes to lane j % VALUE_LANES: a fixed order for all instruction sets. */
static void add_values(const arguments *y, size_t n, double *value)
{
    size_t j = 0;
    for (; j + VALUE_LANES <= n; j += VALUE_LANES) {
        for (size_t l = 0; l < VALUE_LANES; l++) {
            value[l] += y->gain[j + l] * y->error[j + l];
        }
    }
    for (size_t l = 0; j + l < n; l++) {
        value[l] += y->gain[j + l] * y->error[j + l];
    }
}

static void weigh_chunk(const chunk *x, submodi_rank_counts counts, double P, int32_t largest,
                        const submodi_rank_out *out, double *value, float *weight)
{
    const double coefficient = out->coefficient;
    const float scale = out->scale;
    arguments y;
    prepare(x, counts, largest, &y);
    for (size_t j = 0; j < x->n; j++) {
        y.gain[j] = submodi_jaccard_gain(P, y.a[j], y.b[j], y.t[j], y.background[j] != 0);
    }
    add_values(&y, x->n, value);
    for (size_t j = 0; j < x->n; j++) {
        double w = y.background[j] ? coefficient * y.gain[j] : -coefficient * y.gain[j];
        weight[j] = 0 + scale * (float)w;
    }
}

static uint64_t weigh(const uint64_t *record, size_t n, submodi_rank_counts before, double P,
                      int32_t largest, const submodi_rank_out *out, double *value, float *weight)
{
    chunk x;
    uint64_t background = (uint64_t)open_chunk(record, n, &x);
    join_runs(&x);
    weigh_chunk(&x, before, P, largest, out, value, weight);
    return background;
}

const submodi_rank_loops SUBMODI_TABLE(submodi_ranks) = {
    .limits = limits, .records = records, .weigh = weigh};
