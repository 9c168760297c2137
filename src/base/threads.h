/* How many threads a parallel section should use. */
#ifndef SUBMODI_THREADS_H
#define SUBMODI_THREADS_H

#include <stddef.h>

/* 1 for work on few items, where starting threads costs more than it gains. */
int submodi_threads_for(size_t items);

/* For tests: work on so many items is worth several threads, so that small problems take the same
 * paths as large ones; 0: as it was. Not while others compute. */
void submodi_set_parallel_from(size_t items);

/* For tests: how often submodi_threads_for has told anyone to use several threads. */
size_t submodi_parallel_count(void);

#endif
