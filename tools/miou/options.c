/* The command line of submod-miou: its help text, and options that are first collected, then
 * checked together.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets.h"

static const char usage[] =
    "Usage: submod-miou PRED_DIR GT_DIR --classes N | --voc | --cityscapes [options]\n"
    "       submod-miou --merge FILE... [options for output]\n";

static const char help[] =
    "\n"
    "Compares predicted with true label maps: IoU per class, dataset-mIoU, image-mIoU, Dice,\n"
    "accuracies. Label maps are PNG files, searched in all sub-folders: palette files (the index\n"
    "is the label) or grayscale files of 1 to 16 bits (the value is the label). A file of GT_DIR\n"
    "belongs to the file of PRED_DIR with the same relative path.\n"
    "\n"
    "What the labels are:\n"
    "  --classes N       labels 0 .. N-1\n"
    "  --voc             Pascal VOC: 21 classes and their names, 255 is void\n"
    "  --cityscapes      Cityscapes: GT_DIR holds ..._gtFine_labelIds.png; the prediction is the\n"
    "                    file that begins with the same city_sequence_frame. Both hold label ids,\n"
    "                    which are mapped to the 19 train ids; a prediction of an id that is not\n"
    "                    evaluated is a miss\n"
    "  --train-ids       with --cityscapes: the predictions hold train ids (0 .. 18)\n"
    "  --ignore L|none   true label that is not counted; default: 255, or none if 255 is a\n"
    "                    class\n"
    "  --names FILE      names of the classes, one per line\n"
    "  --list FILE       only the images named there, one per line: relative path without .png\n"
    "                    (VOC: ImageSets/Segmentation/val.txt), with --cityscapes\n"
    "                    city_sequence_frame\n"
    "  --categories FILE the category of each class, one name per line: adds the IoU of "
    "categories.\n"
    "                    Cityscapes' own are known\n"
    "\n"
    "How to count:\n"
    "  --absent one|zero|skip|truth\n"
    "                    IoU of a class that is neither in the truth nor predicted: 1 (the\n"
    "                    default, 0/0 = 1), 0, or left out of the mean; truth: leave out every\n"
    "                    class that is not in the truth. For the dataset and for each image\n"
    "  --instances DIR   adds iIoU, where each instance counts the same: DIR has a file of ids "
    "for\n"
    "                    each of GT_DIR, with the same name (with --cityscapes: that ends in\n"
    "                    _gtFine_instanceIds.png)\n"
    "  --first-id N      lowest id of an instance; default: 1, with --cityscapes 1001\n"
    "  --boundary RATIO  adds boundary IoU, of the pixels within RATIO (0.02, say) times the "
    "diagonal\n"
    "                    of contours\n"
    "  --fine-grained Q  adds mIoU^I and mIoU^C over all images, the worst Q %, and the mean over "
    "the\n"
    "                    worst 10, 20 .. 100 %; as published with --absent truth\n"
    "\n"
    "In parts, on several machines:\n"
    "  --save FILE       also write what was counted to FILE, for --merge\n"
    "  --merge           report what these files have counted together, as if it had been counted\n"
    "                    at once; what to count is in the files, and must be the same in all;\n"
    "                    an image that is in two of them is refused. With --save: as one file\n"
    "\n"
    "Output:\n"
    "  --json FILE|-     write the results as JSON; - is stdout, in place of the table\n"
    "  --quiet           no table, no progress bar\n"
    "  --threads N       files read at a time; default: as many as there are cores\n"
    "  --help            this text\n"
    "\n"
    "Exit code: 0 all files were fine; 1 some were missing, mis-sized, corrupt or held labels out\n"
    "of range (each is named on stderr, the others are evaluated), or a result could not be\n"
    "written; 2 the call was wrong, or a file of --merge cannot be used.\n";

static parsed wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static parsed wrong(const char *format, ...)
{
    va_list args;
    fputs("submod-miou: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n%sTry submod-miou --help\n", usage);
    return PARSED_WRONG;
}

/* A whole number in [low, high]. */
static bool to_number(const char *text, long low, long high, long *number)
{
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && *number >= low && *number <= high;
}

