/* Sanitizers make tests slow: fewer random problems then. They look at memory and overflow, and
 * need each path a few times; the numbers themselves are compared by the release build, on all
 * problems. */
#ifndef SUBMOD_TESTS_SANITIZED_H
#define SUBMOD_TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static inline int repeats(int wanted)
{
    return SANITIZED ? 10 + wanted / 20 : wanted;
}

#endif
