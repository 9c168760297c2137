/* The metrics of an evaluation as a table for people and as JSON for programs. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool results_fill(const options *o, const evaluation *e, const string_list *problems, results *r)
{
    size_t n = o->counted_classes;
    double *values = checked_alloc(NULL, 3 * n, sizeof *values);
    *r = (results){.options = o,
                   .evaluation = e,
                   .problems = problems,
                   .iou = values,
                   .dice = values + n,
                   .accuracy = values + 2 * n};
    if (submod_confusion_metrics(e->counts, r->iou, r->dice, r->accuracy, &r->means, &o->metric)) {
        fprintf(stderr, "submod-miou: %s\n", submod_last_error());
        return false;
    }
    return true;
}

void results_free(results *r)
{
    free(r->iou);
}

/* Pixels of class c in the truth. */
static int64_t truth_pixels(const results *r, size_t c)
{
    size_t n = r->options->counted_classes;
    const int64_t *row = submod_confusion_counts(r->evaluation->counts) + c * n;
    int64_t sum = 0;
    for (size_t p = 0; p < n; p++) {
        sum += row[p];
    }
    return sum;
}

/* ---- table ---- */

/* Prints a value in percent; "-" for a value that is left out. */
static void print_percent(FILE *out, double value)
{
    if (isnan(value)) {
        fprintf(out, "%9s", "-");
    } else {
        fprintf(out, "%9.2f", 100 * value);
    }
}

static int name_width(const string_list *names)
{
    size_t width = strlen("mean accuracy");
    for (size_t i = 0; i < names->count; i++) {
        width = strlen(names->items[i]) > width ? strlen(names->items[i]) : width;
    }
    return width < 60 ? (int)width : 60;
}

void print_table(const results *r, FILE *out)
{
    const options *o = r->options;
    int width = name_width(&o->names);
    fprintf(out, "%5s  %-*s%9s%9s%9s  %s\n", "class", width, "name", "IoU %", "Dice %", "acc. %",
            "true pixels");
    for (size_t c = 0; c < o->classes; c++) {
        fprintf(out, "%5zu  %-*s", c, width, o->names.items[c]);
        print_percent(out, r->iou[c]);
        print_percent(out, r->dice[c]);
        print_percent(out, r->accuracy[c]);
        fprintf(out, "  %" PRId64 "\n", truth_pixels(r, c));
    }
    const struct {
        const char *name;
        double value;
    } lines[] = {{"dataset-mIoU", r->means.mean_iou},
                 {"image-mIoU", r->evaluation->image_miou},
                 {"mean Dice", r->means.mean_dice},
                 {"pixel accuracy", r->means.pixel_accuracy},
                 {"mean class accuracy", r->means.mean_accuracy},
                 {"frequency-weighted IoU", r->means.frequency_weighted_iou}};
    fputc('\n', out);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        fprintf(out, "%-24s", lines[i].name);
        print_percent(out, lines[i].value);
        fputs(" %\n", out);
    }
    fprintf(out, "%-24s%9zu\n%-24s%9" PRId64 "\n", "images", r->evaluation->images, "pixels",
            r->means.pixels);
    if (r->problems->count) {
        fprintf(out, "%-24s%9zu  (named on stderr, not counted above)\n", "problems",
                r->problems->count);
    }
}

/* ---- JSON ---- */

/* The length in bytes of the UTF-8 character at s; 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

static void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = utf8_length(s);
        if (n == 0) {
            fputs("\\ufffd", out); /* file names may be any bytes */
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s < 0x20) {
            fprintf(out, "\\u%04x", *s);
        } else {
            fwrite(s, 1, n, out);
        }
        s += n;
    }
    fputc('"', out);
}

static void json_number(FILE *out, double value)
{
    if (isnan(value)) {
        fputs("null", out);
    } else {
        fprintf(out, "%.17g", value);
    }
}

static void json_field(FILE *out, const char *name, double value)
{
    fprintf(out, "  \"%s\": ", name);
    json_number(out, value);
    fputs(",\n", out);
}

static void json_class(FILE *out, const results *r, size_t c)
{
    fprintf(out, "    {\"class\": %zu, \"name\": ", c);
    json_string(out, r->options->names.items[c]);
    fputs(", \"iou\": ", out);
    json_number(out, r->iou[c]);
    fputs(", \"dice\": ", out);
    json_number(out, r->dice[c]);
    fputs(", \"accuracy\": ", out);
    json_number(out, r->accuracy[c]);
    fprintf(out, ", \"true_pixels\": %" PRId64 "}", truth_pixels(r, c));
}

void print_json(const results *r, FILE *out)
{
    static const char *const conventions[] = {"one", "zero", "skip", "truth"};
    fprintf(out, "{\n  \"absent\": \"%s\",\n  \"images\": %zu,\n  \"pixels\": %" PRId64 ",\n",
            conventions[r->options->metric.absent], r->evaluation->images, r->means.pixels);
    json_field(out, "dataset_miou", r->means.mean_iou);
    json_field(out, "image_miou", r->evaluation->image_miou);
    json_field(out, "mean_dice", r->means.mean_dice);
    json_field(out, "pixel_accuracy", r->means.pixel_accuracy);
    json_field(out, "mean_class_accuracy", r->means.mean_accuracy);
    json_field(out, "frequency_weighted_iou", r->means.frequency_weighted_iou);
    fputs("  \"classes\": [", out);
    for (size_t c = 0; c < r->options->classes; c++) {
        fputs(c ? ",\n" : "\n", out);
        json_class(out, r, c);
    }
    fputs("\n  ],\n  \"problems\": [", out);
    for (size_t i = 0; i < r->problems->count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        json_string(out, r->problems->items[i]);
    }
    fputs(r->problems->count ? "\n  ]\n}\n" : "]\n}\n", out);
}
