/* The old name of base/sums.h. */
#include "base/sums.h"
