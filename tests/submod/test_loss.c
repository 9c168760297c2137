/* The Lovász losses against a naive double-precision reference, and one engine against the other.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "depth.h"
#include "losses.h"
#include "support.h"

START_TEST(values_and_gradients)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int repeat = 0; repeat < repeats(240); repeat++) {
        kind k = (kind)(repeat % 3);
        bool ignore = repeat % 2;
        size_t C = k == HINGE ? 1 : 3 + submod_rng_below(&rng, 2);
        batch d = random_batch(&rng, k, 1 + submod_rng_below(&rng, 3), C,
                               1 + submod_rng_below(&rng, 12), ignore);
        submod_loss_settings s = random_settings(&rng, ignore);
        size_t n = d.B * d.C * d.N;
        float *g = malloc(n * sizeof *g);
        ck_assert_near(call(&d, k, g, &s), reference(&d, k, &s), 1e-6);
        for (size_t i = 0; i < n; i++) { /* central differences of the reference */
            const double h = 1e-6;
            double x = d.x[i];
            d.x[i] = x + h;
            double up = reference(&d, k, &s);
            d.x[i] = x - h;
            double down = reference(&d, k, &s);
            d.x[i] = x;
            ck_assert_near((double)g[i], (up - down) / (2 * h), 2e-6);
        }
        free(g);
        free_batch(&d);
    }
}
END_TEST

/* From probabilities: the loss of softmax(x) given as such, gradient by p against differences. */
START_TEST(from_probabilities)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < repeats(40); repeat++) {
        batch d = random_batch(&rng, SOFTMAX, 2, 4, 7, false), p = d;
        submod_loss_settings s = random_settings(&rng, false);
        size_t n = d.B * d.C * d.N;
        float *g = malloc(n * sizeof *g);
        p.x = malloc(n * sizeof *p.x);
        for (size_t i = 0; i < n; i++) {
            p.x[i] = (float)value_at(&d, SOFTMAX, i / (d.C * d.N), i / d.N % d.C, i % d.N);
        }
        ck_assert_near(call(&p, PROBABILITY, g, &s), call(&d, SOFTMAX, NULL, &s), 1e-6);
        for (size_t i = 0; i < n; i++) {
            const double h = 1e-7;
            double x = p.x[i];
            p.x[i] = x + h;
            double up = reference(&p, PROBABILITY, &s);
            p.x[i] = x - h;
            double down = reference(&p, PROBABILITY, &s);
            p.x[i] = x;
            ck_assert_near((double)g[i], (up - down) / (2 * h), 2e-6);
        }
        free(g);
        free(p.x);
        free_batch(&d);
    }
}
END_TEST

/* The histogram engine stays within the delta it promises. */
START_TEST(histogram_within_delta)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int repeat = 0; repeat < repeats(90); repeat++) {
        kind k = (kind)(repeat % 3);
        bool ignore = repeat % 2;
        batch d = random_batch(&rng, k, 1 + submod_rng_below(&rng, 3), k == HINGE ? 1 : 4,
                               1 + submod_rng_below(&rng, 700), ignore);
        submod_loss_settings s = random_settings(&rng, ignore);
        double exact = call(&d, k, NULL, &s);
        int finest = repeat < 12 ? -20 : -11; /* large tables take their time */
        for (int log2_delta = -2; log2_delta >= finest; log2_delta -= 3) {
            double delta = ldexp(1, log2_delta);
            float *x = as_floats(&d);
            submod_scores scores = submod_scores_f32(x, d.B, d.C, d.N);
            submod_labels labels = label_view(&d);
            submod_loss_info info;
            double loss;
            s.engine = SUBMOD_ENGINE_HISTOGRAM;
            s.delta = delta;
            ck_assert_ok(call_views(k, &scores, &labels, &loss, NULL, &info, &s));
            double largest = 1; /* the hinge: relative to the largest margin */
            for (size_t i = 0; k == HINGE && i < d.B * d.N; i++) {
                largest = fmax(largest, 1 + fabs(d.x[i]));
            }
            ck_assert(info.delta <= delta * largest);
            ck_assert(info.bins >= 2 && (info.bins & (info.bins - 1)) == 0);
            ck_assert_near(loss, exact, info.delta + 1e-7);
            free(x);
        }
        free_batch(&d);
    }
}
END_TEST

