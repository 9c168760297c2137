/* The radix sort against qsort, on inputs made to break it. */
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "depth.h"
#include "support.h"

static const double *keys;

static int descending_then_index(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    if (keys[i] != keys[j]) {
        return keys[i] > keys[j] ? -1 : 1;
    }
    return i < j ? -1 : i > j;
}

/* Compares with qsort for several thread counts. */
static void check_sorted(const double *x, size_t n)
{
    int32_t *expected = malloc((n + 1) * sizeof *expected);
    for (size_t i = 0; i < n; i++) {
        expected[i] = (int32_t)i;
    }
    keys = x;
    qsort(expected, n, sizeof *expected, descending_then_index);
    for (int threads = 1; threads <= 3; threads++) {
        ck_assert_ok(submod_set_num_threads(threads));
        submodi_scope scope;
        submodi_sorted sorted;
        submod_work *w = submodi_scope_open(&scope, NULL);
        ck_assert_ok(submodi_sort_f64(x, n, w, &sorted));
        size_t misplaced = 0, missed_ties = 0;
        for (size_t i = 0; i < n; i++) {
            misplaced += submodi_sorted_index(&sorted, i) != expected[i];
            missed_ties +=
                i && x[expected[i]] == x[expected[i - 1]] && !submodi_sorted_maybe_tied(&sorted, i);
        }
        ck_assert_uint_eq(misplaced, 0);
        ck_assert_uint_eq(missed_ties, 0);
        submodi_scope_close(&scope);
    }
    ck_assert_ok(submod_set_num_threads(0));
    free(expected);
}

/* Around every switch of method: insertion sort, narrow and wide digits, threads. */
static const size_t sizes[] = {1,    2,    3,    31,   47,   48,    49,    255,    256,
                               1000, 4095, 4096, 4097, 9999, 65535, 65536, 100003, 300000};
enum { SIZES = sizeof sizes / sizeof *sizes - FEWER };

typedef double pattern(submod_rng *rng, size_t i, size_t n);

static void check_pattern(pattern *make)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        double *x = malloc(n * sizeof *x);
        for (size_t i = 0; i < n; i++) {
            x[i] = make(&rng, i, n);
        }
        check_sorted(x, n);
        free(x);
    }
}

static double normal(submod_rng *rng, size_t i, size_t n)
{
    (void)i;
    (void)n;
    return submod_rng_normal(rng);
}

static double floats(submod_rng *rng, size_t i, size_t n)
{
    (void)i;
    (void)n;
    return (float)submod_rng_normal(rng);
}

static double ascending(submod_rng *rng, size_t i, size_t n)
{
    (void)rng;
    (void)n;
    return (double)i;
}

static double descending(submod_rng *rng, size_t i, size_t n)
{
    (void)rng;
    return (double)(n - i);
}

static double all_equal(submod_rng *rng, size_t i, size_t n)
{
    (void)rng;
    (void)i;
    (void)n;
    return -2.5;
}

static double few_values(submod_rng *rng, size_t i, size_t n)
{
    (void)i;
    (void)n;
    return (double)submod_rng_below(rng, 3) - 1;
}

static double signed_zeros(submod_rng *rng, size_t i, size_t n)
{
    (void)i;
    (void)n;
    const double values[] = {0.0, -0.0, 1e-30, -1e-30};
    return values[submod_rng_below(rng, 4)];
}

static double any_finite_bits(submod_rng *rng, size_t i, size_t n)
{
    double value;
    (void)i;
    (void)n;
    do {
        uint64_t bits = submod_rng_next(rng);
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return value;
}

/* Subnormal floats. */
static double tiny(submod_rng *rng, size_t i, size_t n)
{
    (void)i;
    (void)n;
    return (double)submod_rng_below(rng, 1000) * 0x1p-149;
}

/* One huge entry stretches the range, all others agree in the bits that are kept. */
static double long_runs(submod_rng *rng, size_t i, size_t n)
{
    (void)n;
    return i == 0 ? -1e300 : 1 + (double)submod_rng_below(rng, 1 << 20) * DBL_EPSILON;
}

/* Short runs of near-equal doubles. */
static double short_runs(submod_rng *rng, size_t i, size_t n)
{
    (void)n;
    return (i % 2 ? -1.0 : 1.0) * ((double)submod_rng_below(rng, 1 + i / 4) +
                                   (double)submod_rng_below(rng, 4) * DBL_EPSILON);
}

static double geometric(submod_rng *rng, size_t i, size_t n)
{
    (void)rng;
    (void)n;
    return ldexp(1, (int)(i % 2000) - 1000);
}

START_TEST(smooth_patterns)
{
    check_pattern(normal);
    check_pattern(floats);
    check_pattern(ascending);
    check_pattern(descending);
    check_pattern(any_finite_bits);
}
END_TEST

START_TEST(ties)
{
    check_pattern(all_equal);
    check_pattern(few_values);
    check_pattern(signed_zeros);
}
END_TEST

START_TEST(adversarial_patterns)
{
    check_pattern(tiny);
    check_pattern(long_runs);
    check_pattern(short_runs);
    check_pattern(geometric);
}
END_TEST

/* The entries of one kind in order, by qsort. Returns how many they are. */
static size_t expect_kind(const double *x, size_t n, const uint32_t *mask, uint32_t kind,
                          int32_t *expected)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if ((mask[i / 32] >> i % 32 & 1) == kind) {
            expected[count++] = (int32_t)i;
        }
    }
    keys = x;
    qsort(expected, count, sizeof *expected, descending_then_index);
    return count;
}

