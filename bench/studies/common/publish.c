/* From a study to the report: notes.md with the values of this run, and the figures of plot.gp. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/study.h"

/* ---- values ---- */
void study_set(study_values *values, const char *name, const char *format, ...)
{
    size_t k = values->count;
    if (k == STUDY_VALUES || strlen(name) >= sizeof values->name[0]) {
        values->overflow = true;
        return;
    }
    va_list args;
    va_start(args, format);
    int length = vsnprintf(values->text[k], sizeof values->text[k], format, args);
    va_end(args);
    memcpy(values->name[k], name, strlen(name) + 1);
    values->overflow = values->overflow || length < 0 || (size_t)length >= sizeof values->text[k];
    values->count++;
}

/* The value whose name is the first `letters` characters of text; NULL: there is none. */
static const char *value_of(const study_values *values, const char *text, size_t letters)
{
    for (size_t k = 0; k < values->count; k++) {
        if (strlen(values->name[k]) == letters && memcmp(values->name[k], text, letters) == 0) {
            return values->text[k];
        }
    }
    return NULL;
}

bool study_fill(FILE *file, const char *text, const study_values *values)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "{");
        fwrite(text, 1, plain, file);
        text += plain;
        if (*text == '{') {
            size_t letters = strcspn(text + 1, "}\n");
            const char *value = value_of(values, text + 1, letters);
            if (!value || text[1 + letters] != '}') {
                return study_fail("notes.md: '%.*s' is not the {name} of a value of this study",
                                  (int)letters + 2, text);
            }
            fputs(value, file);
            text += letters + 2;
        }
    }
    return true;
}

/* ---- notes.md ---- */

/* Writes the last paragraph, which identifies the run. */
static void write_run(const study_options *options, FILE *file)
{
    char run[120];
    fprintf(file, "\nRun: %s.\n", study_stamp(options, run, sizeof run));
}

static bool write_notes(const study_options *options, const study_values *values)
{
    FILE *file = study_open(options, "notes.md");
    if (!file) {
        return false;
    }
    bool good = study_fill(file, options->current->notes, values);
    write_run(options, file);
    return study_close(file) && good;
}

const char *study_title(const study *s, size_t *length)
{
    const char *title = s->notes + strspn(s->notes, "# ");
    *length = strcspn(title, "\n");
    return title;
}

bool study_excuse(const study_options *options, const char *text)
{
    FILE *file = study_open(options, "notes.md");
    if (!file) {
        return false;
    }
    size_t length;
    const char *title = study_title(options->current, &length);
    fprintf(file, "# %.*s\n\n%s\n", (int)length, title, text);
    write_run(options, file);
    return study_close(file);
}

/* ---- figures ---- */
static bool write_plot(const study_options *options, const study_values *values)
{
    FILE *file = study_open(options, "values.gp");
    if (!file) {
        return false;
    }
    for (size_t k = 0; k < values->count; k++) {
        fprintf(file, "%s = %s\n", values->name[k], values->text[k]);
    }
    if (!study_close(file) || !(file = study_open(options, "plot.gp"))) {
        return false;
    }
    fputs(options->current->plot, file);
    return study_close(file);
}

/* Runs gnuplot inside the folder of the study. */
static bool draw(const study_options *options)
{
    enum { NOT_FOUND = 127 };
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/%s", options->out, options->current->name);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        return study_fail("cannot start gnuplot: %s", strerror(errno));
    }
    if (child == 0) {
        if (chdir(folder) == 0) {
            execlp("gnuplot", "gnuplot", "plot.gp", (char *)NULL);
        }
        _exit(NOT_FOUND);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND) {
        printf("no plot: gnuplot is not installed (apt install gnuplot-nox)\n");
        return true;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? true
               : study_fail("gnuplot failed on %s/plot.gp", folder);
}

bool study_publish(const study_options *options, const study_values *values)
{
    if (values->overflow) {
        return study_fail("the values of study %s do not fit: enlarge study_values",
                          options->current->name);
    }
    return write_notes(options, values) && write_plot(options, values) && draw(options);
}
