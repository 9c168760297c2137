/* The corral of corral.h: a list of points and the Cholesky factor of their shifted Gram matrix.
 * With k points of R^n, a new point costs O(k n + k^2), a minor cycle O(k^2), a new factor
 * O(k^2 n + k^3). Passes over all points are shared out to threads. */
#include "prox/corral.h"

#include <math.h>

#include "base/sums.h"

/* A pivot below this share of its diagonal entry is rounding: a thousand rounding errors of one
 * sum. */
static const double dependent = 1e-13;
/* A weight below this counts as zero: the point adds less than a rounding error of the sum. */
static const double no_weight = 1e-16;
/* The r of the points present count as equal if their spread is below this share of the new r. */
static const double no_spread = 1e-9;

static double dot(const double *a, const double *b, size_t n)
{
    return submodi_sums()->dot(a, b, n);
}

/* ---- memory ---- */

/* Allocates count items of `bytes` bytes and copies the first `present` ones from old. */
static void *grown(const submodi_corral *c, const void *old, size_t present, size_t count,
                   size_t bytes)
{
    void *memory = submodi_work_alloc(c->work, count, bytes);
    if (memory && present) {
        memcpy(memory, old, present * bytes);
    }
    return memory;
}

static double *grown_factor(const submodi_corral *c, size_t capacity)
{
    double *u = submodi_work_alloc(c->work, submodi_times(capacity, capacity), sizeof *u);
    for (size_t i = 0; u && i < c->factored; i++) {
        memcpy(u + i * capacity + i, c->u + i * c->capacity + i, (c->factored - i) * sizeof *u);
    }
    return u;
}

/* Provides memory for count points. Outgrown arrays stay in the workspace until the end: at most as
 * much again. */
static submod_status reserve(submodi_corral *c, size_t count)
{
    if (count <= c->capacity) {
        return SUBMOD_OK;
    }
    size_t old = c->capacity;
    size_t capacity = 2 * old > count ? 2 * old : count;
    c->rows = grown(c, c->rows, old, capacity, c->n * sizeof *c->rows);
    if (c->keep_orders) {
        c->orders = grown(c, c->orders, old, capacity, c->n * sizeof *c->orders);
    }
    c->offsets = grown(c, c->offsets, old, capacity, sizeof *c->offsets);
    c->tags = grown(c, c->tags, old, capacity, sizeof *c->tags);
    c->slots = grown(c, c->slots, old, capacity, sizeof *c->slots);
    c->weights = grown(c, c->weights, c->count, capacity, sizeof *c->weights);
    c->ones = grown(c, c->ones, c->factored, capacity, sizeof *c->ones);
    c->rhs = grown(c, c->rhs, c->factored, capacity, sizeof *c->rhs);
    c->r = grown(c, NULL, 0, capacity, sizeof *c->r);
    c->column = grown(c, NULL, 0, capacity, sizeof *c->column);
    c->step = grown(c, NULL, 0, capacity, sizeof *c->step);
    c->forward = grown(c, NULL, 0, capacity, sizeof *c->forward);
    c->u = grown_factor(c, capacity);
    TRY(submodi_work_status(c->work));
    for (size_t i = old; i < capacity; i++) {
        c->slots[i] = i;
    }
    c->capacity = capacity;
    return SUBMOD_OK;
}

submod_status submodi_corral_init(submodi_corral *c, size_t n, const double *origin,
                                  bool keep_orders, submod_work *work)
{
    enum { FIRST = 16 };
    *c = (submodi_corral){.n = n, .keep_orders = keep_orders, .kappa = 1, .work = work};
    c->origin = grown(c, origin, n, n, sizeof *origin);
    return reserve(c, FIRST);
}

/* ---- points ---- */

static double *row_of(const submodi_corral *c, size_t position)
{
    return c->rows + c->slots[position] * c->n;
}

/* Returns the number of threads for a pass over the points. A pass over 1 M numbers takes about
 * 1 ms: below that, waiting for another thread on a busy machine costs more than it gains. */
static int threads_for(const submodi_corral *c)
{
    return submodi_threads_for(c->count * c->n / 16);
}

/* Computes with_a[j] = <row j, a> and with_b[j] = <row j, b> for all positions in one pass. Rows
 * are taken by four; the last one is repeated where rows are missing. */
