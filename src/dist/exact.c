/* The exact engine over ranks (see exact.h). */
#include "dist/exact.h"

#include "base/error.h"

submod_status submodi_dist_exact(submodi_global *whole, double *loss, double *group_loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work)
{
    (void)loss;
    (void)group_loss;
    (void)gradient;
    (void)info;
    (void)work;
    return submodi_fail(SUBMOD_EUNSUPPORTED,
                        "%s: with several ranks settings.engine must be SUBMOD_ENGINE_HISTOGRAM",
                        whole->who);
}