/* A number in (0, high]. */
static bool to_real(const char *text, double high, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == 0 && *number > 0 && *number <= high;
}

/* ---- one option at a time ---- */

/* Options as given, before they are checked together. */
typedef struct given {
    long classes; /* 0: not given */
    bool voc;
    bool first_id;
    const char *counting; /* an option about what to count, which --merge cannot have */
    const char *ignore, *names, *list, *categories;
} given;

enum {
    CLASSES = 256, /* above every character code */
    VOC,
    CITYSCAPES,
    TRAIN_IDS,
    IGNORE,
    NAMES,
    LIST,
    CATEGORIES,
    ABSENT,
    INSTANCES,
    FIRST_ID,
    BOUNDARY,
    FINE_GRAINED,
    SAVE,
    MERGE,
    JSON,
    QUIET,
    THREADS,
    HELP
};

static const struct option known[] = {{"classes", required_argument, NULL, CLASSES},
                                      {"voc", no_argument, NULL, VOC},
                                      {"cityscapes", no_argument, NULL, CITYSCAPES},
                                      {"train-ids", no_argument, NULL, TRAIN_IDS},
                                      {"ignore", required_argument, NULL, IGNORE},
                                      {"names", required_argument, NULL, NAMES},
                                      {"list", required_argument, NULL, LIST},
                                      {"categories", required_argument, NULL, CATEGORIES},
                                      {"absent", required_argument, NULL, ABSENT},
                                      {"instances", required_argument, NULL, INSTANCES},
                                      {"first-id", required_argument, NULL, FIRST_ID},
                                      {"boundary", required_argument, NULL, BOUNDARY},
                                      {"fine-grained", required_argument, NULL, FINE_GRAINED},
                                      {"save", required_argument, NULL, SAVE},
                                      {"merge", no_argument, NULL, MERGE},
                                      {"json", required_argument, NULL, JSON},
                                      {"quiet", no_argument, NULL, QUIET},
                                      {"threads", required_argument, NULL, THREADS},
                                      {"help", no_argument, NULL, HELP},
                                      {NULL, 0, NULL, 0}};

static parsed take_absent(const char *text, options *o)
{
    static const struct {
        const char *name;
        submod_absent value;
    } conventions[] = {{"one", SUBMOD_ABSENT_ONE},
                       {"zero", SUBMOD_ABSENT_ZERO},
                       {"skip", SUBMOD_ABSENT_SKIP},
                       {"truth", SUBMOD_ABSENT_TRUTH}};
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++) {
        if (strcmp(text, conventions[i].name) == 0) {
            o->metric.absent = conventions[i].value;
            return PARSED_RUN;
        }
    }
    return wrong("--absent %s must be one, zero, skip or truth", text);
}

/* The options that ask for more metrics. */
static parsed take_metric(int option, const char *value, options *o, given *g)
{
    long number;
    switch (option) {
    case ABSENT: return take_absent(value, o);
    case INSTANCES: o->instance_dir = value; return PARSED_RUN;
    case FIRST_ID:
        if (!to_number(value, 0, 65535, &number)) {
            return wrong("--first-id %s must be a number in [0, 65535]", value);
        }
        o->first_id = number;
        g->first_id = true;
        return PARSED_RUN;
    case BOUNDARY:
        o->boundary = true;
        return to_real(value, 1, &o->boundary_ratio)
                   ? PARSED_RUN
                   : wrong("--boundary %s must be a number in (0, 1]", value);
    default: /* FINE_GRAINED */
        return to_real(value, 100, &o->worst)
                   ? PARSED_RUN
                   : wrong("--fine-grained %s must be a percentage in (0, 100]", value);
    }
}

