/* The program behind scripts/study.sh.
 *
 *   submod-study list
 *   submod-study run [NAME ..] [--out DIR] [--seed N] [--quick]       no NAME: all of them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/study.h"

static int usage(void)
{
    fprintf(stderr, "usage: submod-study list\n"
                    "       submod-study run [NAME ..] [--out DIR] [--seed N] [--quick]\n");
    return 2;
}

static int list(void)
{
    for (size_t i = 0; i < studies_count; i++) {
        size_t length;
        const char *title = study_title(&studies[i], &length);
        printf("%-12s %.*s\n", studies[i].name, (int)length, title);
    }
    return EXIT_SUCCESS;
}

static const study *find(const char *name)
{
    for (size_t i = 0; i < studies_count; i++) {
        if (strcmp(studies[i].name, name) == 0) {
            return &studies[i];
        }
    }
    study_fail("there is no study '%s'; 'submod-study list' shows them", name);
    return NULL;
}

static bool run_one(const study *s, study_options *options)
{
    size_t length;
    const char *title = study_title(s, &length);
    options->current = s;
    printf("\n%s: %.*s\n", s->name, (int)length, title);
    bool good = s->run(options);
    if (!good) {
        study_excuse(options, "This study failed; its messages on the terminal say why. Below is "
                              "what it had written before.");
    }
    printf("%s: %s in %s/%s\n", s->name, good ? "done, files" : "FAILED, what there is",
           options->out, s->name);
    return good;
}

static bool parse_seed(const char *text, uint64_t *seed)
{
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return *text != '-' && *text != '\0' && *end == '\0' && errno == 0;
}

/* Runs the named studies, or all studies if none is named. Returns the number of failures. */
static int run_all(study_options *options, char **names, size_t count)
{
    char stamp[120];
    int failed = 0;
    time_t begun = time(NULL);
    size_t all = count ? count : studies_count;
    printf("submod-study: %s\n", study_stamp(options, stamp, sizeof stamp));
    for (size_t i = 0; i < all; i++) {
        const study *s = count ? find(names[i]) : &studies[i];
        fflush(stdout);
        fprintf(stderr, "submod-study: %zu of %zu, %s; %.0f s so far\n", i + 1, all, s->name,
                difftime(time(NULL), begun));
        failed += !run_one(s, options);
    }
    printf("\nsubmod-study: %s\n", stamp);
    return failed;
}

static int run(int argc, char **argv)
{
    char date[sizeof "YYYY-MM-DD"];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    study_options options = {.out = "out", .seed = 1, .date = date};
    int names = 0; /* of studies; they are gathered at the beginning of argv */
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            options.quick = true;
        } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
            options.out = argv[++i];
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            if (!parse_seed(argv[++i], &options.seed)) {
                study_fail("--seed takes a number, not '%s'", argv[i]);
                return usage();
            }
        } else if (argv[i][0] == '-') {
            return usage();
        } else if (!find(argv[i])) {
            return 2;
        } else {
            argv[names++] = argv[i];
        }
    }
    return run_all(&options, argv, (size_t)names) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        return list();
    }
    if (argc >= 2 && strcmp(argv[1], "run") == 0) {
        return run(argc - 2, argv + 2);
    }
    return usage();
}
