/* The tables of study brain: indices of each structure, the bars of the figure, the claims. */
#include "brain/results.h"

#include <string.h>

#include "common/summary.h"

static const char *const model_names[BRAIN_MODELS] = {"linear", "hidden layer"};
static const char *const index_names[BRAIN_INDICES] = {"Jaccard", "Dice"};

bool brain_is_column(const brain_classes *classes, size_t c)
{
    for (size_t k = 1; k < c; k++) {
        if (strcmp(classes->name[k], classes->name[c]) == 0) {
            return false;
        }
    }
    return c > 0;
}

/* In one fold, the mean over the classes of this name; c = 0: the mean over the names, as in the
 * supplement. */
static double index_in(const brain_results *r, const double *of_class, size_t c)
{
    double sum = 0;
    size_t count = 0;
    for (size_t k = 1; k < r->classes.count; k++) {
        if (c == 0 && brain_is_column(&r->classes, k)) {
            sum += index_in(r, of_class, k);
            count++;
        } else if (c > 0 && strcmp(r->classes.name[k], r->classes.name[c]) == 0) {
            sum += of_class[k];
            count++;
        }
    }
    return sum / (double)count;
}

static summary over_folds(const brain_results *r, size_t model, size_t loss, size_t index, size_t c)
{
    double value[BRAIN_FOLDS];
    for (size_t fold = 0; fold < r->folds; fold++) {
        value[fold] = index_in(r, r->of[model][loss][index][fold], c);
    }
    return summary_of(value, r->folds, 1);
}

/* ---- the table ---- */
static void write_row(const brain_results *r, size_t model, size_t loss, size_t index, FILE *file)
{
    int width = loss == BRAIN_LOVASZ ? 16 : 15; /* á is two bytes */
    printf("  %-13s %-*s %-5g %-8s", model_names[model], width, brain_loss_names[loss],
           r->eta[model][loss], index_names[index]);
    fprintf(file, "%s,%s,%g,%s", model_names[model], brain_loss_names[loss], r->eta[model][loss],
            index_names[index]);
    for (size_t c = 1; c <= r->classes.count; c++) {
        size_t column = c < r->classes.count ? c : 0; /* the mean comes last */
        if (column == 0 || brain_is_column(&r->classes, column)) {
            summary s = over_folds(r, model, loss, index, column);
            printf(" %9.2f", s.mean);
            fprintf(file, ",%.2f", s.mean);
            if (column == 0) {
                printf(" ± %.2f", s.sd);
                fprintf(file, ",%.2f", s.sd);
            }
        }
    }
    printf("\n");
    fprintf(file, "\n");
}

static bool write_table(const study_options *options, const brain_results *r)
{
    FILE *file = study_open(options, "table.csv");
    if (!file) {
        return false;
    }
    printf("  %-13s %-15s %-5s %-8s", "model", "trained with", "step", "index, %");
    fprintf(file, "model,trained with,step,index %%");
    for (size_t c = 1; c < r->classes.count; c++) {
        if (brain_is_column(&r->classes, c)) {
            printf(" %9s", r->classes.name[c]);
            fprintf(file, ",%s", r->classes.name[c]);
        }
    }
    printf("      mean\n");
    fprintf(file, ",mean,s.d. over folds\n");
    for (size_t model = 0; model < BRAIN_MODELS; model++) {
        for (size_t loss = 0; loss < BRAIN_LOSSES; loss++) {
            for (size_t index = 0; index < BRAIN_INDICES; index++) {
                write_row(r, model, loss, index, file);
            }
        }
    }
    return study_close(file);
}

/* The bars of the figure: per structure and training, Jaccard and its spread. */
static bool write_bars(const study_options *options, const brain_results *r)
{
    FILE *file = study_open(options, "bars.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "structure");
    for (size_t k = 0; k < (size_t)BRAIN_MODELS * BRAIN_LOSSES; k++) {
        fprintf(file, ",%s: %s,s.d.", model_names[k / BRAIN_LOSSES],
                brain_loss_names[k % BRAIN_LOSSES]);
    }
    for (size_t c = 1; c <= r->classes.count; c++) {
        size_t column = c < r->classes.count ? c : 0;
        if (column == 0 || brain_is_column(&r->classes, column)) {
            fprintf(file, "\n%s", column ? r->classes.name[column] : "mean");
            for (size_t k = 0; k < (size_t)BRAIN_MODELS * BRAIN_LOSSES; k++) {
                summary s =
                    over_folds(r, k / BRAIN_LOSSES, k % BRAIN_LOSSES, BRAIN_JACCARD, column);
                fprintf(file, ",%.3f,%.3f", s.mean, s.sd);
            }
        }
    }
    fprintf(file, "\n");
    return study_close(file);
}

/* ---- claims ---- */
static void compare(FILE *file, const brain_results *r, size_t model, size_t a, size_t b,
                    const char *text)
{
    char claim[160], measured[160];
    double d[BRAIN_INDICES];
    size_t won = 0;
    for (size_t k = 0; k < BRAIN_INDICES; k++) {
        d[k] = over_folds(r, model, a, k, 0).mean - over_folds(r, model, b, k, 0).mean;
    }
    for (size_t fold = 0; fold < r->folds; fold++) {
        won += index_in(r, r->of[model][a][BRAIN_JACCARD][fold], 0) >
               index_in(r, r->of[model][b][BRAIN_JACCARD][fold], 0);
    }
    snprintf(claim, sizeof claim, "%s, %s", text, model_names[model]);
    snprintf(measured, sizeof measured,
             "Jaccard %+.2f, Dice %+.2f points; better in %zu of %zu folds", d[BRAIN_JACCARD],
             d[BRAIN_DICE], won, r->folds);
    study_claim(file, claim, measured, d[BRAIN_JACCARD] > 0 && d[BRAIN_DICE] > 0);
}

static bool judge(const study_options *options, const brain_results *r)
{
    FILE *file = study_open(options, "table_claims.csv");
    if (!file) {
        return false;
    }
    printf("\n");
    fprintf(file, "claim,measured,verdict\n");
    for (size_t model = 0; model < BRAIN_MODELS; model++) {
        compare(file, r, model, BRAIN_LOVASZ, BRAIN_CROSS_ENTROPY,
                "paper: Lovász-Softmax beats cross-entropy");
    }
    for (size_t model = 0; model < BRAIN_MODELS; model++) {
        compare(file, r, model, BRAIN_BOTH, BRAIN_LOVASZ, "the sum beats Lovász-Softmax alone");
    }
    return study_close(file);
}

bool brain_write_tables(const study_options *options, const brain_results *r)
{
    return write_table(options, r) && judge(options, r) && write_bars(options, r);
}
