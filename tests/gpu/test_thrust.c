/* The exact engine's pipeline with Thrust's sort inside, on the CPU. */
#include "on_shim.h"
#include "support.h"

submod_status thrust_sort(const submodi_gpu_sort *s, int32_t *current);

START_TEST(exact_engine)
{
    submod_rng rng;
    submod_rng_seed(&rng, 91);
    shim.sort = thrust_sort;
    for (int repeat = 0; repeat < 60; repeat++) {
        example d = random_example(&rng, (kind)(repeat % KINDS), 1 + submod_rng_below(&rng, 3), 4,
                                   1 + submod_rng_below(&rng, 700), repeat % 2, true);
        submod_loss_settings s = random_settings(&rng, true);
        submodi_gpu_tuning t = random_tuning(&rng);
        s.engine = SUBMOD_ENGINE_EXACT;
        t.small = 0;
        t.large = repeat % 3 ? 1 : 1 << 20; /* one by one, or together */
        shim.order = (shim_order)(repeat % SHIM_ORDERS);
        const char *what = compare(&d, &s, on_shim, &t);
        ck_assert_msg(!what, "%s", what);
        free_example(&d);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_thrust", exact_engine);
}
