/* Writes pieces of JSON. */
#include "json.h"

#include <math.h>
#include <stddef.h>

/* The length in bytes of the UTF-8 character at s; 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = utf8_length(s);
        if (n == 0) {
            fputs("\\ufffd", out); /* file names may be any bytes */
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s < 0x20) {
            fprintf(out, "\\u%04x", *s);
        } else {
            fwrite(s, 1, n, out);
        }
        s += n;
    }
    fputc('"', out);
}

void json_number(FILE *out, double value)
{
    if (isnan(value)) {
        fputs("null", out);
    } else {
        fprintf(out, "%.17g", value);
    }
}
