/* Greedy maximisation of F over the sets of at most k candidates: plain, lazy and stochastic.
 *
 * The candidates that are left stand in a pool with the last gain that was asked of each. For the
 * lazy method the pool is a heap. If F is submodular, an old gain bounds the new one from above; so
 * the first of the heap, once its gain is up to date, is the best of all. Nobody was asked at
 * first: all gains are infinite, and the first round asks everybody.
 *
 * Upper bounds on the optimum O of a monotone submodular F, in the notation F(O | A) = F(A + O) -
 * F(A):  F(O) <= F(A + O) <= F(A) + sum over O of F(o | A), which is at most F(A) + the k largest
 * gains. A = the set found, and A = empty, which needs no monotone F.
 *
 * Cost in gains, n candidates: plain n k, lazy n and some more in each round, stochastic
 * n ln(1 / epsilon). The heap O(log n) per gain.
 */
#include <submod/maximize.h>

#include <math.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/sort.h"
#include "submod/handle.h"

static const char who[] = "submod_maximize";

/* A candidate, its last gain, and the size of the set that it was asked for. */
typedef struct entry {
    double gain;
    int32_t e;
    int32_t asked_at; /* -1: never */
} entry;

typedef struct search {
    const submod_fn *fn;
    const submod_maximize_settings *settings;
    size_t k;
    entry *pool; /* candidates that are left */
    size_t left;
    void *state; /* of fn's callbacks: the set */
    int32_t *set;
    double *gains;
    size_t size;
    double scale;   /* the largest |gain| seen: rounding is relative to it */
    double singles; /* the k largest gains of single elements, added up */
    bool done;      /* no gain is left */
    double start;
    submod_rng rng;
    uint64_t *asked; /* the counter of gains */
    submod_work *work;
    submod_maximize_info *info;
} search;

submod_maximize_settings submod_maximize_defaults(void)
{
    return (submod_maximize_settings){
        .struct_size = sizeof(submod_maximize_settings), .epsilon = 0.1, .seed = 1};
}

/* ---- the pool ---- */

/* Whether a stands before b: the larger gain, then the lower number. */
static bool before(const entry *a, const entry *b)
{
    return a->gain > b->gain || (a->gain == b->gain && a->e < b->e);
}

static void sift_down(search *f, size_t i)
{
    entry moving = f->pool[i];
    for (;;) {
        size_t child = 2 * i + 1;
        child += child + 1 < f->left && before(&f->pool[child + 1], &f->pool[child]);
        if (child >= f->left || !before(&f->pool[child], &moving)) {
            break;
        }
        f->pool[i] = f->pool[child];
        i = child;
    }
    f->pool[i] = moving;
}

static void make_heap(search *f)
{
    for (size_t i = f->left / 2; i-- > 0;) {
        sift_down(f, i);
    }
}

/* Drops the first of the heap. */
static void drop_first(search *f)
{
    f->pool[0] = f->pool[--f->left];
    if (f->left) {
        sift_down(f, 0);
    }
}

/* ---- gains ---- */

/* Brings the gain of an entry up to date, and notes what it says about F. */
static submod_status ask(search *f, entry *a)
{
    const double rounding = 1e-9; /* of gains, relative to the largest: far beyond it */
    double limit = f->settings->time_limit;
    if (limit > 0 && submodi_seconds() - f->start >= limit) {
        return SUBMOD_TIMELIMIT;
    }
    if (submodi_cancelled()) {
        return SUBMOD_CANCELLED;
    }
    double gain;
    submod_status status = submodi_fn_gain(f->fn, f->state, a->e, &gain);
    if (status != SUBMOD_OK) {
        return status;
    }
    ++*f->asked;
    f->scale = fmax(f->scale, fabs(gain));
    f->info->monotone &= gain >= -rounding * f->scale;
    f->info->submodular &= gain <= a->gain + rounding * f->scale;
    a->gain = gain;
    a->asked_at = (int32_t)f->size;
    return SUBMOD_OK;
}

static submod_status ask_first(search *f, size_t count)
{
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        status = ask(f, &f->pool[i]);
    }
    return status;
}

/* Brings the best of the pool, which is a heap, to its top, with a gain that is up to date or shows
 * that no gain is left. */
static submod_status bring_up(search *f)
{
    submod_status status = SUBMOD_OK;
    while (status == SUBMOD_OK && f->pool[0].gain > 0 && f->pool[0].asked_at != (int32_t)f->size) {
        status = ask(f, &f->pool[0]);
        sift_down(f, 0);
    }
    return status;
}

