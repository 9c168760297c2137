/* Losses of a batch that is spread over ranks of MPI, by its images. Every rank makes the whole
 * batch from a seed, and holds what it got against what it computes of it alone: the same bits. */
#include <math.h>

#include "expect.h"
#include "spread.h"

static const submod_comm *comm;

/* ---- instances ---- */

static spread make(submod_rng *rng, batch *d, float **weights)
{
    kind k = (kind)submod_rng_below(rng, 3);
    bool ignore = submod_rng_below(rng, 2);
    *d = random_batch(rng, k, submod_rng_below(rng, 9), k == HINGE ? 1 : 3,
                      1 + submod_rng_below(rng, 2000), ignore);
    size_t n = d->B * d->C * d->N;
    *weights = malloc((d->B * d->N + 1) * sizeof **weights);
    for (size_t i = 0; i < d->B * d->N; i++) {
        (*weights)[i] = (float)(10 * submod_rng_uniform(rng));
    }
    spread x = {.d = d, .k = k, .s = random_settings(rng, ignore), .x = as_floats(d)};
    x.s.delta = 0.001;
    x.s.class_weight = k == HINGE ? NULL : x.s.class_weight;
    x.weights = submod_rng_below(rng, 2) ? *weights : NULL;
    x.derives = true;
    x.gradient = calloc(n + 1, sizeof *x.gradient);
    x.group_loss = calloc(d->B + MOST_RANKS, sizeof *x.group_loss);
    EXPECT(x.gradient && x.group_loss && x.x);
    cut_at_random(rng, &x, comm->ranks);
    return x;
}

static void destroy(spread *x, batch *d, float *weights)
{
    free(x->gradient);
    free(x->group_loss);
    free((void *)x->x);
    free(weights);
    free_batch(d);
}

/* One process with all images. Not by spread.c, whose asserts need a suite of tests around them. */
static double whole(const spread *x, float *gradient, submod_loss_info *info)
{
    const batch *d = x->d;
    double loss = 0;
    submod_scores scores = scores_part(x, 0, d->B);
    submod_labels labels = labels_part(x, 0, d->B);
    submod_pixel_weights weights = submod_pixel_weights_f32(x->weights, d->B, d->N);
    submod_gradient g = submod_gradient_dense(gradient, d->C, d->N);
    submod_loss_settings s = x->s;
    s.pixel_weights = x->weights ? &weights : NULL;
    g.scale = 0.75; /* as in call_part */
    EXPECT(call_views(x->k, &scores, &labels, &loss, &g, info, &s) == SUBMOD_OK);
    return loss;
}

/* ---- tests ---- */

static void same_bits(uint64_t seed)
{
    submod_rng rng;
    batch d;
    float *weights;
    int r = comm->rank;
    submod_rng_seed(&rng, seed);
    spread x = make(&rng, &d, &weights);
    x.s.engine = SUBMOD_ENGINE_HISTOGRAM;
    size_t image = d.C * d.N, first = x.cut[r] * image, last = x.cut[r + 1] * image;
    float *expected = calloc(d.B * image + 1, sizeof *expected);
    submod_loss_info info;
    EXPECT(expected);
    double loss = whole(&x, expected, &info);
    call_part(comm, &x);
    EXPECT(x.status[r] == SUBMOD_OK);
    EXPECT(x.loss[r] == loss);
    EXPECT(memcmp(x.gradient + first, expected + first, (last - first) * sizeof(float)) == 0);
    EXPECT(x.info[r].pixels == info.pixels && x.info[r].bins == info.bins);
    free(expected);
    destroy(&x, &d, weights);
}

/* What `bad` has done to its part, all hear about, and nobody writes anything. 0: it
 * could not do anything. */
static int all_fail(uint64_t seed, int bad, bool nan)
{
    submod_rng rng;
    batch d;
    float *weights;
    char words[32];
    int r = comm->rank;
    submod_rng_seed(&rng, seed);
    spread x = make(&rng, &d, &weights);
    size_t place = x.cut[bad];
    bool possible = x.cut[bad] < x.cut[bad + 1] && !d.multilabel;
    x.s.engine = SUBMOD_ENGINE_HISTOGRAM;
    if (possible && nan) {
        ((float *)x.x)[place * d.C * d.N] = NAN;
        d.y[place * d.N] = 0; /* not ignored */
    } else if (possible) {
        d.y[place * d.N] = 77;
    }
    x.loss[r] = -5;
    call_part(comm, &x);
    if (possible) {
        EXPECT(x.status[r] == (nan ? SUBMOD_ENONFINITE : SUBMOD_EINVAL));
        snprintf(words, sizeof words, ": rank %d failed: ", bad);
        EXPECT(!strstr(x.words[r], words) == (r == bad));
        EXPECT(r != bad || strstr(x.words[r], nan ? "is nan" : "= 77 is not"));
        EXPECT(x.loss[r] == -5);
        for (size_t i = 0; i < d.B * d.C * d.N; i++) {
            EXPECT(x.gradient[i] == 0);
        }
    }
    destroy(&x, &d, weights);
    return possible;
}

int main(int argc, char **argv)
{
    int provided;
    submod_comm *ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    EXPECT(submod_mpi_comm_create(MPI_COMM_WORLD, &ranks) == SUBMOD_OK);
    comm = ranks;
    for (uint64_t seed = 0; seed < 150; seed++) {
        same_bits(seed);
    }
    int failed = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        failed += all_fail(seed, (int)seed % comm->ranks, (seed / 4) % 2);
    }
    EXPECT(failed >= 10);
    submod_mpi_comm_free(ranks);
    MPI_Finalize();
    return 0;
}
