/* Many callers at once: every kind of call finds what it finds alone. From eight threads, with
 * shared set functions and workspaces of their own; in the child of a fork, whose parent has
 * computed in parallel, and in its new threads. Here few items are worth several threads, so that
 * all that can be parallel is. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/threads.h"
#include "depth.h"
#include "errands.h"
#include "support.h"

enum { SIDE = 192, CALLERS = 8, MOST_ERRANDS = 64 };
enum { FEW = 1 }; /* items that are worth several threads */

typedef struct plan {
    const errand_data *data;
    digest alone[MOST_ERRANDS];
} plan;

typedef struct caller {
    const plan *plan;
    size_t first, rounds;
    char wrong[300]; /* "" if all is well */
} caller;

static digest run(const errand *e, const errand_data *data, submod_work *work)
{
    digest found = 1;
    submod_status status = e->run(data, &found, work);
    ck_assert_msg(status == SUBMOD_OK, "%s: %s", e->name, submod_last_error());
    return found;
}

static void make_plan(plan *p, int threads)
{
    submodi_set_parallel_from(FEW);
    ck_assert_ok(submod_set_num_threads(threads));
    p->data = errand_data_new(SIDE);
    ck_assert_ptr_nonnull(p->data);
    ck_assert_uint_le(errand_count(), MOST_ERRANDS);
    for (size_t k = 0; k < errand_count(); k++) {
        p->alone[k] = run(errand_number(k), p->data, NULL);
        ck_assert(p->alone[k] != 1);
    }
}

/* All errands, beginning with another one each. Not by ck_assert: it is not for threads. */
static void *make_calls(void *context)
{
    caller *c = context;
    submod_work *work = NULL;
    if (submod_work_create(&work)) {
        snprintf(c->wrong, sizeof c->wrong, "%s", submod_last_error());
        return NULL;
    }
    for (size_t i = 0; !*c->wrong && i < c->rounds * errand_count(); i++) {
        size_t k = (c->first + i) % errand_count();
        digest found = 1;
        submod_status status = errand_number(k)->run(c->plan->data, &found, i % 2 ? work : NULL);
        if (status || found != c->plan->alone[k]) {
            snprintf(c->wrong, sizeof c->wrong, "%s: %s", errand_number(k)->name,
                     status ? submod_last_error() : "another result");
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
        all[i] = (caller){.plan = p, .first = i * errand_count() / callers, .rounds = 1};
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

static void free_plan(plan *p)
{
    errand_data_free((errand_data *)p->data);
    submodi_set_parallel_from(0);
}

/* So that the tests below are about what they say. */
START_TEST(every_kind_of_call_is_parallel)
{
    plan p;
    make_plan(&p, 1);
    ck_assert_uint_eq(submodi_parallel_count(), 0);
    for (int threads = 2; threads <= 5; threads += 3) {
        ck_assert_ok(submod_set_num_threads(threads));
        for (size_t k = 0; k < errand_count(); k++) {
            const errand *e = errand_number(k);
            size_t before = submodi_parallel_count();
            ck_assert_msg(run(e, p.data, NULL) == p.alone[k], "%s, %d threads: another result",
                          e->name, threads);
            ck_assert_msg(submodi_parallel_count() > before, "%s: in one thread", e->name);
        }
    }
    free_plan(&p);
}
END_TEST

START_TEST(eight_callers_at_once)
{
    plan p;
    caller all[CALLERS];
    make_plan(&p, 1);
    for (int threads = 1; threads <= 2; threads++) {
        ck_assert_ok(submod_set_num_threads(threads));
        const char *wrong = call_at_once(&p, CALLERS, all);
        ck_assert_msg(!*wrong, "%d threads each: %s", threads, wrong);
    }
    free_plan(&p);
}
END_TEST

#ifndef SUBMOD_TESTS_WATCH_RACES /* ThreadSanitizer knows no threads after a fork */
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
    plan p;
    make_plan(&p, 2);
    fork_and_call(&p);
    free_plan(&p);
}
END_TEST
#endif

#ifndef SUBMOD_TESTS_SANITIZED /* others may hold AddressSanitizer's locks at the fork */
/* The thread that forks has computed in parallel; others are in the middle of their calls. */
START_TEST(fork_while_others_call)
{
    plan p;
    caller others[2];
    pthread_t threads[2];
    make_plan(&p, 2);
    for (size_t i = 0; i < 2; i++) {
        others[i] = (caller){.plan = &p, .first = 9 * i, .rounds = 2};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_calls, &others[i]), 0);
    }
    fork_and_call(&p);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(!*others[i].wrong, "%s", others[i].wrong);
    }
    free_plan(&p);
}
END_TEST
#endif

int main(void)
{
#if defined(SUBMOD_TESTS_WATCH_RACES)
    return RUN_TESTS("threads", every_kind_of_call_is_parallel, eight_callers_at_once);
#elif defined(SUBMOD_TESTS_SANITIZED)
    return RUN_TESTS("threads", every_kind_of_call_is_parallel, eight_callers_at_once,
                     child_of_a_fork);
#else
    return RUN_TESTS("threads", every_kind_of_call_is_parallel, eight_callers_at_once,
                     child_of_a_fork, fork_while_others_call);
#endif
}
