/* Writes a file for submod-miou --merge with a right checksum, whatever it says: what somebody else
 * could have made.
 *
 *   make_counts FILE TEXT... -- NUMBER...    the texts of a set-up, no images, no problems; then
 *                                            these numbers, of which "34*0" is 34 zeros
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod/file.h>

enum { HEAD = 4, MOST = 1 << 20 };

static uint64_t words[MOST];

static size_t add_text(size_t byte, const char *text)
{
    for (size_t i = 0; i <= strlen(text) && byte / 8 < MOST - HEAD; i++, byte++) {
        words[HEAD + byte / 8] |= (uint64_t)(unsigned char)text[i] << (8 * (byte % 8));
    }
    return byte;
}

static size_t add_numbers(size_t count, const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    uint64_t repeat = 1;
    if (*end == '*') {
        repeat = number;
        number = strtoull(end + 1, NULL, 10);
    }
    for (; repeat && count < MOST; repeat--) {
        words[count++] = number;
    }
    return count;
}

int main(int argc, char **argv)
{
    int arg = 2;
    size_t bytes = 0;
    for (; arg < argc && strcmp(argv[arg], "--") != 0; arg++) {
        bytes = add_text(bytes, argv[arg]);
        words[0]++;
    }
    words[HEAD - 1] = (bytes + 7) / 8;
    size_t count = HEAD + (size_t)words[HEAD - 1];
    for (arg++; arg < argc; arg++) {
        count = add_numbers(count, argv[arg]);
    }
    if (argc < 3 || submod_file_save(argv[1], "submod-miou counts", words, count) != SUBMOD_OK) {
        fprintf(stderr, "make_counts: %s\n", submod_last_error());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