static void dots(const submodi_corral *c, const double *a, const double *b, double *with_a,
                 double *with_b)
{
    size_t quads = (c->count + 3) / 4;
#pragma omp parallel for num_threads(threads_for(c))
    for (size_t q = 0; q < quads; q++) {
        const double *row[4];
        double of_a[4];
        double of_b[4];
        size_t first = 4 * q;
        size_t here = c->count - first < 4 ? c->count - first : 4;
        for (size_t i = 0; i < 4; i++) {
            row[i] = row_of(c, first + (i < here ? i : here - 1));
        }
        submodi_sums()->dots_of_rows(row, a, b, c->n, of_a, of_b);
        memcpy(with_a + first, of_a, here * sizeof *of_a);
        memcpy(with_b + first, of_b, here * sizeof *of_b);
    }
}

static void normalise(submodi_corral *c)
{
    double sum = 0;
    for (size_t j = 0; j < c->count; j++) {
        sum += c->weights[j];
    }
    for (size_t j = 0; j < c->count; j++) {
        c->weights[j] /= sum;
    }
}

void submodi_corral_combine(submodi_corral *c, double *s)
{
    enum { STRIP = 512 }; /* a strip of the sum stays in the first-level cache */
    normalise(c);
    size_t strips = (c->n + STRIP - 1) / STRIP;
#pragma omp parallel for num_threads(threads_for(c))
    for (size_t strip = 0; strip < strips; strip++) {
        size_t begin = strip * STRIP;
        size_t length = c->n - begin < STRIP ? c->n - begin : STRIP;
        memcpy(s + begin, c->origin + begin, length * sizeof *s);
        for (size_t j = 0; j < c->count; j += 4) {
            const double *row[4];
            double weight[4];
            for (size_t i = 0; i < 4; i++) {
                row[i] = row_of(c, j + i < c->count ? j + i : j) + begin;
                weight[i] = j + i < c->count ? c->weights[j + i] : 0;
            }
            submodi_sums()->add_rows(s + begin, row, weight, length);
        }
    }
}

double submodi_corral_mean_offset(const submodi_corral *c, double base)
{
    double mean = 0;
    for (size_t j = 0; j < c->count; j++) {
        mean += c->weights[j] * (c->offsets[c->slots[j]] - base);
    }
    return mean;
}

/* Appends a point with weight 0, still without its row of the factor. Returns its row. */
static const double *append_point(submodi_corral *c, const submodi_candidate *new)
{
    size_t slot = c->slots[c->count];
    double *row = c->rows + slot * c->n;
    for (size_t i = 0; i < c->n; i++) {
        row[i] = new->point[i] - c->origin[i];
    }
    if (c->keep_orders) {
        memcpy(c->orders + slot * c->n, new->order, c->n * sizeof *new->order);
    }
    c->offsets[slot] = new->offset;
    c->tags[slot] = new->tag;
    c->weights[c->count++] = 0;
    return row;
}

/* ---- the factor ---- */

/* x = U' \ x */
static void solve_forward(const submodi_corral *c, double *x)
{
    for (size_t i = 0; i < c->factored; i++) {
        const double *row = c->u + i * c->capacity;
        x[i] /= row[i];
        submodi_sums()->add_multiple(x + i + 1, -x[i], row + i + 1, c->factored - i - 1);
    }
}

/* x = U \ x */
static void solve_backward(const submodi_corral *c, double *x)
{
    for (size_t i = c->factored; i-- > 0;) {
        const double *row = c->u + i * c->capacity;
        x[i] = (x[i] - dot(row + i + 1, x + i + 1, c->factored - i - 1)) / row[i];
    }
}

static void set_rhs(submodi_corral *c)
{
    memcpy(c->rhs, c->r, c->factored * sizeof *c->r);
    solve_forward(c, c->rhs);
}

/* Appends the point behind the factored ones, whose column of M has been solved forward. */
static void append_to_factor(submodi_corral *c, double pivot2)
{
    size_t k = c->factored;
    double pivot = sqrt(pivot2);
    for (size_t i = 0; i < k; i++) {
        c->u[i * c->capacity + k] = c->forward[i];
    }
    c->u[k * c->capacity + k] = pivot;
    c->ones[k] = (1 - dot(c->forward, c->ones, k)) / pivot;
    c->rhs[k] = (c->r[k] - dot(c->forward, c->rhs, k)) / pivot;
    c->factored++;
}

static void rotate(double *a, double *b, size_t n, double cosine, double sine)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double old = a[i];
        a[i] = cosine * old + sine * b[i];
        b[i] = cosine * b[i] - sine * old;
    }
}

/* Removes row and column j. Each row below row j then has one entry below the diagonal; Givens
 * rotations of neighbouring rows make it zero. They treat the forward solutions like further
 * columns of U, so that these need not be solved for again. */
