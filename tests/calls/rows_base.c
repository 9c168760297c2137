/* Rows of base.h (see calls.h). */
#include "calls.h"

static submod_status argsort(call *c)
{
    const call_data *d = c->data;
    return submod_argsort(NEEDED(d->x), d->pixels, NEEDED(ARRAY(int32_t, d->pixels)), c->work);
}

static submod_status argsort_tied(call *c)
{
    const call_data *d = c->data;
    return submod_argsort(NEEDED(d->tied), d->pixels, NEEDED(ARRAY(int32_t, d->pixels)), c->work);
}

static void release_work(void *work)
{
    submod_work_free(work);
}

static submod_status work_create(call *c)
{
    return submod_work_create(NEEDED(call_object(c, NULL, release_work)));
}

static const call_row rows[] = {{"submod_argsort", CALL_PARALLEL | CALL_QUIET, argsort},
                                {"submod_argsort: ties", CALL_PARALLEL | CALL_QUIET, argsort_tied},
                                {"submod_work_create", 0, work_create}};
const call_table base_calls = {rows, sizeof rows / sizeof *rows};
