/* The tables of study brain: indices of each structure, the bars of the figure, the claims. */
#include "brain/results.h"

#include <stdlib.h>

#include "common/paired.h"
#include "common/summary.h"

static const char *const model_names[BRAIN_MODELS] = {"linear", "hidden layer"};
static const char *const index_names[BRAIN_INDICES] = {"Jaccard", "Dice"};

/* ---- what a model reaches ---- */

/* Slices that count: those that this fold tests (any fold: ALL_FOLDS), but for one slab. */
enum { ALL_FOLDS = BRAIN_FOLDS };
#define NO_SLAB SIZE_MAX
typedef struct selection {
    size_t fold, without;
} selection;

static bool index_of(const brain_results *r, const uint8_t *prediction, selection s, brain_index of)
{
    bool *chosen = calloc(r->slices.slices, sizeof *chosen);
    bool good = study_got(chosen);
    for (size_t z = 0; z < r->slices.slices && good; z++) {
        bool tested =
            s.fold == ALL_FOLDS ? brain_is_tested(r, z) : brain_part_of(z, s.fold) == BRAIN_TEST;
        chosen[z] = tested && z / BRAIN_SLAB != s.without;
    }
    good = good && brain_score(r, prediction, chosen, of);
    free(chosen);
    return good;
}

/* The summary over the seeds; c as in brain_mean. */
static bool over_seeds(const brain_results *r, size_t model, size_t loss, selection s, size_t index,
                       size_t c, summary *result)
{
    double value[BRAIN_SEEDS];
    for (size_t seed = 0; seed < r->seeds; seed++) {
        brain_index of;
        if (!index_of(r, r->prediction[model][loss][seed], s, of)) {
            return false;
        }
        value[seed] = brain_mean(&r->classes, of[index], c);
    }
    *result = summary_of(value, r->seeds, 1);
    return true;
}

/* ---- the table ---- */
static bool write_row(const brain_results *r, size_t model, size_t loss, size_t index, FILE *file)
{
    const selection all = {ALL_FOLDS, NO_SLAB};
    summary s = {0, 0};
    bool good = true;
    int width = loss == BRAIN_LOVASZ ? 16 : 15; /* á is two bytes */
    printf("  %-13s %-*s %-8s", model_names[model], width, brain_loss_names[loss],
           index_names[index]);
    fprintf(file, "%s,%s,%s", model_names[model], brain_loss_names[loss], index_names[index]);
    for (size_t c = 1; c <= r->classes.count && good; c++) {
        size_t column = c < r->classes.count ? c : 0; /* the mean comes last */
        if (column == 0 || brain_is_column(&r->classes, column)) {
            good = over_seeds(r, model, loss, all, index, column, &s);
            printf(" %9.2f", s.mean);
            fprintf(file, ",%.2f", s.mean);
        }
    }
    printf(" ± %-5.2f", s.sd);
    fprintf(file, ",%.2f", s.sd);
    for (size_t fold = 0; fold < r->folds && good; fold++) {
        good = over_seeds(r, model, loss, (selection){fold, NO_SLAB}, index, 0, &s);
        printf(" %7.2f (%g)", s.mean, r->eta[model][loss][fold]);
        fprintf(file, ",%.2f,%g", s.mean, r->eta[model][loss][fold]);
    }
    printf("\n");
    fprintf(file, "\n");
    return good;
}

static bool write_table(const study_options *options, const brain_results *r)
{
    FILE *file = study_open(options, "table.csv");
    if (!file) {
        return false;
    }
    printf("  %-13s %-15s %-8s", "model", "trained with", "index, %");
    fprintf(file, "model,trained with,index %%");
    for (size_t c = 1; c < r->classes.count; c++) {
        if (brain_is_column(&r->classes, c)) {
            printf(" %9s", r->classes.name[c]);
            fprintf(file, ",%s", r->classes.name[c]);
        }
    }
    printf("      mean, s.d. of seeds; mean in each fold (its step)\n");
    fprintf(file, ",mean,s.d. over seeds");
    for (size_t fold = 0; fold < r->folds; fold++) {
        fprintf(file, ",mean in fold %zu,its step", fold + 1);
    }
    fprintf(file, "\n");
    bool good = true;
    for (size_t k = 0; k < (size_t)BRAIN_MODELS * BRAIN_LOSSES * BRAIN_INDICES && good; k++) {
        good = write_row(r, k / BRAIN_INDICES / BRAIN_LOSSES, k / BRAIN_INDICES % BRAIN_LOSSES,
                         k % BRAIN_INDICES, file);
    }
    return study_close(file) && good;
}

/* What the figure shows, a line for each structure (the last: their mean) and training: Jaccard
 * over all slices, then fold by fold. A fold that does not show the structure has an empty cell. */
