/* The corral of min_norm.h: points and the Cholesky factor of their shifted Gram matrix.
 *
 * The step from s solves  M d = r + mu 1,  sum of d = 0,  where M = G + kappa 11' = U'U and G is
 * the Gram matrix of the points relative to their origin. The shift kappa does not change d, and M
 * is positive definite whether or not 0 is in the affine hull. r is measured at s, so that each
 * step corrects the rounding errors of the factor in the step before.
 *
 * With k points of R^n, a new point costs O(k n + k^2), a minor cycle O(k^2), a new factor
 * O(k^2 n + k^3). Threads share the passes over all points. */
#include <math.h>

#include "base/sums.h"
#include "prox/min_norm.h"

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

/* Provides memory for count points. Outgrown arrays stay in the workspace until the end, which at
 * most doubles the memory. */
static submod_status reserve(submodi_corral *c, size_t count)
{
    double **vectors[] = {&c->weights, &c->r, &c->step, &c->ones, &c->rhs, &c->forward};
    enum { VECTORS = sizeof vectors / sizeof *vectors };
    if (count <= c->capacity) {
        return SUBMOD_OK;
    }
    size_t old = c->capacity;
    size_t capacity = 2 * old > count ? 2 * old : count;
    submodi_corral_point *points = submodi_work_alloc(c->work, capacity, sizeof *points);
    double *rows = submodi_work_alloc(c->work, capacity - old, c->n * sizeof *rows);
    int32_t *orders = NULL;
    if (c->keep_orders) {
        orders = submodi_work_alloc(c->work, capacity - old, c->n * sizeof *orders);
    }
    double *u = submodi_work_alloc(c->work, submodi_times(capacity, capacity), sizeof *u);
    double *block = submodi_work_alloc(c->work, capacity, VECTORS * sizeof *block);
    TRY(submodi_work_status(c->work));
    for (size_t i = 0; i < capacity; i++) {
        size_t at = (i - old) * c->n;
        points[i] = i < old ? c->points[i]
                            : (submodi_corral_point){.row = rows + at,
                                                     .order = orders ? orders + at : NULL};
    }
    for (size_t i = 0; i < c->factored; i++) {
        memcpy(u + i * capacity + i, c->u + i * old + i, (c->factored - i) * sizeof *u);
    }
    for (size_t v = 0; v < VECTORS; v++, block += capacity) {
        if (old) {
            memcpy(block, *vectors[v], old * sizeof *block);
        }
        *vectors[v] = block;
    }
    c->points = points;
    c->u = u;
    c->capacity = capacity;
    return SUBMOD_OK;
}

submod_status submodi_corral_init(submodi_corral *c, size_t n, const double *y,
                                  const submodi_candidate *first, submod_work *work)
{
    enum { FIRST = 16 };
    *c = (submodi_corral){.n = n, .y = y, .keep_orders = first->order, .kappa = 1, .work = work};
    submodi_take_vectors(work, n, (double **[]){&c->origin, &c->s, &c->t, &c->previous, NULL});
    TRY(reserve(c, FIRST));
    for (size_t i = 0; i < n; i++) {
        c->origin[i] = first->point[i] * first->scale;
        c->s[i] = c->origin[i];
        c->t[i] = y[i] - c->origin[i];
    }
    return SUBMOD_OK;
}

/* ---- points ---- */

/* Returns the number of threads for a pass over the points. A pass over 1 M numbers takes about
 * 1 ms: below that, waiting for another thread on a busy machine costs more than it gains. */
static int threads_for(const submodi_corral *c)
{
    return submodi_threads_for(c->count * c->n / 16);
}

/* Computes with_a[j] = <row j, a> and with_b[j] = <row j, b> for all positions in one pass.
 * Processes four rows at a time and repeats the last row to fill the last four. */
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
            row[i] = c->points[first + (i < here ? i : here - 1)].row;
        }
        submodi_sums()->dots_of_rows(row, a, b, c->n, of_a, of_b);
        memcpy(with_a + first, of_a, here * sizeof *of_a);
        memcpy(with_b + first, of_b, here * sizeof *of_b);
    }
}

/* Scales the weights to sum 1, and sets s to the point that they describe, in strips that stay in
 * the first-level cache. */
