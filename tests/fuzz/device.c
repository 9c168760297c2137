/* Fuzzes the GPU path: its kernels on fibers of the CPU against the CPU's engines, with sizes that
 * make small problems take every path. Statuses, positions of refused data and gradients are equal,
 * losses up to the order of a sum, whatever the order in which fibers run. */
#include "on_shim.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    dice d = dice_of(bytes, size);
    bool ignore = dice_below(&d, 2), coarse = dice_below(&d, 2);
    kind k = (kind)dice_below(&d, KINDS);
    size_t B = dice_below(&d, 4), C = 1 + dice_below(&d, 6);
    size_t N = dice_below(&d, dice_below(&d, 4) ? 40 : 300);
    shim.order = (shim_order)dice_below(&d, SHIM_ORDERS);
    submod_rng_seed(&shim.rng, dice_bits(&d, 1));
    submod_rng rng;
    submod_rng_seed(&rng, dice_bits(&d, 4));
    submod_set_num_threads(1);
    example e = random_example(&rng, k, B, C, N, coarse, ignore);
    for (size_t i = 0; i < e.B * e.C * e.N && dice_once_in(&d, 2);
         i++) { /* some from the input itself */
        e.x[i] = from_logits(k) ? dice_float(&d, NUMBERS_WIDE) : (float)dice_below(&d, 257) / 256;
    }
    submod_loss_settings settings = random_settings(&rng, ignore);
    submodi_gpu_tuning tuning = random_tuning(&rng);
    const char *different = compare(&e, &settings, on_shim, &tuning);
    FUZZ_CHECK(!different, "kind %d, %zu x %zu x %zu, engine %d, order %d: %s", (int)k, B, C, N,
               (int)settings.engine, (int)shim.order, different);
    free_example(&e);
    return 0;
}
