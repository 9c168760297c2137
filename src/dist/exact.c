/* The exact engine over ranks (see exact.h): a sample sort.
 *
 *   errors of this rank's pixels                 agree: all scores are good
 *                                                gather: limits of the errors
 *   those that can carry weight, sorted, equal
 *     ones made one record                       agree: there was memory
 *   every so-manyth record                       gather: samples
 *   who owns what, the same on all               agree: there was memory
 *                                                exchange: sizes of pieces
 *   memory for what comes in                     agree: there was enough
 *                                                exchange: keys
 *                                                exchange: numbers
 *   as an owner: merges, weighs                  agree, if a custom measure was asked
 *                                                exchange: numbers, back
 *   weights to their pixels                      sum: value of each class
 *   gradient
 *
 * Each record is sent once and answered once, if some rank wants a gradient: 12 bytes, 20 if pixels
 * have weights. All else is small: 8 bytes a class for limits, 1 KiB of samples, 24 for each of at
 * most classes + ranks pieces, 16 a class for values. Two prunings of rank.c leave out what cannot
 * carry weight, by limits of all ranks. With Hamming nothing needs an order, and no record is sent.
 *
 * Weights are those of one process to the bit, as they follow from counts, which are exact. So is
 * the loss: it is added up in fixed point (base/fixed_sum.h).
 */
#include "dist/exact.h"

#include "base/error.h"
#include "base/memory.h"
#include "dist/group_losses.h"
#include "dist/owner.h"

/* The batch as one group, on its way. */
typedef struct exact {
    submodi_global *whole;
    submodi_exact errors;       /* of this rank */
    submodi_rank_range *range;  /* per class: of all ranks */
    submodi_rank_range *ranges; /* per rank and class */
    submodi_rank_memory memory;
    submodi_records records;
    submodi_samples mine, *samples; /* per rank */
    submodi_sample *scratch;
    bool answers; /* some rank has a gradient */
    submodi_pieces pieces;
    submodi_owner owner;
    double *sum; /* two numbers per class, then errors that were sorted */
    submodi_fixed_sum *value;
    submod_work *work;
} exact;

static submod_status agree(const exact *x, submod_status mine)
{
    return submodi_agree_status(x->whole->who, &x->whole->comm, mine);
}

static submod_status agree_on_memory(const exact *x, bool good)
{
    return agree(x, good ? SUBMOD_OK : submodi_nomem(x->whole->who));
}

static submod_status exchange(const exact *x, const void *mine, void *theirs)
{
    return submodi_comm_exchange(x->whole->who, &x->whole->comm, mine, x->pieces.send, theirs,
                                 x->pieces.receive);
}

/* ---- errors ---- */

/* All memory whose size is known in the beginning. */
static bool take(exact *x)
{
    const submodi_batch *batch = &x->whole->batch;
    size_t C = batch->scores.classes;
    size_t ranks = (size_t)x->whole->comm.ranks;
    submod_work *work = x->work;
    x->memory = (submodi_rank_memory){.threads = batch->threads};
    x->range = submodi_take(work, C, sizeof *x->range);
    x->ranges = submodi_take(work, submodi_times(ranks, C), sizeof *x->ranges);
    x->samples = submodi_take(work, ranks, sizeof *x->samples);
    x->scratch = submodi_take(work, ranks, SUBMODI_SAMPLES * sizeof *x->scratch);
    x->sum = submodi_take(work, 2 * C + 1, sizeof *x->sum);
    x->value = submodi_take(work, C, sizeof *x->value);
    return x->range && x->ranges && x->samples && x->scratch && x->sum && x->value &&
           (!x->errors.gradient || submodi_notes_take(x->errors.batch, work)) &&
           submodi_exact_take(&x->errors, work) &&
           submodi_rank_take(&x->memory, submodi_exact_per_group(&x->errors), work) &&
           submodi_records_take(&x->records, batch, work) &&
           submodi_pieces_take(&x->pieces, x->whole->comm.rank, x->whole->comm.ranks, C, work);
}

