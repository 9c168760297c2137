/* One image and class: checks, the ranking, the method, and what is expected of the result. */
#include "metrics/decisions/row.h"

#include "base/internal.h"
#include "base/sort.h"
#include "loss/tensors/float_bits.h"
#include "loss/tensors/rows.h"
#include "metrics/decisions/methods.h"

submod_decision_settings submod_decision_defaults(void)
{
    return (submod_decision_settings){
        .score = SUBMOD_DECISION_IOU, .method = SUBMOD_DECISION_RANK, .empty = 1};
}

/* ---- checks ---- */

static submod_status require_settings(const submod_decision_settings *s)
{
    if ((unsigned)s->score > SUBMOD_DECISION_DICE) {
        return submodi_fail(SUBMOD_EINVAL, "score = %d is unknown; see submod_decision_score",
                            (int)s->score);
    }
    if ((unsigned)s->method > SUBMOD_DECISION_HALF) {
        return submodi_fail(SUBMOD_EINVAL, "method = %d is unknown; see submod_decision_method",
                            (int)s->method);
    }
    if (!(s->empty >= 0 && s->empty <= 1)) {
        return submodi_fail(SUBMOD_EINVAL, "empty = %g must be from 0 to 1", s->empty);
    }
    return SUBMOD_OK;
}

static submod_status require_view(const submod_scores *s)
{
    if (s->type != SUBMOD_SCORE_F32 && s->type != SUBMOD_SCORE_F16 &&
        s->type != SUBMOD_SCORE_BF16) {
        return submodi_fail(SUBMOD_EINVAL,
                            "probabilities.type = %d is unknown; see submod_score_type",
                            (int)s->type);
    }
    if (s->classes == 0 || s->classes > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "probabilities.classes = %zu must be from 1 to 2^31 - 1",
                            s->classes);
    }
    if (s->pixels > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%zu pixels are too many; at most 2^31 - 1 an image",
                            s->pixels);
    }
    if (!s->data && s->batch && s->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "probabilities.data is NULL");
    }
    size_t size = s->type == SUBMOD_SCORE_F32 ? sizeof(float) : sizeof(uint16_t);
    const ptrdiff_t stride[3] = {s->batch_stride, s->class_stride, s->pixel_stride};
    if (!submodi_reachable((size_t[]){s->batch, s->classes, s->pixels}, stride, size)) {
        return submodi_fail(SUBMOD_EINVAL, "the strides of probabilities reach beyond all memory");
    }
    return SUBMOD_OK;
}

static submod_status require_probabilities(const float *q, size_t n, size_t b, size_t c)
{
    size_t i = 0;
    while (i < n && q[i] >= 0 && q[i] <= 1) {
        i++;
    }
    if (i == n) {
        return SUBMOD_OK;
    }
    return submodi_is_special(q[i])
               ? submodi_fail(SUBMOD_ENONFINITE, "probabilities[%zu][%zu][%zu] is %g", b, c, i,
                              (double)q[i])
               : submodi_fail(SUBMOD_EINVAL, "probabilities[%zu][%zu][%zu] = %g is not in [0, 1]",
                              b, c, i, (double)q[i]);
}

const float *submodi_row_read_all(submodi_row_room *room, size_t b, size_t c)
{
    return submodi_row(&room->probabilities, b, c, 0, room->probabilities.pixels, room->buffer);
}

static submod_status require_rows(submodi_row_room *room)
{
    const submod_scores *s = &room->probabilities;
    size_t images = s->pixels ? s->batch : 0;
    submod_status status = SUBMOD_OK;
    for (size_t b = 0; b < images && status == SUBMOD_OK; b++) {
        for (size_t c = 0; c < s->classes && status == SUBMOD_OK; c++) {
            const float *row = submodi_row_read_all(room, b, c);
            status = require_probabilities(row, s->pixels, b, c);
        }
    }
    return status;
}

