/* Applies every law to every call of the table (calls.h):
 *
 *   memory       each allocation fails in turn: SUBMOD_ENOMEM with a message, nothing is leaked,
 * values and infos stay as they were, and the call works again; nothing is written around blocks,
 * and nothing reads fresh memory null         each required pointer NULL is refused, each optional
 * one changes no other output bits         the same with and without a workspace, for any number of
 * threads and, where base.h promises it, for each instruction set cancelling   at any step: ends
 * soon, with a usable result or untouched outputs callbacks    the failure of any call ends the
 * library's call at once threads      all calls that can be parallel are; eight callers at once,
 * the child of a fork
 *
 *   test_calls LAW..   applies these alone */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations.h"
#include "base/internal.h"
#include "base/isa.h"
#include "calls.h"
#include "depth.h"
#include "support.h"

enum { LARGE_SIDE = 192, FAMILY_SIZE = 24, CALLERS = 8 };

/* ---- all calls, and their results when nothing is wrong ---- */

typedef struct plan {
    call_data *data;
    call_sites sites;
    call_result *wanted;
} plan;

static const char *name_of(const call_site *site)
{
    static _Thread_local char name[CALL_NAME];
    call_site_name(site, name);
    return name;
}

static void make_plan(plan *p, size_t side, size_t family_size, bool user)
{
    p->data = call_data_new(side, family_size);
    ck_assert_ptr_nonnull(p->data);
    p->sites = call_sites_new(p->data, user);
    p->wanted = calloc(p->sites.count, sizeof *p->wanted);
    ck_assert_ptr_nonnull(p->wanted);
    ck_assert_uint_gt(p->sites.count, 0);
    for (size_t k = 0; k < p->sites.count; k++) {
        const call_site *site = &p->sites.at[k];
        p->wanted[k] = call_make(site, p->data, NULL, -1);
        ck_assert_msg(p->wanted[k].status >= 0, "%s: %s", name_of(site), submod_last_error());
        ck_assert_msg(p->wanted[k].context_safe, "%s: context", name_of(site));
    }
}

static void free_plan(plan *p)
{
    call_sites_free(&p->sites);
    free(p->wanted);
    call_data_free(p->data);
}

static submod_work *new_work(void)
{
    submod_work *work = NULL;
    ck_assert_ok(submod_work_create(&work));
    return work;
}

static void same_bits(const plan *p, size_t k, submod_work *work, const char *where)
{
    call_result r = call_make(&p->sites.at[k], p->data, work, -1);
    ck_assert_msg(r.bits == p->wanted[k].bits, "%s, %s: another result, status %d, %s",
                  name_of(&p->sites.at[k]), where, (int)r.status,
                  r.status < 0 ? submod_last_error() : "");
}

/* Whether the message begins with the name of the function that was called. Callbacks and
 * constructors do not have it yet. */
static bool names_its_call(const call_site *site)
{
    enum { ALL_NAME_IT = 0 };
    size_t length = strcspn(site->row->name, ":");
    const char *message = submod_last_error();
    bool named = strncmp(message, site->row->name, length) == 0 && message[length] == ':';
    return ALL_NAME_IT ? named : *message != 0;
}

/* What holds after any error. */
static void assert_failed_well(const call_site *site, const call_result *r, const char *law,
                               long step)
{
    ck_assert_msg(r->kept, "%s, %s %ld: a value or an info has changed", name_of(site), law, step);
    ck_assert_msg(r->context_safe, "%s, %s %ld: context", name_of(site), law, step);
    ck_assert_msg((site->row->flags & CALL_SEVERAL) || names_its_call(site),
                  "%s, %s %ld: the message is \"%s\"", name_of(site), law, step,
                  submod_last_error());
}

/* ---- memory ---- */

static void stop_failing(void)
{
    allocations.left = -1;
}

/* Lets all allocations from number `allowed` on fail, or only that one. */
static bool fail_one(const plan *p, size_t k, long allowed)
{
    const call_site *site = &p->sites.at[k];
    long before = allocations.live;
    call_after = stop_failing;
    allocations.failed = 0;
    allocations.left = allowed;
    call_result r = call_make(site, p->data, NULL, -1);
    call_after = NULL;
    bool failed = allocations.failed > 0;
    ck_assert_msg(allocations.live == before, "%s, allocation %ld: a leak", name_of(site), allowed);
    if (r.status < 0) {
        ck_assert_msg(failed && r.status == SUBMOD_ENOMEM && strstr(submod_last_error(), "memory"),
                      "%s, allocation %ld: %d, %s", name_of(site), allowed, (int)r.status,
                      submod_last_error());
        assert_failed_well(site, &r, "allocation", allowed);
    }
    return failed;
}

