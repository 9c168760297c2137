/* Files of numbers: the same bits again; every flipped byte, every cut and all that is foreign is
 * refused; whatever happens while a file is written, the one that was there stays whole. */
#include <submod.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocations.h"
#include "support.h"

static char folder[64];
static const char kind[] = "few"; /* shorter than a word: the rest of it is 0 */

/* Every test has a folder of its own, and is in it. */
static void enter(void)
{
    snprintf(folder, sizeof folder, "/tmp/submod-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

/* How many names there are in the folder. */
static int names(void)
{
    int count = 0;
    DIR *dir = opendir(".");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

static void leave(void)
{
    DIR *dir = opendir(".");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(e->d_name) != 0) {
            ck_assert_int_eq(rmdir(e->d_name), 0);
        }
    }
    closedir(dir);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* ---- the bytes of a file ---- */

enum { MOST = 4096 };

static size_t bytes_of(const char *path, unsigned char bytes[MOST])
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t n = fread(bytes, 1, MOST, file);
    ck_assert_int_eq(fclose(file), 0);
    return n;
}

static void put_bytes(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(n ? fwrite(bytes, 1, n, file) : 0, n);
    ck_assert_int_eq(fclose(file), 0);
}

/* CRC-64 once more, by long division, bit by bit. */
static uint64_t crc(const unsigned char *bytes, size_t n)
{
    uint64_t r = ~(uint64_t)0;
    for (size_t bit = 0; bit < 8 * n; bit++) {
        uint64_t carry = (r ^ (uint64_t)(bytes[bit / 8] >> (bit % 8))) & 1;
        r >>= 1;
        if (carry) {
            r ^= 0xc96c5795d7870f42;
        }
    }
    return ~r;
}

/* Makes the checksum right for what was changed. */
static void seal(unsigned char *bytes, size_t n)
{
    uint64_t sum = crc(bytes, n - 8);
    for (int i = 0; i < 8; i++) {
        bytes[n - 8 + (size_t)i] = (unsigned char)(sum >> (8 * i));
    }
}

static void assert_refused(const char *path, const char *words)
{
    uint64_t mark = 0;
    uint64_t *found = &mark;
    size_t count = 77;
    assert_error(submod_file_load(path, kind, &found, &count), SUBMOD_EFILE, words);
    ck_assert_ptr_eq(found, &mark);
    ck_assert_uint_eq(count, 77);
}

/* ---- tests ---- */

START_TEST(same_bits)
{
    enter();
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    static uint64_t words[3000];
    for (int i = 0; i < 3000; i++) {
        words[i] = submod_rng_next(&rng);
    }
    const size_t sizes[] = {0, 1, 2, 511, 512, 513, 1024, 3000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint64_t *found;
        size_t count;
        ck_assert_ok(submod_file_save("a", kind, sizes[k] ? words : NULL, sizes[k]));
        ck_assert_ok(submod_file_load("a", kind, &found, &count));
        ck_assert_uint_eq(count, sizes[k]);
        ck_assert_mem_eq(found, words, count * sizeof *words);
        submod_file_free(found);
    }
    ck_assert_int_eq(names(), 1);
    leave();
}
END_TEST

/* As file.h describes it, written down a second time. "123456789" is the usual check of a CRC. */
START_TEST(format)
{
    enter();
    const uint64_t words[] = {1, 0x0102030405060708};
    unsigned char bytes[MOST] = {0};
    unsigned char wanted[80] = "submod\r\n\1\0\0\0\0\0\0\0few";
    wanted[48] = 2;
    wanted[56] = 1;
    for (int i = 0; i < 8; i++) {
        wanted[64 + i] = (unsigned char)(8 - i);
    }
    seal(wanted, 80);
    ck_assert_ok(submod_file_save("a", kind, words, 2));
    ck_assert_uint_eq(bytes_of("a", bytes), 80);
    ck_assert_mem_eq(bytes, wanted, 80);
    ck_assert_uint_eq(crc((const unsigned char *)"123456789", 9), 0x995dc9bbdf1939fa);
    leave();
}
END_TEST

START_TEST(every_byte_and_every_cut)
{
    enter();
    const uint64_t words[] = {5, 0, UINT64_MAX, 12345};
    unsigned char bytes[MOST] = {0};
    ck_assert_ok(submod_file_save("a", kind, words, 4));
    size_t n = bytes_of("a", bytes);
    ck_assert_uint_eq(n, 64 + 32);
    for (size_t i = 0; i < n; i++) {
        for (int bit = 0; bit < 9; bit++) { /* the last: all of them */
            unsigned char kept = bytes[i];
            bytes[i] ^= (unsigned char)(bit < 8 ? 1 << bit : 255);
            put_bytes("b", bytes, n);
            bytes[i] = kept;
            assert_refused("b", "submod_file_load: b ");
        }
    }
    for (size_t length = 0; length < n; length++) {
        put_bytes("b", bytes, length);
        assert_refused("b", length ? "is cut off" : "is empty");
    }
    for (size_t more = 1; more <= 16; more++) {
        char said[64];
        snprintf(said, sizeof said, "b has %zu bytes too many", more);
        put_bytes("b", bytes, n + more);
        assert_refused("b", said);
    }
    leave();
}
END_TEST

START_TEST(foreign_newer_other)
{
    enter();
    unsigned char bytes[MOST] = {0};
    const uint64_t words[] = {7};
    assert_refused("nowhere", "nowhere cannot be read: No such file");
    assert_refused(".", ". is not a regular file");
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    assert_refused("pipe", "pipe is not a regular file"); /* and does not wait */
    put_bytes("text", (const unsigned char *)"class,iou\n", 10);
    assert_refused("text", "text is not a file of libsubmod");

    ck_assert_ok(submod_file_save("a", "other numbers", words, 1));
    assert_refused("a", "a holds other numbers, not few");
    size_t n = bytes_of("a", bytes);
    bytes[8] = 2;
    seal(bytes, n);
    put_bytes("a", bytes, n);
    assert_refused("a", "a was written by a newer libsubmod, format 2; this one reads up to 1");
    put_bytes("a", bytes, 16); /* whatever a newer format has then */
    assert_refused("a", "newer");
    bytes[8] = 1;

    /* A size that no file has: no memory is asked for. */
    memset(bytes + 48, 255, 8);
    seal(bytes, n);
    put_bytes("a", bytes, n);
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations = (allocation_counts){.left = 0};
    assert_refused("a", "is cut off");
    ck_assert_ok(submod_set_allocator(NULL));

    /* The path is in the message, by its end if it is long. */
    char path[300];
    memset(path, 'x', sizeof path);
    memcpy(path + sizeof path - 5, "/end", 5);
    assert_refused(path, "x/end cannot be read");
    leave();
}
END_TEST

START_TEST(arguments)
{
    enter();
    uint64_t word = 1, *found = NULL;
    size_t count = 0;
    const char long_kind[] = "0123456789012345678901234567890";
    assert_error(submod_file_save(NULL, kind, &word, 1), SUBMOD_EINVAL, "path is NULL");
    assert_error(submod_file_save("", kind, &word, 1), SUBMOD_EINVAL, "path is empty");
    assert_error(submod_file_save("a", NULL, &word, 1), SUBMOD_EINVAL, "kind is NULL");
    assert_error(submod_file_save("a", "", &word, 1), SUBMOD_EINVAL, "kind has 0 bytes");
    assert_error(submod_file_save("a", "01234567890123456789012345678901", &word, 1), SUBMOD_EINVAL,
                 "kind has 32 bytes");
    assert_error(submod_file_save("a", kind, NULL, 1), SUBMOD_EINVAL, "words is NULL");
    ck_assert_int_eq(names(), 0);
    ck_assert_ok(submod_file_save("a", long_kind, &word, 1));
    ck_assert_ok(submod_file_load("a", long_kind, &found, &count));
    submod_file_free(found);
    submod_file_free(NULL);
    assert_error(submod_file_load(NULL, kind, &found, &count), SUBMOD_EINVAL, "path is NULL");
    assert_error(submod_file_load("a", NULL, &found, &count), SUBMOD_EINVAL, "kind is NULL");
    assert_error(submod_file_load("a", kind, NULL, &count), SUBMOD_EINVAL, "words is NULL");
    assert_error(submod_file_load("a", kind, &found, NULL), SUBMOD_EINVAL, "count is NULL");
    leave();
}
END_TEST

/* ---- what can go wrong while writing ---- */

static void save_number(uint64_t number)
{
    enum { N = 3000 }; /* several calls of write */
    static uint64_t words[N];
    for (int i = 0; i < N; i++) {
        words[i] = number;
    }
    ck_assert_ok(submod_file_save("a", kind, words, N));
}

/* All words are the same number, which is returned. */
static uint64_t saved_number(void)
{
    uint64_t *words;
    size_t count;
    ck_assert_ok(submod_file_load("a", kind, &words, &count));
    uint64_t number = words[0];
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(words[i], number);
    }
    submod_file_free(words);
    return number;
}

