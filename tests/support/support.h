/* What the tests share: running a suite, instances of every family, slow and obvious oracles. */
#ifndef SUBMOD_TESTS_SUPPORT_H
#define SUBMOD_TESTS_SUPPORT_H

#include <check.h>
#include <submod.h>

#include "iwata.h"

/* Runs the tests under ctest: one suite, prints failures, returns main's exit code: 77, skipped,
 * when SUBMOD_ISA asks for an instruction set that this machine does not have. */
int run_tests(const char *name, const TTest *const *tests, size_t count);
#define RUN_TESTS(name, ...) \
    run_tests(name, (const TTest *const[]){__VA_ARGS__}, \
              sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *))

/* Passes only for a success; shows the library's error message otherwise. */
#define ck_assert_ok(call) \
    do { \
        int status_ = (call); \
        ck_assert_msg(status_ == SUBMOD_OK, "%s: %s (%s)", #call, submod_last_error(), \
                      submod_status_string(status_)); \
    } while (0)

/* |a - b| <= tol, never for NaN. */
#define ck_assert_near(a, b, tol) \
    do { \
        double a_ = (a), b_ = (b), tol_ = (tol); \
        ck_assert_msg(fabs(a_ - b_) <= tol_, "%s = %.17g, %s = %.17g, tolerance %g", #a, a_, #b, \
                      b_, tol_); \
    } while (0)

/* Lets this thread's calls be cancelled when *flag is not 0; NULL removes that. */
void poll_flag(const volatile int *flag);

/* The status is `wanted`, and the error message contains `words`. */
void assert_error(int status, int wanted, const char *words);

/* ---- instances ---- */

typedef struct family {
    const char *name;
    submod_fn *(*make)(size_t n, submod_rng *rng);
    int monotone;
} family;

/* All families of the library and a custom one, random in all they leave open. n >= 2. */
extern const family families[];
extern const size_t family_count;
const family *family_named(const char *name);

/* ---- oracles over all subsets, n <= 20: bit e of a mask is element e ---- */

/* F of every subset, 2^n numbers; the caller frees. Uses submod_fn_eval alone. */
double *subset_values(const submod_fn *fn);
size_t subset_elements(uint32_t mask, int32_t *set);

/* f(x) as the Choquet integral: min x * F(V) + integral over t of F({x >= t}), independent of any
 * greedy order. F normalised, given by its values. */
double choquet(const double *F, size_t n, const double *x);

/* The largest s(A) - F(A) over all A: <= 0 inside the submodular polyhedron. */
double worst_excess(const double *F, size_t n, const double *s);

/* max over s in B(F) of <s, x>, by trying the vertices of all n! orders. n <= 7. */
double support_function(const double *F, size_t n, const double *x);

/* Largest |F|, at least 1: what tolerances are relative to. */
double value_scale(const double *F, size_t n);

/* The minima listed for Iwata's function of n elements. */
typedef struct iwata_minimum {
    size_t n;
    double lowest;
} iwata_minimum;

extern const iwata_minimum iwata_minima[];
extern const size_t iwata_count;

/* ---- the rest ---- */

/* x filled with N(0, 1), or, coarse, with few different multiples of 1/4: many ties. */
void random_vector(submod_rng *rng, double *x, size_t n, int coarse);
void random_order(submod_rng *rng, int32_t *order, size_t n);
/* `ignore` in the truth with probability 1/8, and rubbish predicted there. */
void random_labels(submod_rng *rng, size_t n, size_t classes, int64_t ignore, int64_t *prediction,
                   int64_t *truth);

/* x as an upper half of a float, and as IEEE binary16: for numbers that are normal there,
 * cut to its bits, 0, Inf and NaN. */
uint16_t bf16_of(float x);
uint16_t f16_of(float x);
double max_abs(const double *x, size_t n);

/* The chain of a set function whose push adds one element. */
#define CHAIN_OF_PUSHES(chain, push) \
    static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k, \
                               double *gains) \
    { \
        submod_status status = SUBMOD_OK; \
        for (size_t i = 0; i < k && status == SUBMOD_OK; i++) { \
            status = push(ctx, state, elements[i], &gains[i]); \
        } \
        return status; \
    }

/* The minimize of a set function whose one(..) finds either extreme. */
#define MINIMIZE_BOTH(minimize, one) \
    static submod_status minimize(const void *ctx, const submod_minor *m, const double *z, \
                                  uint8_t *smallest, uint8_t *largest, double *s) \
    { \
        submod_status status = SUBMOD_OK; \
        uint8_t *in[] = {smallest, largest}; \
        (void)s; \
        for (int i = 0; i < 2 && status == SUBMOD_OK; i++) { \
            if (in[i]) { \
                status = one(ctx, m->base, m->nbase, m->ground, m->nground, z, i, in[i]); \
            } \
        } \
        return status; \
    }

#endif
