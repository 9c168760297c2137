/* The passes of the counting engine (counting.h): counting errors, and looking up their slopes.
 *
 * Background errors below the smallest foreground error have no weight (batch.h) and are not
 * counted. That error is known only after pass 1. Until then each tile counts its background from a
 * floor: some way below the smallest foreground error so far. Tiles whose floor was too high are
 * visited again, so the counts of all bins with weight are exact.
 *
 * Counts are integers and sums of pixel weights are exact (tensors/pixel_weights.h), so results do
 * not depend on the number of threads. */
#include "loss/counting.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/internal.h"
#include "loss/tensors/float_bits.h"
#include "loss/tensors/rows.h"

/* Entries of a class wait until there are more than this: one pass then counts them all, while its
 * table is in the caches. */
enum { WAITING = 4096 };

/* The floor of the background is the smallest foreground error so far divided by 2^4. */
#define MARGIN (INT32_C(4) << 23)

/* How the errors of a class in a group are processed. */
typedef enum task {
    SKIP,   /* not part of the loss */
    COUNT,  /* counted in bins */
    LARGEST /* no foreground, so only the largest has weight */
} task;

typedef struct class_state {
    task what;
    bool prunes;              /* background below the smallest foreground error has no weight */
    _Atomic int32_t smallest; /* bits of the smallest foreground error so far */
    int32_t low;              /* background errors from here on look up their slopes */
    float rest;               /* the slope of background errors below low */
} class_state;

/* The counts of one class by one thread. */
typedef struct counter {
    uint32_t *count; /* 2 bins; sums of weights in `sum` */
    double *sum;
    uint32_t cleared[2]; /* bins of background and foreground from here on are in use */
    int32_t smallest;    /* bits of the smallest foreground error that the thread has seen */
    size_t waiting;
    int32_t *list;
    int32_t largest; /* the largest error so far, and its ties */
    double ties;
} counter;

typedef struct counting {
    submodi_batch *batch;
    const submod_gradient *gradient;
    submodi_bins bins;
    class_state *state; /* per class */
    counter *counter;   /* threads x classes */
    int32_t *floor;     /* per tile of a group and class: the floor of its background */
    float *slope;       /* classes x 2 bins */
    double *excess;     /* per tile of a group */
    submodi_class_solution *solution; /* per class */
    size_t group;
} counting;

/* ---- memory ---- */

static size_t tiles_of_group(const submodi_batch *batch)
{
    return batch->images_per_group * batch->tiles_per_image;
}

static bool take_memory(counting *x, submod_work *work)
{
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
    size_t counters = submodi_times((size_t)batch->threads, C);
    size_t entries = 2 * (size_t)x->bins.count;
    bool weighted = batch->weight;
    x->state = submodi_work_alloc(work, C, sizeof *x->state);
    x->counter = submodi_work_alloc(work, counters, sizeof *x->counter);
    x->floor = submodi_work_alloc(work, submodi_times(tiles_of_group(batch), C), sizeof *x->floor);
    x->slope = submodi_work_alloc(work, submodi_times(C, entries), sizeof *x->slope);
    x->excess = submodi_work_alloc(work, tiles_of_group(batch), sizeof *x->excess);
    x->solution = submodi_work_alloc(work, C, sizeof *x->solution);
    bool good = x->state && x->counter && x->floor && x->slope && x->excess && x->solution;
    for (size_t k = 0; good && k < counters; k++) {
        counter *to = &x->counter[k];
        *to = (counter){.waiting = 0};
        to->count = weighted ? NULL : submodi_work_alloc(work, entries, sizeof *to->count);
        to->sum = weighted ? submodi_work_alloc(work, entries, sizeof *to->sum) : NULL;
        to->list = submodi_work_alloc(work, WAITING + SUBMODI_ROW_LIST, sizeof *to->list);
        good = (to->count || to->sum) && to->list;
    }
    return good;
}

/* ---- tables ---- */

static counter *counter_of(const counting *x, size_t thread, size_t c)
{
    return &x->counter[thread * x->batch->scores.classes + c];
}

