/* Reads label maps with libpng. Palette indices and gray values are kept as they are; 16-bit files
 * become int32_t labels, all others uint8_t.
 */
#include "label_png.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More pixels than any label map has. A header that claims more is broken, and must not make us ask
 * for that much memory. */
static const size_t max_pixels = (size_t)1 << 30;

/* All state of a read lives here and not in local variables: libpng leaves by longjmp, and changed
 * local variables would be lost. */
typedef struct reader {
    FILE *file;
    png_structp png;
    png_infop info;
    jmp_buf failed;
    char *words;
    size_t size;
    size_t width, height, row_bytes;
    int color_type, bit_depth;
    png_bytep bytes; /* the image, row by row */
    png_bytepp rows;
} reader;

static void on_error(png_structp png, png_const_charp message)
{
    reader *r = png_get_error_ptr(png);
    snprintf(r->words, r->size, "%s", message);
    longjmp(r->failed, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* Stores an error message of our own. */
static bool refuse(reader *r, const char *words)
{
    snprintf(r->words, r->size, "%s", words);
    return false;
}

/* Reads the file up to the pixels. */
static bool read_header(reader *r)
{
    if (setjmp(r->failed)) {
        return false;
    }
    png_init_io(r->png, r->file);
    png_read_info(r->png, r->info);
    r->width = png_get_image_width(r->png, r->info);
    r->height = png_get_image_height(r->png, r->info);
    r->color_type = png_get_color_type(r->png, r->info);
    r->bit_depth = png_get_bit_depth(r->png, r->info);
    if (r->color_type != PNG_COLOR_TYPE_PALETTE && r->color_type != PNG_COLOR_TYPE_GRAY) {
        return refuse(r, r->color_type & PNG_COLOR_MASK_COLOR
                             ? "an RGB image is not supported: labels must be palette indices or "
                               "gray values"
                             : "a gray image with alpha is not supported: labels must be palette "
                               "indices or gray values");
    }
    if (r->height > max_pixels / r->width) {
        return refuse(r, "too large: at most 2^30 pixels are supported");
    }
    png_set_packing(r->png); /* one byte per pixel, values unchanged */
    if (r->bit_depth == 16) {
        const uint16_t one = 1;
        if (*(const uint8_t *)&one) {
            png_set_swap(r->png); /* the file is big-endian */
        }
    }
    png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->row_bytes = png_get_rowbytes(r->png, r->info);
    return true;
}

static bool read_pixels(reader *r)
{
    r->bytes = malloc(r->height * r->row_bytes);
    r->rows = malloc(r->height * sizeof *r->rows);
    if (!r->bytes || !r->rows) {
        return refuse(r, "out of memory");
    }
    for (size_t y = 0; y < r->height; y++) {
        r->rows[y] = r->bytes + y * r->row_bytes;
    }
    if (setjmp(r->failed)) {
        return false;
    }
    png_read_image(r->png, r->rows);
    png_read_end(r->png, NULL); /* a file that ends early is corrupt */
    return true;
}

static bool to_labels(reader *r, label_image *image)
{
    image->width = r->width;
    image->height = r->height;
    image->wide = r->bit_depth == 16;
    if (!image->wide) {
        image->pixels = r->bytes;
        r->bytes = NULL;
        return true;
    }
    size_t n = r->width * r->height;
    int32_t *labels = malloc(n * sizeof *labels);
    if (!labels) {
        return refuse(r, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t value;
        memcpy(&value, r->bytes + 2 * i, sizeof value);
        labels[i] = value;
    }
    image->pixels = labels;
    return true;
}

static bool read_open_file(reader *r, label_image *image)
{
    png_byte signature[8];
    if (fread(signature, 1, sizeof signature, r->file) != sizeof signature ||
        png_sig_cmp(signature, 0, sizeof signature) != 0) {
        return refuse(r, "not a PNG file");
    }
    rewind(r->file);
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    bool ok = r->info ? read_header(r) && read_pixels(r) && to_labels(r, image)
                      : refuse(r, "out of memory");
    png_destroy_read_struct(&r->png, &r->info, NULL);
    free(r->bytes);
    free(r->rows);
    return ok;
}

bool label_image_read(const char *path, label_image *image, char *words, size_t size)
{
    *image = (label_image){.pixels = NULL};
    reader r = {.file = fopen(path, "rb"), .words = words, .size = size};
    if (!r.file) {
        return refuse(&r, strerror(errno));
    }
    bool ok = read_open_file(&r, image);
    fclose(r.file);
    return ok;
}

void label_image_free(label_image *image)
{
    free(image->pixels);
    image->pixels = NULL;
}

submod_labels label_image_view(const label_image *image)
{
    size_t n = image->width * image->height;
    return image->wide ? submod_labels_i32(image->pixels, 1, n)
                       : submod_labels_u8(image->pixels, 1, n);
}
