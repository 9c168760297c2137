/* One slice in colours: the image, the truth, and the predictions of two losses.
 *
 * Which slice: of the test slices that show the most structures, the one where the losses differ as
 * they typically do, which is the median of the differences of Jaccard indices.
 */
#include "brain/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    size_t slice, structures;
    double jaccard[BRAIN_LOSSES];
} candidate;

/* ---- which slice ---- */
static bool score_slice(const brain_results *r, size_t slice, candidate *c)
{
    bool *chosen = calloc(r->slices.slices, sizeof *chosen);
    bool good = study_got(chosen);
    *c = (candidate){.slice = slice};
    for (size_t loss = 0; loss < BRAIN_LOSSES && good; loss++) {
        brain_index of;
        chosen[slice] = true;
        good = brain_score(r, r->prediction[BRAIN_HIDDEN][loss][0], chosen, of);
        c->jaccard[loss] = good ? brain_mean(&r->classes, of[BRAIN_JACCARD], 0) : 0;
        c->structures = 0;
        for (size_t k = 1; k < r->classes.count && good; k++) {
            c->structures += isnan(of[BRAIN_JACCARD][k]) ? 0 : 1;
        }
    }
    free(chosen);
    return good;
}

/* The slices with more structures first, then by the difference. */
static int by_difference(const void *a, const void *b)
{
    const candidate *one = a, *two = b;
    double d = one->jaccard[BRAIN_LOVASZ] - one->jaccard[BRAIN_CROSS_ENTROPY] -
               (two->jaccard[BRAIN_LOVASZ] - two->jaccard[BRAIN_CROSS_ENTROPY]);
    return one->structures != two->structures ? (one->structures < two->structures ? 1 : -1)
           : d > 0                            ? 1
                                              : -(d < 0);
}

/* *among: how many slices the median is of. */
static bool typical_slice(const brain_results *r, candidate *typical, size_t *among)
{
    candidate *all = calloc(r->slices.slices, sizeof *all);
    bool good = study_got(all);
    size_t count = 0;
    for (size_t z = 0; z < r->slices.slices && good; z++) {
        if (brain_is_tested(r, z)) {
            good = score_slice(r, z, &all[count++]);
        }
    }
    if (good) {
        qsort(all, count, sizeof *all, by_difference);
        *among = 0;
        while (*among < count && all[*among].structures == all[0].structures) {
            ++*among;
        }
        *typical = all[(*among - 1) / 2];
    }
    free(all);
    return good;
}

/* ---- colours ---- */
typedef struct colour {
    int part[3];
} colour;

/* Left and right of one name share theirs. */
static colour colour_of(const brain_classes *classes, size_t class)
{
    static const colour colours[] = {{{230, 159, 0}},   {{86, 180, 233}}, {{0, 158, 115}},
                                     {{204, 121, 167}}, {{213, 94, 0}},   {{240, 228, 66}}};
    size_t column = 0;
    for (size_t c = 1; c < class && strcmp(classes->name[c], classes->name[class]) != 0; c++) {
        column += brain_is_column(classes, c);
    }
    return colours[column % (sizeof colours / sizeof colours[0])];
}

/* Whether the truth changes between pixel p of the slice and the next to the right or below. */
static bool on_outline(const brain_results *r, size_t slice, size_t p)
{
    const uint8_t *label = r->slices.label + slice * r->slices.pixels;
    size_t width = r->slices.width;
    return (p % width + 1 < width && label[p] != label[p + 1]) ||
           (p + width < r->slices.pixels && label[p] != label[p + width]);
}

/* Structures over the grey image. */
static void write_pixel(FILE *file, const brain_results *r, size_t i, uint8_t class, bool outline)
{
    double grey = 255 * sqrt((double)r->slices.shown[i]);
    colour c = class ? colour_of(&r->classes, class) : (colour){{0}};
    for (int k = 0; k < 3; k++) {
        double value = class ? 0.2 * grey + 0.8 * c.part[k] : grey;
        fprintf(file, ",%d", outline ? 0 : (int)lround(value));
    }
}

static bool write_pixels(const study_options *options, const brain_results *r, size_t slice)
{
    FILE *file = study_open(options, "slice.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "x,y,image r,g,b,truth r,g,b,cross-entropy r,g,b,Lovasz r,g,b\n");
    for (size_t p = 0; p < r->slices.pixels; p++) {
        size_t i = slice * r->slices.pixels + p;
        bool outline = on_outline(r, slice, p);
        fprintf(file, "%zu,%zu", p % r->slices.width, p / r->slices.width);
        write_pixel(file, r, i, 0, false);
        write_pixel(file, r, i, r->slices.label[i], false);
        write_pixel(file, r, i, r->prediction[BRAIN_HIDDEN][BRAIN_CROSS_ENTROPY][0][i], outline);
        write_pixel(file, r, i, r->prediction[BRAIN_HIDDEN][BRAIN_LOVASZ][0][i], outline);
        fprintf(file, "\n");
    }
    return study_close(file);
}

static bool write_legend(const study_options *options, const brain_classes *classes)
{
    FILE *file = study_open(options, "legend.csv");
    if (!file) {
        return false;
    }
    fprintf(file, "place,colour,structure\n");
    size_t place = 0;
    for (size_t c = 1; c < classes->count; c++) {
        if (brain_is_column(classes, c)) {
            colour shown = colour_of(classes, c);
            fprintf(file, "%zu,%d,%s\n", place++,
                    (shown.part[0] << 16) + (shown.part[1] << 8) + shown.part[2], classes->name[c]);
        }
    }
    return study_close(file);
}

bool brain_write_slice(const study_options *options, const brain_results *r, study_values *values)
{
    candidate typical;
    size_t among;
    if (!typical_slice(r, &typical, &among) || !write_pixels(options, r, typical.slice) ||
        !write_legend(options, &r->classes)) {
        return false;
    }
    study_set(values, "among", "%zu", among);
    study_set(values, "shown_entropy", "%.1f", typical.jaccard[BRAIN_CROSS_ENTROPY]);
    study_set(values, "shown_lovasz", "%.1f", typical.jaccard[BRAIN_LOVASZ]);
    return true;
}
