/* Decisions for each image and class by itself, and the expected scores of given ones. Results are
 * collected first, because memory may run out until the last row is done. */
#include <stdbool.h>

#include "base/internal.h"
#include "metrics/decisions/row.h"

/* Images without pixels, however many, are no work if nobody wants to know about them. */
static size_t rows_of(const submod_scores *s, bool wanted)
{
    return s->pixels || wanted ? submodi_times(s->batch, s->classes) : 0;
}

static submod_status decide_rows(submodi_row_room *room, uint8_t *masks, submod_decision_info *info)
{
    size_t p = room->probabilities.pixels;
    size_t C = room->probabilities.classes;
    size_t rows = rows_of(&room->probabilities, info != NULL);
    uint8_t *decided = submodi_work_alloc(room->work, submodi_times(rows, p), sizeof *decided);
    submod_decision_info *judged = submodi_work_alloc(room->work, rows, sizeof *judged);
    if (!decided || !judged) {
        return submodi_out_of_memory();
    }
    submod_status status = SUBMOD_OK;
    for (size_t r = 0; r < rows && status == SUBMOD_OK; r++) {
        judged[r] = (submod_decision_info){0};
        status = submodi_row_decide(room, r / C, r % C, decided + r * p, &judged[r]);
    }
    if (status == SUBMOD_OK) {
        submodi_copy_out(rows && p ? masks : NULL, decided, rows * p, sizeof *decided);
        submodi_copy_out(info, judged, rows, sizeof *judged);
    }
    return status;
}

static submod_status require_masks(const submod_scores *probabilities, const char *name,
                                   const void *masks)
{
    bool some = probabilities && probabilities->batch && probabilities->pixels;
    return some ? submodi_check_given(name, masks) : SUBMOD_OK;
}

submod_status submod_decide(const submod_scores *probabilities, uint8_t *masks,
                            const submod_decision_settings *settings, submod_decision_info *info,
                            submod_work *work)
{
    submodi_row_room room;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = require_masks(probabilities, "masks", masks);
    status = status ? status : submodi_row_prepare(&room, probabilities, settings, w);
    status = status ? status : decide_rows(&room, masks, info);
    submodi_scope_close(&scope);
    return submodi_return("submod_decide", status);
}

submod_status submod_expected_score(const submod_scores *probabilities, const uint8_t *masks,
                                    double *lower, double *upper,
                                    const submod_decision_settings *settings, submod_work *work)
{
    submodi_row_room room;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = require_masks(probabilities, "masks", masks);
    status = status ? status : submodi_row_prepare(&room, probabilities, settings, w);
    size_t rows = status ? 0 : rows_of(&room.probabilities, lower || upper);
    for (size_t r = 0; r < rows; r++) {
        submod_decision_info info;
        size_t C = room.probabilities.classes;
        submodi_row_judge(&room, r / C, r % C, masks + r * room.probabilities.pixels, &info);
        submodi_copy_out(lower ? lower + r : NULL, &info.lower, 1, sizeof *lower);
        submodi_copy_out(upper ? upper + r : NULL, &info.upper, 1, sizeof *upper);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_expected_score", status);
}
