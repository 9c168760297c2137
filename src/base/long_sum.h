/* The old names of compensated sums. */
#include "base/sums.h"
#define submodi_long_sum submodi_compensated_sum
#define submodi_long_add submodi_compensated_add