static void check_kinds(const double *x, size_t n, const uint32_t *mask)
{
    int32_t *expected = malloc(n * sizeof *expected);
    double low = x[0], high = x[0];
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (int threads = 1; threads <= 3; threads++) {
        submodi_scope scope;
        submodi_sorted_kinds kinds;
        submod_work *w = submodi_scope_open(&scope, NULL);
        ck_assert_ok(submod_set_num_threads(threads));
        ck_assert_ok(submodi_sort_kinds(x, n, mask, w, &kinds));
        ck_assert(kinds.low == low && kinds.high == high);
        for (uint32_t kind = 0; kind < 2; kind++) {
            size_t count = expect_kind(x, n, mask, kind, expected);
            ck_assert_uint_eq(kinds.count[kind], count);
            size_t misplaced = 0;
            for (size_t i = 0; i < count; i++) {
                misplaced += submodi_sorted_index(&kinds.sorted[kind], i) != expected[i];
            }
            ck_assert_uint_eq(misplaced, 0);
        }
        submodi_scope_close(&scope);
    }
    ck_assert_ok(submod_set_num_threads(0));
    free(expected);
}

/* Bits of a mask: about one in eight, none, all. What lies beyond the last entry is set, too, and
 * must not count. */
static uint32_t mask_word(submod_rng *rng, int density)
{
    uint64_t bits = submod_rng_next(rng);
    bits &= submod_rng_next(rng);
    bits &= submod_rng_next(rng);
    return density == 0 ? (uint32_t)bits : density == 1 ? 0 : UINT32_MAX;
}

START_TEST(two_kinds)
{
    pattern *const patterns[] = {normal,    floats,     all_equal,       few_values, signed_zeros,
                                 long_runs, short_runs, any_finite_bits, geometric};
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t k = 0; k < SIZES - 1; k++) {
            size_t n = sizes[k];
            double *x = malloc(n * sizeof *x);
            uint32_t *mask = malloc((n / 32 + 1) * sizeof *mask);
            for (size_t i = 0; i < n; i++) {
                x[i] = patterns[p](&rng, i, n);
            }
            for (int density = 0; density < 3; density++) {
                for (size_t i = 0; i <= n / 32; i++) {
                    mask[i] = mask_word(&rng, density);
                }
                check_kinds(x, n, mask);
            }
            free(x);
            free(mask);
        }
    }
}
END_TEST

START_TEST(public_argsort)
{
    const double x[5] = {1, -0.0, 3, 0.0, 1}, bad[2] = {1, NAN};
    const double worse[2] = {-INFINITY, 1};
    const int32_t expected[5] = {2, 0, 4, 1, 3};
    int32_t order[5] = {7, 7, 7, 7, 7};
    ck_assert_int_eq(submod_argsort(bad, 2, order, NULL), SUBMOD_ENONFINITE);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "x[1] is nan"));
    ck_assert_int_eq(submod_argsort(worse, 2, order, NULL), SUBMOD_ENONFINITE);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "x[0] is -inf"));
    ck_assert_int_eq(submod_argsort(NULL, 2, order, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_argsort(x, 2, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_argsort(x, (size_t)INT32_MAX + 1, order, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(order[0], 7);
    ck_assert_ok(submod_argsort(NULL, 0, NULL, NULL));
    ck_assert_ok(submod_argsort(x, 5, order, NULL));
    ck_assert_mem_eq(order, expected, sizeof expected);
}
END_TEST

int main(void)
{
    return RUN_TESTS("sort", smooth_patterns, ties, adversarial_patterns, two_kinds,
                     public_argsort);
}
