/* The limits in vectors as wide as the CPU's, by the vector extensions of gcc and clang; only the
 * stores past the caches need intrinsics. */
#include "losses/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float vec __attribute__((vector_size(sizeof(float) * LANES)));
typedef int32_t ivec __attribute__((vector_size(sizeof(int32_t) * LANES)));

static inline vec load(const float *from)
{
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline ivec load_labels(const int32_t *from)
{
    ivec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, vec v)
{
    memcpy(to, &v, sizeof v);
}

/* Past the caches where the CPU can; `to` is aligned to a vector. */
static inline void stream(float *to, vec v)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)v);
#elif defined(__AVX__)
    _mm256_stream_ps(to, (__m256)v);
#elif defined(__SSE__)
    _mm_stream_ps(to, (__m128)v);
#else
    store(to, v);
#endif
}

/* After the last stream of a thread. */
static inline void finish_streams(void)
{
#if defined(__SSE__)
    _mm_sfence();
#endif
}

static double sum_lanes(vec v)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++) {
        sum += (double)v[i];
    }
    return sum;
}

/* ---- traffic ---- */

enum { CHUNK = 4 * LANES };

static double read_all(const float *from, size_t count)
{
    vec sums[4] = {{0}};
    for (size_t i = 0; i < count; i += CHUNK) {
        for (size_t k = 0; k < 4; k++) {
            sums[k] += load(from + i + k * LANES);
        }
    }
    return sum_lanes(sums[0] + sums[1] + sums[2] + sums[3]);
}

static void read_and_write(const float *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i += CHUNK) {
        for (size_t k = 0; k < CHUNK; k += LANES) {
            stream(to + i + k, load(from + i + k) * 2);
        }
    }
    finish_streams();
}

double limits_traffic(const batch *b, float *gradient, int threads)
{
    double sum = 0;
    size_t rows = b->images * b->classes;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
#pragma omp for schedule(static)
        for (size_t row = 0; row < rows; row++) {
            sum += read_all(b->scores + row * b->pixels, b->pixels);
        }
#pragma omp for schedule(static)
        for (size_t row = 0; row < rows; row++) {
            size_t first = row * b->pixels;
            read_and_write(b->scores + first, gradient + first, b->pixels);
        }
    }
    return sum;
}

/* ---- cross-entropy ---- */

enum { TILE = 16 * LANES, AHEAD = 2 }; /* 16 mantissas below 2: no overflow */

/* The scores of TILE pixels, and what is made of them. */
typedef struct tile {
    const float *scores; /* of the first class; the next are `pixels` further on */
    const int32_t *labels;
    float *gradient;
    size_t classes, pixels;
    float *powers;    /* classes x TILE: exp of the scores */
    float sums[TILE]; /* over the classes; then scale / sum */
    float scale;      /* 1 / pixels of the batch */
} tile;

/* exp for |x| <= 80, to about the last bit: 2^k times Taylor's polynomial on |r| <= log(2) / 2. */
static inline vec exponential(vec x)
{
    const float magic = 0x1.8p23F; /* x + magic has the nearest integer in its last bits */
    vec shifted = x * 0x1.715476p0F + magic;
    vec k = shifted - magic;
    vec r = x - k * 0x1.63p-1F + k * 0x1.bd0106p-13F; /* log(2) in two parts */
    vec p = r * (1 / 720.0F) + 1 / 120.0F;
    p = p * r + 1 / 24.0F;
    p = p * r + 1 / 6.0F;
    p = p * r + 0.5F;
    p = p * r + 1;
    p = p * r + 1;
    return (vec)((ivec)p + ((ivec)shifted << 23));
}

/* The row that comes AHEAD rows after that of class c, in this tile or in the next. */
static const float *row_ahead(const tile *t, size_t c)
{
    size_t ahead = c + AHEAD;
    size_t tiles = ahead / t->classes;
    return t->scores + (ahead - tiles * t->classes) * t->pixels + tiles * TILE;
}

static void exponentiate(tile *t)
{
    for (size_t c = 0; c < t->classes; c++) {
        const float *row = t->scores + c * t->pixels;
        const float *ahead = row_ahead(t, c);
        float *powers = t->powers + c * TILE;
        for (size_t i = 0; i < TILE; i += LANES) {
            vec power = exponential(load(row + i));
            store(powers + i, power);
            store(t->sums + i, c ? load(t->sums + i) + power : power);
            __builtin_prefetch(ahead + i);
        }
    }
}

/* The sum of log(sum) - score of the label; leaves scale / sum behind. */
static double add_losses(tile *t)
{
    vec mantissas = (vec){0} + 1;
    ivec exponents = {0};
    for (size_t i = 0; i < TILE; i += LANES) {
        vec sum = load(t->sums + i);
        exponents += ((ivec)sum >> 23) - 127;
        mantissas *= (vec)(((ivec)sum & 0x7fffff) | 0x3f800000);
        store(t->sums + i, t->scale / sum);
    }
    double loss = 0;
    for (int i = 0; i < LANES; i++) {
        loss += log((double)mantissas[i]) + 0x1.62e42fefa39efp-1 * exponents[i];
    }
    float of_labels = 0;
    for (size_t i = 0; i < TILE; i++) {
        of_labels += t->scores[(size_t)t->labels[i] * t->pixels + i];
    }
    return loss - (double)of_labels;
}

static void write_gradient(const tile *t)
{
    ivec one = (ivec)((vec){0} + t->scale);
    for (size_t c = 0; c < t->classes; c++) {
        const float *powers = t->powers + c * TILE;
        float *row = t->gradient + c * t->pixels;
        for (size_t i = 0; i < TILE; i += LANES) {
            vec probability = load(powers + i) * load(t->sums + i);
            ivec is_label = load_labels(t->labels + i) == (int32_t)c;
            stream(row + i, probability - (vec)(one & is_label));
        }
    }
}

/* Some of the tiles, for one thread. */
static double cross_entropy_part(const batch *b, float *gradient, float *powers, size_t from,
                                 size_t to)
{
    tile t = {.classes = b->classes,
              .pixels = b->pixels,
              .powers = powers,
              .scale = 1 / (float)(b->images * b->pixels)};
    double loss = 0;
    for (size_t i = from; i < to; i++) {
        size_t image = i * TILE / b->pixels;
        size_t pixel = i * TILE % b->pixels;
        size_t first = image * b->classes * b->pixels + pixel;
        t.scores = b->scores + first;
        t.gradient = gradient + first;
        t.labels = b->labels + image * b->pixels + pixel;
        exponentiate(&t);
        loss += add_losses(&t);
        write_gradient(&t);
    }
    finish_streams();
    return loss;
}

double limits_cross_entropy(const batch *b, float *gradient, int threads)
{
    double loss = 0;
    size_t tiles = b->images * b->pixels / TILE;
    size_t parts = (size_t)threads;
    float *powers = allocate(parts * b->classes * TILE, sizeof *powers);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : loss)
    for (size_t part = 0; part < parts; part++) {
        loss += cross_entropy_part(b, gradient, powers + part * b->classes * TILE,
                                   tiles * part / parts, tiles * (part + 1) / parts);
    }
    free(powers);
    return loss / (double)(b->images * b->pixels);
}
