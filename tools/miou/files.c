/* Lists of strings, and a walk through folders that finds PNG files. Links to folders are followed,
 * unless they lead back to a folder above.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- memory and strings ---- */

void *checked_alloc(void *old, size_t count, size_t size)
{
    void *memory = size && count > SIZE_MAX / size ? NULL : realloc(old, count * size + 1);
    if (!memory) {
        fputs("submod-miou: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void list_take(string_list *list, char *item)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 16;
        list->items = checked_alloc(list->items, list->capacity, sizeof *list->items);
    }
    list->items[list->count++] = item;
}

void list_add(string_list *list, const char *item)
{
    size_t size = strlen(item) + 1;
    list_take(list, memcpy(checked_alloc(NULL, size, 1), item, size));
}

void list_addf(string_list *list, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t size = (size_t)(length < 0 ? 0 : length) + 1;
    char *item = checked_alloc(NULL, size, 1);
    va_start(args, format);
    vsnprintf(item, size, format, args);
    va_end(args);
    list_take(list, item);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void list_sort(string_list *list)
{
    if (list->count) {
        qsort(list->items, list->count, sizeof *list->items, by_name);
    }
}

bool list_has(const string_list *list, const char *item)
{
    return list->count &&
           bsearch(&item, list->items, list->count, sizeof *list->items, by_name) != NULL;
}

void list_free(string_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i]);
    }
    free(list->items);
    *list = (string_list){NULL, 0, 0};
}

char *join_path(const char *a, const char *b)
{
    size_t size = strlen(a) + strlen(b) + 2;
    char *path = checked_alloc(NULL, size, 1);
    snprintf(path, size, "%s%s%s", a, *a ? "/" : "", b);
    return path;
}

bool read_lines(const char *path, string_list *lines)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line) {
            list_add(lines, line);
        }
    }
    bool ok = !ferror(file);
    int error = errno;
    free(line);
    fclose(file);
    errno = error;
    return ok;
}

/* ---- folders ---- */

/* The chain of folders from the root down to here. It shows links that lead back up. */
typedef struct folder {
    dev_t device;
    ino_t inode;
    const struct folder *parent;
} folder;

typedef struct walk {
    const char *root;
    string_list *paths, *problems;
} walk;

static bool is_png(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcasecmp(name + length - 4, ".png") == 0;
}

static bool leads_back(const folder *here)
{
    for (const folder *f = here->parent; f; f = f->parent) {
        if (f->device == here->device && f->inode == here->inode) {
            return true;
        }
    }
    return false;
}

static bool walk_folder(const walk *w, const char *path, const folder *parent);

static void visit(const walk *w, const char *relative, const folder *parent)
{
    char *full = join_path(w->root, relative);
    struct stat info;
    if (stat(full, &info) != 0) {
        /* Only a file named like a label map would be missed. */
        if (is_png(relative)) {
            list_addf(w->problems, "%s: %s", full, strerror(errno));
        }
    } else if (S_ISDIR(info.st_mode)) {
        folder here = {info.st_dev, info.st_ino, parent};
        if (!leads_back(&here) && !walk_folder(w, relative, &here)) {
            list_addf(w->problems, "%s: %s", full, strerror(errno));
        }
    } else if (is_png(relative) && S_ISREG(info.st_mode)) {
        list_add(w->paths, relative);
    } else if (is_png(relative)) {
        list_addf(w->problems, "%s: not a regular file", full);
    }
    free(full);
}

static bool walk_folder(const walk *w, const char *path, const folder *parent)
{
    char *full = *path ? join_path(w->root, path) : join_path("", w->root);
    DIR *dir = opendir(full);
    free(full);
    if (!dir) {
        return false;
    }
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)); errno = 0) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char *relative = join_path(path, entry->d_name);
            visit(w, relative, parent);
            free(relative);
        }
    }
    int error = errno;
    closedir(dir);
    errno = error;
    return error == 0;
}

bool list_png_files(const char *root, string_list *paths, string_list *problems)
{
    struct stat info;
    if (stat(root, &info) != 0) {
        return false;
    }
    walk w = {root, paths, problems};
    folder top = {info.st_dev, info.st_ino, NULL};
    if (!walk_folder(&w, "", &top)) {
        return false;
    }
    list_sort(paths);
    return true;
}
