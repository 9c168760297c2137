/* Runs problems by the device pipeline on fibers. */
#include "on_shim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "views.h"

/* seconds: of its own time, as it may wait for ever; 0: as long as it takes. */
static bool ends_well(bool (*well)(void), rlim_t seconds)
{
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        const struct rlimit most = {seconds, seconds};
        if (seconds) {
            setrlimit(RLIMIT_CPU, &most);
        }
        _exit(well() ? 0 : 1);
    }
    int status = 0;
    ck_assert(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static rlim_t seconds_of_children(void)
{
    struct rusage used;
    ck_assert(getrusage(RUSAGE_CHILDREN, &used) == 0);
    return (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
}

bool is_well_in_a_child(bool (*well)(void))
{
    static bool (*tried)(void);
    static rlim_t most;
    if (tried != well) { /* with nothing left out: else what is noticed may be the child itself */
        const shim_options asked = shim;
        shim.left_out.line = 0;
        shim.starved = SUBMODI_GPU_KERNEL_COUNT;
        rlim_t before = seconds_of_children();
        ck_assert_msg(ends_well(well, 0), "a child in which nothing is wrong does not end well");
        most = 10 + 4 * (seconds_of_children() - before);
        shim = asked;
        tried = well;
    }
    return ends_well(well, most);
}

submodi_gpu_tuning random_tuning(submod_rng *rng)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 32U << submod_rng_below(rng, 5);
    t.stage_bytes = submod_rng_below(rng, 2) ? t.stage_bytes : submod_rng_below(rng, 2000);
    t.window_bytes = submod_rng_below(rng, 2) ? t.window_bytes : submod_rng_below(rng, 2000);
    t.blocks = (uint32_t)submod_rng_below(rng, 12) + 1;
    t.pixels = 1U << submod_rng_below(rng, 4);
    t.few = submod_rng_below(rng, 3) ? t.few : 2;
    t.few_blocks = (uint32_t)submod_rng_below(rng, 40) + 1;
    t.few_pixels = 1U << submod_rng_below(rng, 4);
    t.table_bytes = submod_rng_below(rng, 2) ? t.table_bytes : submod_rng_below(rng, 1 << 18);
    t.small = (uint32_t)(submod_rng_below(rng, 3) ? submod_rng_below(rng, 64) : t.small);
    t.large = (uint32_t)submod_rng_below(rng, 600);
    t.together = submod_rng_below(rng, 3000);
    t.tile = (uint32_t)(1 + submod_rng_below(rng, 300));
    return t;
}

void set_order(int number)
{
    shim.order = (shim_order)(number % SHIM_ORDERS);
    submod_rng_seed(&shim.rng, (uint64_t)number);
}

submod_status start_task(submodi_gpu_task *task, kind k, const submod_scores *scores,
                         const submod_labels *labels, const submod_loss_settings *s)
{
    submod_loss_settings own = settings_for(k, s);
    if (k == HINGE) {
        return submodi_gpu_loss_start(task, SUBMODI_LOVASZ_HINGE, scores, labels, &own);
    }
    return is_multilabel(k)
               ? submodi_gpu_loss_start(task, SUBMODI_LOVASZ_SIGMOID, scores, labels, &own)
               : submodi_gpu_loss_start(task, SUBMODI_LOVASZ_SOFTMAX, scores, labels, &own);
}

submod_status queue_on_shim(submodi_gpu_task *task, submod_gpu_result *r, const submod_gradient *to,
                            const submodi_gpu_tuning *t)
{
    submodi_gpu_plan plan;
    submodi_gpu_backend b = shim_backend();
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
    submod_gpu_result r;
    submod_status status = start_task(&task, d->kind, &scores, &labels, s);
    status = status ? status : queue_on_shim(&task, &r, g, tuning);
    return status ? status : read_result(&r, loss, info);
}

bool rows_are_right(submod_rng *rng, int number)
{
    bool small = number % 4 == 3; /* images of less than a warp */
    int64_t C = 2 + number % 3, N = small ? 7 : 300;
    views v = random_views(rng, SOFTMAX, small ? 40 : 1, (size_t)C, (size_t)N, true);
    v.weighted = false;
    if (number % 3 != 2) {
        v.scores.class_stride = 1;
        v.scores.pixel_stride = C;
        v.scores.batch_stride = C * N;
    }
    v.gradient.class_stride = number % 3 == 1 ? N : 1;
    v.gradient.pixel_stride = number % 3 == 1 ? 1 : C;
    v.gradient.batch_stride = C * N;
    views w = copy_views(&v);
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.delta = 0x1p-7;
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 32U << number % 2; /* so that a warp goes round several times */
    submodi_gpu_task task;
    submod_gpu_result r;
    double loss;
    submod_loss_settings of_views = settings_of_views(&w, &s);
    ck_assert_ok(views_on_cpu(&v, &loss, NULL, &s));
    ck_assert_ok(start_task(&task, SOFTMAX, &w.scores, &w.labels, &of_views));
    bool good = queue_on_shim(&task, &r, &w.gradient, &t) == SUBMOD_OK && r.status == SUBMOD_OK &&
                fabs(r.loss - loss) <= 1e-13 && memcmp(v.g.data, w.g.data, v.g.bytes) == 0;
    free_views(&v);
    free_views(&w);
    return good;
}
