/* submod-miou: measures how good predicted label maps are. See --help. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts_file.h"
#include "evaluate.h"
#include "options.h"
#include "pairs.h"
#include "report.h"

enum { ALL_FINE = 0, SOME_WRONG = 1, BAD_CALL = 2 };

static bool write_failed(const char *path)
{
    fprintf(stderr, "submod-miou: %s: %s\n", path, strerror(errno));
    return false;
}

static bool write_json(const results *r, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) {
        return write_failed(path);
    }
    print_json(r, out);
    bool ok = !ferror(out);
    ok = fclose(out) == 0 && ok;
    return ok || write_failed(path);
}

static bool report(const options *o, const results *r)
{
    bool json_on_stdout = o->json && strcmp(o->json, "-") == 0;
    bool ok = true;
    if (json_on_stdout) {
        print_json(r, stdout);
    } else {
        if (o->json) {
            ok = write_json(r, o->json);
        }
        if (!o->quiet) {
            print_table(r, stdout);
        }
    }
    return (fflush(stdout) == 0 && !ferror(stdout)) ? ok : write_failed("stdout");
}

/* Reports what was counted. Problems go to stderr, one per line. */
static int finish(const options *o, const evaluation *e, const string_list *problems)
{
    results r = {.iou = NULL};
    bool ok = results_fill(o, e, problems, &r);
    for (size_t i = 0; i < problems->count; i++) {
        fprintf(stderr, "submod-miou: %s\n", problems->items[i]);
    }
    ok = ok && report(o, &r);
    ok = (!o->save || counts_save(o->save, o, e, problems)) && ok;
    results_free(&r);
    return ok && problems->count == 0 ? ALL_FINE : SOME_WRONG;
}

/* Of folders. */
static int run(const options *o)
{
    evaluation e = {.scores = NULL};
    pair_list pairs = {NULL, 0};
    string_list problems = {NULL, 0, 0};
    int code = BAD_CALL;
    if (pairs_find(o, &pairs, &problems)) {
        if (pairs.count == 0) {
            list_addf(&problems, "%s: no ground truth with a prediction", o->truth_dir);
        }
        code = evaluate(o, &pairs, &e, &problems) ? finish(o, &e, &problems) : SOME_WRONG;
    }
    evaluation_free(&e);
    pairs_free(&pairs);
    list_free(&problems);
    return code;
}

/* Of counts that were saved. */
static int merge(options *o)
{
    evaluation e;
    string_list problems = {NULL, 0, 0};
    int code = counts_merge(o, &e, &problems) ? finish(o, &e, &problems) : BAD_CALL;
    evaluation_free(&e);
    list_free(&problems);
    return code;
}

int main(int argc, char **argv)
{
    options o;
    parsed call = options_parse(argc, argv, &o);
    int code = call == PARSED_WRONG ? BAD_CALL : ALL_FINE;
    if (call == PARSED_RUN) {
        code = o.merge ? merge(&o) : run(&o);
    }
    options_free(&o);
    return code;
}
