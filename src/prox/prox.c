/* The one entry to all proximal operators: checks, picks the method, measures what came out. */
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "prox/solver.h"
#include "submod/lovasz.h"

static const char who[] = "submod_prox";

/* A method, and the functions it can do. */
typedef struct method {
    submod_prox_method method;
    const char *name;
    bool (*can)(const submod_fn *fn);
    submodi_prox_solve *solve;
} method;

/* In the order in which SUBMOD_PROX_AUTO tries them. */
static const method methods[] = {
    {SUBMOD_PROX_AUTO, "auto", NULL, NULL},
};

submod_prox_settings submod_prox_defaults(void)
{
    return (submod_prox_settings){.tolerance = 1e-10};
}
