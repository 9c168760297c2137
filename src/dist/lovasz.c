/* The Lovász losses of a batch that is spread over ranks (see dist.h). */
#include "base/error.h"
#include <submod/dist.h>

static submod_status alone(const char *who, const submod_comm *comm)
{
    return !comm || comm->ranks == 1
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EUNSUPPORTED, "%s: not written yet", who);
}

submod_status submod_dist_lovasz_softmax(const submod_comm *comm, const submod_scores *scores,
                                         const submod_labels *labels, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings,
                                         submod_loss_info *info, submod_work *work)
{
    submod_status status = alone("submod_dist_lovasz_softmax", comm);
    return status ? status
                  : submod_lovasz_softmax(scores, labels, loss, gradient, settings, info, work);
}

submod_status submod_dist_lovasz_sigmoid(const submod_comm *comm, const submod_scores *scores,
                                         const submod_labels *labels, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings,
                                         submod_loss_info *info, submod_work *work)
{
    submod_status status = alone("submod_dist_lovasz_sigmoid", comm);
    return status ? status
                  : submod_lovasz_sigmoid(scores, labels, loss, gradient, settings, info, work);
}

submod_status submod_dist_lovasz_hinge(const submod_comm *comm, const submod_scores *scores,
                                       const submod_labels *labels, double *loss,
                                       const submod_gradient *gradient,
                                       const submod_loss_settings *settings, submod_loss_info *info,
                                       submod_work *work)
{
    submod_status status = alone("submod_dist_lovasz_hinge", comm);
    return status ? status
                  : submod_lovasz_hinge(scores, labels, loss, gradient, settings, info, work);
}
