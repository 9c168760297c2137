/* Greedy maximisation of F over the sets of at most k candidates: plain, lazy and stochastic.
 *
 * The remaining candidates form a pool with the last gain of each. For the lazy method the pool is
 * a heap. If F is submodular, an old gain bounds the new one from above, so the first of the heap
 * is the best of all once its gain is current. All gains are infinite at first, so the first round
 * evaluates every candidate.
 *
 * Upper bounds on the optimum O of a monotone submodular F, with F(O | A) = F(A + O) - F(A):
 * F(O) <= F(A + O) <= F(A) + sum over O of F(o | A), which is at most F(A) + the k largest gains,
 * for A the set found, and for A empty, where F need not be monotone.
 *
 * Gains for n candidates: plain n k, lazy n and some more in each round, stochastic n ln(1 /
 * epsilon). The heap costs O(log n) per gain.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <submod/select.h>

#include "checks.h"

static const char caller[] = "submod_maximize";

/* A candidate, its last gain, and the size of the set for which it was computed. */
typedef struct entry {
    double gain;
    int32_t e;
    int32_t computed_at; /* -1 means never */
} entry;

typedef struct search {
    const submod_fn *fn;
    const submod_maximize_settings *settings;
    size_t k;
    entry *pool; /* remaining candidates */
    size_t left;
    submod_state *state; /* the set */
    double *gains;       /* the caller's, or NULL */
    size_t size;
    double scale;   /* the largest |gain|, to which rounding is relative */
    double singles; /* sum of the k largest gains of single elements */
    bool done;      /* no positive gain is left */
    double start;   /* in seconds */
    submod_rng rng;
    uint64_t *evaluations;
    submod_maximize_info *info;
} search;

submod_maximize_settings submod_maximize_defaults(void)
{
    return (submod_maximize_settings){.epsilon = 0.1, .seed = 1};
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the pool ---- */

/* Whether a comes before b: the larger gain, then the lower number. */
static bool precedes(const entry *a, const entry *b)
{
    return a->gain > b->gain || (a->gain == b->gain && a->e < b->e);
}

static void sift_down(search *f, size_t i)
{
    entry moving = f->pool[i];
    for (;;) {
        size_t child = 2 * i + 1;
        child += child + 1 < f->left && precedes(&f->pool[child + 1], &f->pool[child]);
        if (child >= f->left || !precedes(&f->pool[child], &moving)) {
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

static void drop_first(search *f)
{
    f->pool[0] = f->pool[--f->left];
    if (f->left) {
        sift_down(f, 0);
    }
}

/* ---- gains ---- */

/* Computes the current gain of an entry, and records what it shows about F. */
static submod_status update(search *f, entry *a)
{
    const double rounding = 1e-9; /* of gains, relative to the largest: far beyond it */
    double limit = f->settings->time_limit;
    if (limit > 0 && seconds() - f->start >= limit) {
        return SUBMOD_TIMELIMIT;
    }
    if (submod_poll()) {
        return SUBMOD_CANCELLED;
    }
    double gain;
    TRY(submod_state_gain(f->state, a->e, &gain));
    ++*f->evaluations;
    f->scale = fmax(f->scale, fabs(gain));
    f->info->monotone &= gain >= -rounding * f->scale;
    f->info->submodular &= gain <= a->gain + rounding * f->scale;
    a->gain = gain;
    a->computed_at = (int32_t)f->size;
    return SUBMOD_OK;
}

static submod_status update_first(search *f, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        TRY(update(f, &f->pool[i]));
    }
    return SUBMOD_OK;
}

/* Brings the best of the pool, a heap, to its top, with a gain that is current or shows that no
 * positive gain is left. */
static submod_status update_top(search *f)
{
    while (f->pool[0].gain > 0 && f->pool[0].computed_at != (int32_t)f->size) {
        TRY(update(f, &f->pool[0]));
        sift_down(f, 0);
    }
    return SUBMOD_OK;
}

static size_t best_of_first(const search *f, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = precedes(&f->pool[i], &f->pool[best]) ? i : best;
    }
    return best;
}

/* ---- rounds ---- */

/* Moves a random sample to the front. Returns its size. */
static size_t draw_sample(search *f)
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
    return count;
}

/* Finds the entry to add. */
static submod_status find_best(search *f, size_t *index)
{
    *index = 0;
    if (f->info->method == SUBMOD_MAXIMIZE_LAZY) {
        return update_top(f);
    }
    bool sampled = f->info->method == SUBMOD_MAXIMIZE_STOCHASTIC;
    size_t count = sampled ? draw_sample(f) : f->left;
    TRY(update_first(f, count));
    *index = best_of_first(f, count);
    return SUBMOD_OK;
}

static submod_status add(search *f, size_t index)
{
    entry *a = &f->pool[index];
    double gain;
    TRY(submod_state_push(f->state, a->e, &gain));
    if (f->gains) {
        f->gains[f->size] = gain;
    }
    f->size++;
    if (f->info->method == SUBMOD_MAXIMIZE_LAZY) {
        drop_first(f);
    } else {
        *a = f->pool[--f->left];
    }
    return SUBMOD_OK;
}

/* Adds up the k largest gains of single elements: the first round has computed all. */
static submod_status add_up_singles(search *f)
{
    double *gain = submod_alloc(f->left, sizeof *gain);
    int32_t *order = submod_alloc(f->left, sizeof *order);
    submod_status status = gain && order ? SUBMOD_OK : out_of_memory(caller);
    for (size_t i = 0; status == SUBMOD_OK && i < f->left; i++) {
        gain[i] = fmax(f->pool[i].gain, 0);
    }
    status = status ? status : submod_argsort(gain, f->left, order, NULL);
    f->singles = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < f->k; i++) {
        f->singles += gain[order[i]];
    }
    submod_free(gain);
    submod_free(order);
    return status;
}

