/* Fuzzes submod-miou as a whole: its command line, PNG files of any bytes, lists and files of
 * counts, all in a folder of the fuzzer's own. Then it saves what it counts, changes texts and
 * numbers of that file, writes it with a right checksum, and merges it.
 *
 * Whatever comes in, it ends with an exit code of 0, 1 or 2. A file that is merged can be saved,
 * and then gives the same report. A file of counts takes memory by its length, not by what it says.
 */
#include <fcntl.h>
#include <getopt.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

int miou_main(int argc, char **argv); /* tools/miou/main.c, under another name */

enum { ARGUMENTS = 12, TEXT = 40, SIDE = 9 };

/* ---- files ---- */

static void put(const char *name, const void *bytes, size_t size)
{
    char path[256];
    fuzz_write(name, bytes, size, path);
}

/* A PNG as libpng writes it, of any depth and colour, with any labels. */
static void put_image(dice *d, const char *name)
{
    static const int colors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_PALETTE,
                                 PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_GRAY_ALPHA};
    char path[256];
    png_byte row[8 * SIDE];
    int color = colors[dice_below(d, sizeof colors / sizeof *colors)];
    bool narrow = color == PNG_COLOR_TYPE_GRAY || color == PNG_COLOR_TYPE_PALETTE;
    int depth = narrow ? 1 << dice_below(d, color == PNG_COLOR_TYPE_GRAY ? 5 : 4) : 8;
    png_uint_32 width = 1 + (png_uint_32)dice_below(d, SIDE);
    png_uint_32 height = 1 + (png_uint_32)dice_below(d, SIDE);
    png_color palette[256] = {{0, 0, 0}};
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *out = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    FUZZ_CHECK(out && info, "%s: not written", path);
    png_init_io(png, out);
    png_set_IHDR(png, info, width, height, depth, color, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (color == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, 1 << depth);
    }
    png_write_info(png, info);
    for (png_uint_32 y = 0; y < height; y++) {
        for (size_t k = 0; k < sizeof row; k++) {
            row[k] = (png_byte)(dice_below(d, 8) ? dice_below(d, 3) : dice_bits(d, 1));
        }
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    FUZZ_CHECK(fclose(out) == 0, "%s: not written", path);
}

/* Bytes of the input as they are, as many as it says and has. */
static void put_rest(dice *d, const char *name)
{
    size_t size = dice_below(d, d->left + 1);
    put(name, d->at, size < d->left ? size : d->left);
}

/* A good image, one with some bytes changed or its end cut off, or the bytes of the input. */
static void put_some(dice *d, const char *name)
{
    static uint8_t bytes[1 << 14];
    char path[256];
    size_t roll = dice_below(d, 8);
    if (roll == 7) {
        put_rest(d, name);
        return;
    }
    put_image(d, name);
    if (roll < 5) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *in = fopen(path, "rb");
    FUZZ_CHECK(in, "%s is gone", path);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    (void)fclose(in);
    for (size_t left = dice_below(d, 5); left && size; left--) {
        bytes[dice_below(d, size)] = (uint8_t)dice_bits(d, 1);
    }
    put(name, bytes, roll == 6 ? dice_below(d, size + 1) : size);
}

static void make_folder(dice *d)
{
    static const char *const images[] = {"p/a.png", "t/a.png", "i/a.png",
                                         "p/b.png", "t/b.png", "i/b.png"};
    static const char *const folders[] = {"p", "t", "i"};
    char path[256];
    fuzz_clear_folder();
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), folders[k]);
        FUZZ_CHECK(mkdir(path, 0700) == 0, "%s: not made", path);
    }
    for (size_t k = 0; k < sizeof images / sizeof *images; k++) {
        if (!dice_once_in(d, 8)) {
            put_some(d, images[k]);
        }
    }
    char text[TEXT];
    size_t length = dice_below(d, TEXT);
    for (size_t k = 0; k < length; k++) {
        text[k] = "ab\n\nc\0/."[dice_below(d, 8)];
    }
    put("list.txt", text, length);
    put("names.txt", "zero\none\n", 9);
    put_rest(d, "counts");
}

/* ---- the command line ---- */

/* Text that is no path out of the folder, and no option. */
static const char *any_text(dice *d, char *text)
{
    size_t length = dice_below(d, 12);
    for (size_t k = 0; k < length; k++) {
        char c = (char)(1 + dice_below(d, 255));
        bool leads_away = c == '/' || c == '.' || (c == '-' && k == 0);
        if (leads_away) {
            c = '_';
        }
        text[k] = c;
    }
    text[length] = 0;
    return text;
}

