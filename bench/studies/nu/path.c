/* Paths of optimisers on max(0, nu x1, x2), and what is measured on them. */
#include <math.h>

#include "nu/path.h"

static submod_status make_gd(double alpha, submod_step **step)
{
    (void)alpha;
    return submod_step_gd(2, step);
}

static submod_status make_momentum(double alpha, submod_step **step)
{
    return submod_step_momentum(2, alpha, step);
}

static submod_status make_nesterov(double alpha, submod_step **step)
{
    return submod_step_nesterov(2, alpha, step);
}

static submod_status make_adam(double alpha, submod_step **step)
{
    (void)alpha;
    return submod_step_adam(2, step, NULL);
}

const nu_method nu_methods[NU_METHODS] = {
    [NU_GD] = {"gradient descent", SUBMOD_DIRECTION_SUBGRADIENT, false, make_gd},
    [NU_MOMENTUM] = {"momentum", SUBMOD_DIRECTION_SUBGRADIENT, true, make_momentum},
    [NU_NESTEROV] = {"Nesterov", SUBMOD_DIRECTION_SUBGRADIENT, true, make_nesterov},
    [NU_ADAM] = {"Adam", SUBMOD_DIRECTION_SUBGRADIENT, false, make_adam},
    [NU_PROX] = {"prox", SUBMOD_DIRECTION_PROX, false, make_gd},
};

static int note(void *ctx, const submod_trace *line)
{
    nu_path *path = ctx;
    path->x[path->count][0] = line->x[0];
    path->x[path->count][1] = line->x[1];
    path->f[path->count] = line->f;
    path->count++;
    return path->count == NU_POINTS;
}

bool nu_walk(const nu_method *method, double nu, double eta, double alpha, const double *start,
             size_t max_iterations, nu_path *path)
{
    const double planes[] = {0, 0, nu, 0, 0, 1};
    double x[2] = {start[0], start[1]};
    submod_problem problem = {0};
    submod_step *step = NULL;
    submod_descent_settings s = submod_descent_defaults();
    path->count = 0;
    s.schedule = submod_schedule_constant(eta);
    s.direction = method->direction;
    s.run.f_star = 0;
    s.run.max_iterations = max_iterations;
    s.run.trace = note;
    s.run.trace_ctx = path;
    submod_status status = submod_problem_max_affine(3, 2, planes, NULL, &problem);
    status = status ? status : method->make(alpha, &step);
    status = status ? status : submod_descend(&problem, step, x, &s, NULL, NULL);
    submod_step_free(step);
    submod_problem_clear(&problem);
    return status >= 0 ? true : study_fail("%s: %s", method->name, submod_last_error());
}

/* Signed distance to the ridge nu x1 = x2; rounding counts as being on it. */
static double ridge_distance(const double *x, double nu)
{
    double d = (nu * x[0] - x[1]) / sqrt(1 + nu * nu);
    return fabs(d) < 1e-9 ? 0 : d;
}

static double iterations_to(const nu_path *p, double f)
{
    for (size_t k = 0; k < p->count; k++) {
        if (p->f[k] <= f) {
            return (double)k;
        }
    }
    return NAN;
}

nu_measure nu_measure_path(const nu_path *p, double nu)
{
    nu_measure m = {.to_1e3 = iterations_to(p, 1e-3), .to_1e6 = iterations_to(p, 1e-6)};
    double length = 0, last = 0; /* last: distance when it was last not 0 */
    size_t away = 0;
    for (size_t k = 0; k < p->count && p->f[k] > 0; k++) {
        double d = ridge_distance(p->x[k], nu);
        bool crossed = d * last < 0;
        m.crossings += crossed;
        if (crossed) {
            away = 1; /* this step already led away */
        } else if (m.crossings > 0 && fabs(d) > fabs(last)) {
            away += away > 0; /* only in a row with the crossing */
        } else {
            away = 0;
        }
        m.away = away > m.away ? away : m.away;
        last = d != 0 ? d : last;
    }
    for (size_t k = 1; k < p->count; k++) {
        length += hypot(p->x[k][0] - p->x[k - 1][0], p->x[k][1] - p->x[k - 1][1]);
    }
    const double *first = p->x[0];
    const double *end = p->x[p->count - 1];
    m.detour = length / hypot(end[0] - first[0], end[1] - first[1]);
    return m;
}

void nu_best_direction(double nu, double *d)
{
    /* <(nu, 0) - (0, 1), d> = 0 on the segment between the two. */
    d[0] = -nu / (1 + nu * nu);
    d[1] = -nu * nu / (1 + nu * nu);
}