static parsed take(int option, const char *value, options *o, given *g)
{
    long number;
    switch (option) {
    case CLASSES:
        return to_number(value, 1, 65536, &g->classes)
                   ? PARSED_RUN
                   : wrong("--classes %s must be a number in [1, 65536]", value);
    case VOC: g->voc = true; return PARSED_RUN;
    case CITYSCAPES: o->cityscapes = true; return PARSED_RUN;
    case TRAIN_IDS: o->train_ids = true; return PARSED_RUN;
    case IGNORE: g->ignore = value; return PARSED_RUN;
    case NAMES: g->names = value; return PARSED_RUN;
    case LIST: g->list = value; return PARSED_RUN;
    case CATEGORIES: g->categories = value; return PARSED_RUN;
    case ABSENT:
    case INSTANCES:
    case FIRST_ID:
    case BOUNDARY:
    case FINE_GRAINED: return take_metric(option, value, o, g);
    case SAVE: o->save = value; return PARSED_RUN;
    case MERGE: o->merge = true; return PARSED_RUN;
    case JSON: o->json = value; return PARSED_RUN;
    case QUIET: o->quiet = true; return PARSED_RUN;
    case THREADS:
        if (!to_number(value, 1, 4096, &number)) {
            return wrong("--threads %s must be a number in [1, 4096]", value);
        }
        submod_set_num_threads((int)number);
        return PARSED_RUN;
    case HELP: printf("%s%s", usage, help); return PARSED_HELP;
    default: fprintf(stderr, "%sTry submod-miou --help\n", usage); return PARSED_WRONG;
    }
}

/* ---- put together ---- */

static parsed settle_classes(options *o, const given *g)
{
    if ((g->classes != 0) + g->voc + o->cityscapes != 1) {
        return wrong("give one of --classes N, --voc and --cityscapes");
    }
    if (o->train_ids && !o->cityscapes) {
        return wrong("--train-ids needs --cityscapes");
    }
    o->classes = o->cityscapes ? CITYSCAPES_CLASSES : g->voc ? VOC_CLASSES : (size_t)g->classes;
    o->counted_classes = o->classes;
    if (o->cityscapes) { /* a void prediction is an error, but belongs to no class of the report */
        o->counted_classes = o->classes + 1;
        o->metric.has_leave_out = 1;
        o->metric.leave_out = (int32_t)o->classes;
    }
    return PARSED_RUN;
}

static parsed settle_ignore(options *o, const given *g)
{
    long label = VOID_LABEL;
    o->metric.has_ignore = g->ignore || o->classes <= VOID_LABEL;
    if (g->ignore && o->cityscapes) {
        return wrong("--ignore cannot be used with --cityscapes, whose void ids are known");
    }
    if (g->ignore && strcmp(g->ignore, "none") == 0) {
        o->metric.has_ignore = 0;
    } else if (g->ignore && !to_number(g->ignore, 0, 65535, &label)) {
        return wrong("--ignore %s must be none or a number in [0, 65535]", g->ignore);
    }
    o->metric.ignore_index = label;
    return PARSED_RUN;
}

static parsed settle_names(options *o, const given *g)
{
    if (g->names) {
        if (!read_lines(g->names, &o->names)) {
            return wrong("%s: %s", g->names, strerror(errno));
        }
        return o->names.count == o->classes
                   ? PARSED_RUN
                   : wrong("%s: %zu names for %zu classes", g->names, o->names.count, o->classes);
    }
    for (size_t c = 0; c < o->classes; c++) {
        if (o->cityscapes) {
            list_add(&o->names, cityscapes_name(c));
        } else if (g->voc) {
            list_add(&o->names, voc_names[c]);
        } else {
            list_addf(&o->names, "class %zu", c);
        }
    }
    return PARSED_RUN;
}

/* The number of a category, which is added if it is new. */
static int32_t category_number(string_list *categories, const char *name)
{
    for (size_t i = 0; i < categories->count; i++) {
        if (strcmp(categories->items[i], name) == 0) {
            return (int32_t)i;
        }
    }
    list_add(categories, name);
    return (int32_t)categories->count - 1;
}