static const char *argument(dice *d, char *text)
{
    static const char *const words[] = {"p",
                                        "t",
                                        "--classes",
                                        "2",
                                        "--classes",
                                        "3",
                                        "--voc",
                                        "--quiet",
                                        "--ignore",
                                        "255",
                                        "--ignore",
                                        "none",
                                        "--names",
                                        "names.txt",
                                        "--list",
                                        "list.txt",
                                        "--absent",
                                        "skip",
                                        "--absent",
                                        "truth",
                                        "--instances",
                                        "i",
                                        "--first-id",
                                        "1",
                                        "--boundary",
                                        "0.02",
                                        "--fine-grained",
                                        "5",
                                        "--save",
                                        "saved",
                                        "--merge",
                                        "saved",
                                        "counts",
                                        "--json",
                                        "-",
                                        "--json",
                                        "out.json",
                                        "--categories",
                                        "names.txt",
                                        "--cityscapes",
                                        "--train-ids",
                                        "--help",
                                        "--threads",
                                        "1",
                                        "65536",
                                        "1e400",
                                        "-1",
                                        "nan",
                                        "",
                                        "--"};
    return dice_once_in(d, 16) ? any_text(d, text)
                               : words[dice_below(d, sizeof words / sizeof *words)];
}

/* Mostly what a user would write first, and then anything. */
static int run(dice *d)
{
    static const char *const usual[] = {"submod-miou", "p",         "t", "--classes",
                                        "3",           "--threads", "1"};
    enum { USUAL = sizeof usual / sizeof *usual };
    char texts[ARGUMENTS][TEXT];
    char *arguments[USUAL + ARGUMENTS + 1];
    int count = dice_once_in(d, 6) ? 1 : USUAL;
    int more = (int)dice_below(d, ARGUMENTS);
    for (int k = 0; k < count; k++) {
        arguments[k] = (char *)usual[k];
    }
    for (int k = 0; k < more; k++) {
        arguments[count++] = (char *)argument(d, texts[k]);
    }
    arguments[count] = NULL;
    if (fuzz_shows()) {
        for (int k = 0; k < count; k++) {
            fprintf(stderr, "'%s' ", arguments[k]);
        }
        fprintf(stderr, "\n");
    }
    optind = 0; /* glibc: begin anew */
    return miou_main(count, arguments);
}

/* ---- files of counts ---- */

enum { SORTS = 3, HEAD = SORTS + 1, MOST_TEXTS = 6000, MOST_BYTES = 100000, MOST_NUMBERS = 8192 };

static const char kind[] = "submod-miou counts";

/* A file of counts, taken apart: texts, and the numbers behind them. */
typedef struct counts {
    char bytes[MOST_BYTES];
    size_t used;
    const char *texts[MOST_TEXTS];
    size_t count;        /* of texts */
    uint64_t of[SORTS];  /* how many texts of each sort the file says that it has */
    uint64_t text_words; /* what it says that they take; 0: what they do */
    uint64_t numbers[MOST_NUMBERS];
    size_t number_count;
} counts;

static void add_text(counts *c, const char *text)
{
    size_t size = strlen(text) + 1;
    if (c->count < MOST_TEXTS && size <= MOST_BYTES - c->used) {
        c->texts[c->count++] = memcpy(c->bytes + c->used, text, size);
        c->used += size;
    }
}

/* False if there is no such file, or a larger one than is worth it. */
static bool counts_read(const char *path, counts *c)
{
    static char text[MOST_BYTES];
    uint64_t *words = NULL;
    size_t count = 0;
    c->used = c->count = c->number_count = 0;
    c->text_words = 0;
    if (submod_file_load(path, kind, &words, &count) != SUBMOD_OK) {
        return false;
    }
    size_t text_words = (size_t)words[SORTS];
    bool small = text_words < MOST_BYTES / 8 && count - HEAD - text_words < MOST_NUMBERS - 8;
    for (size_t i = 0; small && i < 8 * text_words; i++) {
        text[i] = (char)(words[HEAD + i / 8] >> (8 * (i % 8)));
    }
    for (size_t k = 0, at = 0; small && k < SORTS; k++) {
        c->of[k] = words[k];
        for (uint64_t i = 0; i < words[k]; i++) {
            add_text(c, text + at);
            at += strlen(text + at) + 1;
        }
    }
    for (size_t i = HEAD + text_words; small && i < count; i++) {
        c->numbers[c->number_count++] = words[i];
    }
    submod_file_free(words);
    return small;
}

