/* What goes from a rank to an owner: a piece for each class that the owner has places of. All
 * pieces of a rank, owner after owner, are its records in their order: so they are sent from where
 * they are. An owner gets pieces rank after rank. */
#ifndef SUBMODI_DIST_PIECES_H
#define SUBMODI_DIST_PIECES_H

#include "dist/splitters.h"

/* Said before the records themselves are sent. */
typedef struct submodi_piece {
    uint64_t records;
    double a, b; /* what this rank has before it in the class, of the foreground and background */
} submodi_piece;

typedef struct submodi_pieces {
    int rank, ranks;
    uint64_t *split;         /* ranks + 1 (splitters.h) */
    submodi_piece *out, *in; /* owner after owner; rank after rank */
    size_t owned;            /* classes of this owner: pieces from each rank */
    size_t first_class;      /* of this owner */
    /* Per rank: how many bytes, as they are exchanged, and how many records. */
    size_t *send, *receive, *records_out, *records_in;
} submodi_pieces;

/* Memory for so many ranks and classes, but for what comes in. False: out of memory. */
bool submodi_pieces_take(submodi_pieces *x, int rank, int ranks, size_t classes, submod_work *work);

/* By split: the pieces of this rank, and memory for those that come in. The numbers of records are
 * still counts. False: out of memory. */
bool submodi_pieces_cut(submodi_pieces *x, const submodi_records *records, submod_work *work);

/* send and receive: of something that has `size` bytes per piece, or per record. back: from owners
 * to ranks. */
void submodi_pieces_sizes(submodi_pieces *x, size_t size);
void submodi_records_sizes(submodi_pieces *x, size_t size, bool back);

/* When all pieces have come in: how many records they have, per rank and in all. */
uint64_t submodi_pieces_count(submodi_pieces *x);

#endif
