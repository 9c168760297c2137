/* One class for every pixel. Classes decide by themselves; where they disagree, the ratio of
 * expectations decides, given what is settled:
 *
 *     score of class c, k pixels of it settled, of which m are expected to be right, of M in all:
 *     IoU  m / (k + M - m)        Dice  2 m / (k + M)
 *
 * and a pixel adds 1 to k and q to m. The result is compared with the argmax by expected scores.
 */
#include <stdbool.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/decisions/row.h"

typedef struct tally {
    double k, m, M;
} tally;

/* An image, and room for it. */
typedef struct image {
    submodi_row_room *room;
    size_t b, C, p;
    uint8_t *mask;        /* C x p: what each class has chosen */
    int32_t *owner;       /* p: the only class that has chosen a pixel, NOBODY, SEVERAL */
    int32_t *winner;      /* p labels */
    int32_t *argmax;      /* p labels */
    float *most_probable; /* p */
    tally *settled;       /* C */
    double *best;         /* C: what each class could reach */
    submod_decision_info *of_winner; /* C */
    submod_decision_info *of_argmax; /* C */
} image;

enum { NOBODY = -1, SEVERAL = -2 };

static double ratio(submod_decision_score score, tally t)
{
    bool iou = score == SUBMOD_DECISION_IOU;
    double denominator = t.k + t.M - (iou ? t.m : 0);
    return denominator > 0 ? (iou ? 1 : 2) * t.m / denominator : 0;
}

static double raised(submod_decision_score score, tally t, double q)
{
    return ratio(score, (tally){t.k + 1, t.m + q, t.M}) - ratio(score, t);
}

/* Each class by itself: mask and best. */
static submod_status decide_alone(image *a)
{
    submod_status status = SUBMOD_OK;
    for (size_t c = 0; c < a->C && status == SUBMOD_OK; c++) {
        submod_decision_info info = {0};
        status = submodi_row_decide(a->room, a->b, c, a->mask + c * a->p, &info);
        a->best[c] = info.best;
    }
    return status;
}

static void find_owners(image *a)
{
    for (size_t i = 0; i < a->p; i++) {
        a->owner[i] = NOBODY;
    }
    for (size_t c = 0; c < a->C; c++) {
        for (size_t i = 0; i < a->p; i++) {
            if (a->mask[c * a->p + i]) {
                a->owner[i] = a->owner[i] == NOBODY ? (int32_t)c : SEVERAL;
            }
        }
    }
}

static void find_settled(image *a)
{
    for (size_t c = 0; c < a->C; c++) {
        const float *row = submodi_row_read_all(a->room, a->b, c);
        tally t = {0, 0, 0};
        for (size_t i = 0; i < a->p; i++) {
            bool mine = a->owner[i] == (int32_t)c;
            t.k += mine;
            t.m += mine ? (double)row[i] : 0;
            t.M += (double)row[i];
        }
        a->settled[c] = t;
    }
}

/* Class by class, because rows may have to be converted. */
static void find_winners(image *a)
{
    double *gain = a->room->q; /* free between rows */
    for (size_t i = 0; i < a->p; i++) {
        gain[i] = -2; /* less than any */
    }
    for (size_t c = 0; c < a->C; c++) {
        const float *row = submodi_row_read_all(a->room, a->b, c);
        const uint8_t *chosen = a->mask + c * a->p;
        for (size_t i = 0; i < a->p; i++) {
            if (a->owner[i] >= 0) {
                a->winner[i] = a->owner[i];
            } else if (a->owner[i] == NOBODY || chosen[i]) {
                double r = raised(a->room->settings.score, a->settled[c], (double)row[i]);
                a->winner[i] = r > gain[i] ? (int32_t)c : a->winner[i];
                gain[i] = r > gain[i] ? r : gain[i];
            }
        }
    }
}

static void find_argmax(image *a)
{
    for (size_t i = 0; i < a->p; i++) {
        a->most_probable[i] = -1;
    }
    for (size_t c = 0; c < a->C; c++) {
        const float *row = submodi_row_read_all(a->room, a->b, c);
        for (size_t i = 0; i < a->p; i++) {
            if (row[i] > a->most_probable[i]) {
                a->most_probable[i] = row[i];
                a->argmax[i] = (int32_t)c;
            }
        }
    }
}

