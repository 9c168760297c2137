/* One slice in colours: the image, the truth, and the predictions of two losses. */
#include "brain/results.h"

#include <math.h>
#include <string.h>

/* The test slice with the most structure in it. */
static size_t fullest_slice(const brain_results *r)
{
    size_t best = 0, most = 0;
    for (size_t z = 0; z < r->slices.slices; z++) {
        bool tested = false;
        for (size_t fold = 0; fold < r->folds; fold++) {
            tested = tested || brain_part_of(z, fold) == BRAIN_TEST;
        }
        size_t count = 0;
        for (size_t i = 0; i < r->slices.pixels; i++) {
            count += r->slices.label[z * r->slices.pixels + i] > 0;
        }
        if (tested && count > most) {
            best = z;
            most = count;
        }
    }
    return best;
}

/* Colours of the structures over the grey image; left and right of one name share theirs. */
static void write_pixel(FILE *file, const brain_results *r, size_t i, uint8_t class)
{
    static const uint8_t colours[][3] = {{230, 159, 0},   {86, 180, 233}, {0, 158, 115},
                                         {204, 121, 167}, {213, 94, 0},   {240, 228, 66}};
    enum { COLOURS = sizeof colours / sizeof colours[0] };
    double grey = 255 * sqrt((double)r->slices.shown[i]);
    size_t column = 0;
    for (size_t c = 1; c <= class; c++) {
        if (strcmp(r->classes.name[c], r->classes.name[class]) == 0) {
            break;
        }
        column += brain_is_column(&r->classes, c);
    }
    for (int k = 0; k < 3; k++) {
        double colour = class ? 0.3 * grey + 0.7 * colours[column % COLOURS][k] : grey;
        fprintf(file, ",%d", (int)lround(colour));
    }
}

bool brain_write_slice(const study_options *options, const brain_results *r)
{
    FILE *file = study_open(options, "slice.csv");
    if (!file) {
        return false;
    }
    size_t z = fullest_slice(r);
    fprintf(file, "x,y,image r,g,b,truth r,g,b,cross-entropy r,g,b,Lovasz r,g,b\n");
    for (size_t p = 0; p < r->slices.pixels; p++) {
        size_t i = z * r->slices.pixels + p;
        fprintf(file, "%zu,%zu", p % r->slices.width, p / r->slices.width);
        write_pixel(file, r, i, 0);
        write_pixel(file, r, i, r->slices.label[i]);
        write_pixel(file, r, i, r->prediction[BRAIN_HIDDEN][BRAIN_CROSS_ENTROPY][i]);
        write_pixel(file, r, i, r->prediction[BRAIN_HIDDEN][BRAIN_LOVASZ][i]);
        fprintf(file, "\n");
    }
    return study_close(file);
}