static submod_status find_errors(exact *x)
{
    if (!take(x)) {
        return submodi_nomem(x->whole->who);
    }
    return submodi_exact_errors(&x->errors) ? SUBMOD_OK : submodi_batch_bad_score(x->errors.batch);
}

/* The limits of the errors of all ranks. */
static submod_status gather_ranges(exact *x)
{
    size_t C = x->whole->batch.scores.classes;
    submod_status status = submodi_comm_gather(x->whole->who, &x->whole->comm, x->errors.range,
                                               C * sizeof *x->ranges, x->ranges);
    for (size_t c = 0; status == SUBMOD_OK && c < C; c++) {
        x->range[c] = x->ranges[c];
        for (size_t r = 1; r < (size_t)x->whole->comm.ranks; r++) {
            x->range[c] = submodi_rank_range_of(x->range[c], x->ranges[r * C + c]);
        }
    }
    return status;
}

/* ---- rankings ---- */

/* Nothing needs an order: each rank weighs what it has. */
static uint64_t rank_alone(exact *x)
{
    uint64_t sorted = 0;
    for (size_t c = 0; c < x->whole->batch.scores.classes; c++) {
        submodi_rank_errors errors = submodi_exact_errors_of(&x->errors, 0, c);
        errors.range = x->range[c];
        x->value[c] = (submodi_fixed_sum){0, 0};
        if (x->whole->batch.coefficient[c] > 0) {
            sorted += submodi_rank(x->errors.batch, 0, c, &errors, 1, &x->memory, &x->value[c]);
        } else {
            submodi_exact_clear(&x->errors, &errors);
        }
    }
    return sorted;
}

/* Who owns what, and what comes to this rank. */
static submod_status cut(exact *x)
{
    const submod_comm *comm = &x->whole->comm;
    submodi_samples_choose(&x->records, comm->rank, comm->ranks, &x->mine);
    x->mine.wants = x->errors.gradient != NULL;
    submod_status status =
        submodi_comm_gather(x->whole->who, comm, &x->mine, sizeof x->mine, x->samples);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (int r = 0; r < comm->ranks; r++) {
        x->answers = x->answers || x->samples[r].wants;
    }
    submodi_split(x->samples, comm->ranks, x->records.classes, x->scratch, x->pieces.split);
    status = agree_on_memory(x, submodi_pieces_cut(&x->pieces, &x->records, x->work));
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_pieces_sizes(&x->pieces, sizeof *x->pieces.out);
    return exchange(x, x->pieces.out, x->pieces.in);
}

static submod_status take_owner(exact *x)
{
    uint64_t records = submodi_pieces_count(&x->pieces);
    x->owner = (submodi_owner){.batch = &x->whole->batch,
                               .pieces = &x->pieces,
                               .range = x->range,
                               .weighted = x->records.weighted};
    if (records >= SUBMODI_MOST_OWNED) {
        return submodi_fail(
            SUBMOD_EUNSUPPORTED,
            "%s: %llu errors would have to be ranked here, and at most 2^31 - 1 can "
            "be; take more ranks, or the histogram engine",
            x->whole->who, (unsigned long long)records);
    }
    return submodi_owner_take(&x->owner, (size_t)records, x->work) ? SUBMOD_OK
                                                                   : submodi_nomem(x->whole->who);
}

/* Keys and numbers to their owners. */
static submod_status send_records(exact *x)
{
    submod_status status = agree(x, take_owner(x));
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_records_sizes(&x->pieces, sizeof *x->records.key, false);
    status = exchange(x, x->records.key, x->owner.key);
    submodi_records_sizes(&x->pieces, submodi_number_size(x->records.weighted), false);
    return status ? status : exchange(x, x->records.number, x->owner.number);
}

/* Only a custom measure can fail. */
static submod_status weigh(exact *x)
{
    submod_status status = submodi_owner_weigh(&x->owner, x->value);
    bool custom = x->whole->batch.measure.type == SUBMOD_MEASURE_CUSTOM;
    return custom ? agree(x, status) : status;
}

/* The numbers come back, and the pixels get their weights. */
static submod_status send_back(exact *x)
{
    submodi_records_sizes(&x->pieces, submodi_number_size(x->records.weighted), true);
    submod_status status = exchange(x, x->owner.number, x->records.number);
    if (status == SUBMOD_OK) {
        submodi_records_answer(&x->records, &x->errors);
    }
    return status;
}