static void combine(submodi_corral *c)
{
    enum { STRIP = 512 };
    size_t strips = (c->n + STRIP - 1) / STRIP;
    double sum = 0;
    for (size_t j = 0; j < c->count; j++) {
        sum += c->weights[j];
    }
    for (size_t j = 0; j < c->count; j++) {
        c->weights[j] /= sum;
    }
#pragma omp parallel for num_threads(threads_for(c))
    for (size_t strip = 0; strip < strips; strip++) {
        size_t begin = strip * STRIP;
        size_t length = c->n - begin < STRIP ? c->n - begin : STRIP;
        memcpy(c->s + begin, c->origin + begin, length * sizeof *c->s);
        for (size_t j = 0; j < c->count; j += 4) {
            const double *row[4];
            double weight[4];
            for (size_t i = 0; i < 4; i++) {
                row[i] = c->points[j + i < c->count ? j + i : j].row + begin;
                weight[i] = j + i < c->count ? c->weights[j + i] : 0;
            }
            submodi_sums()->add_rows(c->s + begin, row, weight, length);
        }
    }
}

/* Updates s, t and the mean offset from the weights. Returns twice the growth of the objective. */
static double move(submodi_corral *c)
{
    double growth = 0;
    double mean = 0;
    memcpy(c->previous, c->s, c->n * sizeof *c->s);
    combine(c);
    for (size_t j = 0; j < c->count; j++) {
        growth += 2 * (c->weights[j] * (c->points[j].offset - c->mean_offset));
        mean += c->weights[j] * c->points[j].offset;
    }
    c->mean_offset = mean;
    for (size_t i = 0; i < c->n; i++) {
        double t = c->y[i] - c->s[i];
        growth += (c->s[i] - c->previous[i]) * (c->t[i] + t);
        c->t[i] = t;
    }
    return growth;
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

/* Appends the new point to the factor, after its column of M has been solved forward. */
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
 * columns of U, which avoids new forward solves. */
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
        rotate(c->forward + i, c->forward + i + 1, 1, cosine, sine);
    }
}

/* Removes a factored point; its memory goes to the end of the list. */
static void remove_point(submodi_corral *c, size_t j)
{
    submodi_corral_point removed = c->points[j];
    size_t behind = --c->count - j;
    remove_from_factor(c, j);
    memmove(c->points + j, c->points + j + 1, behind * sizeof removed);
    c->points[c->count] = removed;
    memmove(c->weights + j, c->weights + j + 1, behind * sizeof *c->weights);
    memmove(c->r + j, c->r + j + 1, behind * sizeof *c->r);
}

/* Measures r, its spread over the first k points and U'\r, and the products of the rows with the
 * new point, if there is one behind those k. r is relative to its mean. */
static void measure(submodi_corral *c, size_t k)
{
    double mean = 0;
    double largest = 0;
    dots(c, k < c->count ? c->points[k].row : c->t, c->t, c->forward, c->r);
    for (size_t j = 0; j < c->count; j++) {
        c->r[j] += c->points[j].offset;
        mean += c->weights[j] * c->r[j];
    }
    c->spread = 0;
    for (size_t j = 0; j < c->count; j++) {
        c->r[j] -= mean;
        largest = fmax(largest, fabs(c->r[j]));
        c->spread = j < k ? largest : c->spread;
    }
    memset(c->rhs, 0, c->factored * sizeof *c->rhs);
    if (c->spread > no_spread * largest) {
        memcpy(c->rhs, c->r, c->factored * sizeof *c->r);
        solve_forward(c, c->rhs);
    }
}

/* Writes the upper triangle of M, two columns at a time. r and forward are scratch here. */
static void write_gram(submodi_corral *c)
{
    for (size_t j = 0; j < c->count; j += 2) {
        size_t next = j + 1 < c->count ? j + 1 : j;
        dots(c, c->points[j].row, c->points[next].row, c->r, c->forward);
        for (size_t i = 0; i <= next; i++) {
            c->u[i * c->capacity + j] = c->r[i] + c->kappa;
            c->u[i * c->capacity + next] = c->forward[i] + c->kappa;
        }
    }
}

/* Factorises in place: finishes row i, then subtracts it from the rows below. */
submod_status submodi_corral_renew(submodi_corral *c)
{
    write_gram(c);
    for (size_t i = 0; i < c->factored; i++) {
        double *row = c->u + i * c->capacity;
        if (!(row[i] > 0)) {
            return SUBMOD_INACCURATE;
        }
        row[i] = sqrt(row[i]);
        for (size_t j = i + 1; j < c->factored; j++) {
            row[j] /= row[i];
        }
        for (size_t j = i + 1; j < c->factored; j++) {
            submodi_sums()->add_multiple(c->u + j * c->capacity + j, -row[j], row + j,
                                         c->factored - j);
        }
        c->ones[i] = 1;
    }
    solve_forward(c, c->ones);
    measure(c, c->count);
    return SUBMOD_OK;
}

/* ---- a new point ---- */

/* Chooses kappa on the scale of the second point; before that any value works. If both points are
 * the origin up to rounding, (64 eps)^2, and so the same, 1 makes them dependent. */
