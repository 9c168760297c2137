/* Writes small label maps for tests/miou/run.sh.
 *
 *   make_png FILE KIND WIDTH HEIGHT LABEL...    KIND: gray or palette and the bits per pixel, with
 *                                               an i for interlaced (gray16, palette8, gray8i), or
 *                                               rgb8, which takes one number for all channels
 *   make_png --damage FILE DIR                  copies of FILE into DIR: cut off after each number
 *                                               of bytes, and with each byte inverted
 */
#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "make_png: %s\n", what);
    exit(1);
}

static FILE *open_or_die(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        die(path);
    }
    return file;
}

static unsigned long number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end) {
        die(text);
    }
    return value;
}

/* ---- writing ---- */

typedef struct kind {
    int color_type, bits, interlace;
} kind;

static kind parse_kind(const char *text)
{
    static const struct {
        const char *name;
        int color_type;
    } types[] = {{"gray", PNG_COLOR_TYPE_GRAY},
                 {"palette", PNG_COLOR_TYPE_PALETTE},
                 {"rgb", PNG_COLOR_TYPE_RGB}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t length = strlen(types[i].name);
        if (strncmp(text, types[i].name, length) == 0) {
            char *end;
            int bits = (int)strtol(text + length, &end, 10);
            return (kind){types[i].color_type, bits,
                          *end == 'i' ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE};
        }
    }
    die(text);
}

/* All entries black: a reader that looks at colours instead of indices will be noticed. */
static void write_palette(png_structp png, png_infop info, int bits)
{
    static const png_color black[256];
    png_set_PLTE(png, info, black, 1 << bits);
}

/* One row in bytes: samples of one byte (packed by libpng) or of two. */
static void fill_row(const kind *k, unsigned long width, char **labels, png_bytep row)
{
    for (unsigned long x = 0; x < width; x++) {
        unsigned long label = number(labels[x]);
        if (k->bits == 16) {
            row[2 * x] = (png_byte)(label >> 8);
            row[2 * x + 1] = (png_byte)(label & 255);
        } else if (k->color_type == PNG_COLOR_TYPE_RGB) {
            memset(row + 3 * x, (int)label, 3);
        } else {
            row[x] = (png_byte)label;
        }
    }
}

static void write_rows(FILE *file, const kind *k, unsigned long width, unsigned long height,
                       png_bytepp rows)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        die("libpng failed");
    }
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, k->bits, k->color_type,
                 k->interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (k->color_type == PNG_COLOR_TYPE_PALETTE) {
        write_palette(png, info, k->bits);
    }
    png_write_info(png, info);
    png_set_packing(png);
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

static void write_png(const char *path, kind k, unsigned long width, unsigned long height,
                      char **labels)
{
    FILE *file = open_or_die(path, "wb");
    png_bytep bytes = calloc(height, 8 * width);
    png_bytepp rows = calloc(height, sizeof *rows);
    if (!bytes || !rows) {
        die("out of memory");
    }
    for (unsigned long y = 0; y < height; y++) {
        rows[y] = bytes + y * 8 * width;
        fill_row(&k, width, labels + y * width, rows[y]);
    }
    write_rows(file, &k, width, height, rows);
    free(bytes);
    free(rows);
    fclose(file);
}

/* ---- damaging ---- */

static void write_bytes(const char *dir, const char *what, size_t i, const uint8_t *bytes, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_%04zu.png", dir, what, i);
    FILE *file = open_or_die(path, "wb");
    size_t written = fwrite(bytes, 1, n, file);
    if (fclose(file) != 0 || written != n) {
        die(path);
    }
}

static void damage(const char *path, const char *dir)
{
    static uint8_t bytes[65536];
    FILE *file = open_or_die(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = 0; i < n; i++) {
        write_bytes(dir, "cut", i, bytes, i);
        bytes[i] ^= 0xff;
        write_bytes(dir, "inverted", i, bytes, n);
        bytes[i] ^= 0xff;
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--damage") == 0) {
        damage(argv[2], argv[3]);
        return 0;
    }
    unsigned long width = argc > 4 ? number(argv[3]) : 0;
    unsigned long height = argc > 4 ? number(argv[4]) : 0;
    if (argc < 6 || (unsigned long)argc - 5 != width * height) {
        die("usage: make_png FILE KIND WIDTH HEIGHT LABEL... | --damage FILE DIR");
    }
    write_png(argv[1], parse_kind(argv[2]), width, height, argv + 5);
    return 0;
}