submod_status submodi_row_prepare(submodi_row_room *room, const submod_scores *probabilities,
                                  const submod_decision_settings *settings, submod_work *work)
{
    room->work = work;
    room->settings = settings ? *settings : submod_decision_defaults();
    submod_status status = submodi_check_given("probabilities", probabilities);
    status = status ? status : require_settings(&room->settings);
    status = status ? status : require_view(probabilities);
    if (status != SUBMOD_OK) {
        return status;
    }
    room->probabilities = *probabilities;
    size_t p = probabilities->pixels;
    room->buffer = submodi_work_alloc(work, p, sizeof *room->buffer);
    room->q = submodi_work_alloc(work, p, sizeof *room->q);
    room->inside = submodi_work_alloc(work, p + 1, sizeof *room->inside);
    room->outside = submodi_work_alloc(work, p + 1, sizeof *room->outside);
    room->found = submodi_work_alloc(work, p + 1, sizeof *room->found);
    if (!room->buffer || !room->q || !room->inside || !room->outside || !room->found) {
        return submodi_out_of_memory();
    }
    room->rule.count = 0;
    return require_rows(room);
}

/* ---- a row ---- */

static submodi_prefixes prefixes_of(submodi_row_room *room)
{
    submodi_prefixes s = {.score = room->settings.score,
                          .empty = room->settings.empty,
                          .q = room->q,
                          .p = room->probabilities.pixels,
                          .inside = room->inside,
                          .outside = room->outside,
                          .rule = &room->rule};
    submodi_prefixes_sum(&s);
    return s;
}

/* *info for the first k pixels, but for `best`. */
static void judge(const submodi_prefixes *s, size_t k, submod_decision_info *info)
{
    submodi_interval expected;
    submodi_expect(s, k, k, 0, &expected);
    info->lower = expected.lower;
    info->upper = expected.upper;
    info->threshold = 1;
    for (size_t i = 0; i < k; i++) {
        info->threshold = s->q[i] < info->threshold ? s->q[i] : info->threshold;
    }
    info->chosen = k;
    info->expectation = submodi_reach(s, k) <= SUBMODI_SHORT_REACH ? SUBMOD_EXPECTATION_QUADRATURE
                                                                   : SUBMOD_EXPECTATION_SERIES;
}

static size_t choose(const submodi_prefixes *s, submod_decision_method method,
                     submodi_interval *found, double *best)
{
    size_t ranked = submodi_choose_ranked(s, found, best);
    switch (method) {
    case SUBMOD_DECISION_GREEDY: return submodi_choose_greedily(s, found);
    case SUBMOD_DECISION_THRESHOLD: return submodi_choose_threshold(s);
    case SUBMOD_DECISION_HALF: return submodi_above(s, 0.5);
    default: return ranked;
    }
}

submod_status submodi_row_decide(submodi_row_room *room, size_t b, size_t c, uint8_t *mask,
                                 submod_decision_info *info)
{
    size_t p = room->probabilities.pixels;
    const float *row = submodi_row_read_all(room, b, c);
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, room->work);
    submodi_sorted sorted = {0};
    for (size_t i = 0; i < p; i++) {
        room->inside[i] = (double)row[i]; /* until the prefixes need it */
    }
    if (p && submodi_sort_f64(room->inside, p, w, &sorted) != SUBMOD_OK) {
        submodi_scope_close(&scope);
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < p; i++) {
        room->q[i] = (double)row[submodi_sorted_index(&sorted, i)];
    }
    submodi_prefixes s = prefixes_of(room);
    size_t k = choose(&s, room->settings.method, room->found, &info->best);
    judge(&s, k, info);
    for (size_t i = 0; i < p; i++) {
        mask[submodi_sorted_index(&sorted, i)] = i < k;
    }
    submodi_scope_close(&scope);
    return SUBMOD_OK;
}

void submodi_row_judge(submodi_row_room *room, size_t b, size_t c, const uint8_t *mask,
                       submod_decision_info *info)
{
    const float *row = submodi_row_read_all(room, b, c);
    size_t p = room->probabilities.pixels;
    size_t k = 0;
    size_t rest = p;
    for (size_t i = 0; i < p; i++) {
        size_t at = mask[i] ? k++ : --rest;
        room->q[at] = (double)row[i];
    }
    submodi_prefixes s = prefixes_of(room);
    judge(&s, k, info);
}
