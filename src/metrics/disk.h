/* Files that are replaced as a whole: a reader sees the old one or the new one. */
#ifndef SUBMODI_DISK_H
#define SUBMODI_DISK_H

#include <stdbool.h>

#include <submod/base.h>

/* Returns SUBMOD_EFILE with the message "path what"; a long path is shown by its end. */
submod_status submodi_file_fail(const char *path, const char *what);

/* A file that is being written beside `path`. */
typedef struct submodi_new_file {
    const char *path;
    char *temporary; /* its name */
    int descriptor;
    int error; /* errno of the first write that failed; 0: none */
} submodi_new_file;

/* Opens it. Close it in any case if that has worked. */
submod_status submodi_new_file_open(const char *path, submodi_new_file *file);
/* Writes to its end; an error is kept for closing. */
void submodi_new_file_write(submodi_new_file *file, const void *bytes, size_t count);
/* Puts the file at its place, or removes it when something has failed, here or before. */
submod_status submodi_new_file_close(submodi_new_file *file);

/* A file that is being read. */
typedef struct submodi_old_file {
    const char *path;
    int descriptor;
    uint64_t length; /* in bytes */
} submodi_old_file;

/* Opens a regular file. Close it if that has worked. */
submod_status submodi_old_file_open(const char *path, submodi_old_file *file);
/* The next bytes, all of them. */
submod_status submodi_old_file_read(const submodi_old_file *file, void *bytes, size_t count);
void submodi_old_file_close(const submodi_old_file *file);

#endif
