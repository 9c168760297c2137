/* What every fuzzer has: the entry that its driver calls, and a check that ends the program. */
#ifndef SUBMOD_TESTS_FUZZ_FUZZ_H
#define SUBMOD_TESTS_FUZZ_FUZZ_H

#include "dice.h"

/* One input. The drivers are libFuzzer and replay.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Says where and what on stderr, and aborts: the driver keeps the input. */
_Noreturn void fuzz_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define FUZZ_CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            fuzz_fail(__FILE__, __LINE__, __VA_ARGS__); \
        } \
    } while (0)

/* Whether the environment has FUZZ_SHOW: then fuzzers print what they try to stderr. */
bool fuzz_shows(void);

/* malloc of at least 0 bytes, of exactly so many: what is beyond is an error to sanitizers. */
void *fuzz_alloc(size_t count, size_t size);

/* |a - b| <= tolerance; equal ones at any tolerance, and never for NaN. */
bool fuzz_near(double a, double b, double tolerance);

/* A folder for this process, empty at the first call, without / at its end. It is removed at the
 * end of the process. */
const char *fuzz_folder(void);
/* Makes fuzz_folder() empty. */
void fuzz_clear_folder(void);
/* Writes a file there; path (of 256 bytes) gets its path. */
void fuzz_write(const char *name, const void *bytes, size_t size, char *path);

#endif
