/* The minimum that splitting is compared with. */
#include "splitting.h"

#include <string.h>

#include "support.h"

double bundle_minimum(const submod_problem *whole, double decay, double *best)
{
    submod_optim_info info;
    submod_bundle_settings s = submod_bundle_defaults();
    memset(best, 0, whole->dimension * sizeof *best);
    s.run.weight_decay = decay;
    s.radius = 1e3;
    s.run.tolerance = 1e-9;
    s.run.max_iterations = 3000;
    ck_assert_ok(submod_bundle(whole, best, &s, &info, NULL));
    return info.f;
}
