/* The baseline losses under one signature, and random problems for them (see baselines.h). */
#include "baselines.h"

#include "support.h"

static submod_status cross_entropy(const problem *p, double *loss, const submod_gradient *g,
                                   submod_work *work)
{
    return submod_cross_entropy(&p->scores, &p->labels, loss, g, &p->settings, work);
}

static submod_status hinge(const problem *p, double *loss, const submod_gradient *g,
                           submod_work *work)
{
    return submod_hinge(&p->scores, &p->labels, loss, g, &p->settings, work);
}

static submod_status rahman_wang(const problem *p, double *loss, const submod_gradient *g,
                                 submod_work *work)
{
    return submod_rahman_wang(&p->scores, &p->labels, loss, g, &p->settings, work);
}

static submod_status dice(const problem *p, double *loss, const submod_gradient *g,
                          submod_work *work)
{
    return submod_soft_dice(&p->scores, &p->labels, loss, g, &p->settings, work);
}

static submod_status jaccard(const problem *p, double *loss, const submod_gradient *g,
                             submod_work *work)
{
    return submod_soft_jaccard(&p->scores, &p->labels, loss, g, &p->settings, work);
}

call *const calls[KINDS] = {cross_entropy, hinge, rahman_wang, dice, jaccard};

bool is_binary(int kind)
{
    return kind == HINGE || kind == RAHMAN_WANG;
}

void fill(instance *e, int kind, submod_rng *rng, bool probabilities)
{
    e->classes = is_binary(kind) ? 1 : C;
    for (size_t k = 0; k < SIZE; k++) {
        double value = probabilities ? submod_rng_uniform(rng) : 2 * submod_rng_normal(rng);
        e->x[k] = (float)value;
        e->exact[k] = (double)e->x[k];
    }
    for (size_t k = 0; k < LABELS; k++) { /* class 3 in the first image only, 4 nowhere */
        uint64_t y = submod_rng_below(rng, is_binary(kind) ? 2 : k < N ? 4 : 3);
        e->label[k] = submod_rng_below(rng, 5) == 0 ? IGNORED : (int32_t)y;
    }
    for (size_t c = 0; c < C; c++) {
        e->weight[c] = 0.5 + submod_rng_uniform(rng);
    }
    e->weight[1] = 3;
}

problem problem_of(const instance *e)
{
    problem p =
        problem_with(submod_scores_f32(e->x, B, e->classes, N), submod_labels_i32(e->label, B, N));
    p.settings.has_ignore = 1;
    p.settings.ignore_index = IGNORED;
    return p;
}

problem problem_with(submod_scores scores, submod_labels labels)
{
    return (problem){scores, labels, submod_loss_defaults()};
}

double evaluate(int kind, const problem *p, float *dense)
{
    double loss = -1;
    submod_gradient g = submod_gradient_dense(dense, p->scores.classes, p->scores.pixels);
    ck_assert_ok(calls[kind](p, &loss, &g, NULL));
    return loss;
}
