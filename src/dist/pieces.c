/* Cutting a rank's records into pieces (see pieces.h). */
#include "dist/pieces.h"

#include <string.h>

#include "base/memory.h"

bool submodi_pieces_take(submodi_pieces *x, int rank, int ranks, size_t classes, submod_work *work)
{
    size_t n = (size_t)ranks;
    *x = (submodi_pieces){.rank = rank, .ranks = ranks};
    x->split = submodi_take(work, n + 1, sizeof *x->split);
    x->out = submodi_take(work, classes + n, sizeof *x->out); /* each cut makes one more */
    x->send = submodi_take(work, n, sizeof *x->send);
    x->receive = submodi_take(work, n, sizeof *x->receive);
    x->records_out = submodi_take(work, n, sizeof *x->records_out);
    x->records_in = submodi_take(work, n, sizeof *x->records_in);
    return x->split && x->out && x->send && x->receive && x->records_out && x->records_in;
}

/* Records i .. of class c below a place: where they end, by bisection. */
static size_t end_below(const submodi_records *x, size_t c, size_t i, uint64_t place)
{
    size_t end = x->first[c + 1];
    while (i < end) {
        size_t middle = i + (end - i) / 2;
        if (submodi_place_of(c, x->key[middle]) < place) {
            i = middle + 1;
        } else {
            end = middle;
        }
    }
    return i;
}

/* Adds records begin .. end - 1 to what is before the next piece of their class. */
static void add_counts(const submodi_records *x, size_t begin, size_t end, submodi_piece *before)
{
    for (size_t i = begin; i < end; i++) {
        double count = submodi_count_of(x->number, x->weighted, i);
        before->a += x->key[i] & 1 ? 0 : count;
        before->b += x->key[i] & 1 ? count : 0;
    }
}

/* The piece of class c that begins with record i and ends below a place. *before: what this rank
 * has before it, and then after it. */
static submodi_piece cut_piece(const submodi_records *x, size_t c, size_t i, uint64_t place,
                               submodi_piece *before)
{
    size_t end = end_below(x, c, i, place);
    submodi_piece piece = {end - i, before->a, before->b};
    add_counts(x, i, end, before);
    return piece;
}

bool submodi_pieces_cut(submodi_pieces *x, const submodi_records *records, submod_work *work)
{
    submodi_piece *next = x->out;
    submodi_piece before = {0, 0, 0};
    size_t at = 0; /* records that are in a piece already */
    size_t begin, end;
    for (int r = 0; r < x->ranks; r++) {
        size_t first = at;
        submodi_owned_classes(x->split, r, &begin, &end);
        for (size_t c = begin; c < end; c++) {
            if (at == records->first[c]) { /* nothing of the class is before it */
                before = (submodi_piece){0, 0, 0};
            }
            *next = cut_piece(records, c, at, x->split[r + 1], &before);
            at += next->records;
            next++;
        }
        x->records_out[r] = at - first;
    }
    submodi_owned_classes(x->split, x->rank, &begin, &end);
    x->first_class = begin;
    x->owned = end - begin;
    x->in = submodi_take(work, submodi_times((size_t)x->ranks, x->owned), sizeof *x->in);
    return x->in;
}

void submodi_pieces_sizes(submodi_pieces *x, size_t size)
{
    for (int r = 0; r < x->ranks; r++) {
        size_t begin, end;
        submodi_owned_classes(x->split, r, &begin, &end);
        x->send[r] = (end - begin) * size;
        x->receive[r] = x->owned * size;
    }
}

void submodi_records_sizes(submodi_pieces *x, size_t size, bool back)
{
    for (int r = 0; r < x->ranks; r++) {
        x->send[r] = (back ? x->records_in[r] : x->records_out[r]) * size;
        x->receive[r] = (back ? x->records_out[r] : x->records_in[r]) * size;
    }
}

uint64_t submodi_pieces_count(submodi_pieces *x)
{
    uint64_t all = 0;
    for (int r = 0; r < x->ranks; r++) {
        uint64_t records = 0;
        for (size_t k = 0; k < x->owned; k++) {
            records += x->in[(size_t)r * x->owned + k].records;
        }
        x->records_in[r] = (size_t)records;
        all += records;
    }
    return all;
}
