/* Lets the allocations of a public call fail, one after the other, before the call may succeed.
 *
 * wrap.py writes a function for every public one that returns a status:
 *
 *     failing_enter(&call, "submod_NAME");
 *     failing_watch(&call, output, sizeof *output);       for each output
 *     do {
 *         failing_begin(&call);
 *         status = submod_NAME(..);
 *     } while (failing_again(&call, status));
 *
 * An allocation has its turn if none with the same call stack, from the test's own line down, has
 * failed in this process; loops come back to the same stack, and there the first, the second and
 * the third have their turns. After each failure
 *   - the status is SUBMOD_ENOMEM, and the error message says so. Then the call is made again, and
 *     the test goes on as ever, which it can only if the failure has left no trace;
 *   - or the call has succeeded without that memory (a workspace that could not grow). Then the
 * test goes on with what it got;
 *   - or it says what it also says when it has memory: its arguments are wrong as well;
 *   - and outputs have kept their first element, but for what the optimisers tell on the way.
 * Everything else goes to the log as "wrong". Leaks are for the sanitizer to find.
 *
 * A test that sets an allocator of its own is left alone until it takes it away. */
#ifndef SUBMOD_TESTS_FAILING_H
#define SUBMOD_TESTS_FAILING_H

#include <stdbool.h>
#include <submod.h>

enum { FAILING_OUTPUTS = 8, FAILING_BYTES = 64 };

typedef struct failing_call {
    const char *name;
    struct failing_call *outer; /* this call is made by a callback of that one */
    _Atomic bool failed;        /* one allocation has */
    unsigned long pass;
    submod_status other; /* an error that is not SUBMOD_ENOMEM, although memory was missing, */
    char other_words[256];
    unsigned char *begin; /* what the optimisers begin from, and a copy of it */
    unsigned char *begin_copy;
    size_t begin_size;
    size_t outputs;
    struct {
        const unsigned char *at;
        size_t size;
        unsigned char before[FAILING_BYTES];
    } output[FAILING_OUTPUTS];
} failing_call;

void failing_enter(failing_call *call, const char *name);
/* The first bytes of an output, or NULL. */
void failing_watch(failing_call *call, const void *output, size_t size);
/* What the optimisers begin from and move: it is put back before the call is made again. */
void failing_restore(failing_call *call, void *begin, size_t size);
void failing_begin(failing_call *call);
/* Looks at what came of the failure. true: call again. */
bool failing_again(failing_call *call, submod_status status);

#endif
