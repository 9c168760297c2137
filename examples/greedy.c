/* Maximisation by the greedy algorithm: which 4 of 40 places serve 200 clients best?
 *
 * Facility location is monotone and submodular, so the greedy set is worth at least 1 - 1/e = 63 %
 * of the best one (Nemhauser, Wolsey and Fisher). Gains only shrink while the set grows: a gain of
 * an earlier round bounds today's from above, and most places need not be asked again (Minoux).
 *
 * First by hand, with a submod_state, as one would write a variant of one's own; then by
 * submod_maximize, which finds the same places and says how good they are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <submod.h>
#include <submod/select.h>

#define PLACES 40
#define CLIENTS 200
#define CHOSEN 4

static int fail(void)
{
    fprintf(stderr, "greedy: %s\n", submod_last_error());
    return 1;
}

/* Random points of the unit square; the benefit of a place to a client falls with the distance. */
static submod_status make_map(submod_fn **fn)
{
    static double benefit[CLIENTS * PLACES];
    double place[PLACES][2];
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int p = 0; p < PLACES; p++) {
        place[p][0] = submod_rng_uniform(&rng);
        place[p][1] = submod_rng_uniform(&rng);
    }
    for (int c = 0; c < CLIENTS; c++) {
        double x = submod_rng_uniform(&rng), y = submod_rng_uniform(&rng);
        for (int p = 0; p < PLACES; p++) {
            benefit[c * PLACES + p] = fmax(0, 1 - 2 * hypot(x - place[p][0], y - place[p][1]));
        }
    }
    return submod_fn_facility(PLACES, CLIENTS, benefit, fn);
}

/* What a place could gain at most, and the size of the set when it was asked. */
typedef struct bound {
    double gain;
    size_t asked_at;
} bound;

/* The place with the largest gain. */
static submod_status best(submod_state *set, bound *bounds, int32_t *place, int *asked)
{
    size_t now = submod_state_set(set, NULL);
    for (;;) {
        *place = 0;
        for (int32_t p = 1; p < PLACES; p++) {
            *place = bounds[p].gain > bounds[*place].gain ? p : *place;
        }
        bound *b = &bounds[*place];
        if (b->asked_at == now) { /* no bound but its gain, and still the largest */
            return SUBMOD_OK;
        }
        submod_status status = submod_state_gain(set, *place, &b->gain);
        if (status != SUBMOD_OK) {
            return status;
        }
        b->asked_at = now;
        ++*asked;
    }
}

int main(void)
{
    submod_fn *served;
    submod_state *set;
    bound bounds[PLACES];
    double total = 0;
    int asked = 0;
    if (make_map(&served) != SUBMOD_OK || submod_state_create(served, &set) != SUBMOD_OK) {
        return fail();
    }
    for (int p = 0; p < PLACES; p++) {
        bounds[p] = (bound){INFINITY, CHOSEN};
    }
    for (int k = 0; k < CHOSEN; k++) {
        int32_t place;
        double gain;
        if (best(set, bounds, &place, &asked) != SUBMOD_OK ||
            submod_state_push(set, place, &gain) != SUBMOD_OK) {
            return fail();
        }
        bounds[place].gain = -INFINITY;
        total += gain;
        printf("place %2d serves %6.2f more\n", (int)place, gain);
    }
    const int32_t *chosen;
    size_t count = submod_state_set(set, &chosen);
    double value;
    if (submod_fn_eval(served, chosen, count, &value) != SUBMOD_OK) {
        return fail();
    }
    printf("%zu places serve %.2f; %d gains were asked for instead of %d\n", count, value, asked,
           CHOSEN * PLACES - CHOSEN * (CHOSEN - 1) / 2);
    submod_maximize_info info;
    int32_t same[CHOSEN];
    if (submod_maximize(served, CHOSEN, NULL, 0, same, NULL, NULL, NULL, &info) != SUBMOD_OK) {
        return fail();
    }
    printf("no %d places serve more than %.2f: these reach at least %.1f %% of it\n", CHOSEN,
           info.bound, 100 * info.ratio);
    int agree = memcmp(same, chosen, sizeof same) == 0 && fabs(total - value) < 1e-9;
    submod_state_free(set);
    submod_fn_free(served);
    return agree ? 0 : 1;
}
