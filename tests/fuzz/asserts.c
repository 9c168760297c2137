/* ck_assert outside of a test, so that fuzzers can use what tests share: takes the place of two
 * functions of libcheck, which both need its runner. A failure aborts. */
#include <check.h>

#include "fuzz.h"

void _mark_point(const char *file, int line) // NOLINT(bugprone-reserved-identifier)
{
    (void)file;
    (void)line;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier)
void _ck_assert_failed(const char *file, int line, const char *expr, const char *msg, ...)
{
    fuzz_fail(file, line, "%s %s", expr, msg ? msg : "");
}
