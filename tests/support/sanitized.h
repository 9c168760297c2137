/* Sanitizers make tests slow: fewer random problems then. They look at memory, overflow and races,
 * and need each path a few times; the numbers themselves are compared by the release build, on all
 * problems. With SUBMOD_ALL_PROBLEMS sanitizers see all of them too (scripts/test.sh --all). */
#ifndef SUBMOD_TESTS_SANITIZED_H
#define SUBMOD_TESTS_SANITIZED_H

#if defined(__has_feature) /* clang's way to say so */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SUBMOD_TESTS_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUBMOD_TESTS_SANITIZED 1
#endif

#if defined(SUBMOD_TESTS_SANITIZED)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#if defined(SUBMOD_TESTS_SANITIZED) && !defined(SUBMOD_ALL_PROBLEMS)
enum { FEWER = 1 };
#else
enum { FEWER = 0 };
#endif

/* So many random problems. */
static inline int repeats(int wanted)
{
    return FEWER ? 10 + wanted / 20 : wanted;
}

/* The step through a list of cases: all of them, or each k-th. */
static inline int each(int k)
{
    return FEWER ? k : 1;
}

#endif
