/* Calls over ranks in two halves (see call.h). */
#include "dist/call.h"

#include "base/error.h"

void submodi_call_make(const char *who, submodi_new_call *made)
{
    made->call = submodi_alloc(1, sizeof *made->call);
    made->status = made->call ? SUBMOD_OK : submodi_nomem(who);
    made->call = made->call ? made->call : &made->spare;
}

submod_status submodi_call_hand_out(submodi_new_call *made, submod_status begun,
                                    submod_dist_call **call)
{
    if (begun == SUBMOD_OK) {
        *call = made->call;
        return SUBMOD_OK;
    }
    submodi_scope_close(&made->call->scope);
    if (made->call != &made->spare) {
        submodi_free(made->call);
    }
    return begun;
}

submod_status submodi_call_end(submod_dist_call *call, submod_status begun, double *loss,
                               submod_loss_info *info)
{
    double value = 0;
    submod_loss_info i = {0};
    submod_status status = begun ? begun : call->end(call, &value, &i);
    submodi_scope_close(&call->scope);
    if (status == SUBMOD_OK) {
        submodi_copy_out(loss, &value, 1, sizeof *loss);
        submodi_copy_out(info, &i, 1, sizeof *info);
    }
    return status;
}

submod_status submod_dist_finish(submod_dist_call *call, double *loss, submod_loss_info *info)
{
    submod_status status = submodi_require_given("submod_dist_finish", "call", call);
    if (status != SUBMOD_OK) {
        return status;
    }
    status = submodi_call_end(call, SUBMOD_OK, loss, info);
    submodi_free(call);
    return status;
}
