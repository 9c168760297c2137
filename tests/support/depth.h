/* How deep the tests go. Their random problems are many: scripts/test.sh takes a quarter of them,
 * so that it ends in minutes. Sanitizers are slow, look at memory, overflow and races, and need
 * each path a few times: a twentieth. With SUBMOD_ALL_PROBLEMS (scripts/test.sh --all) both take
 * all. */
#ifndef SUBMOD_TESTS_DEPTH_H
#define SUBMOD_TESTS_DEPTH_H

#if defined(__has_feature) /* clang's way to say so */
#if __has_feature(address_sanitizer)
#define SUBMOD_TESTS_SANITIZED 1
#elif __has_feature(thread_sanitizer)
#define SUBMOD_TESTS_SANITIZED 1
#define SUBMOD_TESTS_WATCH_RACES 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SUBMOD_TESTS_SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define SUBMOD_TESTS_SANITIZED 1
#define SUBMOD_TESTS_WATCH_RACES 1
#endif

#if defined(SUBMOD_TESTS_SANITIZED)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#if defined(SUBMOD_ALL_PROBLEMS)
enum { ALL_PROBLEMS = 1 };
#else
enum { ALL_PROBLEMS = 0 };
#endif

enum { FEWER = SANITIZED && !ALL_PROBLEMS }; /* and smaller ones */

/* So many random problems. */
static inline int repeats(int wanted)
{
    return ALL_PROBLEMS ? wanted : 10 + wanted / (FEWER ? 20 : 4);
}

/* The step through a list of cases: all of them, or each k-th under a sanitizer. */
static inline int each(int k)
{
    return FEWER ? k : 1;
}

#endif