/* The place of the best of the first `count` entries. */
static size_t best_of(const search *f, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = before(&f->pool[i], &f->pool[best]) ? i : best;
    }
    return best;
}

/* ---- one round: finds the place of the best ---- */

static submod_status find_lazily(search *f, size_t *place)
{
    *place = 0;
    return bring_up(f);
}

static submod_status find_plainly(search *f, size_t *place)
{
    submod_status status = ask_first(f, f->left);
    *place = best_of(f, f->left);
    return status;
}

/* Brings a random sample to the front. */
static submod_status find_by_sample(search *f, size_t *place)
{
    double n = (double)(f->left + f->size);
    double wanted = ceil(n / (double)f->k * -log(f->settings->epsilon));
    size_t count = wanted < (double)f->left ? (size_t)fmax(wanted, 1) : f->left;
    for (size_t i = 0; i < count; i++) {
        size_t j = i + submod_rng_below(&f->rng, f->left - i);
        entry swap = f->pool[i];
        f->pool[i] = f->pool[j];
        f->pool[j] = swap;
    }
    submod_status status = ask_first(f, count);
    *place = best_of(f, count);
    return status;
}

/* Adds the entry at this place to the set. */
static submod_status add(search *f, size_t place)
{
    entry *a = &f->pool[place];
    submod_status status = submodi_fn_push(f->fn, f->state, a->e, &f->gains[f->size]);
    if (status != SUBMOD_OK) {
        return status;
    }
    f->set[f->size++] = a->e;
    if (f->info->method == SUBMOD_MAXIMIZE_LAZY) {
        drop_first(f);
    } else {
        *a = f->pool[--f->left];
    }
    return SUBMOD_OK;
}

/* The k largest gains of single elements, added up: all were asked in the first round. */
static submod_status add_up_singles(search *f)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, f->work);
    double *gain = submodi_take(w, f->left, sizeof *gain);
    for (size_t i = 0; gain && i < f->left; i++) {
        gain[i] = fmax(f->pool[i].gain, 0);
    }
    bool good = gain && submodi_sort_f64(gain, f->left, w, &sorted) == SUBMOD_OK;
    f->singles = 0;
    for (size_t i = 0; good && i < f->k; i++) {
        f->singles += gain[submodi_sorted_index(&sorted, i)];
    }
    submodi_scope_close(&scope);
    return good ? SUBMOD_OK : submodi_nomem(who);
}

static submod_status choose(search *f, bool with_bound)
{
    static submod_status (*const finders[])(search *, size_t *) = {
        [SUBMOD_MAXIMIZE_LAZY] = find_lazily,
        [SUBMOD_MAXIMIZE_PLAIN] = find_plainly,
        [SUBMOD_MAXIMIZE_STOCHASTIC] = find_by_sample,
    };
    bool by_sample = f->info->method == SUBMOD_MAXIMIZE_STOCHASTIC;
    make_heap(f);
    submod_status status = submodi_fn_reset(f->fn, f->state);
    for (size_t round = 0; status == SUBMOD_OK && !f->done && round < f->k; round++) {
        size_t place;
        status = finders[f->info->method](f, &place);
        if (status == SUBMOD_OK && with_bound && round == 0 && !by_sample) {
            status = add_up_singles(f);
        }
        if (status == SUBMOD_OK && f->pool[place].gain > 0) {
            status = add(f, place);
        } else {
            f->done = status == SUBMOD_OK && !by_sample;
        }
    }
    f->done = f->done || f->left == 0 || f->k == 0;
    return status;
}

/* ---- what is proved ---- */

/* *rest = the k largest gains that are left, added up. Empties the pool. */
static submod_status add_up_rest(search *f, double *rest)
{
    submod_status status = SUBMOD_OK;
    *rest = 0;
    f->asked = &f->info->bound_evaluations;
    make_heap(f);
    for (size_t i = 0; status == SUBMOD_OK && i < f->k && f->left; i++) {
        status = bring_up(f);
        *rest += fmax(f->pool[0].gain, 0);
        drop_first(f);
    }
    return status;
}

/* What the method promises for the set that it found. */
static double promise(const search *f, submod_status outcome)
{
    if (!f->info->monotone || !f->info->submodular) {
        return 0;
    }
    if (f->done) {
        return 1;
    }
    if (f->info->method == SUBMOD_MAXIMIZE_STOCHASTIC) {
        return outcome == SUBMOD_OK ? fmax(0, 1 - exp(-1) - f->settings->epsilon) : 0;
    }
    return f->size ? -expm1((double)f->size * log1p(-1 / (double)f->k)) : 0;
}

