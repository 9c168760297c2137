/* The files that a study writes, and what it says on the terminal. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
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

void study_progress(const study_options *options, size_t done, size_t total)
{
    enum { WIDTH = 40 };
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    if (done >= total) {
        fprintf(stderr, "\r\033[K");
        return;
    }
    static const char full[] = "########################################";
    int filled = (int)(WIDTH * done / total);
    fprintf(stderr, "\r  %s [%.*s%*s] %3zu %%", options->current->name, filled, full,
            WIDTH - filled, "", 100 * done / total);
    fflush(stderr);
}

void study_judge(FILE *csv, const char *text, const char *measured, study_verdict verdict)
{
    static const char *const names[] = {
        [STUDY_HELD] = "held", [STUDY_NOT_SHOWN] = "not shown", [STUDY_NOT_HELD] = "not held"};
    printf("  %-9s %s: %s\n", names[verdict], text, measured);
    fprintf(csv, "\"%s\",\"%s\",%s\n", text, measured, names[verdict]);
}

void study_claim(FILE *csv, const char *text, const char *measured, bool held)
{
    study_judge(csv, text, measured, held ? STUDY_HELD : STUDY_NOT_HELD);
}