static void remove_from_factor(submodi_corral *c, size_t j)
{
    size_t last = --c->factored; /* the order from now on */
    for (size_t i = 0; i <= last; i++) {
        double *row = c->u + i * c->capacity;
        size_t from = i > j + 1 ? i : j + 1; /* left of the diagonal there is nothing to move */
        memmove(row + from - 1, row + from, (last + 1 - from) * sizeof *row);
    }
    for (size_t i = j; i < last; i++) {
        double *upper = c->u + i * c->capacity;
        double *lower = upper + c->capacity;
        double length = hypot(upper[i], lower[i]);
        double cosine = upper[i] / length;
        double sine = lower[i] / length;
        upper[i] = length;
        rotate(upper + i + 1, lower + i + 1, last - i - 1, cosine, sine);
        rotate(c->ones + i, c->ones + i + 1, 1, cosine, sine);
        rotate(c->rhs + i, c->rhs + i + 1, 1, cosine, sine);
    }
}

static void erase(double *list, size_t j, size_t count)
{
    memmove(list + j, list + j + 1, (count - j - 1) * sizeof *list);
}

static void remove_point(submodi_corral *c, size_t j)
{
    size_t slot = c->slots[j];
    if (j < c->factored) {
        remove_from_factor(c, j);
    }
    memmove(c->slots + j, c->slots + j + 1, (c->count - j - 1) * sizeof *c->slots);
    erase(c->weights, j, c->count);
    erase(c->r, j, c->count);
    erase(c->column, j, c->count);
    c->slots[--c->count] = slot;
}

/* Factorises in place: finishes row i, then subtracts it from the rows below. */
static bool factorise(submodi_corral *c)
{
    for (size_t i = 0; i < c->factored; i++) {
        double *row = c->u + i * c->capacity;
        if (!(row[i] > 0)) {
            return false;
        }
        row[i] = sqrt(row[i]);
        for (size_t j = i + 1; j < c->factored; j++) {
            row[j] /= row[i];
        }
        for (size_t j = i + 1; j < c->factored; j++) {
            submodi_sums()->add_multiple(c->u + j * c->capacity + j, -row[j], row + j,
                                         c->factored - j);
        }
    }
    return true;
}

/* Writes the upper triangle of M, two columns at a time. r and column are scratch here. */
static void write_gram(submodi_corral *c)
{
    for (size_t j = 0; j < c->count; j += 2) {
        size_t next = j + 1 < c->count ? j + 1 : j;
        dots(c, row_of(c, j), row_of(c, next), c->r, c->column);
        for (size_t i = 0; i <= j; i++) {
            c->u[i * c->capacity + j] = c->r[i] + c->kappa;
        }
        for (size_t i = 0; i <= next; i++) {
            c->u[i * c->capacity + next] = c->column[i] + c->kappa;
        }
    }
}

/* ---- r ---- */

/* Adds the offsets to r and makes it relative to its mean. Measures the spread of the first k. */
static void centre(submodi_corral *c, size_t k)
{
    double mean = 0;
    for (size_t j = 0; j < c->count; j++) {
        c->r[j] += c->offsets[c->slots[j]];
        mean += c->weights[j] * c->r[j];
    }
    c->spread = 0;
    for (size_t j = 0; j < c->count; j++) {
        c->r[j] -= mean;
        c->spread = j < k ? fmax(c->spread, fabs(c->r[j])) : c->spread;
    }
}

void submodi_corral_measure(submodi_corral *c, const double *t)
{
    dots(c, t, t, c->column, c->r);
    centre(c, c->count);
    set_rhs(c);
}

bool submodi_corral_renew(submodi_corral *c, const double *t)
{
    write_gram(c);
    if (!factorise(c)) {
        return false;
    }
    for (size_t i = 0; i < c->factored; i++) {
        c->ones[i] = 1;
    }
    solve_forward(c, c->ones);
    submodi_corral_measure(c, t);
    return true;
}

/* ---- a point comes in ---- */

/* Takes the scale of kappa from the second point; any will do before. If both points are the origin
 * up to rounding, (64 eps)^2, and so the same, 1 makes them dependent. */
static void choose_kappa(submodi_corral *c)
{
    const double *row = row_of(c, 0);
    double first = dot(row, row, c->n);
    double squares = c->column[1] + first;
    c->kappa = squares > 0x1p-92 * dot(c->origin, c->origin, c->n) ? squares : 1;
    c->factored = 0;
    append_to_factor(c, first + c->kappa);
}