static submod_status choose(search *f, bool with_bound)
{
    bool sampled = f->info->method == SUBMOD_MAXIMIZE_STOCHASTIC;
    make_heap(f);
    for (size_t round = 0; !f->done && round < f->k; round++) {
        size_t index;
        TRY(find_best(f, &index));
        if (with_bound && round == 0 && !sampled) {
            TRY(add_up_singles(f));
        }
        if (f->pool[index].gain > 0) {
            TRY(add(f, index));
        } else {
            f->done = !sampled;
        }
    }
    f->done = f->done || f->left == 0 || f->k == 0;
    return SUBMOD_OK;
}

/* ---- bounds ---- */

/* Adds up the k largest gains that are left. Empties the pool. */
static submod_status add_up_rest(search *f, double *rest)
{
    double sum = 0;
    f->evaluations = &f->info->bound_evaluations;
    make_heap(f);
    for (size_t i = 0; i < f->k && f->left; i++) {
        TRY(update_top(f));
        sum += fmax(f->pool[0].gain, 0);
        drop_first(f);
    }
    *rest = sum;
    return SUBMOD_OK;
}

static double guarantee(const search *f, submod_status outcome)
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

/* Fills in value and bounds. outcome: how the choice ended. Returns how all ended. */
static submod_status fill_info(search *f, submod_status outcome)
{
    submod_maximize_info *info = f->info;
    const int32_t *set;
    double empty;
    TRY(submod_fn_eval(f->fn, NULL, 0, &empty));
    submod_state_set(f->state, &set);
    TRY(submod_fn_eval(f->fn, set, f->size, &info->value));
    double rest = INFINITY;
    submod_status ended = outcome == SUBMOD_OK ? add_up_rest(f, &rest) : outcome;
    if (ended < 0) {
        return ended;
    }
    double worth = info->value - empty;
    info->guarantee = guarantee(f, outcome);
    double most = info->submodular ? f->singles : INFINITY; /* worth of any set */
    if (info->submodular && info->monotone) {
        most = ended == SUBMOD_OK ? fmin(most, worth + rest) : most;
        bool sure = info->method != SUBMOD_MAXIMIZE_STOCHASTIC && info->guarantee > 0;
        most = sure ? fmin(most, worth / info->guarantee) : most;
    }
    most = fmax(most, worth); /* which rounding may violate */
    info->bound = fmax(empty + most, info->value);
    info->ratio = isinf(info->bound) ? 0 : worth >= most ? 1 : worth / most;
    return ended;
}