START_TEST(failed_writes)
{
    enter();
    uint64_t words[1000] = {0};
    save_number(3);
    assert_error(submod_file_save("nowhere/a", kind, words, 1), SUBMOD_EFILE,
                 "nowhere/a cannot be written: No such file");
    ck_assert_int_eq(mkdir("b", 0700), 0);
    assert_error(submod_file_save("b", kind, words, 1), SUBMOD_EFILE, "b is not a regular file");
    struct stat info;
    assert_error(submod_file_save("/dev/null", kind, words, 1), SUBMOD_EFILE,
                 "/dev/null is not a regular file, and stays as it is");
    ck_assert(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));

    /* A full disk: files may have 4096 bytes. */
    struct rlimit kept, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &kept), 0);
    small = kept;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    submod_status status = submod_file_save("a", kind, words, 1000);
    setrlimit(RLIMIT_FSIZE, &kept);
    assert_error(status, SUBMOD_EFILE, "a cannot be written: File too large");
    ck_assert_uint_eq(saved_number(), 3);

    /* A folder that nobody may write to; root may. */
    ck_assert_int_eq(chmod("b", 0500), 0);
    if (geteuid() != 0) {
        assert_error(submod_file_save("b/a", kind, words, 1), SUBMOD_EFILE, "Permission denied");
    }
    ck_assert_int_eq(names(), 2); /* a, b: nothing is left behind */
    leave();
}
END_TEST

