/* Runs problems by the device pipeline on fibers. */
#include "on_shim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

bool is_well_in_a_child(bool (*well)(void))
{
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL); /* Check has its own */
        alarm(10);                /* it may wait for ever */
        _exit(well() ? 0 : 1);
    }
    int status = 0;
    ck_assert(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

submodi_gpu_tuning random_tuning(submod_rng *rng)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 32U << submod_rng_below(rng, 5);
    t.stage_bytes = submod_rng_below(rng, 2) ? t.stage_bytes : submod_rng_below(rng, 2000);
    t.window_bytes = submod_rng_below(rng, 2) ? t.window_bytes : submod_rng_below(rng, 2000);
    t.blocks = (uint32_t)submod_rng_below(rng, 12) + 1;
    t.table_bytes = submod_rng_below(rng, 2) ? t.table_bytes : submod_rng_below(rng, 1 << 18);
    t.small = (uint32_t)(submod_rng_below(rng, 3) ? submod_rng_below(rng, 64) : t.small);
    t.large = (uint32_t)submod_rng_below(rng, 600);
    t.together = submod_rng_below(rng, 3000);
    t.tile = (uint32_t)(1 + submod_rng_below(rng, 300));
    return t;
}

submod_status start_task(submodi_gpu_task *task, kind k, const submod_scores *scores,
                         const submod_labels *labels, const submod_loss_settings *s)
{
    submod_loss_settings own = settings_for(k, s);
    if (k == HINGE) {
        return submodi_gpu_loss_start(task, "submod_lovasz_hinge", SUBMODI_LOVASZ_HINGE, scores,
                                      labels, &own);
    }
    return is_multilabel(k) ? submodi_gpu_loss_start(task, "submod_lovasz_sigmoid",
                                                     SUBMODI_LOVASZ_SIGMOID, scores, labels, &own)
                            : submodi_gpu_loss_start(task, "submod_lovasz_softmax",
                                                     SUBMODI_LOVASZ_SOFTMAX, scores, labels, &own);
}

submod_status queue_on_shim(submodi_gpu_task *task, submod_gpu_result *r, const submod_gradient *to,
                            const submodi_gpu_tuning *t)
{
    submodi_gpu_plan plan;
    submodi_gpu_backend b = shim_backend(task->batch.who);
    submodi_gpu_task copy = *task; /* a batch gets its shape once */
    submod_status status = submodi_batch_shape(&copy.batch, to);
    if (status == SUBMOD_OK) {
        status = submodi_gpu_plan_make(&copy, t, &plan);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_gpu_place place = {0, NULL, aligned_alloc(256, plan.bytes), plan.bytes};
    memset(place.workspace, 0xa5, plan.bytes);
    status = submodi_gpu_queue(&b, task, r, to, &place, t);
    free(place.workspace);
    return status;
}

submod_status on_shim(const example *d, double *loss, const submod_gradient *g,
                      submod_loss_info *info, const submod_loss_settings *s, const void *tuning)
{
    submod_scores scores = scores_of(d);
    submod_labels labels = labels_of(d);
    submodi_gpu_task task;
    submod_status status = start_task(&task, d->kind, &scores, &labels, s);
    submodi_gpu_backend b = shim_backend(task.batch.who);
    return status == SUBMOD_OK ? submodi_gpu_loss_host(&b, 0, &task, loss, g, info, tuning)
                               : status;
}
