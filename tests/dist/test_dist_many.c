/* More ranks than there is room for on the stack: they agree by memory of their own. Here all ranks
 * are this one; a comm tells it its own bytes as those of the others. */
#include <string.h>

#include "allocations.h"
#include "dist/agree.h"
#include "support.h"

typedef struct mirror {
    submod_comm comm;
    int other;          /* a rank that says something else, */
    unsigned char flip; /* which differs in these bits of the byte at */
    size_t at;
} mirror;

static int gather(void *context, const void *mine, size_t bytes, void *all)
{
    const mirror *m = context;
    unsigned char *to = all;
    for (int r = 0; r < m->comm.ranks; r++) {
        memcpy(to + (size_t)r * bytes, mine, bytes);
    }
    if (m->flip) {
        to[(size_t)m->other * bytes + m->at] ^= m->flip;
    }
    return 0;
}

static mirror mirror_of(int ranks)
{
    mirror m = {.comm = submod_comm_alone()};
    m.comm.ranks = ranks;
    m.comm.gather = gather;
    return m;
}

START_TEST(statuses)
{
    for (int ranks = 1023; ranks <= 1026; ranks++) {
        mirror m = mirror_of(ranks);
        m.comm.context = &m;
        float largest = 0;
        ck_assert_ok(submodi_agree_largest(&m.comm, SUBMOD_OK, 2.5F, &largest));
        ck_assert(largest == 2.5F);
        ck_assert_ok(submodi_agree_status(&m.comm, SUBMOD_OK));
    }
}
END_TEST

START_TEST(facts)
{
    static const char *const names[] = {"the number of classes", NULL};
    const submodi_facts mine = {.field = {21}, .groups = 3, .pixels = 1000, .largest = 0.5F};
    for (int ranks = 63; ranks <= 67; ranks++) {
        mirror m = mirror_of(ranks);
        m.comm.context = &m;
        submodi_totals totals = {0};
        ck_assert_ok(submodi_agree("here", &m.comm, SUBMOD_OK, names, &mine, &totals));
        ck_assert_uint_eq(totals.groups, 3 * (uint64_t)ranks);
        ck_assert_uint_eq(totals.pixels, 1000 * (uint64_t)ranks);
        ck_assert_uint_eq(totals.most_groups, 3);
        ck_assert(totals.largest == 0.5F);
    }
}
END_TEST

/* The last of many has other facts, behind the hash of the call's name. */
START_TEST(one_of_many_differs)
{
    static const char *const names[] = {"the number of classes", NULL};
    const submodi_facts mine = {.field = {21}};
    mirror m = mirror_of(66);
    m.comm.context = &m;
    m.other = 65;
    m.at = sizeof(uint64_t);
    m.flip = 1;
    submodi_totals totals = {0};
    ck_assert_int_eq(submodi_agree("here", &m.comm, SUBMOD_OK, names, &mine, &totals),
                     SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "the number of classes of rank 65"));
}
END_TEST

START_TEST(without_memory)
{
    static const char *const names[] = {"the number of classes", NULL};
    const submodi_facts mine = {.field = {21}};
    submodi_totals totals = {0};
    mirror few = mirror_of(66), many = mirror_of(1025);
    few.comm.context = &few;
    many.comm.context = &many;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations.left = 0;
    ck_assert_int_eq(submodi_agree("here", &few.comm, SUBMOD_OK, names, &mine, &totals),
                     SUBMOD_ENOMEM);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "out of memory"));
    ck_assert_int_eq(submodi_agree_status(&many.comm, SUBMOD_OK), SUBMOD_ENOMEM);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_many", statuses, facts, one_of_many_differs, without_memory);
}
