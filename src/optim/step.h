/* The contract between step rules, one per file, and their users (step.c). */
#ifndef SUBMODI_OPTIM_STEP_H
#define SUBMODI_OPTIM_STEP_H

#include <submod/steps.h>

enum { SUBMODI_STEP_PARAMETERS = 4 };

/* Writes x moved along g to next, and updates the memory. g, x and next have n numbers; g, x and
 * eta are checked already. */
typedef void submodi_step_move(submod_step *step, double eta, const double *g, const double *x,
                               double *next);

struct submod_step {
    size_t n;
    submodi_step_move *move;
    double parameter[SUBMODI_STEP_PARAMETERS];
    uint64_t count;       /* moves since the last reset */
    size_t vectors;       /* how many vectors of n numbers the rule remembers */
    double *memory;       /* vectors * n numbers, 0 at the start */
    double *next;         /* n numbers */
    const double *answer; /* in memory, valid after the first move; NULL: x */
    submod_step *inner;   /* the rule that this one is around, owned; or NULL */
};

/* Creates a rule with room for its vectors and no parameters yet. */
submod_status submodi_step_create(size_t n, submodi_step_move *move, size_t vectors,
                                  submod_step **step);
/* The same around a rule, which it takes over and resets if it succeeds. */
submod_status submodi_step_wrap(submod_step *inner, submodi_step_move *move, size_t vectors,
                                submod_step **step);

/* Moves without any check: for rules around others. */
void submodi_step_move_on(submod_step *step, double eta, const double *g, const double *x,
                          double *next);

/* The answer of a rule that has led to x: x, or a vector of the rule's. */
const double *submodi_step_answer(const submod_step *step, const double *x);

#endif
