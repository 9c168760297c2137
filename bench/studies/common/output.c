/* The files that a study writes, and what it says on the terminal. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/study.h"

bool study_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "submod-study: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return false;
}

/* Makes every folder on the way to path. */
static bool make_folders(const char *path)
{
    char partial[4096];
    if (strlen(path) >= sizeof partial) {
        return study_fail("the path is too long: %s", path);
    }
    for (size_t i = 0; i <= strlen(path); i++) {
        partial[i] = path[i];
        if (i > 0 && (path[i] == '/' || path[i] == '\0')) {
            partial[i] = '\0';
            if (mkdir(partial, 0777) != 0 && errno != EEXIST) {
                return study_fail("cannot make the folder %s: %s", partial, strerror(errno));
            }
            partial[i] = path[i];
        }
    }
    return true;
}

FILE *study_open(const study_options *options, const char *file)
{
    char path[4096];
    const char *name = options->current->name;
    snprintf(path, sizeof path, "%s/%s", options->out, name);
    if (!make_folders(path)) {
        return NULL;
    }
    snprintf(path, sizeof path, "%s/%s/%s", options->out, name, file);
    FILE *f = fopen(path, "w");
    if (!f) {
        study_fail("cannot write %s: %s", path, strerror(errno));
    }
    return f;
}

bool study_close(FILE *file)
{
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    return failed ? study_fail("writing failed: %s", strerror(errno)) : true;
}

/* ---- the terminal ---- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void draw_bar(const study_options *options, size_t done, size_t total, double left)
{
    enum { WIDTH = 40 };
    static const char full[] = "########################################";
    int filled = (int)(WIDTH * done / total);
    fprintf(stderr, "\r  %s [%.*s%*s] %3zu %%", options->current->name, filled, full,
            WIDTH - filled, "", 100 * done / total);
    if (done > 0) {
        fprintf(stderr, ", about %.0f s left", left);
    }
    fprintf(stderr, "\033[K");
    fflush(stderr);
}

void study_progress(const study_options *options, size_t done, size_t total)
{
    static const double between = 10; /* seconds between lines */
    static double begun, shown;
    double now = seconds_now();
    if (done == 0) {
        begun = shown = now;
    }
    double left = done > 0 ? (now - begun) * (double)(total - done) / (double)done : 0;
    if (isatty(STDERR_FILENO) && done < total) {
        draw_bar(options, done, total, left);
    } else if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K");
    } else if (done < total && now - shown >= between) {
        fprintf(stderr, "  %s: %zu of %zu done, about %.0f s left\n", options->current->name, done,
                total, left);
        shown = now;
    }
}

const char *study_stamp(const study_options *options, char *text, size_t size)
{
    snprintf(text, size, "%sversion %s, seed %llu, %s",
             options->quick ? "quick run: verdicts are not meaningful; " : "",
             SUBMOD_VERSION_STRING, (unsigned long long)options->seed, options->date);
    return text;
}

/* ---- claims ---- */

bool study_claims_open(const study_options *options, study_claims *claims)
{
    study_stamp(options, claims->run, sizeof claims->run);
    claims->file = study_open(options, "table_claims.csv");
    if (!claims->file) {
        return false;
    }
    printf("\n");
    if (options->quick) {
        printf("  %s\n", claims->run);
    }
    fprintf(claims->file, "claim,measured,verdict,run\n");
    return true;
}

void study_judge(study_claims *claims, const char *text, const char *measured,
                 study_verdict verdict)
{
    static const char *const names[] = {
        [STUDY_HELD] = "held", [STUDY_NOT_SHOWN] = "not shown", [STUDY_NOT_HELD] = "not held"};
    printf("  %-9s %s: %s\n", names[verdict], text, measured);
    fprintf(claims->file, "\"%s\",\"%s\",%s,\"%s\"\n", text, measured, names[verdict], claims->run);
}

void study_claim(study_claims *claims, const char *text, const char *measured, bool held)
{
    study_judge(claims, text, measured, held ? STUDY_HELD : STUDY_NOT_HELD);
}

bool study_claims_close(study_claims *claims)
{
    return study_close(claims->file);
}