/* Clears the bins of one side from `bin` on that are not in use yet. */
static void clear_from(const counting *x, counter *to, bool foreground, uint32_t bin)
{
    uint32_t cleared = to->cleared[foreground];
    if (bin < cleared) {
        size_t at = (foreground ? x->bins.count : 0) + bin;
        if (to->count) {
            memset(to->count + at, 0, (cleared - bin) * sizeof *to->count);
        } else {
            memset(to->sum + at, 0, (cleared - bin) * sizeof *to->sum);
        }
        to->cleared[foreground] = bin;
    }
}

static uint32_t bin_of(const counting *x, int32_t bits)
{
    return bits < x->bins.lowest ? 0 : (uint32_t)(bits - x->bins.lowest) >> x->bins.shift;
}

/* Counts the waiting entries. Reads the list as volatile, because compilers otherwise use gather
 * and scatter instructions, which are slower. */
static void count_waiting(counter *to)
{
    const volatile int32_t *list = to->list;
    for (size_t j = 0; j < to->waiting; j++) {
        to->count[list[j] & SUBMODI_ENTRY_MASK]++;
    }
    to->waiting = 0;
}

static void add_waiting(counter *to, const float *weight)
{
    const volatile int32_t *list = to->list;
    for (size_t j = 0; j < to->waiting; j++) {
        uint32_t entry = (uint32_t)list[j];
        to->sum[entry & SUBMODI_ENTRY_MASK] += (double)weight[entry >> SUBMODI_PLACE_SHIFT];
    }
    to->waiting = 0;
}

/* Clears the bins that a row needs, with its background from `low` on. Counts the waiting entries
 * when there are many; with weights at once, because those belong to one tile. */
static void take_entries(const counting *x, counter *to, int32_t low, const float *weight)
{
    clear_from(x, to, false, bin_of(x, low));
    clear_from(x, to, true, bin_of(x, to->smallest));
    if (weight) {
        add_waiting(to, weight);
    } else if (to->waiting > WAITING) {
        count_waiting(to);
    }
}

/* ---- pass 1 ---- */

static int32_t second_bin(const counting *x)
{
    return x->bins.lowest + (int32_t)(UINT32_C(1) << x->bins.shift);
}

/* Returns the smallest foreground error that counts, as bits: errors of 0 have no part in a hinge
 * loss. */
static int32_t foreground_low(const counting *x)
{
    return x->batch->activation == SUBMODI_SCORE;
}

static int32_t smallest_of(const class_state *s)
{
    return atomic_load_explicit(&s->smallest, memory_order_relaxed);
}

/* Lowers the smallest foreground error. Threads share it: the sooner it is small, the fewer floors
 * are too high. */