static bool write_bars(const study_options *options, const brain_results *r)
{
    FILE *file = study_open(options, "bars.csv");
    if (!file) {
        return false;
    }
    bool good = true;
    size_t place = 0;
    fprintf(file, "place,training,structure,Jaccard %%,in each fold\n");
    for (size_t c = 1; c <= r->classes.count; c++) {
        size_t column = c < r->classes.count ? c : 0;
        if (column > 0 && !brain_is_column(&r->classes, column)) {
            continue;
        }
        for (size_t k = 0; k < (size_t)BRAIN_MODELS * BRAIN_LOSSES && good; k++) {
            fprintf(file, "%zu,%zu,%s", place, k, column ? r->classes.name[column] : "mean");
            for (size_t fold = 0; fold <= r->folds && good; fold++) {
                summary s;
                selection chosen = {fold ? fold - 1 : ALL_FOLDS, NO_SLAB};
                good = over_seeds(r, k / BRAIN_LOSSES, k % BRAIN_LOSSES, chosen, BRAIN_JACCARD,
                                  column, &s);
                fprintf(file, good && s.mean >= 0 ? ",%.3f" : ",", s.mean);
            }
            fprintf(file, "\n");
        }
        place++;
    }
    return study_close(file) && good;
}

/* ---- claims ---- */
typedef struct rivals {
    size_t model, a, b;
} rivals;

/* The mean index of a minus that of b, on average over the seeds. */
static bool difference(const brain_results *r, rivals v, selection s, size_t index, double *d)
{
    summary a, b;
    if (!over_seeds(r, v.model, v.a, s, index, 0, &a) ||
        !over_seeds(r, v.model, v.b, s, index, 0, &b)) {
        return false;
    }
    *d = a.mean - b.mean;
    return true;
}

/* The interval is over the slabs: one brain has no more independent parts. */
static bool over_slabs(const brain_results *r, rivals v, size_t index, paired *d, size_t *slabs)
{
    double *without = calloc(r->slices.slices, sizeof *without), whole = 0;
    bool good =
        study_got(without) && difference(r, v, (selection){ALL_FOLDS, NO_SLAB}, index, &whole);
    *slabs = 0;
    for (size_t z = 0; z < r->slices.slices && good; z += BRAIN_SLAB) {
        if (brain_is_tested(r, z)) {
            selection s = {ALL_FOLDS, z / BRAIN_SLAB};
            good = difference(r, v, s, index, &without[(*slabs)++]);
        }
    }
    if (good) {
        *d = paired_jackknife(whole, without, *slabs);
    }
    free(without);
    return good;
}

/* In how many runs, that is folds and seeds, and in how many folds is a better than b? */
static bool count_wins(const brain_results *r, rivals v, size_t *folds, size_t *runs)
{
    *folds = *runs = 0;
    for (size_t fold = 0; fold < r->folds; fold++) {
        selection s = {fold, NO_SLAB};
        double d;
        if (!difference(r, v, s, BRAIN_JACCARD, &d)) {
            return false;
        }
        *folds += d > 0;
        for (size_t seed = 0; seed < r->seeds; seed++) {
            brain_index a, b;
            if (!index_of(r, r->prediction[v.model][v.a][seed], s, a) ||
                !index_of(r, r->prediction[v.model][v.b][seed], s, b)) {
                return false;
            }
            *runs += brain_mean(&r->classes, a[BRAIN_JACCARD], 0) >
                     brain_mean(&r->classes, b[BRAIN_JACCARD], 0);
        }
    }
    return true;
}

static bool compare(study_claims *claims, const brain_results *r, rivals v, const char *text)
{
    char claim[160], measured[240];
    paired jaccard, dice;
    size_t slabs, folds, runs;
    if (!over_slabs(r, v, BRAIN_JACCARD, &jaccard, &slabs) ||
        !over_slabs(r, v, BRAIN_DICE, &dice, &slabs) || !count_wins(r, v, &folds, &runs)) {
        return false;
    }
    snprintf(claim, sizeof claim, "%s, %s", text, model_names[v.model]);
    snprintf(
        measured, sizeof measured,
        "Jaccard %+.1f points, 95 %% interval [%+.1f, %+.1f] over %zu slabs, Dice %+.1f; better "
        "in %zu of %zu folds, in %zu of %zu runs (fold and seed)",
        jaccard.mean, jaccard.low, jaccard.high, slabs, dice.mean, folds, r->folds, runs,
        r->folds * r->seeds);
    study_judge(claims, claim, measured, paired_above(jaccard, 0));
    return true;
}

static bool judge(const study_options *options, const brain_results *r)
{
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    bool good = true;
    for (size_t model = 0; model < BRAIN_MODELS && good; model++) {
        good = compare(&claims, r, (rivals){model, BRAIN_LOVASZ, BRAIN_CROSS_ENTROPY},
                       "paper: Lovász-Softmax beats cross-entropy");
    }
    for (size_t model = 0; model < BRAIN_MODELS && good; model++) {
        good = compare(&claims, r, (rivals){model, BRAIN_BOTH, BRAIN_LOVASZ},
                       "ours: the sum of both losses beats Lovász-Softmax alone") &&
               compare(&claims, r, (rivals){model, BRAIN_BOTH, BRAIN_CROSS_ENTROPY},
                       "ours: the sum of both losses beats cross-entropy");
    }
    return study_claims_close(&claims) && good;
}

bool brain_write_tables(const study_options *options, const brain_results *r)
{
    return write_table(options, r) && judge(options, r) && write_bars(options, r);
}
