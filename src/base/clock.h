/* Monotonic time. */
#ifndef SUBMODI_CLOCK_H
#define SUBMODI_CLOCK_H

/* Seconds since some fixed moment. */
double submodi_seconds(void);

#endif
