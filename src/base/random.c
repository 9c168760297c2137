/* xoshiro256++ (Blackman and Vigna), seeded through splitmix64. */
#include <math.h>

#include <submod/extend.h>

static uint64_t splitmix64(uint64_t *x)
{
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void submod_rng_seed(submod_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        rng->s[i] = splitmix64(&seed);
    }
}

uint64_t submod_rng_next(submod_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double submod_rng_uniform(submod_rng *rng)
{
    return (double)(submod_rng_next(rng) >> 11) * 0x1p-53;
}

double submod_rng_normal(submod_rng *rng)
{
    const double two_pi = 6.283185307179586476925;
    /* Box-Muller; 1 - u lies in (0, 1], so the logarithm is finite. */
    double radius = sqrt(-2 * log(1 - submod_rng_uniform(rng)));
    return radius * cos(two_pi * submod_rng_uniform(rng));
}

uint64_t submod_rng_below(submod_rng *rng, uint64_t bound)
{
    if (bound == 0) {
        return 0;
    }
    /* Numbers below 2^64 mod bound are rejected, so that the others split evenly. */
    uint64_t reject_below = (UINT64_MAX - bound + 1) % bound;
    uint64_t r;
    do {
        r = submod_rng_next(rng);
    } while (r < reject_below);
    return r % bound;
}