static void lower_smallest(class_state *s, counter *to, int32_t bits)
{
    int32_t old = smallest_of(s);
    to->smallest = bits;
    while (bits < old &&
           !atomic_compare_exchange_weak_explicit(&s->smallest, &old, bits, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Returns the floor of a class's background: the bits of the lower end of a bin. */
static int32_t floor_for(const counting *x, const class_state *s, int32_t margin)
{
    int32_t smallest = smallest_of(s);
    int32_t low = second_bin(x);
    if (s->prunes && smallest < x->bins.highest && smallest - margin > low) {
        low = (smallest - margin) & (int32_t)(UINT32_MAX << x->bins.shift);
    }
    return low;
}

static submodi_error_row row_of(const counting *x, const submodi_tile *tile, size_t c)
{
    submodi_error_row row = {
        .v = tile->v + c * tile->stride, .factor = tile->factor, .width = tile->width};
    row.code = submodi_tile_codes(x->batch, tile, c, &row.target);
    return row;
}

static void count_own(const counting *x, const submodi_tile *tile)
{
    int32_t entry[SUBMODI_TILE_MAX];
    int32_t C = x->batch->rule.classes;
    submodi_counters()->entries(tile->own, &x->bins, tile->width, entry);
    for (size_t i = 0; i < tile->n; i++) {
        size_t c = (size_t)tile->codes[i];
        if (tile->codes[i] < C && x->state[c].what == COUNT) {
            counter *to = counter_of(x, tile->thread, c);
            int32_t bits = (int32_t)submodi_to_bits(tile->own[i]);
            to->list[to->waiting++] = entry[i] | (int32_t)(i << SUBMODI_PLACE_SHIFT);
            if (bits < to->smallest) {
                lower_smallest(&x->state[c], to, bits);
            }
        }
    }
}

static void find_largest(const counting *x, const submodi_tile *tile, size_t c)
{
    counter *to = counter_of(x, tile->thread, c);
    submodi_error_row row = row_of(x, tile, c);
    double ties;
    int32_t found = submodi_counters()->largest(&row, &x->bins, x->batch->rule.classes,
                                                tile->weight, to->largest, &ties);
    to->ties = found > to->largest ? ties : to->ties + ties;
    to->largest = found;
}

static void count_row(const counting *x, const submodi_tile *tile, size_t c, int32_t low,
                      int32_t high, bool foreground)
{
    const submodi_counting_loops *loops = submodi_counters();
    counter *to = counter_of(x, tile->thread, c);
    submodi_error_row row = row_of(x, tile, c);
    submodi_error_range range = {low, high, foreground ? foreground_low(x) : INT32_MAX};
    int32_t *list = to->list + to->waiting;
    if (x->batch->multilabel) {
        int32_t smallest = to->smallest;
        to->waiting += loops->labelled(&row, &x->bins, &range, list, &smallest);
        if (smallest < to->smallest) {
            lower_smallest(&x->state[c], to, smallest);
        }
    } else {
        to->waiting += loops->background(&row, &x->bins, &range, tile->weight != NULL, list);
    }
    take_entries(x, to, low, tile->weight);
}

static size_t tile_in_group(const counting *x, const submodi_tile *tile)
{
    return tile->index - x->group * tiles_of_group(x->batch);
}

static void count_tile(const void *context, const submodi_tile *tile)
{
    const counting *x = context;
    size_t C = x->batch->scores.classes;
    int32_t *floor = x->floor + tile_in_group(x, tile) * C;
    if (!x->batch->multilabel) {
        count_own(x, tile);
    }
    for (size_t c = 0; c < C; c++) {
        if (x->state[c].what == LARGEST) {
            find_largest(x, tile, c);
        } else if (x->state[c].what == COUNT) {
            floor[c] = floor_for(x, &x->state[c], MARGIN);
            count_row(x, tile, c, floor[c], INT32_MAX, true);
        }
    }
}

/* Returns whether the floor of class c in a tile was too high. */
static bool misses_some(const counting *x, size_t tile, size_t c)
{
    return x->state[c].what == COUNT &&
           x->floor[tile * x->batch->scores.classes + c] > floor_for(x, &x->state[c], 0);
}

static void count_rest(const counting *x, const submodi_tile *tile)
{
    size_t C = x->batch->scores.classes;
    for (size_t c = 0; c < C; c++) {
        size_t t = tile_in_group(x, tile);
        if (misses_some(x, t, c)) {
            count_row(x, tile, c, floor_for(x, &x->state[c], 0), x->floor[t * C + c], false);
        }
    }
}

/* Counts the background errors that floors left out because they were too high. */
static void count_all_rests(const counting *x)
{
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
#pragma omp parallel for num_threads(batch->threads) schedule(dynamic, 16)
    for (size_t t = 0; t < tiles_of_group(batch); t++) {
        bool some = false;
        for (size_t c = 0; !some && c < C; c++) {
            some = misses_some(x, t, c);
        }
        submodi_tile tile = {.thread = submodi_thread_index()};
        size_t image = x->group * batch->images_per_group + t / batch->tiles_per_image;
        if (some &&
            submodi_tile_load(batch, image, t % batch->tiles_per_image, SUBMODI_ERRORS, &tile)) {
            count_rest(x, &tile);
        }
    }
}

static task task_of(const submodi_batch *batch, size_t segment)
{
    double P = batch->foreground[segment];
    if (!(batch->coefficient[segment] > 0) || P + batch->background[segment] <= 0) {
        return SKIP;
    }
    return submodi_form_first_is_all(submodi_form_of(&batch->measure), P) ? LARGEST : COUNT;
}

static void begin_group(counting *x, size_t group)
{
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
    x->group = group;
    for (size_t c = 0; c < C; c++) {
        class_state *s = &x->state[c];
        s->what = task_of(batch, group * C + c);
        s->prunes = batch->foreground_is_all[group * C + c];
        atomic_init(&s->smallest, x->bins.highest);
        for (size_t t = 0; t < (size_t)batch->threads; t++) {
            counter *to = counter_of(x, t, c);
            to->cleared[0] = to->cleared[1] = x->bins.count;
            to->smallest = x->bins.highest;
            to->waiting = 0;
            to->largest = 0;
            to->ties = 0;
        }
    }
}

static bool visit_group(const counting *x, unsigned load, submodi_tile_body *body)
{
    size_t images = x->batch->images_per_group;
    return submodi_visit(x->batch, x->group * images, images, 0, load, body, x);
}

/* Returns false if some score is bad. */
static bool count_group(counting *x, size_t group)
{
    const submodi_batch *batch = x->batch;
    size_t counters = (size_t)batch->threads * batch->scores.classes;
    begin_group(x, group);
    if (!visit_group(x, SUBMODI_ERRORS, count_tile)) {
        return false;
    }
    count_all_rests(x);
#pragma omp parallel for num_threads(batch->threads) schedule(dynamic)
    for (size_t k = 0; k < counters; k++) {
        if (x->counter[k].count) {
            count_waiting(&x->counter[k]);
        }
    }
    return true;
}

/* ---- slopes ---- */

typedef struct class_reader {
    const counting *x;
    size_t c;
} class_reader;

static void read_counts(const void *context, bool foreground, uint32_t low, uint32_t high,
                        double *to)
{
    const class_reader *r = context;
    for (size_t t = 0; t < (size_t)r->x->batch->threads; t++) {
        const counter *from = counter_of(r->x, t, r->c);
        uint32_t first = from->cleared[foreground] > low ? from->cleared[foreground] : low;
        size_t side = foreground ? r->x->bins.count : 0;
        for (uint32_t k = first; k < high; k++) {
            to[k - low] += from->count ? (double)from->count[side + k] : from->sum[side + k];
        }
    }
}

static uint32_t lowest_bin(const counting *x, size_t c)
{
    uint32_t lowest = x->bins.count;
    for (size_t t = 0; t < (size_t)x->batch->threads; t++) {
        const counter *from = counter_of(x, t, c);
        lowest = from->cleared[0] < lowest ? from->cleared[0] : lowest;
        lowest = from->cleared[1] < lowest ? from->cleared[1] : lowest;
    }
    return lowest;
}

static void solve_largest(const counting *x, size_t c)
{
    const submodi_batch *batch = x->batch;
    class_state *s = &x->state[c];
    int32_t largest = 0;
    double ties = 0;
    for (size_t t = 0; t < (size_t)batch->threads; t++) {
        const counter *from = counter_of(x, t, c);
        ties = from->largest > largest ? 0 : ties;
        largest = from->largest > largest ? from->largest : largest;
        ties += from->largest == largest ? from->ties : 0;
    }
    bool some = largest > 0 && ties > 0 &&
                !(batch->measure.type == SUBMOD_MEASURE_TVERSKY && batch->measure.alpha == 0);
    double coefficient = some ? batch->coefficient[x->group * batch->scores.classes + c] : 0;
    int32_t from = largest & (int32_t)(UINT32_MAX << x->bins.shift);
    uint32_t bin = bin_of(x, largest);
    s->low = largest > second_bin(x) ? largest : second_bin(x);
    s->rest = 0;
    x->slope[c * 2 * x->bins.count + bin] = some ? (float)(coefficient / ties) : 0;
    x->solution[c] = (submodi_class_solution){
        .value = coefficient * (bin ? (double)submodi_from_bits((uint32_t)from) : 0)};
    if (bin == 0) { /* its errors look up no slopes */
        x->solution[c].bound = coefficient * (double)submodi_from_bits((uint32_t)second_bin(x));
    }
}

static void solve_class(const counting *x, size_t c)
{
    const submodi_batch *batch = x->batch;
    class_state *s = &x->state[c];
    size_t segment = x->group * batch->scores.classes + c;
    float *slope = x->slope + c * 2 * x->bins.count;
    s->low = INT32_MAX;
    s->rest = 0;
    x->solution[c] = (submodi_class_solution){.value = 0};
    if (s->what == LARGEST) {
        solve_largest(x, c);
    } else if (s->what == COUNT) {
        const class_reader reader = {x, c};
        s->low = floor_for(x, s, 0);
        submodi_class_counts counts = {.measure = &batch->measure,
                                       .P = batch->foreground[segment],
                                       .N = batch->background[segment],
                                       .unit = batch->unit[x->group],
                                       .least = batch->weight ? 0 : 1,
                                       .first = s->low > second_bin(x) ? bin_of(x, s->low) : 0,
                                       .lowest = lowest_bin(x, c),
                                       .coefficient = batch->coefficient[segment],
                                       .read = read_counts,
                                       .context = &reader};
        submodi_solve_bins(&counts, &x->bins, slope, &x->solution[c]);
        s->rest = x->solution[c].rest;
    }
}

/* Computes the slopes, the loss without the excess of errors, and its error bound. */
static submod_status solve_group(const counting *x, double *value, double *bound)
{
    size_t C = x->batch->scores.classes;
#pragma omp parallel for num_threads(x->batch->threads) schedule(dynamic)
    for (size_t c = 0; c < C; c++) {
        solve_class(x, c);
    }
    *value = 0;
    *bound = 0;
    for (size_t c = 0; c < C; c++) {
        if (x->solution[c].failure.found) {
            return submodi_measure_failed(&x->solution[c].failure);
        }
        *value += x->solution[c].value;
        *bound += x->solution[c].bound;
    }
    return SUBMOD_OK;
}

/* ---- pass 2 ---- */

static double sum_of(const double *excess)
{
    double sum = 0;
    for (size_t l = 0; l < SUBMODI_LANES; l++) {
        sum += excess[l];
    }
    return sum;
}

static submodi_class_slopes slopes_of(const counting *x, size_t c)
{
    const class_state *s = &x->state[c];
    return (submodi_class_slopes){x->slope + c * 2 * x->bins.count, s->low, s->rest};
}

/* Looks up the slope of each pixel's error in its own class. */
static void find_own_slopes(const counting *x, const submodi_tile *tile, float *slope)
{
    int32_t entry[SUBMODI_TILE_MAX];
    submodi_counters()->entries(tile->own, &x->bins, tile->width, entry);
    for (size_t i = 0; i < tile->width; i++) {
        size_t c = (size_t)tile->codes[i];
        bool counts = tile->codes[i] < x->batch->rule.classes && x->state[c].what == COUNT;
        slope[i] = counts ? x->slope[c * 2 * x->bins.count + (size_t)entry[i]] : 0;
    }
}

static void store_softmax(const counting *x, const submodi_tile *tile, const float *mean,
                          const float *derivative)
{
    const submodi_counting_loops *loops = submodi_counters();
    size_t C = x->batch->scores.classes;
    submodi_rows_out to = submodi_tile_target(x->batch, tile, x->gradient);
    submodi_rows_out own = {tile->g, (ptrdiff_t)tile->stride, 1, SUBMODI_OVERWRITE, NULL};
    own.weight = to.weight = tile->weight;
    loops->store(tile->v, tile->g, tile->stride, C, tile->width, tile->codes, mean, derivative,
                 to.data ? &to : &own);
    if (!to.data) {
        submodi_rows_write(x->gradient, tile->image, tile->first, tile->n, C, tile->stride,
                           tile->g);
    }
}

static void store_probabilities(const counting *x, const submodi_tile *tile, const float *slope)
{
    size_t C = x->batch->scores.classes;
    for (size_t i = 0; i < tile->n; i++) {
        if ((size_t)tile->codes[i] < C) {
            tile->g[(size_t)tile->codes[i] * tile->stride + i] = slope[i];
        }
    }
    for (size_t c = 0; c < C; c++) {
        submodi_activations()->drop_ignored(tile->codes, x->batch->rule.classes, tile->width,
                                            tile->g + c * tile->stride);
    }
    submodi_tile_store(x->batch, tile, x->gradient);
}

static void look_up_multiclass(const void *context, const submodi_tile *tile)
{
    const counting *x = context;
    const submodi_counting_loops *loops = submodi_counters();
    float slope[SUBMODI_TILE_MAX], mean[SUBMODI_TILE_MAX], derivative[SUBMODI_TILE_MAX];
    double excess[SUBMODI_LANES] = {0};
    memset(mean, 0, tile->width * sizeof *mean);
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        submodi_error_row row = row_of(x, tile, c);
        submodi_class_slopes slopes = slopes_of(x, c);
        loops->look_up(&row, &x->bins, &slopes, tile->weight, tile->v + c * tile->stride,
                       tile->g + c * tile->stride, mean, excess);
    }
    find_own_slopes(x, tile, slope);
    loops->look_up_own(tile->own, tile->own_p, slope, &x->bins, tile->weight, tile->width, mean,
                       derivative, excess);
    x->excess[tile_in_group(x, tile)] = sum_of(excess);
    if (x->gradient && x->batch->activation == SUBMODI_SOFTMAX) {
        store_softmax(x, tile, mean, derivative);
    } else if (x->gradient) {
        store_probabilities(x, tile, slope);
    }
}

static void look_up_multilabel(const void *context, const submodi_tile *tile)
{
    const counting *x = context;
    double excess[SUBMODI_LANES] = {0};
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        submodi_error_row row = row_of(x, tile, c);
        submodi_class_slopes slopes = slopes_of(x, c);
        int32_t low = x->state[c].what == COUNT ? foreground_low(x) : INT32_MAX;
        submodi_counters()->look_up_labelled(&row, &x->bins, &slopes, low, tile->weight,
                                             tile->g + c * tile->stride, excess);
    }
    x->excess[tile_in_group(x, tile)] = sum_of(excess);
    if (x->gradient) {
        submodi_tile_store(x->batch, tile, x->gradient);
    }
}

/* Writes the gradient; returns the excess of the errors. */
static double look_up_group(const counting *x)
{
    bool multilabel = x->batch->multilabel;
    visit_group(x, SUBMODI_ERRORS, multilabel ? look_up_multilabel : look_up_multiclass);
    double excess = 0;
    for (size_t t = 0; t < tiles_of_group(x->batch); t++) {
        excess += x->excess[t];
    }
    return excess;
}

/* ---- the engine ---- */

static void raise_margin(const void *context, const submodi_tile *tile)
{
    float *of_thread = *(float *const *)context + tile->thread;
    for (size_t i = 0; i < tile->n; i++) {
        bool larger = tile->codes[i] < 2 && tile->v[i] > *of_thread;
        *of_thread = larger ? tile->v[i] : *of_thread;
    }
}

/* Returns a power of two that no error exceeds, or 0 if some score is bad. */
static float largest_error(const submodi_batch *batch, float *of_thread)
{
    float largest = 0x1p-80F;
    if (batch->activation != SUBMODI_SCORE) {
        return 1;
    }
    memset(of_thread, 0, (size_t)batch->threads * sizeof *of_thread);
    if (!submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_ERRORS, raise_margin,
                       &of_thread)) {
        return 0;
    }
    for (size_t t = 0; t < (size_t)batch->threads; t++) {
        largest = fmaxf(largest, of_thread[t]);
    }
    int exponent;
    frexpf(largest, &exponent);
    return exponent > 127 ? 0x1p127F : ldexpf(1, exponent);
}

