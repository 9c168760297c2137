/* The format of file.h: numbers, lowest byte first, between a head and a checksum. */
#include "metrics/saved.h"

#include <stdio.h>
#include <string.h>

#include "base/internal.h"
#include "metrics/disk.h"
#include <submod/file.h>

static const char magic[8] = {'s', 'u', 'b', 'm', 'o', 'd', '\r', '\n'};

enum {
    WORD = 8,
    FORMAT = 1,
    KIND = 32,               /* bytes of the kind, at least one of them 0 */
    HEAD = 8 + 8 + KIND + 8, /* bytes before the numbers */
    PART = 512               /* words that are written at a time */
};

/* ---- the order of bytes ---- */

static void to_bytes(const uint64_t *words, size_t n, unsigned char *bytes)
{
    for (size_t i = 0; i < n * WORD; i++) {
        bytes[i] = (unsigned char)(words[i / WORD] >> (8 * (i % WORD)));
    }
}

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word = 0;
    for (int i = WORD - 1; i >= 0; i--) {
        word = word << 8 | bytes[i];
    }
    return word;
}

/* In place. */
static void to_words(uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = word_at((const unsigned char *)&words[i]);
    }
}

/* ---- checksum ---- */

/* CRC-64: the remainder of the bytes as a polynomial, a byte at a time by a table. */
typedef struct checksum {
    uint64_t table[256];
    uint64_t remainder;
} checksum;

static void checksum_start(checksum *c)
{
    const uint64_t polynomial = 0xc96c5795d7870f42; /* ECMA-182, lowest bit first */
    for (uint64_t byte = 0; byte < 256; byte++) {
        uint64_t r = byte;
        for (int bit = 0; bit < 8; bit++) {
            r = r >> 1 ^ (r & 1 ? polynomial : 0);
        }
        c->table[byte] = r;
    }
    c->remainder = UINT64_MAX;
}

static void checksum_add(checksum *c, const unsigned char *bytes, size_t n)
{
    uint64_t r = c->remainder;
    for (size_t i = 0; i < n; i++) {
        r = r >> 8 ^ c->table[(r ^ bytes[i]) & 255];
    }
    c->remainder = r;
}

static uint64_t checksum_value(const checksum *c)
{
    return ~c->remainder;
}

/* ---- writing ---- */

static submod_status require_kind(const char *kind)
{
    submod_status status = submodi_check_given("kind", kind);
    size_t length = status ? 0 : strlen(kind);
    return status || (length > 0 && length < KIND)
               ? status
               : submodi_fail(SUBMOD_EINVAL, "kind has %zu bytes; it must have 1 to %d", length,
                              KIND - 1);
}

static void write_bytes(submodi_new_file *file, checksum *sum, const unsigned char *bytes, size_t n)
{
    checksum_add(sum, bytes, n);
    submodi_new_file_write(file, bytes, n);
}

static void write_head(submodi_new_file *file, checksum *sum, const char *kind, uint64_t count)
{
    unsigned char head[HEAD] = {0};
    const uint64_t format = FORMAT;
    memcpy(head, magic, sizeof magic);
    to_bytes(&format, 1, head + 8);
    memcpy(head + 16, kind, strlen(kind) + 1); /* fits: require_kind */
    to_bytes(&count, 1, head + 16 + KIND);
    write_bytes(file, sum, head, HEAD);
}

static void write_words(submodi_new_file *file, checksum *sum, const uint64_t *words, size_t count)
{
    unsigned char bytes[PART * WORD];
    for (size_t i = 0; i < count; i += PART) {
        size_t n = count - i < PART ? count - i : PART;
        to_bytes(words + i, n, bytes);
        write_bytes(file, sum, bytes, n * WORD);
    }
}

submod_status submodi_saved_write(const char *path, const char *kind, const submodi_span *spans,
                                  size_t n)
{
    submodi_new_file file;
    checksum sum;
    unsigned char end[WORD];
    submod_status status = require_kind(kind);
    status = status ? status : submodi_new_file_open(path, &file);
    if (status != SUBMOD_OK) {
        return status;
    }
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += spans[i].words;
    }
    checksum_start(&sum);
    write_head(&file, &sum, kind, count);
    for (size_t i = 0; i < n; i++) {
        write_words(&file, &sum, spans[i].data, spans[i].words);
    }
    uint64_t value = checksum_value(&sum);
    to_bytes(&value, 1, end);
    submodi_new_file_write(&file, end, WORD);
    return submodi_new_file_close(&file);
}

/* ---- reading ---- */

static submod_status refuse(const submodi_old_file *file, const char *what)
{
    return submodi_file_fail(file->path, what);
}

