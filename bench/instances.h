/* Instances of the literature, from their formulas and a seed: the same ones on every machine.
 *
 * They end the program with a message when something fails. The caller frees with submod_fn_free.
 */
#ifndef BENCH_INSTANCES_H
#define BENCH_INSTANCES_H

#include <submod.h>

/* A ring of n nodes, each joined to the next half_degree ones; ends are rewired with probability
 * 0.25 (Watts and Strogatz). Weights U(0.01, 1); arcs to two terminals, four times as heavy, are
 * added as a modular function. */
submod_fn *instance_random_cut(size_t n, size_t half_degree, submod_rng *rng);

/* `copies` interleaved copies of Iwata's function of n / copies elements each: element e belongs to
 * copy e % copies. n is a multiple of copies. */
submod_fn *instance_groupwise_iwata(size_t n, size_t copies);

/* Weighted coverage: each of n elements covers `degree` random ones of m items, weights U(0, 1). */
submod_fn *instance_coverage(size_t n, size_t m, size_t degree, submod_rng *rng);

/* A grey image of side x side pixels with a bright ellipse, smooth shading and noise; values around
 * 0 (background) and 1. side * side numbers, to be freed. */
double *instance_image(size_t side, submod_rng *rng);

/* The 4-connected grid of an image with contrast weights: strength * (0.1 + exp(-(difference of
 * grey)^2 / mean of that)), plus the modular function threshold - grey. */
submod_fn *instance_image_cut(size_t side, const double *image, double strength);

/* The image cut plus, for each of `regions` regions R, strength / |R| * |A & R| |R - A| (Jegelka,
 * Bach and Sra 2013). The regions are the Voronoi cells of jittered points. */
submod_fn *instance_superpixels(size_t side, const double *image, size_t regions, double strength,
                                submod_rng *rng);

/* The hyperedges join `size` random nodes within a window of 4 * size, weights U(0, 1); plus a
 * random modular function, N(0, 1) times the mean degree. */
submod_fn *instance_hypergraph(size_t n, size_t m, size_t size, submod_concave_kind kind,
                               submod_rng *rng);

#endif