/* Returns the pixels of a group from which on counting is faster than sorting. The tables of many
 * classes do not stay in the caches. */
static size_t count_from(size_t classes)
{
    return classes <= 4 ? (size_t)1 << 14 : (size_t)1 << 17;
}

/* Returns the most mantissa bits of a bin. Groups that miss the accuracy with them are sorted. Few
 * classes have room in the caches for more bits, and more often need them. */
static unsigned most_bits(size_t classes)
{
    return classes <= 4 ? 12 : 10;
}

/* Relative rounding error of the excess, which is summed in floats along rows of up to 64 numbers
 * per lane. The excess is at most 2^-bits of the value. */
#define ROUNDING 0x1p-17

/* Counts a group and, if the bound meets the accuracy, looks up its loss and gradient. */
static submod_status try_group(counting *x, size_t group, double *loss, double *bound, bool *met)
{
    double value;
    if (!count_group(x, group)) {
        return submodi_batch_bad_score(x->batch);
    }
    TRY(solve_group(x, &value, bound));
    double half = *bound / 2;
    *bound = half + ROUNDING * ldexp(value, -(int)(23 - x->bins.shift));
    *met = *bound <= x->batch->settings.accuracy * value;
    if (*met) {
        *loss = value + half + look_up_group(x);
    }
    return SUBMOD_OK;
}