static void counts_write(const char *path, const counts *c)
{
    static uint64_t words[HEAD + MOST_BYTES / 8 + 1 + MOST_NUMBERS];
    size_t byte = 0;
    memset(words, 0, sizeof words);
    for (size_t i = 0; i < c->count; i++) {
        for (const char *text = c->texts[i];; text++, byte++) {
            words[HEAD + byte / 8] |= (uint64_t)(unsigned char)*text << (8 * (byte % 8));
            if (!*text) {
                byte++;
                break;
            }
        }
    }
    size_t count = HEAD + (byte + 7) / 8;
    memcpy(words, c->of, sizeof c->of);
    words[SORTS] = c->text_words ? c->text_words : count - HEAD;
    memcpy(words + count, c->numbers, c->number_count * sizeof *words);
    submod_status status = submod_file_save(path, kind, words, count + c->number_count);
    FUZZ_CHECK(status == SUBMOD_OK, "%s: not written", path);
}

/* Sets the text that begins so, "classes" say. */
static void set_text(counts *c, const char *name, const char *value)
{
    char text[TEXT + 12];
    for (size_t i = 0; i < c->count; i++) {
        size_t length = strlen(name);
        if (strncmp(c->texts[i], name, length) == 0 && c->texts[i][length] == ' ') {
            snprintf(text, sizeof text, "%s %s", name, value);
            size_t last = c->count;
            add_text(c, text);
            if (c->count > last) {
                c->texts[i] = c->texts[--c->count];
            }
            return;
        }
    }
}

/* No images, and the counts of pixels of so many classes in place of those that are there. */
static void other_counts(counts *c, size_t classes)
{
    static uint64_t rest[MOST_NUMBERS];
    size_t skip = (size_t)c->of[1] < c->number_count ? (size_t)c->of[1] : c->number_count;
    uint64_t own = skip < c->number_count ? c->numbers[skip] + 1 : 0;
    skip += own < c->number_count - skip ? (size_t)own : c->number_count - skip;
    size_t left = c->number_count - skip;
    if (1 + classes * classes + left <= MOST_NUMBERS) {
        memcpy(rest, c->numbers + skip, left * sizeof *rest);
        memset(c->numbers, 0, sizeof c->numbers);
        c->numbers[0] = classes * classes;
        memcpy(c->numbers + 1 + classes * classes, rest, left * sizeof *rest);
        c->number_count = 1 + classes * classes + left;
    }
}

/* Other classes with a name each: a few with their counts, or thousands without. */
static void other_classes(dice *d, counts *c)
{
    char number[24];
    size_t classes = dice_below(d, 2) ? 5000 : 1 + dice_below(d, 40);
    other_counts(c, classes);
    snprintf(number, sizeof number, "%zu", classes);
    set_text(c, "classes", number);
    set_text(c, "counted classes", number);
    set_text(c, "categories", "none");
    uint64_t setup = c->of[0] < 12 ? c->of[0] : 12; /* before the names of classes */
    c->count = (size_t)setup;
    for (size_t i = 0; i < classes; i++) {
        add_text(c, "class x");
    }
    c->of[0] = c->count;
    c->of[1] = c->of[2] = 0;
}

static void change_text(dice *d, counts *c)
{
    static const char *const names[] = {
        "submod-miou format", "classes",   "counted classes", "ignore",     "absent",
        "cityscapes",         "train ids", "instances from",  "boundary",   "fine-grained",
        "categories",         "class",     "category",        "in category"};
    static const char *const values[] = {"0",  "1",   "2",    "none",  "3",     "4",  "19",
                                         "20", "255", "1001", "65536", "65537", "-1", "0.5",
                                         "",   "nan", "inf",  "1e400", "x"};
    set_text(c, names[dice_below(d, sizeof names / sizeof *names)],
             values[dice_below(d, sizeof values / sizeof *values)]);
}

static void change_number(dice *d, counts *c)
{
    if (c->number_count) {
        uint64_t *number = &c->numbers[dice_below(d, c->number_count)];
        *number = dice_below(d, 2) ? dice_below(d, 40) : dice_bits(d, 8);
    }
}

