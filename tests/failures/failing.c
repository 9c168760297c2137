/* Lets allocations fail (see failing.h).
 *
 * SUBMOD_FAILURES=once: one allocation fails, those after it succeed; =on: all after it fail, too.
 * SUBMOD_FAILURES_LOG: the file to which a line is added for each failure: what came of it, and the
 * name of the call. */
#include "failing.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_STACKS = 1 << 16, DEEPEST = 40, TURNS = 3 };

/* A call stack from which memory was asked for. */
typedef struct stack {
    uint64_t hash;      /* 0: this place of the table is free */
    unsigned turns;     /* so many have failed */
    unsigned long pass; /* the call that came here last, */
    unsigned visits;    /* and how often it did */
} stack;

static stack stacks[MOST_STACKS];
static size_t stack_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool asked, on;      /* the environment says so */
static bool installed;      /* no test has an allocator of its own */
static atomic_ulong passes; /* calls so far */
static _Thread_local failing_call *current;
static _Atomic(failing_call *) last; /* for OpenMP's threads, which work for others */

/* ---- the log ---- */

static void note(const char *what, const char *name, const char *words)
{
    static atomic_int file = -1;
    const char *path = getenv("SUBMOD_FAILURES_LOG");
    if (atomic_load(&file) < 0) {
        int opened = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
        atomic_store(&file, opened < 0 ? STDERR_FILENO : opened);
    }
    char line[512];
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, name, words);
    size_t size = length < (int)sizeof line ? (size_t)length : sizeof line;
    (void)!write(atomic_load(&file), line, size);
}

/* ---- call stacks ---- */

/* FNV-1a over the return addresses. Only that test and library lie at the same place in one process
 * is needed. */
static uint64_t hash_stack(void)
{
    void *frames[DEEPEST];
    int depth = backtrace(frames, DEEPEST);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < depth; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 0x100000001b3u;
    }
    return hash ? hash : 1;
}

static stack *find_stack(uint64_t hash)
{
    size_t at = hash % MOST_STACKS;
    while (stacks[at].hash && stacks[at].hash != hash) {
        at = (at + 1) % MOST_STACKS;
    }
    if (!stacks[at].hash) {
        if (stack_count == MOST_STACKS / 2) {
            return NULL;
        }
        stack_count++;
        stacks[at].hash = hash;
    }
    return &stacks[at];
}

static bool has_its_turn(const failing_call *call)
{
    uint64_t hash = hash_stack();
    bool turn = false;
    pthread_mutex_lock(&lock);
    stack *s = find_stack(hash);
    if (s) {
        s->visits = s->pass == call->pass ? s->visits + 1 : 1;
        s->pass = call->pass;
        turn = s->turns < TURNS && s->visits > s->turns;
        s->turns += turn;
    } else {
        note("wrong", call->name, "there are more call stacks than failing.c has room for");
    }
    pthread_mutex_unlock(&lock);
    return turn;
}

/* ---- the allocator ---- */

static void *failing_alloc(size_t alignment, size_t size)
{
    failing_call *call = current ? current : atomic_load(&last);
    if (call && !call->failed && has_its_turn(call)) {
        call->failed = true;
        return NULL;
    }
    return call && call->failed && on ? NULL : aligned_alloc(alignment, size);
}

static const submod_allocator failing_allocator = {failing_alloc, free};

submod_status failing_submod_set_allocator(const submod_allocator *allocator)
{
    installed = asked && !allocator;
    return submod_set_allocator(installed ? &failing_allocator : allocator);
}

__attribute__((constructor)) static void start(void)
{
    const char *how = getenv("SUBMOD_FAILURES");
    asked = how && *how;
    on = asked && strcmp(how, "on") == 0;
    (void)failing_submod_set_allocator(NULL);
}

/* ---- the calls ---- */

void failing_enter(failing_call *call, const char *name)
{
    *call = (failing_call){.name = name, .outer = current};
}

/* What is not there is not read: some outputs have no elements. */
#if defined(__GNUC__)
__attribute__((no_sanitize_address))
#endif
void failing_watch(failing_call *call, const void *output, size_t size)
{
    if (!output || call->outputs == FAILING_OUTPUTS) {
        return;
    }
    const volatile unsigned char *at = output;
    size = size < FAILING_BYTES ? size : FAILING_BYTES;
    call->output[call->outputs].at = output;
    call->output[call->outputs].size = size;
    for (size_t i = 0; i < size; i++) {
        call->output[call->outputs].before[i] = at[i];
    }
    call->outputs++;
}

#if defined(__GNUC__)
__attribute__((no_sanitize_address))
#endif
static bool
has_written(const failing_call *call)
{
    bool written = false;
    for (size_t k = 0; k < call->outputs; k++) {
        const volatile unsigned char *at = call->output[k].at;
        for (size_t i = 0; i < call->output[k].size; i++) {
            written = written || at[i] != call->output[k].before[i];
        }
    }
    return written;
}

void failing_restore(failing_call *call, void *begin, size_t size)
{
    const size_t most = 1 << 20; /* beyond: a test of what is refused */
    call->begin_copy = asked && begin && size && size <= most ? malloc(size) : NULL;
    if (call->begin_copy) {
        call->begin = begin;
        call->begin_size = size;
        memcpy(call->begin_copy, begin, size);
    }
}

void failing_begin(failing_call *call)
{
    call->failed = false;
    call->pass = atomic_fetch_add(&passes, 1) + 1;
    current = call;
    atomic_store(&last, call);
    if (installed) {
        (void)submod_fail(SUBMOD_OK, "%s", "");
    }
}

static bool look(failing_call *call, submod_status status)
{
    const char *words = submod_last_error();
    if (status >= 0) {
        note("survived", call->name, "");
        return false;
    }
    if (status == SUBMOD_ECOMM) { /* ranks without their comm: the test judges */
        note("failed", call->name, words);
        return false;
    }
    if (status != SUBMOD_ENOMEM) {
        call->other = status;
        snprintf(call->other_words, sizeof call->other_words, "%s", words);
    } else if (!strstr(words, "out of memory")) {
        note("wrong", call->name, *words ? words : "no error message");
    } else if (has_written(call)) {
        note("wrong", call->name, "an output has changed");
    } else {
        note("failed", call->name, words);
    }
    return true;
}

static void end(failing_call *call, submod_status status)
{
    if (call->other) {
        bool same = call->other == status && strcmp(call->other_words, submod_last_error()) == 0;
        note(same ? "failed" : "wrong", call->name, call->other_words);
    }
    free(call->begin_copy);
}

bool failing_again(failing_call *call, submod_status status)
{
    bool again = call->failed && look(call, status);
    /* All ranks return one status. Those whose own allocations succeeded repeat the call after
     * SUBMOD_ENOMEM alone, so the rank that failed must do the same. */
    bool ranks = strncmp(call->name, "submod_dist_", strlen("submod_dist_")) == 0;
    again = ranks && installed ? status == SUBMOD_ENOMEM : again;
    if (again && call->begin_size) {
        memcpy(call->begin, call->begin_copy, call->begin_size);
    }
    if (!again) {
        end(call, status);
        current = call->outer;
        failing_call *gone = call;
        atomic_compare_exchange_strong(&last, &gone, call->outer);
    }
    return again;
}
