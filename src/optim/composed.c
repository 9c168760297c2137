/* The problem f(A x) + g(x). A value costs one product with A, a subgradient two. */
#include "optim/composed.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/oracle.h"

typedef struct composed {
    submod_problem f, g; /* g: all zero where there is none */
    submod_map map;
    double *z, *s; /* A x, a subgradient of f there: rows numbers */
    double *t;     /* a subgradient of g: columns numbers */
} composed;

submod_status submodi_map_forward(const submod_map *map, const double *x, double *y)
{
    if (!map->matrix) {
        return map->forward(map->ctx, x, y);
    }
    for (size_t r = 0; r < map->rows; r++) {
        y[r] = submodi_dot(map->matrix + r * map->columns, x, map->columns);
    }
    return SUBMOD_OK;
}

submod_status submodi_map_adjoint(const submod_map *map, const double *y, double *x)
{
    if (!map->matrix) {
        return map->adjoint(map->ctx, y, x);
    }
    memset(x, 0, map->columns * sizeof *x);
    for (size_t r = 0; r < map->rows; r++) {
        const double *row = map->matrix + r * map->columns;
        for (size_t i = 0; i < map->columns; i++) {
            x[i] += y[r] * row[i];
        }
    }
    return SUBMOD_OK;
}

double submodi_map_norm(const submod_map *map, double *columns)
{
    double rows = 0, most = 0;
    size_t n = map->columns;
    memset(columns, 0, n * sizeof *columns);
    for (size_t r = 0; r < map->rows; r++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += fabs(map->matrix[r * n + i]);
            columns[i] += fabs(map->matrix[r * n + i]);
        }
        rows = fmax(rows, sum);
    }
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, columns[i]);
    }
    return fmin(sqrt(rows) * sqrt(most), submodi_norm(map->matrix, map->rows * n));
}

static submod_status check_map(const submod_map *map)
{
    if (!map) {
        return submodi_fail(SUBMOD_EINVAL, "map is NULL");
    }
    size_t count = submodi_times(map->rows, map->columns);
    if (count == 0 || count > PTRDIFF_MAX / sizeof(double)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "the map needs rows and columns > 0 that memory can "
                            "hold, not %zu x %zu",
                            map->rows, map->columns);
    }
    if (!map->matrix && (!map->forward || !map->adjoint)) {
        return submodi_fail(SUBMOD_EINVAL, "the map needs a matrix, or both forward and adjoint");
    }
    return map->matrix ? submodi_check_finite("map->matrix", map->matrix, count) : SUBMOD_OK;
}

submod_status submodi_composed_check(const submod_problem *f, const submod_map *map,
                                     const submod_problem *g)
{
    submod_status status = submodi_problem_check(f);
    status = status || !g ? status : submodi_problem_check(g);
    status = status ? status : check_map(map);
    if (status == SUBMOD_OK && (f->dimension != map->rows || (g && g->dimension != map->columns))) {
        return submodi_fail(SUBMOD_EINVAL,
                            "f must have as many variables as the map has rows, %zu, and g as "
                            "many as it has columns, %zu",
                            map->rows, map->columns);
    }
    return status;
}

static void destroy(void *ctx)
{
    composed *c = ctx;
    submodi_free(c->z);
    submodi_free(c->s);
    submodi_free(c->t);
    submodi_free(c);
}

/* z = A x. f may rely on numbers that are finite. */
static submod_status reach(composed *c, const double *x)
{
    submod_status status = submodi_map_forward(&c->map, x, c->z);
    return status < 0 || submodi_all_finite(c->z, c->map.rows) ? status : SUBMOD_ENUMERIC;
}

/* Statuses below 0 end the call; NaN is for whoever called to find. */
static submod_status subgradient(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    composed *c = ctx;
    double of_g = 0;
    submod_status status = reach(c, x);
    status = status < 0 ? status : c->f.subgradient(c->f.ctx, batch, c->z, value, c->s);
    status = status < 0 ? status : submodi_map_adjoint(&c->map, c->s, g);
    if (status >= 0 && c->g.subgradient) {
        status = c->g.subgradient(c->g.ctx, SUBMOD_FULL_BATCH, x, &of_g, c->t);
        for (size_t i = 0; status >= 0 && i < c->map.columns; i++) {
            g[i] += c->t[i];
        }
    }
    *value += of_g;
    return status;
}

/* Evaluates p at x. Fails if the subgradient is not finite, although only the value is needed. */
static submod_status value_of(const submod_problem *p, const double *x, double *value,
                              double *scratch)
{
    if (p->value) {
        return p->value(p->ctx, x, value);
    }
    submod_status status = p->subgradient(p->ctx, SUBMOD_FULL_BATCH, x, value, scratch);
    return status < 0 || submodi_all_finite(scratch, p->dimension) ? status : SUBMOD_ENUMERIC;
}

static submod_status value(void *ctx, const double *x, double *result)
{
    composed *c = ctx;
    double of_g = 0;
    submod_status status = reach(c, x);
    status = status < 0 ? status : value_of(&c->f, c->z, result, c->s);
    if (status >= 0 && c->g.subgradient) {
        status = value_of(&c->g, x, &of_g, c->t);
    }
    *result += of_g;
    return status;
}

static composed *create(const submod_problem *f, const submod_map *map, const submod_problem *g)
{
    composed *c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    *c = (composed){.f = *f, .g = g ? *g : (submod_problem){0}, .map = *map};
    c->z = submodi_alloc(map->rows, sizeof *c->z);
    c->s = submodi_alloc(map->rows, sizeof *c->s);
    c->t = submodi_alloc(map->columns, sizeof *c->t);
    if (!c->z || !c->s || !c->t) {
        destroy(c);
        return NULL;
    }
    return c;
}

submod_status submod_problem_composed(const submod_problem *f, const submod_map *map,
                                      const submod_problem *g, submod_problem *out)
{
    submod_status status = submodi_composed_check(f, map, g);
    status = status ? status : submodi_check_given("out", out);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_problem_composed", status);
    }
    composed *c = create(f, map, g);
    if (!c) {
        return submodi_return("submod_problem_composed", submodi_out_of_memory());
    }
    *out = (submod_problem){.dimension = map->columns,
                            .batches = f->batches,
                            .ctx = c,
                            .subgradient = subgradient,
                            .value = value,
                            .destroy = destroy};
    return SUBMOD_OK;
}