/* Sorts one group. */
static submod_status sort_group(const submodi_batch *batch, size_t group, double *loss,
                                const submod_gradient *gradient, submod_loss_info *info,
                                submod_work *work)
{
    submodi_batch one = submodi_batch_group(batch, group);
    submod_gradient to;
    submodi_scope scope;
    submod_loss_info of_group = {.sorted = 0};
    double value;
    if (gradient) {
        to = *gradient;
        to.data += (ptrdiff_t)(group * batch->images_per_group) * to.batch_stride;
    }
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status =
        submodi_loss_exact(&one, &value, loss, gradient ? &to : NULL, &of_group, w);
    submodi_scope_close(&scope);
    info->sorted += of_group.sorted;
    return status;
}

/* Counts each group in coarse bins, then in fine bins if the coarse ones miss the accuracy; sorts
 * it if both do. */
static submod_status do_groups(counting *coarse, counting *fine, double *loss, double *group_loss,
                               submod_loss_info *info, submod_work *work)
{
    submodi_batch *batch = coarse->batch;
    for (size_t g = 0; g < batch->groups; g++) {
        double bound;
        bool met = false;
        TRY(try_group(coarse, g, &group_loss[g], &bound, &met));
        if (!met && fine->bins.shift < coarse->bins.shift) {
            if (!fine->state && !take_memory(fine, work)) {
                return submodi_out_of_memory();
            }
            TRY(try_group(fine, g, &group_loss[g], &bound, &met));
        }
        if (met) {
            info->bound += bound;
        } else {
            TRY(sort_group(batch, g, &group_loss[g], coarse->gradient, info, work));
        }
        *loss += group_loss[g];
    }
    return SUBMOD_OK;
}

submod_status submodi_loss_counting(submodi_batch *batch, double *loss, double *group_loss,
                                    const submod_gradient *gradient, submod_loss_info *info,
                                    submod_work *work)
{
    counting coarse = {.batch = batch, .gradient = gradient};
    counting fine = coarse;
    unsigned bits = submodi_mantissa_bits(batch->settings.accuracy);
    if (batch->settings.accuracy == 0 ||
        batch->images_per_group * batch->scores.pixels < count_from(batch->scores.classes)) {
        return submodi_loss_exact(batch, loss, group_loss, gradient, info, work);
    }
    float *margin = submodi_work_alloc(work, (size_t)batch->threads, sizeof *margin);
    if (!margin) {
        return submodi_out_of_memory();
    }
    float largest = largest_error(batch, margin);
    if (largest == 0) {
        return submodi_batch_bad_score(batch);
    }
    coarse.bins = submodi_bins_for(largest, bits);
    fine.bins = submodi_bins_for(largest, most_bits(batch->scores.classes));
    if (!take_memory(&coarse, work)) {
        return submodi_out_of_memory();
    }
    *loss = 0;
    info->mantissa_bits = (int)bits;
    return do_groups(&coarse, &fine, loss, group_loss, info, work);
}
