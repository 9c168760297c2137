/* Status names, error messages, memory, threads, random numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "base/internal.h"
#include "support.h"

START_TEST(version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SUBMOD_VERSION_MAJOR, SUBMOD_VERSION_MINOR,
             SUBMOD_VERSION_PATCH);
    ck_assert_str_eq(submod_version(), text);
}
END_TEST

START_TEST(status_strings_are_total)
{
    for (int status = -100; status < 100; status++) {
        const char *text = submod_status_string(status);
        ck_assert_ptr_nonnull(text);
        int known = status >= SUBMOD_EFILE && status <= SUBMOD_CANCELLED;
        ck_assert_int_eq(known, strcmp(text, "unknown status") != 0);
    }
}
END_TEST

START_TEST(errors_belong_to_a_thread)
{
    ck_assert_str_eq(submod_last_error(), "");
    int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    {
        char expected[64];
        snprintf(expected, sizeof expected, "thread %zu", submodi_thread_index());
        for (int i = 0; i < 1000; i++) {
            submodi_fail(SUBMOD_EINVAL, "thread %zu", submodi_thread_index());
            wrong += strcmp(submod_last_error(), expected) != 0;
        }
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(words_of_others)
{
    char many[1000];
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    assert_error(submod_fail(SUBMOD_ECOMM, "the net is down"), SUBMOD_ECOMM, "the net is down");
    ck_assert_int_eq(submod_fail(SUBMOD_EFILE, "%s by %d", submod_last_error() + 4, 7),
                     SUBMOD_EFILE);
    ck_assert_str_eq(submod_last_error(), "net is down by 7");
    ck_assert_int_eq(submod_fail(SUBMOD_EINVAL, "%s", many), SUBMOD_EINVAL);
    ck_assert_uint_eq(strlen(submod_last_error()), 255);
    ck_assert_int_eq(submod_fail(SUBMOD_EINVAL, "%s", ""), SUBMOD_EINVAL);
    ck_assert_str_eq(submod_last_error(), "");
}
END_TEST

START_TEST(nan_has_no_sign)
{
    const double x[2] = {0, copysign(NAN, -1)};
    int32_t order[2];
    assert_error(submod_argsort(x, 2, order, NULL), SUBMOD_ENONFINITE, "x[1] is nan");
}
END_TEST

START_TEST(threads)
{
    ck_assert_int_eq(submod_set_num_threads(-1), SUBMOD_EINVAL);
    ck_assert_ok(submod_set_num_threads(3));
#ifdef _OPENMP
    ck_assert_int_eq(submod_get_num_threads(), 3);
#endif
    ck_assert_ok(submod_set_num_threads(0));
#ifdef _OPENMP
    ck_assert_int_eq(submod_get_num_threads(), omp_get_max_threads());
#else
    ck_assert_int_eq(submod_get_num_threads(), 1);
#endif
}
END_TEST

/* Wherever the one bad number stands, and however many threads look for it. */
START_TEST(bad_numbers_are_found)
{
    enum { LARGE = 100000 };
    const size_t places[] = {0, 1, 16383, 16384, 16385, 65535, 65536, 98303, 98304, LARGE - 1};
    double *x = calloc(LARGE, sizeof *x);
    for (int t = 1; t <= 3; t++) {
        ck_assert_ok(submod_set_num_threads(t));
        ck_assert(submodi_all_finite(x, LARGE));
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            char words[40];
            x[places[i]] = i % 2 ? NAN : -INFINITY;
            snprintf(words, sizeof words, "x[%zu] is ", places[i]);
            assert_error(submodi_check_finite("x", x, LARGE), SUBMOD_ENONFINITE, words);
            ck_assert_ok(submodi_check_finite("x", x, places[i])); /* it is behind */
            x[places[i]] = 0;
        }
    }
    ck_assert_ok(submod_set_num_threads(0));
    free(x);
}
END_TEST