/* One by one at first; later ones repeat the same places many times over. */
static void fail_each(const plan *p, size_t k)
{
    bool failed = true;
    for (long allowed = 0; failed; allowed += 1 + allowed / 50) {
        ck_assert_int_lt(allowed, 100000);
        failed = fail_one(p, k, allowed);
    }
    same_bits(p, k, NULL, "after failures");
}

START_TEST(memory)
{
    plan p;
    allocations.left = -1;
    ck_assert_ok(submod_set_num_threads(1));
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    make_plan(&p, CALL_SIDE, FAMILY_SIZE, false);
    for (int once = 0; once < 2; once++) {
        allocations.only_one = once;
        for (size_t k = 0; k < p.sites.count; k += (size_t)each(3)) {
            fail_each(&p, k);
        }
    }
    free_plan(&p);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* Sizes that fill their blocks to the last byte, and others; and nothing relies on fresh memory,
 * which is NaN. */
START_TEST(blocks)
{
    const size_t sizes[] = {8, 7, 16, 23};
    for (size_t i = 0; i < 4; i += (size_t)each(2)) {
        size_t n = sizes[i];
        plan p, guarded;
        make_plan(&p, CALL_SIDE, n, false);
        ck_assert_ok(submod_set_allocator(&guarding_allocator));
        make_plan(&guarded, CALL_SIDE, n, false);
        ck_assert_uint_eq(p.sites.count, guarded.sites.count);
        for (size_t k = 0; k < guarded.sites.count; k++) {
            ck_assert_msg(p.wanted[k].bits == guarded.wanted[k].bits,
                          "%s: reads fresh memory, or writes around a block",
                          name_of(&p.sites.at[k]));
        }
        free_plan(&guarded);
        ck_assert_ok(submod_set_allocator(NULL));
        free_plan(&p);
    }
}
END_TEST

/* A workspace that has grown makes repeated calls allocate nothing. */
START_TEST(workspace)
{
    plan p;
    allocations.left = -1;
    ck_assert_ok(submod_set_num_threads(1));
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    make_plan(&p, CALL_SIDE, 0, false);
    submod_work *work = new_work();
    for (size_t k = 0; k < p.sites.count; k++) {
        const call_site *site = &p.sites.at[k];
        same_bits(&p, k, work, "with a workspace");
        if (site->row->flags & CALL_QUIET) {
            allocations.left = 0;
            same_bits(&p, k, work, "without a new allocation");
            allocations.left = -1;
        }
    }
    submod_work_free(work);
    free_plan(&p);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* ---- NULL ---- */

static void null_one(const plan *p, size_t k, int at)
{
    const call_site *site = &p->sites.at[k];
    call_result r = call_make(site, p->data, NULL, at);
    if (r.null_needed) {
        ck_assert_msg(r.status == SUBMOD_EINVAL && strstr(submod_last_error(), "NULL"),
                      "%s, pointer %d NULL: %d, %s", name_of(site), at, (int)r.status,
                      submod_last_error());
        assert_failed_well(site, &r, "NULL, pointer", at);
        return;
    }
    ck_assert_msg(r.status >= 0, "%s, optional pointer %d: %s", name_of(site), at,
                  submod_last_error());
    for (size_t i = 0; r.null_output && i < CALL_OUTPUTS; i++) {
        ck_assert_msg(r.output[i] == 0 || r.output[i] == p->wanted[k].output[i],
                      "%s, optional pointer %d NULL: output %zu differs", name_of(site), at, i);
    }
}

START_TEST(null_pointers)
{
    plan p;
    make_plan(&p, CALL_SIDE, 0, false);
    for (size_t k = 0; k < p.sites.count; k++) {
        for (int at = 0; at < p.wanted[k].pointers; at++) {
            null_one(&p, k, at);
        }
    }
    free_plan(&p);
}
END_TEST

/* ---- bits ---- */

/* Callers share functions and inputs that nobody may write to (call_data). */
START_TEST(thread_counts)
{
    plan p;
    submodi_set_parallel_from(1);
    ck_assert_ok(submod_set_num_threads(1));
    make_plan(&p, LARGE_SIDE, 0, false);
    size_t in_one = submodi_parallel_count();
    ck_assert_uint_eq(in_one, 0);
    bool *parallel = calloc(p.sites.count, sizeof *parallel);
    for (int threads = 2; threads <= 5; threads += 3) {
        ck_assert_ok(submod_set_num_threads(threads));
        for (size_t k = 0; k < p.sites.count; k++) {
            size_t before = submodi_parallel_count();
            same_bits(&p, k, NULL, threads == 2 ? "2 threads" : "5 threads");
            parallel[k] = submodi_parallel_count() > before;
        }
    }
    const bool with_openmp = submod_get_num_threads() > 1;
    for (size_t k = 0; k < p.sites.count; k++) { /* on some function */
        bool any = !with_openmp || !(p.sites.at[k].row->flags & CALL_PARALLEL);
        for (size_t j = 0; j < p.sites.count; j++) {
            any = any || (parallel[j] && p.sites.at[j].row == p.sites.at[k].row);
        }
        ck_assert_msg(any, "%s: in one thread", name_of(&p.sites.at[k]));
    }
    free(parallel);
    free_plan(&p);
    submodi_set_parallel_from(0);
}
END_TEST

START_TEST(instruction_sets)
{
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    plan p;
    make_plan(&p, CALL_SIDE, FAMILY_SIZE, false);
    const char *widest = submod_isa();
    for (size_t i = 0; i < 3; i++) {
        submodi_isa_choose(isas[i]);
        for (size_t k = 0; k < p.sites.count && strcmp(submod_isa(), isas[i]) == 0; k++) {
            bool fused = p.sites.at[k].row->flags & CALL_FUSED;
            if (!fused || (i > 0 && strcmp(widest, "baseline") != 0)) {
                same_bits(&p, k, NULL, isas[i]);
            }
        }
    }
    submodi_isa_choose(NULL);
    free_plan(&p);
}
END_TEST

/* ---- cancelling ---- */

typedef struct poll_plan {
    long at;    /* the poll that cancels, from 1 on */
    long made;  /* polls so far */
    long steps; /* callbacks since then */
} poll_plan;

static poll_plan polls;

static int poll_plan_says(void *ctx)
{
    poll_plan *p = ctx;
    p->made++;
    return p->made >= p->at;
}

static void count_step(void)
{
    polls.steps += polls.made >= polls.at;
}

static void stop_polling(void)
{
    submod_set_poll(NULL, NULL);
}

/* A few chains measure the result that is handed back; those of a path, each of its results. */
static bool ended_soon(const call_site *site)
{
    size_t n = site->subject ? submod_fn_size(site->subject->fn) : 0;
    return polls.steps <= 24 * ((long)n + 1);
}

/* Whether the call came as far as this poll. */
static bool cancel_one(const plan *p, size_t k, long at, long *cancelled)
{
    const call_site *site = &p->sites.at[k];
    long before = allocations.live;
    polls = (poll_plan){.at = at};
    submod_set_poll(poll_plan_says, &polls);
    call_after = stop_polling;
    call_result r = call_make(site, p->data, NULL, -1);
    call_after = NULL;
    bool came = polls.made >= at;
    ck_assert_msg(allocations.live == before, "%s, poll %ld: a leak", name_of(site), at);
    ck_assert_msg(r.status >= 0 || (came && r.status == SUBMOD_ECANCELLED), "%s, poll %ld: %d, %s",
                  name_of(site), at, (int)r.status, submod_last_error());
    ck_assert_msg(came ? ended_soon(site) : r.bits == p->wanted[k].bits,
                  "%s, poll %ld: another result, or %ld callbacks after it", name_of(site), at,
                  polls.steps);
    if (r.status < 0) {
        assert_failed_well(site, &r, "poll", at);
    }
    *cancelled += r.status == SUBMOD_CANCELLED || r.status == SUBMOD_ECANCELLED;
    return came;
}

static bool same_call(const call_site *a, const call_site *b)
{
    size_t length = strcspn(a->row->name, ":");
    return length == strcspn(b->row->name, ":") && strncmp(a->row->name, b->row->name, length) == 0;
}

/* In some row, on some function. */
static void assert_each_call_cancelled(const plan *p, const bool *was_cancelled)
{
    for (size_t k = 0; k < p->sites.count; k++) {
        bool any = !(p->sites.at[k].row->flags & CALL_CANCELS);
        for (size_t j = 0; !any && j < p->sites.count; j++) {
            any = was_cancelled[j] && same_call(&p->sites.at[j], &p->sites.at[k]);
        }
        ck_assert_msg(any, "%s: is never cancelled", name_of(&p->sites.at[k]));
    }
}

static void cancel_each(bool user)
{
    plan p;
    make_plan(&p, CALL_SIDE, 0, user);
    bool *was_cancelled = calloc(p.sites.count, sizeof *was_cancelled);
    for (size_t k = 0; k < p.sites.count; k++) {
        long cancelled = 0;
        for (long at = 1; cancel_one(&p, k, at, &cancelled); at += 1 + at / 20) {
        }
        ck_assert_msg(cancelled == 0 || (p.sites.at[k].row->flags & CALL_CANCELS), "%s: cancelled",
                      name_of(&p.sites.at[k]));
        was_cancelled[k] = cancelled > 0;
    }
    assert_each_call_cancelled(&p, was_cancelled);
    free(was_cancelled);
    free_plan(&p);
}

START_TEST(cancelling)
{
    allocations.left = -1;
    callback_alarm = count_step;
    ck_assert_ok(submod_set_num_threads(1));
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    cancel_each(false);
    cancel_each(true);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* ---- callbacks ---- */

static callback_plan during_call;

static void stop_counting(void)
{
    during_call = callbacks;
    callbacks = (callback_plan){0};
}

static bool fail_callback(const plan *p, size_t k, long at)
{
    const call_site *site = &p->sites.at[k];
    callbacks = (callback_plan){.at = at};
    call_after = stop_counting;
    call_result r = call_make(site, p->data, NULL, -1);
    call_after = NULL;
    bool failed = during_call.made >= at;
    ck_assert_msg(failed ? r.status == SUBMOD_ECALLBACK : r.bits == p->wanted[k].bits,
                  "%s, callback %ld: status %d, %s", name_of(site), at, (int)r.status,
                  submod_last_error());
    ck_assert_msg(during_call.late == 0, "%s, callback %ld: %ld more were made", name_of(site), at,
                  during_call.late);
    if (failed) {
        assert_failed_well(site, &r, "callback", at);
    }
    return failed;
}

START_TEST(failing_callbacks)
{
    plan p;
    ck_assert_ok(submod_set_num_threads(1));
    make_plan(&p, CALL_SIDE, 0, true);
    for (size_t k = 0; k < p.sites.count; k += (size_t)each(3)) {
        for (long at = 1; fail_callback(&p, k, at); at += 1 + at / 20) {
        }
    }
    free_plan(&p);
}
END_TEST

/* ---- many callers ---- */

typedef struct caller {
    const plan *plan;
    size_t first, rounds;
    char wrong[300]; /* "" if all is well */
} caller;

/* All calls, beginning with another one each. Not by ck_assert, which is not for threads. */
static void *make_calls(void *context)
{
    caller *c = context;
    const plan *p = c->plan;
    submod_work *work = NULL;
    if (submod_work_create(&work)) {
        snprintf(c->wrong, sizeof c->wrong, "%s", submod_last_error());
        return NULL;
    }
    for (size_t i = 0; !*c->wrong && i < c->rounds * p->sites.count; i++) {
        size_t k = (c->first + i) % p->sites.count;
        call_result r = call_make(&p->sites.at[k], p->data, i % 2 ? work : NULL, -1);
        if (r.bits != p->wanted[k].bits) {
            snprintf(c->wrong, sizeof c->wrong, "%s: %s", name_of(&p->sites.at[k]),
                     r.status < 0 ? submod_last_error() : "another result");
        }
    }
    submod_work_free(work);
    return NULL;
}

/* "" if all callers found what the plan says. */
static const char *call_at_once(const plan *p, size_t callers, caller *all)
{
    pthread_t threads[CALLERS];
    const char *wrong = "";
    for (size_t i = 0; i < callers; i++) {
        all[i] = (caller){.plan = p, .first = i * p->sites.count / callers, .rounds = 1};
        if (pthread_create(&threads[i], NULL, make_calls, &all[i])) {
            callers = i;
            wrong = "no more threads";
        }
    }
    for (size_t i = 0; i < callers; i++) {
        pthread_join(threads[i], NULL);
        wrong = *all[i].wrong ? all[i].wrong : wrong;
    }
    return wrong;
}

/* So few items are worth several threads that all that can be parallel is. The results wanted are
 * those of one thread. */
static void make_parallel_plan(plan *p, int threads)
{
    submodi_set_parallel_from(1);
    ck_assert_ok(submod_set_num_threads(1));
    make_plan(p, LARGE_SIDE, 0, false);
    ck_assert_ok(submod_set_num_threads(threads));
    same_bits(p, 0, NULL, "in parallel");
}

static void free_parallel_plan(plan *p)
{
    free_plan(p);
    submodi_set_parallel_from(0);
}

START_TEST(eight_callers_at_once)
{
    plan p;
    caller all[CALLERS];
    make_parallel_plan(&p, 1);
    for (int threads = 1; threads <= 2; threads++) {
        ck_assert_ok(submod_set_num_threads(threads));
        const char *wrong = call_at_once(&p, CALLERS, all);
        ck_assert_msg(!*wrong, "%d threads each: %s", threads, wrong);
    }
    free_parallel_plan(&p);
}
END_TEST

/* 0 if the child finds what the parent has found, by itself and by two threads at once. */
static int in_child(const plan *p)
{
    caller all[CALLERS] = {{.plan = p, .rounds = 1}};
    make_calls(&all[0]);
    const char *wrong = all[0].wrong;
    wrong = *wrong ? wrong : call_at_once(p, 2, all);
    if (*wrong) {
        fprintf(stderr, "in the child of a fork: %s\n", wrong);
    }
    return *wrong ? 1 : 0;
}

#ifdef SUBMOD_TESTS_COVERAGE
void __gcov_dump(void); /* of gcc: a child that leaves by _exit would not be counted */
static void keep_coverage(void)
{
    __gcov_dump();
}
#else
static void keep_coverage(void)
{
}
#endif

static void fork_and_call(const plan *p)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int wrong = in_child(p);
        keep_coverage();
        _exit(wrong);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(child_of_a_fork)
{
#ifndef SUBMOD_TESTS_WATCH_RACES /* ThreadSanitizer knows no threads after a fork */
    plan p;
    make_parallel_plan(&p, 2);
    fork_and_call(&p);
    free_parallel_plan(&p);
#endif
}
END_TEST

/* The thread that forks has computed in parallel; others are in the middle of their calls. */
START_TEST(fork_while_others_call)
{
#ifndef SUBMOD_TESTS_SANITIZED /* others may hold AddressSanitizer's locks at the fork */
    plan p;
    caller others[2];
    pthread_t threads[2];
    make_parallel_plan(&p, 2);
    for (size_t i = 0; i < 2; i++) {
        others[i] = (caller){.plan = &p, .first = 9 * i, .rounds = 2};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_calls, &others[i]), 0);
    }
    fork_and_call(&p);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(!*others[i].wrong, "%s", others[i].wrong);
    }
    free_parallel_plan(&p);
#endif
}
END_TEST

typedef struct law {
    const char *name;
    const TTest *test;
} law;

int main(int argc, char **argv)
{
    const law laws[] = {{"memory", memory},
                        {"blocks", blocks},
                        {"workspace", workspace},
                        {"null", null_pointers},
                        {"threads", thread_counts},
                        {"isas", instruction_sets},
                        {"cancelling", cancelling},
                        {"callbacks", failing_callbacks},
                        {"callers", eight_callers_at_once},
                        {"fork", child_of_a_fork},
                        {"fork_among_callers", fork_while_others_call}};
    enum { LAWS = sizeof laws / sizeof *laws };
    const TTest *chosen[LAWS];
    size_t count = 0;
    for (size_t i = 0; i < LAWS; i++) {
        bool named = argc < 2;
        for (int k = 1; k < argc; k++) {
            named = named || strcmp(argv[k], laws[i].name) == 0;
        }
        if (named) {
            chosen[count++] = laws[i].test;
        }
    }
    return run_tests("calls", chosen, count);
}