/* Measures r and the column of M for the last point, and prepares the right-hand side. */
static void measure_new(submodi_corral *c, const double *row, const double *t)
{
    size_t k = c->count - 1;
    dots(c, row, t, c->column, c->r);
    centre(c, k);
    if (k == 1) {
        choose_kappa(c);
    } else if (c->spread > no_spread * fabs(c->r[k])) {
        set_rhs(c);
    } else if (k) {
        memset(c->rhs, 0, k * sizeof *c->rhs);
    }
    for (size_t j = 0; j <= k; j++) {
        c->column[j] += c->kappa;
    }
}

/* The new column depends on the factored ones: column = M h, sum of h = 1. If the weights move
 * along (-h, 1), p stays and the objective changes at the rate r_new - <h, r>. Moves until a weight
 * is 0, and removes that point. Returns false if the objective would not grow. */
static bool exchange(submodi_corral *c)
{
    size_t k = c->factored;
    double *w = c->weights;
    memcpy(c->step, c->forward, k * sizeof *c->step);
    solve_backward(c, c->step);
    double rate = c->r[k] - dot(c->step, c->r, k);
    double length = INFINITY;
    size_t leaves = k;
    for (size_t j = 0; j < k; j++) {
        if (c->step[j] > 0 && w[j] < length * c->step[j]) {
            length = w[j] / c->step[j];
            leaves = j;
        }
    }
    if (!(rate > 0) || leaves == k) {
        return false;
    }
    for (size_t j = 0; j < k; j++) {
        w[j] = fmax(w[j] - length * c->step[j], 0);
    }
    w[k] += length;
    remove_point(c, leaves);
    return true;
}

submod_status submodi_corral_add(submodi_corral *c, const submodi_candidate *new, const double *t,
                                 bool *added)
{
    TRY(reserve(c, c->count + 1));
    measure_new(c, append_point(c, new), t);
    for (;;) {
        size_t k = c->factored;
        memcpy(c->forward, c->column, k * sizeof *c->column);
        solve_forward(c, c->forward);
        double pivot2 = c->column[k] - dot(c->forward, c->forward, k);
        *added = pivot2 > dependent * c->column[k];
        if (*added) {
            append_to_factor(c, pivot2);
            return SUBMOD_OK;
        }
        if (!exchange(c)) {
            c->count--; /* the weight that exchanges gave to the point goes with it */
            normalise(c);
            return SUBMOD_OK;
        }
    }
}

/* ---- minor cycles ---- */

/* step = M \ (r + mu 1) with mu such that the entries sum to 0; the sum of the entries is
 * <U'\1, U'\r> + mu <U'\1, U'\1>. */
static void find_step(submodi_corral *c)
{
    size_t k = c->factored;
    double mu = -dot(c->ones, c->rhs, k) / dot(c->ones, c->ones, k);
    for (size_t i = 0; i < k; i++) {
        c->step[i] = c->rhs[i] + mu * c->ones[i];
    }
    solve_backward(c, c->step);
}

/* Returns the longest step, at most 1, that keeps all weights >= 0. *stopper: the point that stops
 * it, or count. */
static double step_length(const submodi_corral *c, size_t *stopper)
{
    double length = 1;
    *stopper = c->count;
    for (size_t j = 0; j < c->count; j++) {
        if (c->weights[j] + length * c->step[j] < 0) {
            length = c->weights[j] / -c->step[j];
            *stopper = j;
        }
    }
    return length;
}

/* One cycle. Returns whether the best point of the affine hull was reached. After the share
 * `length` of a step, r is what it was times 1 - length, up to a constant. So the right-hand side
 * is scaled instead of solved for again. */
static bool minor_cycle(submodi_corral *c)
{
    size_t stopper;
    find_step(c);
    double length = step_length(c, &stopper);
    bool reached = stopper == c->count;
    for (size_t j = 0; j < c->count; j++) {
        c->weights[j] += length * c->step[j];
    }
    if (!reached) {
        c->weights[stopper] = 0;
        for (size_t j = 0; j < c->factored; j++) {
            c->rhs[j] *= 1 - length;
        }
        c->minor_cycles++;
    }
    for (size_t j = c->count; j-- > 0;) {
        if (!(c->weights[j] > no_weight) && c->count > 1) {
            remove_point(c, j);
        }
    }
    return reached;
}

void submodi_corral_settle(submodi_corral *c, double *s)
{
    for (bool reached = false; !reached && c->count > 1;) {
        reached = minor_cycle(c);
    }
    if (c->count == 1) {
        c->weights[0] = 1;
    }
    submodi_corral_combine(c, s);
}