static void change(dice *d, counts *c)
{
    size_t roll = dice_below(d, 16);
    if (roll < 8) {
        change_text(d, c);
    } else if (roll < 11) {
        change_number(d, c);
    } else if (roll == 11) {
        other_classes(d, c);
    } else if (roll == 12) {
        c->of[dice_below(d, SORTS)] = dice_below(d, 2) ? dice_below(d, 30) : dice_bits(d, 8);
    } else if (roll == 13) {
        c->text_words = dice_below(d, 2) ? dice_below(d, 60) : dice_bits(d, 8);
    } else if (roll == 14) {
        c->number_count -= dice_below(d, c->number_count + 1);
    } else if (c->number_count < MOST_NUMBERS) {
        c->numbers[c->number_count++] = dice_bits(d, 8);
    }
}

static int call(int count, const char *const *words)
{
    char *arguments[24];
    for (int k = 0; k < count; k++) {
        arguments[k] = (char *)words[k];
    }
    arguments[count] = NULL;
    optind = 0; /* glibc: begin anew */
    return miou_main(count, arguments);
}

/* Counts with what may be in a report, into the file part. */
static int save_part(dice *d)
{
    const char *words[24] = {"submod-miou", "p",       "t",      "--threads",
                             "1",           "--quiet", "--save", "part"};
    int count = 8;
    size_t which = dice_below(d, 4);
    if (which < 2) {
        words[count++] = "--cityscapes";
    } else {
        words[count++] = "--classes";
        words[count++] = which == 2 ? "2" : "3";
    }
    if (which != 3) {
        words[count++] = "--instances";
        words[count++] = "i";
    }
    if (which == 2 && dice_below(d, 2)) {
        words[count++] = "--categories";
        words[count++] = "names.txt";
    }
    if (dice_below(d, 2)) {
        words[count++] = "--boundary";
        words[count++] = "0.02";
    }
    if (dice_below(d, 2)) {
        words[count++] = "--fine-grained";
        words[count++] = "5";
    }
    return call(count, words);
}

static long peak(void)
{
    struct rusage usage;
    FUZZ_CHECK(getrusage(RUSAGE_SELF, &usage) == 0, "no usage");
    return usage.ru_maxrss;
}

static bool same_files(const char *left, const char *right)
{
    FILE *a = fopen(left, "rb"), *b = fopen(right, "rb");
    bool same = a && b;
    for (int x = 0, y = 0; same && x != EOF;) {
        x = fgetc(a);
        y = fgetc(b);
        same = x == y;
    }
    if (a) {
        (void)fclose(a);
    }
    if (b) {
        (void)fclose(b);
    }
    return same;
}

/* Merges what was changed; and again, as it was saved then. */
static void merge_changed(dice *d)
{
    static counts c;
    static const char *const first[] = {"submod-miou", "--merge", "changed", "--save",
                                        "again",       "--json",  "1.json",  "--quiet"};
    static const char *const second[] = {"submod-miou", "--merge", "again",
                                         "--json",      "2.json",  "--quiet"};
    int code = save_part(d);
    if (code == 2 || !counts_read("part", &c)) {
        return;
    }
    for (size_t left = dice_below(d, 5); left; left--) {
        change(d, &c);
    }
    counts_write("changed", &c);
    long before = peak();
    code = call(8, first);
    FUZZ_CHECK(code >= 0 && code <= 2, "exit code %d of a merge", code);
    FUZZ_CHECK(peak() - before < 96 * 1024, "a small file took %ld KB", peak() - before);
    if (code != 2 && access("again", F_OK) == 0 && access("1.json", F_OK) == 0) {
        int same = call(6, second);
        FUZZ_CHECK(same == code || (code == 1 && same == 0),
                   "exit code %d, and %d of what it saved", code, same);
        FUZZ_CHECK(same_files("1.json", "2.json"), "what was merged reports something else");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    dice d = dice_of(bytes, size);
    FILE *out = stdout, *err = stderr;
    int here = open(".", O_RDONLY | O_CLOEXEC);
    submod_set_num_threads(1);
    make_folder(&d);
    FUZZ_CHECK(chdir(fuzz_folder()) == 0, "no folder");
    static FILE
        *nowhere; /* stays open: a library that is loaded now, as libomp loads one, may keep it */
    nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
    FUZZ_CHECK(nowhere, "no /dev/null");
    stdout = nowhere; /* glibc: variables */
    stderr = nowhere;
    int code = run(&d);
    bool fine = code >= 0 && code <= 2;
    if (fine) {
        submod_set_num_threads(1);
        merge_changed(&d);
    }
    stdout = out;
    stderr = err;
    FUZZ_CHECK(fchdir(here) == 0 && close(here) == 0, "no way back");
    FUZZ_CHECK(fine, "exit code %d", code);
    return 0;
}
