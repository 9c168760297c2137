/* How many threads a parallel section should use. */
#ifndef SUBMODI_THREADS_H
#define SUBMODI_THREADS_H

#include <stddef.h>

/* 1 for work on few items, where starting threads costs more than it gains. */
int submodi_threads_for(size_t items);

#endif
