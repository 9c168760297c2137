/* The results as a table for people. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report.h"

/* Prints a value in percent; "-" for a value that is left out. */
static void print_percent(FILE *out, double value)
{
    if (isnan(value)) {
        fprintf(out, "%9s", "-");
    } else {
        fprintf(out, "%9.2f", 100 * value);
    }
}

static size_t widest(const string_list *names, size_t width)
{
    for (size_t i = 0; i < names->count; i++) {
        width = strlen(names->items[i]) > width ? strlen(names->items[i]) : width;
    }
    return width < 60 ? width : 60;
}

/* A column of numbers; those without values are left out. */
typedef struct column {
    const char *head;
    const double *values;
} column;

static void print_rows(FILE *out, const string_list *names, const char *first, int width,
                       const column *columns, size_t count, const results *pixels)
{
    fprintf(out, "%8s  %-*s", first, width, "name");
    for (size_t k = 0; k < count; k++) {
        if (columns[k].values) {
            fprintf(out, "%9s", columns[k].head);
        }
    }
    fputs(pixels ? "  true pixels\n" : "\n", out);
    for (size_t c = 0; c < names->count; c++) {
        fprintf(out, "%8zu  %-*s", c, width, names->items[c]);
        for (size_t k = 0; k < count; k++) {
            if (columns[k].values) {
                print_percent(out, columns[k].values[c]);
            }
        }
        if (pixels) {
            fprintf(out, "  %" PRId64, truth_pixels(pixels, c));
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

void print_table(const results *r, FILE *out)
{
    const options *o = r->options;
    int width = (int)widest(&o->categories, widest(&o->names, strlen("mean accuracy")));
    const column of_classes[] = {{"IoU %", r->iou},
                                 {"Dice %", r->dice},
                                 {"acc. %", r->accuracy},
                                 {"iIoU %", r->instance_iou},
                                 {"bound. %", r->boundary_iou}};
    const column of_categories[] = {{"IoU %", r->category_iou},
                                    {"iIoU %", r->category_instance_iou}};
    print_rows(out, &o->names, "class", width, of_classes, 5, r);
    if (o->category) {
        print_rows(out, &o->categories, "category", width, of_categories, 2, NULL);
    }
    result_line lines[MOST_LINES];
    size_t count = result_lines(r, lines);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%-24s", lines[i].name);
        print_percent(out, lines[i].value);
        fputs(" %\n", out);
    }
    fprintf(out, "%-24s%9zu\n%-24s%9" PRId64 "\n", "images", r->evaluation->names.count, "pixels",
            r->means.pixels);
    if (r->problems->count) {
        fprintf(out, "%-24s%9zu  (named on stderr, not counted above)\n", "problems",
                r->problems->count);
    }
}
