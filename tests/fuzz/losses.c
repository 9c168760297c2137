/* Fuzzes the Lovász losses: tensors of any type and strides, every setting, both engines.
 *
 * Each view against the same batch as dense floats, bit by bit; the histogram engine against the
 * exact one, within the delta that it tells; two threads against one; a workspace that is used
 * again against none. Then sizes whose products wrap, a measure that lies once, and decisions from
 * the same scores. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "tensors.h"

typedef submod_status loss(const submod_scores *scores, const submod_labels *labels, double *value,
                           const submod_gradient *gradient, const submod_loss_settings *settings,
                           submod_loss_info *info, submod_work *work);

typedef struct how {
    loss *call;
    submod_engine engine;
    submod_loss_info *info;
    bool parallel; /* the dense view by two threads, the other by one */
} how;

static submod_status run(const tensors *t, const tensors_view *v, double *value,
                         const submod_gradient *gradient, const submod_loss_settings *settings,
                         const void *context)
{
    const how *h = context;
    submod_loss_settings s = *settings;
    s.engine = h->engine;
    submod_set_num_threads(h->parallel && v == &t->dense ? 2 : 1);
    return h->call(&v->scores, &v->labels, value, gradient, &s, h->info,
                   v == &t->any ? tensors_work(t) : NULL);
}

/* The exact engine does not look at what only the other one needs; and a custom measure that fails
 * somewhere need not be asked there by both. */
static bool may_differ(submod_status ranked, submod_status counted)
{
    return strstr(submod_last_error(), "bins") || strstr(submod_last_error(), "delta") ||
           ranked == SUBMOD_ECALLBACK || counted == SUBMOD_ECALLBACK;
}

static void compare_engines(tensors *t, loss *call, bool parallel)
{
    double exact, histogram;
    submod_loss_info info;
    const how by_rank = {call, SUBMOD_ENGINE_EXACT, NULL, parallel};
    const how by_count = {call, SUBMOD_ENGINE_HISTOGRAM, &info, parallel};
    submod_status ranked = tensors_compare(t, &(tensors_call){run, &by_rank}, &exact);
    submod_status counted = tensors_compare(t, &(tensors_call){run, &by_count}, &histogram);
    FUZZ_CHECK(ranked == counted || may_differ(ranked, counted), "status %d ranked, %d counted",
               (int)ranked, (int)counted);
    if (ranked == SUBMOD_OK && counted == SUBMOD_OK) {
        /* Errors are floats; so are the largest margins of a hinge. */
        double rounding = 1e-5 * fmax(1, fabs(exact));
        FUZZ_CHECK(fuzz_near(exact, histogram, info.delta + rounding),
                   "%.17g ranked, %.17g counted, delta %g", exact, histogram, info.delta);
    }
}

/* The scores as probabilities: those that are none are refused, and nothing is written then. */
static void decide(dice *d, const tensors *t)
{
    static const uint8_t NOTHING = 0x5a;
    submod_decision_settings settings = submod_decision_defaults();
    size_t cells = t->batch * t->classes * t->pixels;
    uint8_t *masks = fuzz_alloc(cells, 1);
    settings.score = (submod_decision_score)dice_below(d, 3);
    settings.method = (submod_decision_method)dice_below(d, 5);
    memset(masks, NOTHING, cells);
    submod_status status = submod_decide(&t->any.scores, masks, &settings, NULL, tensors_work(t));
    FUZZ_CHECK(status == SUBMOD_OK || submod_last_error()[0], "status %d without words",
               (int)status);
    for (size_t k = 0; k < cells; k++) {
        FUZZ_CHECK(status == SUBMOD_OK ? masks[k] <= 1 : masks[k] == NOTHING,
                   "status %d, the mask at %zu is %d", (int)status, k, (int)masks[k]);
    }
    free(masks);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct {
        loss *call;
        tensors_labels labels;
        bool probabilities;
    } losses[] = {{submod_lovasz_softmax, LABELS_OF_CLASSES, false},
                  {submod_lovasz_softmax, LABELS_OF_CLASSES, true},
                  {submod_lovasz_sigmoid, LABELS_MULTIPLE, false},
                  {submod_lovasz_sigmoid, LABELS_MULTIPLE, true},
                  {submod_lovasz_hinge, LABELS_BINARY, false}};
    dice d = dice_of(bytes, size);
    size_t which = dice_below(&d, sizeof losses / sizeof *losses);
    tensors t;
    bool parallel = dice_once_in(&d, 16);
    submodi_set_parallel_from(1); /* these are small */
    tensors_make(&d, &t, losses[which].labels, losses[which].probabilities);
    compare_engines(&t, losses[which].call, parallel);
    const how again = {losses[which].call, (submod_engine)dice_below(&d, 2), NULL, false};
    tensors_refuse_huge(&d, &t, &(tensors_call){run, &again});
    tensors_try_lies(&d, &t, &(tensors_call){run, &again});
    decide(&d, &t);
    tensors_free(&t);
    return 0;
}
