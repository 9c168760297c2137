/* Expectations as series, for many foreground pixels. Let Y be the random number in the
 * denominator (B for IoU, I + B for Dice), n = k + E Y the reach and D = Y - E Y. For an even R
 *
 *     1/(n + D) = sum over r < R of (-D)^r / n^(r+1) + rest,     rest = D^R / (n^R (n + D)) >= 0
 *
 * times I, on average. Where D >= -n/2 the rest is at most 2 D^R / n^(R+1); elsewhere I * rest is
 * at most 1, because I <= k <= n + D and |D| <= n, and P(D < -n/2) <= exp(-n^2 / (8 E Y)). So
 *
 *     sum <= E I/(n + D) <= sum + 2 E[I D^R] / n^(R+1) + exp(-n^2 / (8 E Y)) .
 *
 * Moments come from cumulants, which add up over independent pixels. Cumulant r of one pixel is a
 * polynomial in q: c_1 = q, c_(r+1) = q (1 - q) c_r'. The cumulants of I with r times D are those
 * of the pixels inside, if D counts these (Dice), else 0 (IoU):
 *
 *     E[X D^r] = sum over j of (r choose j) c(X, D, .., D) E[D^(r-j)],    j times D .
 *
 * With R = 12 the interval is 2 (2 10395 / n^6) wide at most, relatively: 2e-13 from n = 700 on.
 * O(R^2) for each k, O(R) for each pixel.
 */
#include <float.h>
#include <stdbool.h>

#include "metrics/decisions/powers.h"
#include "metrics/decisions/prefixes.h"

enum { ORDER = SUBMODI_POWERS - 1 }; /* R; even */

typedef struct tables {
    double binomial[ORDER + 1][ORDER + 1];
    double cumulant[ORDER + 2][SUBMODI_POWERS + 1]; /* coefficients of q^j in cumulant r */
} tables;

static void fill_tables(tables *t)
{
    *t = (tables){0};
    t->cumulant[1][1] = 1;
    for (int r = 2; r <= ORDER + 1; r++) {
        for (int j = 1; j <= r; j++) {
            t->cumulant[r][j] = j * t->cumulant[r - 1][j] - (j - 1) * t->cumulant[r - 1][j - 1];
        }
    }
    for (int r = 0; r <= ORDER; r++) {
        t->binomial[r][0] = 1;
        for (int j = 1; j <= r; j++) {
            t->binomial[r][j] = t->binomial[r - 1][j - 1] + t->binomial[r - 1][j];
        }
    }
}

/* cumulant[r] = cumulant r of the pixels with these powers, over n^r. */
static void cumulants_of(const tables *t, const submodi_powers *powers, double n, double *cumulant)
{
    double scale = 1 / n;
    for (int r = 2; r <= ORDER + 1; r++) {
        scale /= n;
        double sum = 0;
        for (int j = 1; j <= r; j++) {
            sum += t->cumulant[r][j] * powers->sum[j];
        }
        cumulant[r] = sum * scale;
    }
}

/* moment[r] = E D^r / n^r from the cumulants of D. */
static void moments_of(const tables *t, const double *cumulant, double *moment)
{
    moment[0] = 1;
    moment[1] = 0;
    for (int r = 2; r <= ORDER; r++) {
        moment[r] = 0;
        for (int j = 1; j < r; j++) {
            moment[r] += t->binomial[r - 1][j] * cumulant[j + 1] * moment[r - 1 - j];
        }
    }
}

/* E[I D^r] / n^r; inside: cumulants of the pixels in I, if they count in D, else NULL. */
static double mixed(const tables *t, double mean, double n, const double *inside,
                    const double *moment, int r)
{
    double sum = mean * moment[r];
    for (int j = 1; inside && j <= r; j++) {
        sum += t->binomial[r][j] * n * inside[j + 1] * moment[r - j];
    }
    return sum;
}

/* outside: powers of the pixels that are not among the first k; all: of all. */
static submodi_interval expect(const submodi_prefixes *s, const tables *t, size_t k,
                               const submodi_powers *outside, const submodi_powers *all)
{
    double n = submodi_reach(s, k);
    double Y = submodi_random_part(s, k);
    bool dice = s->score == SUBMOD_DECISION_DICE;
    double cumulant[ORDER + 2];
    double inside[ORDER + 2];
    double moment[ORDER + 1];
    cumulants_of(t, dice ? all : outside, n, cumulant);
    moments_of(t, cumulant, moment);
    if (dice) {
        submodi_powers chosen;
        for (int r = 1; r <= SUBMODI_POWERS; r++) {
            chosen.sum[r] = all->sum[r] - outside->sum[r];
        }
        cumulants_of(t, &chosen, n, inside);
    }
    double sum = 0;
    for (int r = ORDER - 1; r >= 0; r--) {
        double term = mixed(t, s->inside[k], n, dice ? inside : NULL, moment, r);
        sum += r % 2 ? -term : term;
    }
    double last = mixed(t, s->inside[k], n, dice ? inside : NULL, moment, ORDER);
    double far = submodi_far_below(n, Y);
    /* Differences of powers have the error of what they are differences of. */
    double absolute = dice ? DBL_EPSILON * (256 + (double)s->p / 2048) * Y / (n * n) : 0;
    double factor = submodi_factor(s);
    return submodi_score_between(factor * (sum / n - absolute),
                                 factor * ((sum + 2 * last) / n + far + absolute),
                                 64 * DBL_EPSILON);
}

void submodi_expect_long(const submodi_prefixes *s, size_t first, size_t last, double floor,
                         submodi_interval *found)
{
    tables t;
    fill_tables(&t);
    submodi_powers outside = submodi_powers_of(s->q + last, s->p - last, 1);
    submodi_powers all = submodi_powers_of(s->q, last, 1);
    submodi_powers_join(&all, &outside);
    for (size_t k = last;; k--) {
        submodi_interval rough = submodi_roughly(s, k);
        found[k - first] = rough.upper >= floor ? expect(s, &t, k, &outside, &all) : rough;
        if (k == first) {
            break;
        }
        submodi_powers_add(&outside, s->q[k - 1]);
    }
}
