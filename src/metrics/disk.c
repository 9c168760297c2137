/* Writes a new file beside the old one, waits until it is on the disk, and renames it: the old one
 * is there until the new one is whole. The only place where the library touches a disk.
 */
#include "metrics/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/internal.h"

enum {
    SHOWN = 110,      /* bytes of a path in an error message, whose length is limited */
    SUFFIX = 48,      /* two numbers and ".tmp" */
    ATTEMPTS = 10000, /* names that others have taken, or left behind when they were killed */
    AT_ONCE = 1 << 30 /* bytes per call of the system, which takes no more than 2^31 */
};

submod_status submodi_file_fail(const char *path, const char *what)
{
    size_t length = strlen(path);
    bool shown = length <= SHOWN;
    return submodi_fail(SUBMOD_EFILE, "%s%s %s", shown ? "" : "..",
                        shown ? path : path + length - SHOWN, what);
}

/* strerror is not safe in threads, and the other one has two forms. */
static submod_status system_failed(const char *path, const char *verb, int error)
{
    char what[128];
    char words[80];
    if (strerror_r(error, words, sizeof words) != 0) {
        snprintf(words, sizeof words, "error %d", error);
    }
    snprintf(what, sizeof what, "cannot be %s: %s", verb, words);
    return submodi_file_fail(path, what);
}

static submod_status require_path(const char *path)
{
    submod_status status = submodi_check_given("path", path);
    return status || *path ? status : submodi_fail(SUBMOD_EINVAL, "path is empty");
}

/* ---- writing ---- */

/* Whether there is something else than a file, which must not be replaced by one. */
static bool is_occupied(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

submod_status submodi_new_file_open(const char *path, submodi_new_file *file)
{
    submod_status status = require_path(path);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (is_occupied(path)) {
        return submodi_file_fail(path, "is not a regular file, and stays as it is");
    }
    size_t size = strlen(path) + SUFFIX;
    char *name = submodi_alloc(size, 1);
    if (!name) {
        return submodi_out_of_memory();
    }
    int descriptor = -1;
    errno = EEXIST;
    for (int i = 0; i < ATTEMPTS && descriptor < 0 && errno == EEXIST; i++) {
        snprintf(name, size, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (descriptor < 0) {
        int error = errno;
        submodi_free(name);
        return system_failed(path, "written", error);
    }
    *file = (submodi_new_file){path, name, descriptor, 0};
    return SUBMOD_OK;
}

void submodi_new_file_write(submodi_new_file *file, const void *bytes, size_t count)
{
    const char *from = bytes;
    while (count && !file->error) {
        ssize_t written = write(file->descriptor, from, count < AT_ONCE ? count : AT_ONCE);
        if (written < 0) {
            file->error = errno == EINTR ? 0 : errno;
            continue;
        }
        from += written;
        count -= (size_t)written;
    }
}

/* The new name is on the disk too. Some systems cannot do that for folders; then it is a matter of
 * seconds, and whatever comes first, one of the two files is there. */
static void sync_folder(char *name)
{
    char *slash = strrchr(name, '/');
    if (slash) {
        slash[slash == name] = 0; /* the root keeps its own */
    }
    int folder = open(slash ? name : ".", O_RDONLY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

submod_status submodi_new_file_close(submodi_new_file *file)
{
    int error = file->error;
    if (!error && fsync(file->descriptor) != 0) {
        error = errno;
    }
    if (close(file->descriptor) != 0 && !error) {
        error = errno;
    }
    if (!error && rename(file->temporary, file->path) != 0) {
        error = errno;
    }
    if (error) {
        (void)unlink(file->temporary);
    } else {
        sync_folder(file->temporary);
    }
    submodi_free(file->temporary);
    return error ? system_failed(file->path, "written", error) : SUBMOD_OK;
}

/* ---- reading ---- */

submod_status submodi_old_file_open(const char *path, submodi_old_file *file)
{
    struct stat info;
    submod_status status = require_path(path);
    if (status != SUBMOD_OK) {
        return status;
    }
    /* Not to wait for somebody who writes into a pipe. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        status = system_failed(path, "read", errno);
    } else if (!S_ISREG(info.st_mode)) {
        status = submodi_file_fail(path, "is not a regular file");
    } else {
        *file = (submodi_old_file){path, descriptor, (uint64_t)info.st_size};
        return SUBMOD_OK;
    }
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return status;
}

submod_status submodi_old_file_read(const submodi_old_file *file, void *bytes, size_t count)
{
    char *to = bytes;
    while (count) {
        ssize_t got = read(file->descriptor, to, count < AT_ONCE ? count : AT_ONCE);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return system_failed(file->path, "read", errno);
        }
        if (got == 0) {
            return submodi_file_fail(file->path, "became shorter while it was read");
        }
        to += got;
        count -= (size_t)got;
    }
    return SUBMOD_OK;
}

void submodi_old_file_close(const submodi_old_file *file)
{
    (void)close(file->descriptor);
}