static void cityscapes_categories_of(options *o)
{
    for (size_t i = 0; i < CITYSCAPES_CATEGORIES; i++) {
        list_add(&o->categories, cityscapes_categories[i]);
    }
    for (size_t id = 0; id < CITYSCAPES_IDS; id++) {
        if (cityscapes_labels[id].train_id != VOID_LABEL) {
            o->category[cityscapes_labels[id].train_id] = cityscapes_labels[id].category;
        }
    }
    o->category[CITYSCAPES_CLASSES] = CITYSCAPES_CATEGORIES;
}

static parsed settle_categories(options *o, const given *g)
{
    if (!g->categories && !o->cityscapes) {
        return PARSED_RUN;
    }
    if (g->categories && o->cityscapes) {
        return wrong("--categories cannot be used with --cityscapes, whose categories are known");
    }
    o->category = checked_alloc(NULL, o->counted_classes, sizeof *o->category);
    if (o->cityscapes) {
        cityscapes_categories_of(o);
        return PARSED_RUN;
    }
    string_list lines = {NULL, 0, 0};
    bool read = read_lines(g->categories, &lines);
    parsed result = !read                       ? wrong("%s: %s", g->categories, strerror(errno))
                    : lines.count != o->classes ? wrong("%s: %zu categories for %zu classes",
                                                        g->categories, lines.count, o->classes)
                                                : PARSED_RUN;
    for (size_t c = 0; result == PARSED_RUN && c < o->classes; c++) {
        o->category[c] = category_number(&o->categories, lines.items[c]);
    }
    list_free(&lines);
    return result;
}

size_t category_groups(const options *o)
{
    return o->categories.count + (o->counted_classes > o->classes);
}

static parsed settle_instances(options *o, const given *g)
{
    if (g->first_id && (o->cityscapes || !o->instance_dir)) {
        return wrong("--first-id needs --instances, and is known with --cityscapes");
    }
    if (!g->first_id) {
        o->first_id = o->cityscapes ? CITYSCAPES_FIRST_INSTANCE : 1;
    }
    return PARSED_RUN;
}

static parsed settle(options *o, const given *g)
{
    parsed result = settle_classes(o, g);
    result = result == PARSED_RUN ? settle_ignore(o, g) : result;
    result = result == PARSED_RUN ? settle_names(o, g) : result;
    result = result == PARSED_RUN ? settle_categories(o, g) : result;
    result = result == PARSED_RUN ? settle_instances(o, g) : result;
    if (result == PARSED_RUN && g->list) {
        if (!read_lines(g->list, &o->only)) {
            return wrong("%s: %s", g->list, strerror(errno));
        }
        if (o->only.count == 0) {
            return wrong("%s: the list is empty", g->list);
        }
        list_sort(&o->only);
    }
    return result;
}

/* Files of counts, with options for output alone: the rest is in them. */
static parsed settle_merge(options *o, const given *g, char *const *files, int count)
{
    if (g->counting) {
        return wrong(
            "--%s cannot be given with --merge: what was counted, and how, is in the files",
            g->counting);
    }
    if (count == 0) {
        return wrong("--merge needs files that --save has written");
    }
    o->files = files;
    o->file_count = (size_t)count;
    return PARSED_RUN;
}

parsed options_parse(int argc, char **argv, options *o)
{
    given g = {.classes = 0};
    int index = 0;
    *o = (options){.metric = submod_metric_defaults()};
    for (int option; (option = getopt_long(argc, argv, "", known, &index)) != -1;) {
        parsed result = take(option, optarg, o, &g);
        if (result != PARSED_RUN) {
            return result;
        }
        g.counting = option < SAVE ? known[index].name : g.counting;
    }
    if (o->merge) {
        return settle_merge(o, &g, argv + optind, argc - optind);
    }
    if (argc - optind != 2) {
        return wrong("two folders are needed, not %d: PRED_DIR and GT_DIR", argc - optind);
    }
    o->prediction_dir = argv[optind];
    o->truth_dir = argv[optind + 1];
    return settle(o, &g);
}

void options_free(options *o)
{
    list_free(&o->only);
    list_free(&o->names);
    list_free(&o->categories);
    free(o->category);
}
