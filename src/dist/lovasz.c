/* The Lovász losses of a batch that is spread over ranks: the entries (see dist.h). */
#include "base/error.h"
#include "dist/loss_call.h"

static submod_status at_once(const char *who, submodi_kind kind, const submod_comm *comm,
                             const submod_scores *scores, const submod_labels *labels, double *loss,
                             const submod_gradient *gradient, const submod_loss_settings *settings,
                             submod_loss_info *info, submod_work *work)
{
    const submodi_loss_arguments x = {who, kind, comm, scores, labels, gradient, settings};
    submod_dist_call call;
    submod_status status = submodi_loss_begin(&call, SUBMOD_OK, &x, true, work);
    return submodi_call_end(&call, status, loss, info);
}

/* Without a place for the call no rank can be told anything: that fails alone, as a wrong comm. */
static submod_status start(const char *who, submodi_kind kind, const submod_comm *comm,
                           const submod_scores *scores, const submod_labels *labels,
                           const submod_gradient *gradient, submod_dist_call **call,
                           const submod_loss_settings *settings)
{
    const submodi_loss_arguments x = {who, kind, comm, scores, labels, gradient, settings};
    submodi_new_call made;
    submod_status status = submodi_require_given(who, "call", call);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_call_make(who, &made);
    status = submodi_loss_begin(made.call, made.status, &x, false, NULL);
    return submodi_call_hand_out(&made, status, call);
}

/* ---- softmax ---- */

submod_status submod_dist_lovasz_softmax(const submod_comm *comm, const submod_scores *scores,
                                         const submod_labels *labels, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings,
                                         submod_loss_info *info, submod_work *work)
{
    return at_once("submod_dist_lovasz_softmax", SUBMODI_LOVASZ_SOFTMAX, comm, scores, labels, loss,
                   gradient, settings, info, work);
}

submod_status submod_dist_lovasz_softmax_start(const submod_comm *comm, const submod_scores *scores,
                                               const submod_labels *labels,
                                               const submod_gradient *gradient,
                                               submod_dist_call **call,
                                               const submod_loss_settings *settings)
{
    return start("submod_dist_lovasz_softmax_start", SUBMODI_LOVASZ_SOFTMAX, comm, scores, labels,
                 gradient, call, settings);
}

/* ---- sigmoid ---- */

submod_status submod_dist_lovasz_sigmoid(const submod_comm *comm, const submod_scores *scores,
                                         const submod_labels *labels, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings,
                                         submod_loss_info *info, submod_work *work)
{
    return at_once("submod_dist_lovasz_sigmoid", SUBMODI_LOVASZ_SIGMOID, comm, scores, labels, loss,
                   gradient, settings, info, work);
}

submod_status submod_dist_lovasz_sigmoid_start(const submod_comm *comm, const submod_scores *scores,
                                               const submod_labels *labels,
                                               const submod_gradient *gradient,
                                               submod_dist_call **call,
                                               const submod_loss_settings *settings)
{
    return start("submod_dist_lovasz_sigmoid_start", SUBMODI_LOVASZ_SIGMOID, comm, scores, labels,
                 gradient, call, settings);
}

/* ---- hinge ---- */

submod_status submod_dist_lovasz_hinge(const submod_comm *comm, const submod_scores *scores,
                                       const submod_labels *labels, double *loss,
                                       const submod_gradient *gradient,
                                       const submod_loss_settings *settings, submod_loss_info *info,
                                       submod_work *work)
{
    return at_once("submod_dist_lovasz_hinge", SUBMODI_LOVASZ_HINGE, comm, scores, labels, loss,
                   gradient, settings, info, work);
}

submod_status submod_dist_lovasz_hinge_start(const submod_comm *comm, const submod_scores *scores,
                                             const submod_labels *labels,
                                             const submod_gradient *gradient,
                                             submod_dist_call **call,
                                             const submod_loss_settings *settings)
{
    return start("submod_dist_lovasz_hinge_start", SUBMODI_LOVASZ_HINGE, comm, scores, labels,
                 gradient, call, settings);
}