/* ---- the entry ---- */

static submod_status check_settings(const submod_maximize_settings *s)
{
    if ((int)s->method < SUBMOD_MAXIMIZE_LAZY || (int)s->method > SUBMOD_MAXIMIZE_STOCHASTIC) {
        return submod_fail(SUBMOD_EINVAL, "%s: method = %d is unknown; see submod_maximize_method",
                           caller, (int)s->method);
    }
    if (!(s->epsilon > 0 && s->epsilon < 1)) {
        return submod_fail(SUBMOD_EINVAL, "%s: epsilon = %g must be in (0, 1)", caller, s->epsilon);
    }
    if (!(s->time_limit >= 0 && isfinite(s->time_limit))) {
        return submod_fail(SUBMOD_EINVAL, "%s: time_limit = %g must be finite and >= 0", caller,
                           s->time_limit);
    }
    return SUBMOD_OK;
}

static submod_status check_candidates(const int32_t *candidates, size_t count, size_t n)
{
    uint8_t *seen = submod_alloc(n, 1);
    if (!seen) {
        return out_of_memory(caller);
    }
    memset(seen, 0, n);
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        status = check_index(caller, "candidates", i, candidates[i], n);
        if (status == SUBMOD_OK && seen[candidates[i]]++) {
            status = submod_fail(SUBMOD_EINVAL, "%s: candidates[%zu] = %d occurs twice", caller, i,
                                 (int)candidates[i]);
        }
    }
    submod_free(seen);
    return status;
}

static submod_status allocate(search *f, const int32_t *candidates)
{
    f->pool = submod_alloc(f->left, sizeof *f->pool);
    if (!f->pool) {
        return out_of_memory(caller);
    }
    for (size_t i = 0; i < f->left; i++) {
        f->pool[i] = (entry){INFINITY, candidates ? candidates[i] : (int32_t)i, -1};
    }
    return submod_state_create(f->fn, &f->state);
}

static submod_status run(search *f, const int32_t *candidates, bool with_info)
{
    TRY(allocate(f, candidates));
    submod_status status = choose(f, with_info);
    return status >= 0 && with_info ? fill_info(f, status) : status;
}

submod_status submod_maximize(const submod_fn *fn, size_t k, const int32_t *candidates,
                              size_t ncandidates, int32_t *set, double *gains, size_t *size,
                              const submod_maximize_settings *settings, submod_maximize_info *info)
{
    submod_maximize_settings chosen = settings ? *settings : submod_maximize_defaults();
    TRY(check_given(caller, "fn", fn));
    TRY(check_settings(&chosen));
    size_t n = submod_fn_size(fn);
    TRY(candidates ? check_candidates(candidates, ncandidates, n) : SUBMOD_OK);
    size_t count = candidates ? ncandidates : n;
    submod_maximize_info found = {.method = chosen.method, .monotone = 1, .submodular = 1};
    search f = {.fn = fn,
                .settings = &chosen,
                .k = k < count ? k : count,
                .left = count,
                .gains = gains,
                .singles = INFINITY,
                .start = seconds(),
                .evaluations = &found.evaluations,
                .info = &found};
    submod_rng_seed(&f.rng, chosen.seed);
    submod_status status = run(&f, candidates, info != NULL);
    if (status >= 0) {
        const int32_t *selected;
        submod_state_set(f.state, &selected);
        for (size_t i = 0; set && i < f.size; i++) {
            set[i] = selected[i];
        }
        if (size) {
            *size = f.size;
        }
        if (info) {
            found.seconds = seconds() - f.start;
            *info = found;
        }
    }
    submod_state_free(f.state);
    submod_free(f.pool);
    return status;
}