/* What can be said before the checksum is known; *count is how many numbers there are. */
static submod_status check_head(const submodi_old_file *file, const unsigned char *head,
                                size_t *count)
{
    char what[128];
    size_t length = file->length < sizeof magic ? (size_t)file->length : sizeof magic;
    if (length == 0 || memcmp(head, magic, length) != 0) {
        return refuse(file, length ? "is not a file of libsubmod" : "is empty");
    }
    uint64_t format = word_at(head + 8); /* 0 where that is missing */
    if (format > FORMAT) {
        snprintf(what, sizeof what,
                 "was written by a newer libsubmod, format %llu; this one reads up to %d",
                 (unsigned long long)format, FORMAT);
        return refuse(file, what);
    }
    uint64_t rest = file->length < HEAD + WORD ? 0 : file->length - HEAD - WORD;
    uint64_t words = word_at(head + 16 + KIND);
    if (file->length < HEAD + WORD || words > rest / WORD) {
        snprintf(what, sizeof what, "is cut off: it has %llu bytes, and says that there are more",
                 (unsigned long long)file->length);
        return refuse(file, what);
    }
    if (rest > words * WORD) {
        snprintf(what, sizeof what, "has %llu bytes too many",
                 (unsigned long long)(rest - words * WORD));
        return refuse(file, what);
    }
    *count = (size_t)words;
    return words == *count ? SUBMOD_OK : submodi_out_of_memory();
}

/* After the checksum: what remains is what somebody has written. */
static submod_status check_kind(const submodi_old_file *file, const unsigned char *head,
                                const char *kind)
{
    char found[KIND];
    char what[128];
    memcpy(found, head + 16, KIND);
    found[KIND - 1] = 0;
    if (word_at(head + 8) != FORMAT || strcmp(found, kind) != 0) {
        snprintf(what, sizeof what, "holds %s, not %s", found, kind);
        return refuse(file, what);
    }
    return SUBMOD_OK;
}

/* The numbers behind the head, and the checksum behind them, into words, which has room for it. */
static submod_status read_words(const submodi_old_file *file, const unsigned char *head,
                                uint64_t *words, size_t count)
{
    checksum sum;
    checksum_start(&sum);
    checksum_add(&sum, head, HEAD);
    submod_status status = submodi_old_file_read(file, words, (count + 1) * WORD);
    if (status != SUBMOD_OK) {
        return status;
    }
    checksum_add(&sum, (const unsigned char *)words, count * WORD);
    to_words(words, count + 1);
    return words[count] == checksum_value(&sum) ? SUBMOD_OK
                                                : refuse(file, "is damaged: its checksum is wrong");
}

static submod_status read_file(const submodi_old_file *file, const char *kind, uint64_t **words,
                               size_t *count)
{
    unsigned char head[HEAD] = {0};
    size_t n = 0;
    size_t part = file->length < HEAD ? (size_t)file->length : HEAD;
    submod_status status = submodi_old_file_read(file, head, part);
    status = status ? status : check_head(file, head, &n);
    if (status != SUBMOD_OK) {
        return status;
    }
    uint64_t *found = submodi_alloc(n + 1, WORD); /* no overflow: a file is as long */
    status = found ? read_words(file, head, found, n) : submodi_out_of_memory();
    status = status ? status : check_kind(file, head, kind);
    if (status != SUBMOD_OK) {
        submodi_free(found);
        return status;
    }
    *words = found;
    *count = n;
    return SUBMOD_OK;
}

submod_status submodi_saved_read(const char *path, const char *kind, uint64_t **words,
                                 size_t *count)
{
    submodi_old_file file;
    submod_status status = require_kind(kind);
    status = status ? status : submodi_old_file_open(path, &file);
    if (status == SUBMOD_OK) {
        status = read_file(&file, kind, words, count);
        submodi_old_file_close(&file);
    }
    return status;
}

/* ---- public ---- */

submod_status submod_file_save(const char *path, const char *kind, const uint64_t *words,
                               size_t count)
{
    submod_status status = count ? submodi_check_given("words", words) : SUBMOD_OK;
    const submodi_span span = {(void *)words, count}; /* spans are for loading too */
    return submodi_return("submod_file_save",
                          status ? status : submodi_saved_write(path, kind, &span, 1));
}

submod_status submod_file_load(const char *path, const char *kind, uint64_t **words, size_t *count)
{
    submod_status status = submodi_check_given("words", words);
    status = status ? status : submodi_check_given("count", count);
    return submodi_return("submod_file_load",
                          status ? status : submodi_saved_read(path, kind, words, count));
}

void submod_file_free(uint64_t *words)
{
    submodi_free(words);
}
