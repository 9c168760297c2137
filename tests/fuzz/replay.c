/* Replays inputs of a fuzzer with any compiler, one after the other:
 *
 *   fuzz_NAME FILE|FOLDER...       these files, and all files of these folders
 *   fuzz_NAME --random N [SEED]    N random inputs, the same ones each time
 *
 * The name of each file is printed before it is tried, so the last one is what failed. A random
 * input that fails is kept in the file fuzz-found. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

static size_t replayed;

static bool replay_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *in = fopen(path, "rb");
    if (!in) {
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, in);
    bool whole = !ferror(in);
    (void)fclose(in);
    printf("%s\n", path);
    (void)fflush(stdout);
    uint8_t *exact = fuzz_alloc(size, 1); /* reading beyond it is an error to sanitizers */
    if (size) {
        memcpy(exact, bytes, size);
    }
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    replayed++;
    return whole;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool replay(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, by_name);
    if (count < 0) {
        return replay_file(path);
    }
    bool well = true;
    for (int i = 0; i < count; i++) {
        char file[1024];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        well = (entries[i]->d_name[0] == '.' || replay_file(file)) && well;
        free(entries[i]);
    }
    free(entries);
    return well;
}

static uint8_t random_input[600];
static size_t random_size;

/* The input that is being tried, when the fuzzer aborts. */
static void keep_input(int number)
{
    int out = open("fuzz-found", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    (void)!write(out, random_input, random_size);
    (void)close(out);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void replay_random(long count, uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    (void)signal(SIGABRT, keep_input);
    (void)signal(SIGSEGV, keep_input);
    (void)signal(SIGFPE, keep_input);
    for (long i = 0; i < count; i++, replayed++) {
        random_size = submod_rng_below(&rng, i % 4 ? 40 : sizeof random_input);
        for (size_t k = 0; k < random_size; k++) {
            random_input[k] = (uint8_t)submod_rng_next(&rng);
        }
        LLVMFuzzerTestOneInput(random_input, random_size);
    }
}

int main(int argc, char **argv)
{
    bool well = true;
    bool random = argc >= 3 && strcmp(argv[1], "--random") == 0;
    for (int i = 1; i < argc && !random; i++) {
        bool read = replay(argv[i]);
        if (!read) {
            fprintf(stderr, "%s cannot be read\n", argv[i]);
        }
        well = well && read;
    }
    if (random) {
        replay_random(strtol(argv[2], NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    }
    printf("replayed: %zu\n", replayed);
    return well && replayed ? EXIT_SUCCESS : EXIT_FAILURE;
}
