/* Problems with known minima (see minima.h). */
#include "minima.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool fault_ends_run(const fault *t)
{
    bool usable = t->status == SUBMOD_OK || t->status == SUBMOD_TIMELIMIT ||
                  t->status == SUBMOD_MAXITER || t->status == SUBMOD_INACCURATE ||
                  t->status == SUBMOD_CANCELLED;
    bool harmless = t->kind == FAULT_CANCEL || (t->kind == FAULT_STATUS && usable);
    return t->calls > t->at && !harmless;
}

/* Ends a callback that wrote value (may be NULL) and n numbers x (may be NULL). */
static submod_status finish(fault *t, double *value, double *x, size_t n)
{
    if (!t || t->calls++ < t->at) {
        return SUBMOD_OK;
    }
    switch (t->kind) {
    case FAULT_STATUS: return (submod_status)t->status;
    case FAULT_VALUE: *(value ? value : x) = t->number; break;
    case FAULT_GRADIENT: *(x ? &x[n - 1] : value) = t->number; break;
    default: t->cancelled = 1; break;
    }
    return SUBMOD_OK;
}

/* ---- separable ---- */

static bool in_batch(const separable *s, size_t batch, size_t i)
{
    return batch == SUBMOD_FULL_BATCH || i % s->batches == batch;
}

static double batch_weight(const separable *s, size_t batch)
{
    return batch == SUBMOD_FULL_BATCH ? 1 : (double)s->batches;
}

static submod_status separable_smooth(void *ctx, size_t batch, const double *x, double *value,
                                      double *g)
{
    const separable *s = ctx;
    double m = batch_weight(s, batch);
    *value = 0;
    for (size_t i = 0; i < s->n; i++) {
        double apart = x[i] - s->e[i], weight = in_batch(s, batch, i) ? m * s->q[i] : 0;
        *value += weight / 2 * apart * apart;
        g[i] = weight * apart;
    }
    return finish(s->fault, value, g, s->n);
}

static submod_status separable_subgradient(void *ctx, size_t batch, const double *x, double *value,
                                           double *g)
{
    const separable *s = ctx;
    double m = batch_weight(s, batch);
    *value = s->height;
    for (size_t i = 0; i < s->n; i++) {
        double share = in_batch(s, batch, i) ? m : 0;
        double apart = x[i] - s->c[i], from_e = x[i] - s->e[i];
        *value += share * (s->w[i] * fabs(apart) + s->q[i] / 2 * from_e * from_e);
        g[i] = share * (s->w[i] * ((apart > 0) - (apart < 0)) + s->q[i] * from_e);
    }
    return finish(s->fault, value, g, s->n);
}

static submod_status separable_value_alone(void *ctx, const double *x, double *value)
{
    const separable *s = ctx;
    *value = s->height;
    for (size_t i = 0; i < s->n; i++) {
        double from_e = x[i] - s->e[i];
        *value += s->w[i] * fabs(x[i] - s->c[i]) + s->q[i] / 2 * from_e * from_e;
    }
    return finish(s->fault, value, NULL, 0);
}

static submod_status separable_prox(void *ctx, size_t batch, const double *x, double lambda,
                                    double *u)
{
    const separable *s = ctx;
    double m = batch_weight(s, batch);
    for (size_t i = 0; i < s->n; i++) {
        double apart = x[i] - s->c[i];
        double step = (in_batch(s, batch, i) ? m * s->w[i] : 0) / lambda;
        u[i] = fabs(apart) > step ? x[i] - copysign(step, apart) : s->c[i];
    }
    return finish(s->fault, NULL, u, s->n);
}

submod_problem separable_problem(separable *s, bool split)
{
    return (submod_problem){.dimension = s->n,
                            .batches = s->batches,
                            .ctx = s,
                            .subgradient = separable_subgradient,
                            .value = separable_value_alone,
                            .prox = separable_prox,
                            .smooth = split ? separable_smooth : NULL};
}

static long double term(const separable *s, double decay, size_t i, long double x)
{
    long double from_e = x - s->e[i];
    return s->w[i] * fabsl(x - s->c[i]) + s->q[i] / 2.0L * from_e * from_e + decay / 2.0L * x * x;
}

long double separable_minimum(const separable *s, double decay, long double *slack)
{
    long double sum = s->height;
    *slack = 0;
    for (size_t i = 0; i < s->n; i++) {
        /* q (x - e) + decay x + w sign(x - c) = 0, or x = c. */
        long double curve = (long double)s->q[i] + decay, w = s->w[i], c = s->c[i];
        long double lowest = INFINITY;
        for (int sign = -1; sign <= 1 && curve > 0; sign += 2) {
            long double x = ((long double)s->q[i] * s->e[i] - sign * w) / curve;
            long double off = 4 * LDBL_EPSILON * (fabsl(s->e[i]) + w / curve);
            *slack += curve * off * off; /* the term is flat at its minimum */
            lowest = (x - c) * sign >= 0 ? fminl(lowest, term(s, decay, i, x)) : lowest;
        }
        sum += fminl(lowest, term(s, decay, i, c));
    }
    *slack += 16 * (long double)(s->n + 1) * LDBL_EPSILON * sum; /* no term is negative */
    return sum;
}