/* A user without rights, also where the tests are run by root. */
START_TEST(unwritable_folder)
{
    enter();
    ck_assert_int_eq(chmod(".", 0555), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        uint64_t word = 1;
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(2);
        }
        submod_status status = submod_file_save("a", kind, &word, 1);
        _exit(status == SUBMOD_EFILE && strstr(submod_last_error(), "Permission denied") ? 0 : 1);
    }
    int code;
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(chmod(".", 0700), 0);
    ck_assert_int_eq(names(), 0);
    leave();
}
END_TEST

START_TEST(no_memory)
{
    enter();
    save_number(4);
    uint64_t word = 1, *words = NULL;
    size_t count;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations = (allocation_counts){.left = 0};
    assert_error(submod_file_save("a", kind, &word, 1), SUBMOD_ENOMEM, "submod_file_save");
    assert_error(submod_file_load("a", kind, &words, &count), SUBMOD_ENOMEM, "submod_file_load");
    ck_assert_ptr_null(words);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
    ck_assert_uint_eq(saved_number(), 4);
    ck_assert_int_eq(names(), 1);
    leave();
}
END_TEST

/* Saves one number after the other, for longer than anybody waits. */
static pid_t start_saving(uint64_t first)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        for (uint64_t number = first; number < first + 1000000; number++) {
            save_number(number);
        }
        _exit(1);
    }
    return child;
}

static void end(pid_t child)
{
    int code;
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    ck_assert(WIFSIGNALED(code) && WTERMSIG(code) == SIGKILL);
}

/* A file is always there, and whole. What a killed process leaves has its own name. */
START_TEST(killed)
{
    enter();
    save_number(0);
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int i = 0; i < 40; i++) {
        pid_t child = start_saving((uint64_t)i * 1000000);
        struct timespec nap = {0, (long)submod_rng_below(&rng, 8000000)};
        nanosleep(&nap, NULL);
        end(child);
        (void)saved_number();
    }
    save_number(5); /* past what was left behind */
    ck_assert_uint_eq(saved_number(), 5);
    leave();
}
END_TEST

START_TEST(two_at_once)
{
    enter();
    save_number(0);
    pid_t a = start_saving(1000000000), b = start_saving(2000000000);
    int seen[3] = {0};
    for (int i = 0; i < 4000 && !(i >= 300 && seen[1] && seen[2]); i++) {
        seen[saved_number() / 1000000000]++;
    }
    end(a);
    end(b);
    ck_assert(seen[1] && seen[2]);
    (void)saved_number();
    leave();
}
END_TEST

/* Names that were left behind by a process of the same number are passed over. */
START_TEST(left_behind)
{
    enter();
    uint64_t word = 1;
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "a.%ld-%d.tmp", (long)getpid(), i);
        put_bytes(name, (const unsigned char *)"", 0);
    }
    ck_assert_ok(submod_file_save("a", kind, &word, 1));
    ck_assert_int_eq(names(), 4);
    leave();
}
END_TEST

int main(void)
{
    return RUN_TESTS("file", same_bits, format, every_byte_and_every_cut, foreign_newer_other,
                     arguments, failed_writes, unwritable_folder, no_memory, killed, two_at_once,
                     left_behind);
}