static void choose_kappa(submodi_corral *c)
{
    double first = dot(c->points[0].row, c->points[0].row, c->n);
    double squares = c->forward[1] + first;
    c->kappa = squares > 0x1p-92 * dot(c->origin, c->origin, c->n) ? squares : 1;
    c->factored = 0;
    append_to_factor(c, first + c->kappa);
}

/* Appends a point with weight 0; measures r, and solves its column of M forward. Returns the
 * column's last entry. */
static double append_point(submodi_corral *c, const submodi_candidate *new)
{
    size_t k = c->count++;
    submodi_corral_point *p = &c->points[k];
    for (size_t i = 0; i < c->n; i++) {
        p->row[i] = new->point[i] * new->scale - c->origin[i];
    }
    if (c->keep_orders) {
        memcpy(p->order, new->order, c->n * sizeof *new->order);
    }
    p->offset = new->offset;
    p->tag = new->tag;
    c->weights[k] = 0;
    measure(c, k);
    if (k == 1) {
        choose_kappa(c);
    }
    for (size_t j = 0; j <= k; j++) {
        c->forward[j] += c->kappa;
    }
    double last = c->forward[k];
    solve_forward(c, c->forward);
    return last;
}

/* Moves the weights along step, at most `limit` steps, until one becomes 0. Returns that point, or
 * count if there is none; *length: how far it went. */
static size_t move_weights(submodi_corral *c, double limit, double *length)
{
    size_t stopper = c->count;
    *length = limit;
    for (size_t j = 0; j < c->count; j++) {
        if (c->step[j] < 0 && c->weights[j] < *length * -c->step[j]) {
            *length = c->weights[j] / -c->step[j];
            stopper = j;
        }
    }
    for (size_t j = 0; j < c->count && *length < INFINITY; j++) {
        c->weights[j] = j == stopper ? 0 : fmax(c->weights[j] + *length * c->step[j], 0);
    }
    return stopper;
}

/* The new column depends on the factored ones: column = M h, sum of h = 1. If the weights move
 * along (-h, 1), s stays and the objective changes at the rate r_new - <h, r>. Moves until a weight
 * is 0, and removes that point. Returns false if the objective would not grow. */
static bool exchange(submodi_corral *c)
{
    size_t k = c->factored;
    double length;
    memcpy(c->step, c->forward, k * sizeof *c->step);
    solve_backward(c, c->step);
    for (size_t j = 0; j < k; j++) {
        c->step[j] = -c->step[j];
    }
    c->step[k] = 1;
    if (!(c->r[k] + dot(c->step, c->r, k) > 0)) {
        return false;
    }
    size_t leaves = move_weights(c, INFINITY, &length);
    if (leaves < k) {
        remove_point(c, leaves);
    }
    return leaves < k;
}

submod_status submodi_corral_add(submodi_corral *c, const submodi_candidate *new, double weight,
                                 bool *added)
{
    TRY(reserve(c, c->count + 1));
    double last = append_point(c, new);
    double pivot2;
    do {
        pivot2 = last - dot(c->forward, c->forward, c->factored);
        *added = pivot2 > dependent * last;
    } while (!*added && exchange(c));
    if (*added) {
        append_to_factor(c, pivot2);
        c->weights[c->count - 1] += weight;
    } else {
        c->count--; /* drops the weight that exchanges gave to the point */
    }
    return SUBMOD_OK;
}

/* ---- minor cycles ---- */

/* One cycle. The step is M \ (r + mu 1) with mu such that its entries sum to 0; their sum is
 * <U'\1, U'\r> + mu <U'\1, U'\1>. After the share `length` of it, r is what it was times
 * 1 - length, up to a constant. Returns whether the best point of the affine hull was reached. */
static bool minor_cycle(submodi_corral *c)
{
    size_t k = c->factored;
    double length;
    double mu = -dot(c->ones, c->rhs, k) / dot(c->ones, c->ones, k);
    for (size_t i = 0; i < k; i++) {
        c->step[i] = c->rhs[i] + mu * c->ones[i];
    }
    solve_backward(c, c->step);
    bool reached = move_weights(c, 1, &length) == k;
    for (size_t j = 0; j < k; j++) {
        c->rhs[j] *= 1 - length;
    }
    c->minor_cycles += !reached;
    for (size_t j = k; j-- > 0;) {
        if (!(c->weights[j] > no_weight) && c->count > 1) {
            remove_point(c, j);
        }
    }
    return reached;
}

double submodi_corral_settle(submodi_corral *c)
{
    while (c->count > 1 && !minor_cycle(c)) {
    }
    if (c->count == 1) {
        c->weights[0] = 1;
    }
    return move(c);
}

void submodi_corral_settle_weights(submodi_corral *c)
{
    move(c);
    measure(c, c->count);
    submodi_corral_settle(c);
}