long double separable_value(const separable *s, double decay, const double *x, long double *size)
{
    long double sum = s->height;
    for (size_t i = 0; i < s->n; i++) {
        sum += term(s, decay, i, x[i]);
    }
    *size = sum;
    return sum;
}

/* ---- corners ---- */

void corner_draw(corner *t, size_t n, double slope, double length, double decay,
                 size_t (*draw)(void *ctx, size_t k), void *ctx)
{
    *t = (corner){.n = n};
    double unit = decay > 0 ? slope / decay : length, heights[] = {0, 1, -3, 1024};
    for (size_t i = 0; i < n; i++) {
        t->best[i] = unit * ((double)draw(ctx, 17) - 8);
        double sum = 0;
        for (size_t j = 0; j + 1 < MINIMA_PLANES; j++) {
            t->a[j][i] = slope * ((double)draw(ctx, 17) - 8);
            sum += t->a[j][i];
        }
        t->a[MINIMA_PLANES - 1][i] = -MINIMA_PLANES * decay * t->best[i] - sum;
    }
    t->height = slope * unit * heights[draw(ctx, 4)];
    for (size_t j = 0; j < MINIMA_PLANES; j++) {
        t->b[j] = t->height;
        for (size_t i = 0; i < n; i++) {
            t->b[j] -= t->a[j][i] * t->best[i];
        }
    }
}

static submod_status corner_subgradient(void *ctx, size_t batch, const double *x, double *value,
                                        double *g)
{
    const corner *t = ctx;
    size_t highest = 0;
    (void)batch;
    *value = -INFINITY;
    for (size_t j = 0; j < MINIMA_PLANES; j++) {
        double at = 0;
        for (size_t i = 0; i < t->n; i++) {
            at += t->a[j][i] * x[i];
        }
        at += t->b[j];
        highest = at > *value ? j : highest;
        *value = at > *value ? at : *value;
    }
    memcpy(g, t->a[highest], t->n * sizeof *g);
    return finish(t->fault, value, g, t->n);
}

submod_problem corner_problem(corner *t)
{
    return (submod_problem){.dimension = t->n, .ctx = t, .subgradient = corner_subgradient};
}

long double corner_minimum(const corner *t, double decay)
{
    long double sum = t->height;
    for (size_t i = 0; i < t->n; i++) {
        sum += decay / 2.0L * t->best[i] * t->best[i];
    }
    return sum;
}

long double corner_value(const corner *t, double decay, const double *x, long double *size)
{
    long double highest = -INFINITY, most = 0, squares = 0;
    for (size_t j = 0; j < MINIMA_PLANES; j++) {
        long double at = t->b[j], terms = fabs(t->b[j]);
        for (size_t i = 0; i < t->n; i++) {
            at += (long double)t->a[j][i] * x[i];
            terms += fabsl((long double)t->a[j][i] * x[i]);
        }
        highest = fmaxl(highest, at);
        most = fmaxl(most, terms);
    }
    for (size_t i = 0; i < t->n; i++) {
        squares += decay / 2.0L * x[i] * x[i];
    }
    *size = most + squares;
    return highest + squares;
}

/* ---- regression ---- */

/* With s_r in w_r [-1, 1], the dual solution, best = soft(-A's, v) / decay solves the problem if
 * s_r is a subgradient of w_r |z_r - c_r| at z = A best: c_r = z_r, or lies on the side that
 * |s_r| = w_r allows. */
void regression_draw(regression *t, size_t rows, size_t columns, double scale, double decay,
                     size_t (*draw)(void *ctx, size_t k), void *ctx)
{
    double back[MINIMA_SIZE] = {0}, s[MINIMA_SIZE];
    *t = (regression){.rows = rows, .columns = columns, .f = {.n = rows}, .g = {.n = columns}};
    for (size_t r = 0; r < rows; r++) {
        t->f.w[r] = scale * (double)(2 * draw(ctx, 4));
        s[r] = t->f.w[r] / 2 * ((double)draw(ctx, 5) - 2);
        for (size_t i = 0; i < columns; i++) {
            t->matrix[r * columns + i] = (double)draw(ctx, 9) - 4;
            back[i] += t->matrix[r * columns + i] * s[r];
        }
    }
    for (size_t i = 0; i < columns; i++) {
        t->g.w[i] = scale * (double)draw(ctx, 3);
        t->best[i] = copysign(fmax(fabs(back[i]) - t->g.w[i], 0), -back[i]) / decay;
        t->minimum +=
            (long double)t->g.w[i] * fabs(t->best[i]) + decay / 2.0L * t->best[i] * t->best[i];
    }
    for (size_t r = 0; r < rows; r++) {
        double away = fabs(s[r]) == t->f.w[r] ? scale / decay * (double)draw(ctx, 4) : 0;
        for (size_t i = 0; i < columns; i++) {
            t->f.c[r] += t->matrix[r * columns + i] * t->best[i];
        }
        t->f.c[r] -= copysign(away, s[r]);
        t->minimum += (long double)t->f.w[r] * away;
    }
}

submod_map regression_map(const regression *t)
{
    return (submod_map){.rows = t->rows, .columns = t->columns, .matrix = t->matrix};
}
