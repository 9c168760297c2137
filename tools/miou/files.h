/* Lists of strings and the PNG files below a folder. */
#ifndef MIOU_FILES_H
#define MIOU_FILES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct string_list {
    char **items;
    size_t count, capacity;
} string_list;

/* When memory runs out, these print a message and end the program. */
void *checked_alloc(void *old, size_t count, size_t size);
void list_add(string_list *list, const char *item);
void list_addf(string_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
void list_sort(string_list *list);
void list_free(string_list *list);
/* Whether item is in a sorted list. */
bool list_has(const string_list *list, const char *item);

/* "a/b", or "b" when a is empty; the caller frees. */
char *join_path(const char *a, const char *b);

/* Adds the lines of a file, without empty ones. False, with errno, when it cannot be read. */
bool read_lines(const char *path, string_list *lines);

/* Finds the files below root that end in .png (in upper or lower case); their paths, relative to
 * root, are sorted. Folders below it that cannot be read are named in *problems. False, with errno,
 * when root itself cannot be read. */
bool list_png_files(const char *root, string_list *paths, string_list *problems);

#endif
