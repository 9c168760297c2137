/* Which prediction belongs to which ground truth. */
#ifndef MIOU_PAIRS_H
#define MIOU_PAIRS_H

#include "options.h"

typedef struct pair {
    char *key;                /* what both have in common: the name of the image */
    char *prediction, *truth; /* paths */
    char *instances;          /* NULL when not asked for */
} pair;

typedef struct pair_list {
    pair *items;
    size_t count;
} pair_list;

/* Finds all pairs, in the order of their names. Files without a partner, or with several, are named
 * in *problems. False, with a message on stderr, when a folder cannot be read. */
bool pairs_find(const options *o, pair_list *pairs, string_list *problems);
void pairs_free(pair_list *pairs);

#endif