/* info of each class for these labels, and twice the sum of their expected scores. */
static double judge(image *a, const int32_t *labels, submod_decision_info *info)
{
    double sum = 0;
    for (size_t c = 0; c < a->C; c++) {
        for (size_t i = 0; i < a->p; i++) {
            a->mask[i] = labels[i] == (int32_t)c;
        }
        info[c] = (submod_decision_info){.best = a->best[c]};
        submodi_row_judge(a->room, a->b, c, a->mask, &info[c]);
        sum += info[c].lower + info[c].upper;
    }
    return sum;
}

static submod_status decide_image(image *a, int32_t *labels, submod_decision_info *info)
{
    submod_status status = decide_alone(a);
    if (status != SUBMOD_OK) {
        return status;
    }
    find_owners(a);
    find_settled(a);
    find_winners(a);
    find_argmax(a);
    bool won = judge(a, a->winner, a->of_winner) >= judge(a, a->argmax, a->of_argmax);
    memcpy(labels, won ? a->winner : a->argmax, a->p * sizeof *labels);
    memcpy(info, won ? a->of_winner : a->of_argmax, a->C * sizeof *info);
    return SUBMOD_OK;
}

static bool take(image *a, submod_work *w)
{
    a->mask = submodi_work_alloc(w, submodi_times(a->C, a->p), sizeof *a->mask);
    a->owner = submodi_work_alloc(w, a->p, sizeof *a->owner);
    a->winner = submodi_work_alloc(w, a->p, sizeof *a->winner);
    a->argmax = submodi_work_alloc(w, a->p, sizeof *a->argmax);
    a->most_probable = submodi_work_alloc(w, a->p, sizeof *a->most_probable);
    a->settled = submodi_work_alloc(w, a->C, sizeof *a->settled);
    a->best = submodi_work_alloc(w, a->C, sizeof *a->best);
    a->of_winner = submodi_work_alloc(w, a->C, sizeof *a->of_winner);
    a->of_argmax = submodi_work_alloc(w, a->C, sizeof *a->of_argmax);
    return a->mask && a->owner && a->winner && a->argmax && a->most_probable && a->settled &&
           a->best && a->of_winner && a->of_argmax;
}

static submod_status decide_images(submodi_row_room *room, int32_t *labels,
                                   submod_decision_info *info)
{
    const submod_scores *s = &room->probabilities;
    if (s->pixels == 0 && !info) {
        return SUBMOD_OK; /* however many images */
    }
    size_t rows = submodi_times(s->batch, s->classes);
    size_t places = submodi_times(s->batch, s->pixels);
    image a = {.room = room, .C = s->classes, .p = s->pixels};
    int32_t *decided = submodi_work_alloc(room->work, places, sizeof *decided);
    submod_decision_info *judged = submodi_work_alloc(room->work, rows, sizeof *judged);
    if (!decided || !judged || !take(&a, room->work)) {
        return submodi_out_of_memory();
    }
    submod_status status = SUBMOD_OK;
    for (; a.b < s->batch && status == SUBMOD_OK; a.b++) {
        status = decide_image(&a, decided + a.b * a.p, judged + a.b * a.C);
    }
    if (status == SUBMOD_OK) {
        submodi_copy_out(places ? labels : NULL, decided, places, sizeof *decided);
        submodi_copy_out(info, judged, rows, sizeof *judged);
    }
    return status;
}

submod_status submod_decide_classes(const submod_scores *probabilities, int32_t *labels,
                                    const submod_decision_settings *settings,
                                    submod_decision_info *info, submod_work *work)
{
    submodi_row_room room;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = submodi_row_prepare(&room, probabilities, settings, w);
    if (status == SUBMOD_OK && probabilities->batch && probabilities->pixels) {
        status = submodi_check_given("labels", labels);
    }
    status = status ? status : decide_images(&room, labels, info);
    submodi_scope_close(&scope);
    return submodi_return("submod_decide_classes", status);
}
