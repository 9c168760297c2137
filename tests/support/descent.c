/* Gradient descent that records every iteration. */
#include "descent.h"

#include "support.h"

static int note(void *ctx, const submod_trace *line)
{
    record *r = ctx;
    ck_assert_uint_lt(r->count, 200);
    r->lines[r->count++] = *line;
    return line->iteration == r->stop_at;
}

submod_descent_settings settings_of(double eta, record *r)
{
    submod_descent_settings s = submod_descent_defaults();
    *r = (record){.stop_at = SIZE_MAX};
    s.schedule = submod_schedule_constant(eta);
    s.run.trace = note;
    s.run.trace_ctx = r;
    s.run.max_iterations = 100;
    return s;
}

submod_status run(const submod_problem *p, double *x, const submod_descent_settings *s,
                  submod_optim_info *info)
{
    submod_step *step = NULL;
    ck_assert_ok(submod_step_gd(p->dimension, &step));
    submod_status status = submod_descend(p, step, x, s, info, NULL);
    submod_step_free(step);
    return status;
}