/* Value and bounds. outcome: how the choice ended. Returns how all ended. */
static submod_status judge(search *f, submod_status outcome)
{
    submod_maximize_info *info = f->info;
    double empty;
    submod_status status = submodi_fn_eval(f->fn, f->set, 0, &empty);
    status = status ? status : submodi_fn_eval(f->fn, f->set, f->size, &info->value);
    if (status != SUBMOD_OK) {
        return status;
    }
    double rest = INFINITY;
    submod_status ended = outcome == SUBMOD_OK ? add_up_rest(f, &rest) : outcome;
    if (ended < 0) {
        return ended;
    }
    double worth = info->value - empty;
    double most = INFINITY; /* that any set can be worth */
    info->guarantee = promise(f, outcome);
    if (info->submodular) {
        most = f->singles;
    }
    if (info->submodular && info->monotone) {
        most = ended == SUBMOD_OK ? fmin(most, worth + rest) : most;
        bool sure = info->method != SUBMOD_MAXIMIZE_STOCHASTIC && info->guarantee > 0;
        most = sure ? fmin(most, worth / info->guarantee) : most;
    }
    most = fmax(most, worth); /* up to rounding it is */
    info->bound = fmax(empty + most, info->value);
    info->ratio = isinf(info->bound) ? 0 : worth >= most ? 1 : worth / most;
    return ended;
}

/* ---- the entry ---- */

static submod_status require_settings(const submod_maximize_settings *s)
{
    if ((int)s->method < SUBMOD_MAXIMIZE_LAZY || (int)s->method > SUBMOD_MAXIMIZE_STOCHASTIC) {
        return submodi_fail(SUBMOD_EINVAL, "%s: method = %d is unknown; see submod_maximize_method",
                            who, (int)s->method);
    }
    if (!(s->epsilon > 0 && s->epsilon < 1)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: epsilon = %g must be in (0, 1)", who, s->epsilon);
    }
    if (!(s->time_limit >= 0 && isfinite(s->time_limit))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: time_limit = %g must be finite and >= 0", who,
                            s->time_limit);
    }
    return SUBMOD_OK;
}

static bool allocate(search *f, const int32_t *candidates)
{
    f->state = submodi_take(f->work, submodi_fn_state_size(f->fn), 1);
    f->pool = submodi_take(f->work, f->left, sizeof *f->pool);
    f->set = submodi_take(f->work, f->k, sizeof *f->set);
    f->gains = submodi_take(f->work, f->k, sizeof *f->gains);
    for (size_t i = 0; f->pool && i < f->left; i++) {
        f->pool[i] = (entry){INFINITY, candidates ? candidates[i] : (int32_t)i, -1};
    }
    return f->state && f->pool && f->set && f->gains;
}

submod_status submod_maximize(const submod_fn *fn, size_t k, const int32_t *candidates,
                              size_t ncandidates, int32_t *set, double *gains, size_t *size,
                              const submod_maximize_settings *settings, submod_maximize_info *info,
                              submod_work *work)
{
    submod_maximize_settings chosen = submod_maximize_defaults();
    submod_status status =
        submodi_read_settings(who, "submod_maximize_defaults", settings, &chosen);
    status = status ? status : submodi_require_given(who, "fn", fn);
    status = status ? status : require_settings(&chosen);
    if (status == SUBMOD_OK && candidates) {
        status = submodi_require_set(who, fn->n, "candidates", candidates, ncandidates);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t count = candidates ? ncandidates : fn->n;
    submod_maximize_info found = {.method = chosen.method, .monotone = 1, .submodular = 1};
    search f = {.fn = fn, .settings = &chosen, .left = count, .info = &found};
    f.k = k < count ? k : count;
    f.singles = INFINITY;
    f.start = submodi_seconds();
    f.asked = &found.evaluations;
    submod_rng_seed(&f.rng, chosen.seed);
    submodi_scope scope;
    f.work = submodi_scope_open(&scope, work);
    status = allocate(&f, candidates) ? choose(&f, info != NULL) : submodi_nomem(who);
    if (status >= 0 && info) {
        status = judge(&f, status);
    }
    if (status >= 0) {
        submodi_copy_out(set, f.set, f.size, sizeof *set);
        submodi_copy_out(gains, f.gains, f.size, sizeof *gains);
        submodi_copy_out(size, &f.size, 1, sizeof *size);
        found.seconds = submodi_seconds() - f.start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return status;
}