static submod_status rank_together(exact *x, uint64_t *sorted)
{
    submod_status status = agree_on_memory(
        x, submodi_records_make(&x->records, &x->errors, x->range, &x->memory, x->work));
    status = status ? status : cut(x);
    status = status ? status : send_records(x);
    status = status ? status : weigh(x);
    status = status || !x->answers ? status : send_back(x);
    for (size_t c = 0; status == SUBMOD_OK && c < x->records.classes; c++) {
        *sorted += x->records.kept[c];
    }
    return status;
}

/* ---- the whole ---- */

/* The values of all ranks: exact, in any order. */
static submod_status sum_values(exact *x, uint64_t *sorted)
{
    size_t C = x->whole->batch.scores.classes;
    for (size_t c = 0; c < C; c++) {
        x->sum[2 * c] = x->value[c].coarse;
        x->sum[2 * c + 1] = x->value[c].fine;
    }
    x->sum[2 * C] = (double)*sorted;
    submod_status status =
        submodi_comm_sum(x->whole->who, &x->whole->comm, x->sum, SUBMOD_COMM_F64, 2 * C + 1);
    for (size_t c = 0; c < C; c++) {
        x->value[c] = (submodi_fixed_sum){x->sum[2 * c], x->sum[2 * c + 1]};
    }
    *sorted = (uint64_t)x->sum[2 * C];
    return status;
}

static submod_status solve_batch(submodi_global *whole, double *loss, double *group_loss,
                                 const submod_gradient *gradient, uint64_t *sorted,
                                 submod_work *work)
{
    exact x = {
        .whole = whole, .errors = {.batch = &whole->batch, .gradient = gradient}, .work = work};
    submod_status status = agree(&x, find_errors(&x));
    status = status ? status : gather_ranges(&x);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (submodi_rank_needs_order(&whole->batch.measure)) {
        status = rank_together(&x, sorted);
    } else {
        *sorted = rank_alone(&x);
    }
    status = status ? status : sum_values(&x, sorted);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_exact_add_up(&whole->batch, x.value, group_loss);
    *loss = group_loss[0];
    if (gradient) {
        submodi_exact_write(&x.errors);
    }
    return SUBMOD_OK;
}

/* ---- a group per image ---- */

/* Each rank ranks its own images. Nothing is written before all are known to be well. */
static submod_status solve_images(submodi_global *whole, double *loss, double *group_loss,
                                  const submod_gradient *gradient, uint64_t *sorted,
                                  submod_work *work)
{
    submodi_exact x = {.batch = &whole->batch, .gradient = gradient};
    double *room = submodi_group_losses_take(whole, work);
    submod_status status =
        room ? submodi_exact_rank(&x, group_loss, sorted, work) : submodi_nomem(whole->who);
    status = submodi_agree_status(whole->who, &whole->comm, status);
    status = status ? status : submodi_group_losses_gather(whole, group_loss, room, loss);
    double all = (double)*sorted;
    status = status ? status : submodi_comm_sum(whole->who, &whole->comm, &all, SUBMOD_COMM_F64, 1);
    if (status == SUBMOD_OK && whole->batch.measure.type == SUBMOD_MEASURE_CUSTOM) {
        status = submodi_require_slopes(&whole->batch, gradient);
        status = submodi_agree_status(whole->who, &whole->comm, status);
    }
    if (status == SUBMOD_OK && gradient) {
        submodi_exact_write(&x);
    }
    *sorted = (uint64_t)all;
    return status;
}

submod_status submodi_dist_exact(submodi_global *whole, double *loss, double *group_loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work)
{
    uint64_t sorted = 0;
    submod_status status = SUBMOD_OK;
    *loss = 0;
    if (whole->batch.settings.per_image) {
        status = solve_images(whole, loss, group_loss, gradient, &sorted, work);
    } else if (whole->batch.groups > 0) {
        status = solve_batch(whole, loss, group_loss, gradient, &sorted, work);
    }
    info->sorted = sorted;
    return status;
}