/* Bins that are asked for: so many, whatever delta says, with the guarantee that follows. */
START_TEST(bins_given)
{
    submod_rng rng;
    submod_rng_seed(&rng, 16);
    for (int repeat = 0; repeat < repeats(30); repeat++) {
        kind k = (kind)(repeat % 3);
        batch d = random_batch(&rng, k, 2, k == HINGE ? 1 : 4, 200, false);
        submod_loss_settings s = random_settings(&rng, false);
        double exact = call(&d, k, NULL, &s), range = 1, loss;
        for (size_t i = 0; k == HINGE && i < d.B * d.N; i++) {
            while (range <= 1 - (d.y[i] ? 1 : -1) * d.x[i]) {
                range *= 2;
            }
        }
        float *x = as_floats(&d);
        submod_scores scores = submod_scores_f32(x, d.B, d.C, d.N);
        submod_labels labels = label_view(&d);
        submod_loss_info info;
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        size_t most = (size_t)1 << (repeat < 3 ? 20 : 12); /* large tables take their time */
        for (size_t bins = 2; bins <= most; bins *= bins < 1 << 11 ? 32 : 512) {
            s.bins = bins;
            s.delta = repeat % 2 ? NAN : 0x1p-10;
            ck_assert_ok(call_views(k, &scores, &labels, &loss, NULL, &info, &s));
            ck_assert_uint_eq(info.bins, bins);
            ck_assert(info.delta == range / (2 * (double)bins));
            ck_assert_near(loss, exact, info.delta + 1e-7);
        }
        const size_t bad[] = {1, 3, 1023, (size_t)1 << 21, SIZE_MAX};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            s.bins = bad[i];
            s.delta = 0x1p-10;
            loss = 7;
            ck_assert_int_eq(call_views(k, &scores, &labels, &loss, NULL, NULL, &s), SUBMOD_EINVAL);
            ck_assert_ptr_nonnull(
                strstr(submod_last_error(), "must be a power of two from 2 to 2^20"));
            ck_assert(loss == 7);
        }
        free(x);
        free_batch(&d);
    }
}
END_TEST

/* loss(q) >= loss(p) + <g, q - p> - 2 delta, with the gradient g of the histogram engine at p and
 * exact losses: g is a subgradient at errors that are at most delta away, and the weights of a
 * class are >= 0 and sum up to at most 1, so moving there and back costs at most 2 delta. */
START_TEST(histogram_gradient_is_a_subgradient)
{
    submod_rng rng;
    submod_rng_seed(&rng, 18);
    double closest = INFINITY; /* in deltas */
    for (int repeat = 0; repeat < 1200; repeat++) {
        const kind k = (kind[]){PROBABILITY, SIGMOID_PROBABILITY, HINGE}[repeat % 3];
        batch p = random_batch(&rng, k, 2, k == HINGE ? 1 : 4, 15, repeat % 2), q = p;
        submod_loss_settings s = random_settings(&rng, repeat % 2);
        size_t n = p.B * p.C * p.N;
        float *g = malloc(n * sizeof *g), *exact = malloc(n * sizeof *exact);
        q.x = malloc(n * sizeof *q.x);
        for (size_t i = 0; i < n && k != HINGE; i++) {
            p.x[i] = (double)(float)submod_rng_uniform(&rng);
        }
        call(&p, k, exact, &s);
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.bins = (size_t)2 << submod_rng_below(&rng, 4);
        call(&p, k, g, &s);
        double delta = 0.5 / (double)s.bins * (k == HINGE ? 16 : 1); /* all margins are below 16 */
        double step = delta * ldexp(1, 2 - (int)submod_rng_below(&rng, 6)), linear = 0;
        for (size_t i = 0; i < n; i++) { /* any direction, or where the two gradients differ most */
            double adverse = (g[i] > exact[i]) - (g[i] < exact[i]);
            q.x[i] = p.x[i] + step * (repeat % 4 ? adverse : submod_rng_normal(&rng));
            q.x[i] = k == HINGE ? q.x[i] : fmin(fmax(q.x[i], 0), 1);
            linear += (double)g[i] * (q.x[i] - p.x[i]);
        }
        double excess = reference(&q, k, &s) - reference(&p, k, &s) - linear;
        ck_assert_msg(excess >= -2 * delta - 1e-6, "%g < -2 * %g", excess, delta);
        closest = fmin(closest, excess / delta);
        free(g);
        free(exact);
        free(q.x);
        free_batch(&p);
    }
    ck_assert_msg(closest < -0.25, "%g", closest); /* there is something to allow for */
}
END_TEST

/* With bins finer than the gaps between errors the two engines weigh alike. */
START_TEST(engines_agree_on_gradients)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < repeats(60); repeat++) {
        kind k = (kind)(repeat % 3);
        batch d = random_batch(&rng, k, 2, k == HINGE ? 1 : 4, 9, repeat % 2);
        submod_loss_settings s = random_settings(&rng, repeat % 2);
        size_t n = d.B * d.C * d.N;
        float *g = malloc(n * sizeof *g), *h = malloc(n * sizeof *h);
        call(&d, k, g, &s);
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.delta = 0x1p-20;
        call(&d, k, h, &s);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near((double)g[i], (double)h[i], 1e-6);
        }
        free(g);
        free(h);
        free_batch(&d);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss", values_and_gradients, from_probabilities, histogram_within_delta,
                     bins_given, histogram_gradient_is_a_subgradient, engines_agree_on_gradients);
}