START_TEST(sizes_do_not_overflow)
{
    size_t bytes = 0;
    ck_assert(!submodi_add_size(&bytes, SIZE_MAX, 1));
    ck_assert(!submodi_add_size(&bytes, SIZE_MAX / 2, 3));
    ck_assert_uint_eq(bytes, 0);
    ck_assert(submodi_add_size(&bytes, 10, 10));
    ck_assert_uint_eq(bytes, 128);
    bytes = SIZE_MAX - 100;
    ck_assert(!submodi_add_size(&bytes, 1, 1));
    ck_assert_ptr_null(submodi_alloc(SIZE_MAX / 4, 8));
}
END_TEST

/* Fills memory, nests scopes, checks that nothing overlaps and that the block grows to fit. */
static void use(submod_work *work, size_t size, int depth)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    unsigned char *a = submodi_work_alloc(w, size, 1);
    unsigned char *b = submodi_work_alloc(w, 2, size);
    ck_assert_uint_eq((uintptr_t)a % SUBMODI_ALIGN, 0);
    ck_assert_uint_eq((uintptr_t)b % SUBMODI_ALIGN, 0);
    memset(a, depth, size);
    memset(b, depth + 1, 2 * size);
    for (int i = 0; depth && i < 3; i++) {
        use(w, size + 100, depth - 1);
    }
    for (size_t i = 0; i < size; i++) {
        ck_assert(a[i] == depth && b[i] == depth + 1 && b[size + i] == depth + 1);
    }
    submodi_scope_close(&scope);
}

START_TEST(workspaces_nest_and_settle)
{
    submod_work *work = NULL;
    ck_assert_ok(submod_work_create(&work));
    ck_assert_uint_eq(work->capacity, 0);
    use(work, 1000, 4);
    size_t bytes = work->capacity;
    ck_assert_uint_ge(bytes, (size_t)5 * 3000);
    ck_assert_uint_le(bytes, (size_t)15 * (1400 + 64));
    use(work, 1000, 4);
    ck_assert_uint_eq(work->capacity, bytes); /* it fits now */
    use(NULL, 1000, 4);
    submod_work_free(work);
    submod_work_free(NULL);
    ck_assert_int_eq(submod_work_create(NULL), SUBMOD_EINVAL);
}
END_TEST

START_TEST(random_numbers)
{
    submod_rng rng, same;
    submod_rng_seed(&rng, 42);
    submod_rng_seed(&same, 42);
    double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
    int count[7] = {0};
    const int draws = 200000;
    for (int i = 0; i < draws; i++) {
        double u = submod_rng_uniform(&rng);
        ck_assert(u >= 0 && u < 1 && u == submod_rng_uniform(&same));
        mean += u / draws;
        square += u * u / draws;
        double z = submod_rng_normal(&rng);
        ck_assert(isfinite(z) && z == submod_rng_normal(&same));
        normal_mean += z / draws;
        normal_square += z * z / draws;
        count[submod_rng_below(&rng, 7)]++;
        submod_rng_below(&same, 7);
    }
    /* Five standard deviations of each estimate. */
    ck_assert_near(mean, 0.5, 5 * sqrt(1. / 12 / draws));
    ck_assert_near(square, 1. / 3, 5 * sqrt(4. / 45 / draws));
    ck_assert_near(normal_mean, 0, 5 / sqrt(draws));
    ck_assert_near(normal_square, 1, 5 * sqrt(2. / draws));
    for (int i = 0; i < 7; i++) {
        ck_assert_near(count[i], draws / 7., 5 * sqrt(draws / 7.));
    }
    ck_assert_uint_eq(submod_rng_below(&rng, 0), 0);
    ck_assert_uint_eq(submod_rng_below(&rng, 1), 0);
    submod_rng_seed(&same, 43);
    ck_assert_uint_ne(submod_rng_next(&rng), submod_rng_next(&same));
}
END_TEST

START_TEST(allocators)
{
    submod_allocator half = {counting_allocator.alloc, NULL};
    ck_assert_int_eq(submod_set_allocator(&half), SUBMOD_EINVAL);
    allocations.left = -1;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_hamming(3, &fn));
    ck_assert_int_gt(allocations.live, 0);
    submod_fn_free(fn);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("base", allocators, version, status_strings_are_total,
                     errors_belong_to_a_thread, words_of_others, nan_has_no_sign, threads,
                     bad_numbers_are_found, sizes_do_not_overflow, workspaces_nest_and_settle,
                     random_numbers);
}
