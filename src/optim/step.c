/* What all step rules share, and the simplest of them: x <- x - eta g. O(n) per step. */
#include "optim/step.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"

submod_status submodi_step_create(size_t n, submodi_step_move *move, size_t vectors,
                                  submod_step **step)
{
    if (!step || n == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s", step ? "n must be > 0" : "step is NULL");
    }
    size_t bytes = 0;
    bool fits = true;
    for (size_t i = 0; i <= vectors; i++) { /* one more for next */
        fits = fits && submodi_add_size(&bytes, n, sizeof(double));
    }
    submod_step *s = fits ? submodi_alloc(1, sizeof *s) : NULL;
    double *memory = s ? submodi_alloc(bytes, 1) : NULL;
    if (!memory) {
        submodi_free(s);
        return submodi_out_of_memory();
    }
    *s = (submod_step){
        .n = n, .move = move, .vectors = vectors, .memory = memory, .next = memory + vectors * n};
    submod_step_reset(s);
    *step = s;
    return SUBMOD_OK;
}

submod_status submodi_step_wrap(submod_step *inner, submodi_step_move *move, size_t vectors,
                                submod_step **step)
{
    submod_status status = submodi_check_given("inner", inner);
    status = status ? status : submodi_step_create(inner->n, move, vectors, step);
    if (status == SUBMOD_OK) {
        (*step)->inner = inner;
        submod_step_reset(inner);
    }
    return status;
}

void submod_step_reset(submod_step *step)
{
    for (; step; step = step->inner) {
        step->count = 0;
        for (size_t i = 0; i < step->vectors * step->n; i++) {
            step->memory[i] = 0;
        }
    }
}

void submod_step_free(submod_step *step)
{
    while (step) {
        submod_step *inner = step->inner;
        submodi_free(step->memory);
        submodi_free(step);
        step = inner;
    }
}

const double *submodi_step_answer(const submod_step *step, const double *x)
{
    return step->answer && step->count > 0 ? step->answer : x;
}

submod_status submod_step_answer(const submod_step *step, const double *x, double *answer)
{
    submod_status status = submodi_check_given("step", step);
    status = status ? status : submodi_check_given("x", x);
    status = status ? status : submodi_check_given("answer", answer);
    if (status == SUBMOD_OK) {
        memmove(answer, submodi_step_answer(step, x), step->n * sizeof *x);
    }
    return submodi_return("submod_step_answer", status);
}

void submodi_step_move_on(submod_step *step, double eta, const double *g, const double *x,
                          double *next)
{
    step->count++;
    step->move(step, eta, g, x, next);
}

submod_status submod_step_apply(submod_step *step, double eta, const double *g, double *x)
{
    submod_status status = submodi_check_given("step", step);
    status = status ? status : submodi_check_given("g", g);
    status = status ? status : submodi_check_given("x", x);
    status = status ? status : submodi_check_positive("eta", eta);
    status = status ? status : submodi_check_finite("g", g, step->n);
    status = status ? status : submodi_check_finite("x", x, step->n);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_step_apply", status);
    }
    submodi_step_move_on(step, eta, g, x, step->next);
    if (!submodi_all_finite(step->next, step->n)) {
        return submodi_return("submod_step_apply",
                              submodi_fail(SUBMOD_ENUMERIC, "the step overflows"));
    }
    memcpy(x, step->next, step->n * sizeof *x);
    return SUBMOD_OK;
}

static void descend(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    for (size_t i = 0; i < step->n; i++) {
        next[i] = x[i] - eta * g[i];
    }
}

submod_status submod_step_gd(size_t n, submod_step **step)
{
    return submodi_return("submod_step_gd", submodi_step_create(n, descend, 0, step));
}
