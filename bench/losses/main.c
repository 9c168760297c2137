/* The losses against the limits of the machine, and every face of them against the plain case.
 *
 *   bench-losses [--quick] [--threads N] [--repeats N] [--no-faces | --measures] [--json FILE]
 *
 * 4 images of 512 x 512 pixels and 21 classes, float scores, int32 labels, dense gradient. Kinds of
 * data: random (standard normal scores, labels at random), trained (labels in blocks of 32 x 32
 * pixels, whose scores are lifted by 3), confident (the same, by 12). Everything takes turns in one
 * process, with one thread and with N (2). --quick takes tiny sizes, to see that everything runs.
 * --no-faces: the first table alone. --measures: Tversky, Hamming and callbacks against Jaccard
 * alone. Look at the ratios: times depend on the machine and on its other users.
 */
#include <stdlib.h>
#include <string.h>

#include "losses/engines.h"
#include "losses/faces.h"
#include "losses/measures.h"
#include "losses/task.h"

static int usage(void)
{
    fprintf(stderr,
            "usage: bench-losses [--quick] [--threads N] [--repeats N] [--no-faces | --measures]"
            " [--json FILE]\n");
    return 2;
}

/* A number from 1 to `most`. */
static bool parse_count(const char *text, int most, int *count)
{
    char *end;
    long value = strtol(text, &end, 10);
    *count = (int)value;
    return *text != '\0' && *end == '\0' && value >= 1 && value <= most;
}

/* An option that takes a value. */
static bool parse_value(const char *option, const char *value, options *o)
{
    if (strcmp(option, "--json") == 0) {
        o->json = value;
        return *value != '\0';
    }
    if (strcmp(option, "--threads") == 0) {
        return parse_count(value, 256, &o->threads);
    }
    return strcmp(option, "--repeats") == 0 && parse_count(value, MOST_SAMPLES, &o->repeats);
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            o->quick = true;
        } else if (strcmp(argv[i], "--no-faces") == 0) {
            o->no_faces = true;
        } else if (strcmp(argv[i], "--measures") == 0) {
            o->measures = true;
        } else if (i + 1 < argc && parse_value(argv[i], argv[i + 1], o)) {
            i++;
        } else {
            return false;
        }
    }
    return true;
}

static void print_header(const options *o)
{
    printf("libsubmod %s (%s): losses with gradient against the limits of the machine\n",
           submod_version(), submod_isa());
    printf("reproduce: build/bench/bench-losses --threads %d --repeats %d%s\n", o->threads,
           o->repeats, o->quick ? " --quick" : "");
    printf("best, median: ns per score; cycles of the core per score; ratios and speed-up of the "
           "best\n");
    printf("/limit: to the hand-written cross-entropy; scratch: bytes per score\n");
}

/* What was measured; NULL: it was not. */
typedef struct results {
    engines_result *engines;
    measures_result *measures;
    face_result *faces;
} results;

static int write_json(const options *o, const results *r)
{
    FILE *file = fopen(o->json, "w");
    if (!file) {
        fprintf(stderr, "bench-losses: %s cannot be written\n", o->json);
        return EXIT_FAILURE;
    }
    fprintf(file, "{\"version\": \"%s\", \"isa\": \"%s\", \"quick\": %s, \"threads\": %d,\n",
            submod_version(), submod_isa(), o->quick ? "true" : "false", o->threads);
    fprintf(file, " \"engines\": [\n");
    for (int i = 0; r->engines && i < KINDS; i++) {
        engines_json(&r->engines[i], o, file);
        fprintf(file, i + 1 < KINDS ? ",\n" : "");
    }
    fprintf(file, "],\n \"measures\": [\n");
    for (int i = 0; r->measures && i < KINDS; i++) {
        measures_json(&r->measures[i], o, file);
        fprintf(file, i + 1 < KINDS ? ",\n" : "");
    }
    fprintf(file, "],\n \"faces\": [");
    for (size_t i = 0; r->faces && i < faces_count; i++) {
        fprintf(file, i ? ",\n" : "\n");
        face_json(&r->faces[i], o, file);
    }
    fprintf(file, "]}\n");
    return fclose(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    options o = {.threads = 2, .repeats = 9};
    if (!parse(argc, argv, &o)) {
        return usage();
    }
    print_header(&o);
    static engines_result engines[KINDS];
    static measures_result measures[KINDS];
    results r = {0};
    for (int i = 0; !o.measures && i < KINDS; i++) {
        r.engines = engines;
        engines[i] = engines_measure(&o, i);
        engines_print(&engines[i], &o);
    }
    for (int i = 0; !o.no_faces && i < KINDS; i++) {
        r.measures = measures;
        measures[i] = measures_measure(&o, i);
        measures_print(&measures[i], &o);
    }
    if (!o.no_faces && !o.measures) {
        r.faces = allocate(faces_count, sizeof *r.faces);
        faces_measure(&o, r.faces);
    }
    int status = o.json ? write_json(&o, &r) : EXIT_SUCCESS;
    free(r.faces);
    return status;
}
