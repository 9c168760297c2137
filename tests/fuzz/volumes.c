/* Fuzzes what the study of brains reads: volumes of NIfTI, of any bytes or with any numbers in
 * their head, and the labels named on its command line. A file is refused with words, or becomes a
 * volume of the size that its head says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/slices.h"
#include "fuzz.h"

enum { HEAD = 348, VOXELS_AT = 352, MOST = 2048 };

static void set16(uint8_t *head, size_t at, int value)
{
    head[at] = (uint8_t)value;
    head[at + 1] = (uint8_t)(value >> 8);
}

static void set_float(uint8_t *head, size_t at, float value)
{
    memcpy(head + at, &value, sizeof value); /* of this machine: the reader swaps if need be */
}

/* The head of a small volume that is mostly right. Returns how many bytes the file has. */
static size_t make_file(dice *d, uint8_t *file)
{
    static const int types[] = {2, 4, 8, 16, 64, 256, 512, 768, 1, 32, 128, 0, 1792};
    memset(file, 0, MOST);
    file[0] = 0x5c; /* 348 */
    file[1] = 0x01;
    set16(file, 40, 3 + (int)dice_below(d, 2));
    for (size_t k = 0; k < 7; k++) {
        bool odd = dice_once_in(d, 24);
        set16(file, 42 + 2 * k, odd ? (int)dice_bits(d, 2) : k < 3 ? 1 + (int)dice_below(d, 5) : 1);
    }
    set16(file, 70, types[dice_below(d, sizeof types / sizeof *types)]);
    set16(file, 72, (int)(8 << dice_below(d, 4)));
    for (size_t k = 0; k < 8; k++) {
        set_float(file, 76 + 4 * k, 1);
    }
    set_float(file, 108, dice_once_in(d, 12) ? dice_float(d, NUMBERS_ANY) : VOXELS_AT);
    set_float(file, 112, dice_float(d, dice_numbers(d)));
    set_float(file, 116, dice_float(d, dice_numbers(d)));
    memcpy(file + 344, "n+1", 4);
    for (size_t k = VOXELS_AT; k < MOST; k++) {
        file[k] = (uint8_t)dice_bits(d, 1);
    }
    for (size_t left = dice_below(d, 4); left && dice_once_in(d, 2); left--) {
        file[dice_below(d, HEAD)] = (uint8_t)dice_bits(d, 1);
    }
    return dice_once_in(d, 6) ? dice_below(d, MOST) : MOST;
}

/* The side k of the volume by the head of its file, whatever the order of its bytes. libnifti takes
 * those below 1 for 1. */
static size_t side_of(const uint8_t *file, size_t k)
{
    const uint8_t *own = file + 40 + 2 * (k + 1);
    bool swapped = file[41] != 0; /* dim[0] is 1 to 7 */
    size_t sides = swapped ? file[41] : file[40];
    unsigned side = swapped ? own[0] * 256U + own[1] : own[1] * 256U + own[0];
    return k >= sides || side == 0 || side > INT16_MAX ? 1 : side;
}

/* said: how many bytes of words there are. */
static void fuzz_volume(dice *d, const char *path, const uint8_t *file, size_t size, FILE *said)
{
    volume v = {{0}, NULL};
    brain_classes classes;
    if (!volume_read(path, &v)) {
        FUZZ_CHECK(!v.voxel, "a volume that was refused");
        FUZZ_CHECK(ftell(said) > 0, "a volume was refused without words");
        return;
    }
    size_t count = v.n[0] * v.n[1] * v.n[2];
    double sum = 0; /* reads them all: sanitizers see whether they are there */
    for (size_t i = 0; i < count; i++) {
        sum += isfinite(v.voxel[i]) ? 1 : 0;
    }
    FUZZ_CHECK(count > 0 && sum >= 0, "%zu voxels", count);
    for (size_t k = 0; k < 3; k++) {
        FUZZ_CHECK(size >= HEAD && v.n[k] == side_of(file, k), "side %zu is %zu, its head says %zu",
                   k, v.n[k], side_of(file, k));
    }
    if (brain_classes_parse("1=one,2=two,3", &classes) && dice_below(d, 2)) {
        brain_slices slices;
        if (brain_slices_make(&v, &v, &classes, &slices)) {
            brain_slices_free(&slices);
        }
    }
    volume_free(&v);
}

static void fuzz_classes(dice *d)
{
    char text[64];
    size_t length = dice_below(d, sizeof text);
    for (size_t k = 0; k < length; k++) {
        text[k] = "0123456789=,,-ab "[dice_below(d, 17)];
    }
    text[length] = 0;
    brain_classes classes;
    if (brain_classes_parse(text, &classes)) {
        FUZZ_CHECK(classes.count >= 2 && classes.count <= BRAIN_MOST_CLASSES, "%zu classes",
                   (size_t)classes.count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t file[MOST];
    char path[256];
    dice d = dice_of(bytes, size);
    char *words = NULL;
    size_t length = 0, count;
    FILE *err = stderr, *said = open_memstream(&words, &length);
    FUZZ_CHECK(said, "no memory for words");
    if (dice_once_in(&d, 8)) {
        count = d.left < MOST ? d.left : MOST;
        memcpy(file, d.at, count);
        fuzz_write("a.nii", d.at, d.left, path);
    } else {
        count = make_file(&d, file);
        fuzz_write("a.nii", file, count, path);
    }
    stderr = said; /* glibc: a variable */
    fuzz_volume(&d, path, file, count, said);
    fuzz_classes(&d);
    stderr = err;
    (void)fclose(said);
    free(words);
    return 0;
}
