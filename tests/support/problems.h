/* Standard problems of the literature on submodular minimisation, made from their formulas. For
 * tests and benchmarks alike: the public headers and the C library are all they need.
 *
 * The caller frees the functions. NULL when the library failed; submod_last_error says why. A
 * generator that cannot allocate its own arrays ends the program. */
#ifndef SUBMOD_TESTS_PROBLEMS_H
#define SUBMOD_TESTS_PROBLEMS_H

#include <submod.h>

/* m arcs; problem_graph_clear frees them. */
typedef struct problem_graph {
    size_t n, m;
    int32_t *tail, *head;
    double *weight;
} problem_graph;

void problem_graph_clear(problem_graph *graph);

/* genrmf(a, b, c1, c2): b frames of a x a vertices. Arcs in both directions between neighbours of a
 * frame, of capacity c2 a^2; from each vertex of a frame one to the next frame, by a random
 * permutation, of a whole capacity in [c1, c2]. From vertex 0 to vertex n - 1. */
problem_graph problem_genrmf(size_t a, size_t b, int c1, int c2, submod_rng *rng);
/* The usual sizes: long frames a = 2^(k/4), b = 2^(k/2); wide ones a = 2^(2k/5), b = 2^(k/5). */
void problem_genrmf_long(int k, size_t *a, size_t *b);
void problem_genrmf_wide(int k, size_t *a, size_t *b);

/* F(A) = cut({s} + A) - cut({s}) on the vertices other than s = 0 and t = n - 1; element e is
 * vertex e + 1. The minimum is the maximum flow less cut({s}). */
submod_fn *problem_st_cut(const problem_graph *graph);

/* Two moons: so many points each (200), F(A) = log det K_AA + log det K_V\A - log det K - s(A), s =
 * +-2 max F({i}) on 8 + 8 labelled points. The second term less the third is log det of K^-1 on A.
 */
submod_fn *problem_two_moons(size_t each, submod_rng *rng);

/* Copies of Iwata's function, interleaved: element e is number e / copies of copy e % copies. The
 * minimum is so many times that of Iwata's function for n / copies elements. */
submod_fn *problem_grouped_iwata(size_t n, size_t copies);

/* An undirected Watts-Strogatz graph: a ring where each vertex knows the 8 next ones on either
 * side, one end of each edge moved at random with probability 0.25, weights in [0.01, 1); each
 * vertex has an arc from s or to t of four times such a weight. n > 16. */
submod_fn *problem_watts_strogatz(size_t n, submod_rng *rng);

/* Weighted coverage of 2 n items, each element covering 8 at random, less a cost per element. */
submod_fn *problem_coverage(size_t n, submod_rng *rng);

/* A noisy image of a bright disc; edges between the four neighbours with weights that fall with the
 * contrast, each pixel drawn to its brightness. */
submod_fn *problem_image(size_t width, size_t height, submod_rng *rng);

#endif
