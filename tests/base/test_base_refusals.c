/* Every error message of base.h: the call, its status and words of the message. */
#include <math.h>
#include <stdint.h>

#include "support.h"

static void *refuse_memory(size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    return NULL;
}

START_TEST(base_refusals)
{
    const submod_allocator half = {refuse_memory, NULL};
    const double x[2] = {0, NAN};
    int32_t order[2] = {7, 7};
    size_t big = (size_t)INT32_MAX + 1;
    assert_error(submod_set_allocator(&half), SUBMOD_EINVAL, "alloc and release must not be NULL");
    assert_error(submod_set_num_threads(-1), SUBMOD_EINVAL, "threads = -1 must be >= 0");
    assert_error(submod_work_create(NULL), SUBMOD_EINVAL, "work is NULL");
    assert_error(submod_argsort(NULL, 2, order, NULL), SUBMOD_EINVAL, "x is NULL");
    assert_error(submod_argsort(x, 2, NULL, NULL), SUBMOD_EINVAL, "order is NULL");
    assert_error(submod_argsort(x, big, order, NULL), SUBMOD_EINVAL, "at most 2^31 - 1");
    assert_error(submod_argsort(x, 2, order, NULL), SUBMOD_ENONFINITE, "x[1] is nan");
}
END_TEST

int main(void)
{
    return RUN_TESTS("base_refusals", base_refusals);
}
