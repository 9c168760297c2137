/* What every fuzzer has (see fuzz.h). */
#include "fuzz.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fuzz_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    FILE *out = fdopen(STDERR_FILENO, "w"); /* some fuzzers have led stderr away */
    out = out ? out : stderr;
    va_start(args, format);
    fprintf(out, "\n%s:%d: ", file, line);
    vfprintf(out, format, args);
    fprintf(out, "\nlast error of the library: %s\n", submod_last_error());
    va_end(args);
    (void)fflush(out);
    abort();
}

bool fuzz_shows(void)
{
    return getenv("FUZZ_SHOW") != NULL;
}

void *fuzz_alloc(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    FUZZ_CHECK(memory || count * size == 0, "the fuzzer has no memory");
    return memory;
}

bool fuzz_near(double a, double b, double tolerance)
{
    return a == b || fabs(a - b) <= tolerance;
}

/* ---- files ---- */

static char folder[64];

static void remove_folder(void)
{
    fuzz_clear_folder();
    (void)rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (!folder[0]) {
        /* In memory where that is to be had: files are written thousands of times. */
        snprintf(folder, sizeof folder, "%s/submod-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_CHECK(mkdtemp(folder), "no folder for files");
        (void)atexit(remove_folder);
    }
    return folder;
}

static void clear(const char *path)
{
    DIR *open = opendir(path);
    char below[512];
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (unlink(below) != 0) {
            clear(below);
            (void)rmdir(below);
        }
    }
    if (open) {
        (void)closedir(open);
    }
}

void fuzz_clear_folder(void)
{
    clear(fuzz_folder());
}

void fuzz_write(const char *name, const void *bytes, size_t size, char *path)
{
    snprintf(path, 256, "%s/%s", fuzz_folder(), name);
    FILE *out = fopen(path, "wb");
    FUZZ_CHECK(out && fwrite(bytes, 1, size, out) == size && fclose(out) == 0, "%s: not written",
               path);
}
