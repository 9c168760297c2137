/* Numbers in files: the format of file.h. */
#ifndef SUBMODI_SAVED_H
#define SUBMODI_SAVED_H

#include <submod/base.h>

/* Numbers of 8 bytes in memory: `words` of them. */
typedef struct submodi_span {
    void *data;
    size_t words;
} submodi_span;

/* Writes the spans one after the other. */
submod_status submodi_saved_write(const char *path, const char *kind, const submodi_span *spans,
                                  size_t n);

/* Reads them; *words is to be freed by submodi_free. */
submod_status submodi_saved_read(const char *path, const char *kind, uint64_t **words,
                                 size_t *count);

#endif
