/* The results as JSON for programs. */
#include <inttypes.h>

#include "json.h"
#include "report.h"

static void json_item(FILE *out, const char *name, const double *values, size_t i)
{
    if (values) {
        fprintf(out, ", \"%s\": ", name);
        json_number(out, values[i]);
    }
}

static void json_class(FILE *out, const results *r, size_t c)
{
    fprintf(out, "    {\"class\": %zu, \"name\": ", c);
    json_string(out, r->options->names.items[c]);
    json_item(out, "iou", r->iou, c);
    json_item(out, "dice", r->dice, c);
    json_item(out, "accuracy", r->accuracy, c);
    json_item(out, "instance_iou", r->instance_iou, c);
    json_item(out, "boundary_iou", r->boundary_iou, c);
    fprintf(out, ", \"true_pixels\": %" PRId64 "}", truth_pixels(r, c));
}

static void json_category(FILE *out, const results *r, size_t i)
{
    fprintf(out, "    {\"category\": %zu, \"name\": ", i);
    json_string(out, r->options->categories.items[i]);
    json_item(out, "iou", r->category_iou, i);
    json_item(out, "instance_iou", r->category_instance_iou, i);
    fputc('}', out);
}

/* "name": [one item per line], */
static void json_list(FILE *out, const char *name, const results *r, size_t count,
                      void (*item)(FILE *, const results *, size_t))
{
    fprintf(out, "  \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        item(out, r, i);
    }
    fputs("\n  ],\n", out);
}

void print_json(const results *r, FILE *out)
{
    static const char *const conventions[] = {"one", "zero", "skip", "truth"};
    const options *o = r->options;
    result_line lines[MOST_LINES];
    size_t count = result_lines(r, lines);
    fprintf(out, "{\n  \"absent\": \"%s\",\n  \"images\": %zu,\n  \"pixels\": %" PRId64 ",\n",
            conventions[o->metric.absent], r->evaluation->names.count, r->means.pixels);
    if (o->worst > 0) {
        fprintf(out, "  \"worst_percent\": %.17g,\n", o->worst);
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  \"%s\": ", lines[i].json_name);
        json_number(out, lines[i].value);
        fputs(",\n", out);
    }
    json_list(out, "classes", r, o->classes, json_class);
    if (o->category) {
        json_list(out, "categories", r, o->categories.count, json_category);
    }
    fputs("  \"problems\": [", out);
    for (size_t i = 0; i < r->problems->count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        json_string(out, r->problems->items[i]);
    }
    fputs(r->problems->count ? "\n  ]\n}\n" : "]\n}\n", out);
}
