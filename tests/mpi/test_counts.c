/* Datasets and confusions over ranks of MPI: for any split of the images, the counts that one
 * process gets of all of them. Every rank makes the whole batch from a seed. */
#include "expect.h"

enum { CLASSES = 4, PIXELS = 301, IMAGES = 9, VALUES = CLASSES * PIXELS };

static const submod_comm *comm;
static float scores[IMAGES * VALUES];
static int64_t labels[IMAGES * PIXELS], predictions[IMAGES * PIXELS];

/* The images of this rank are first .. last - 1; some ranks have none. */
static void make(uint64_t seed, size_t *first, size_t *last)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (size_t i = 0; i < IMAGES * VALUES; i++) {
        scores[i] = (float)submod_rng_normal(&rng);
    }
    for (size_t i = 0; i < IMAGES * PIXELS; i++) {
        labels[i] = (int64_t)submod_rng_below(&rng, CLASSES);
        predictions[i] = (int64_t)submod_rng_below(&rng, CLASSES);
    }
    *first = 0;
    *last = submod_rng_below(&rng, IMAGES + 1);
    for (int r = 0; r < comm->rank; r++) {
        *first = *last;
        *last += submod_rng_below(&rng, IMAGES - *last + 1);
    }
    *last = comm->rank == comm->ranks - 1 ? IMAGES : *last;
}

static void expect_same_dataset(submod_dataset *a, submod_dataset *b)
{
    size_t classes, bins;
    const double *x = submod_dataset_counts(a, &classes, &bins);
    const double *y = submod_dataset_counts(b, NULL, NULL);
    double total = 0;
    for (size_t i = 0; i < 2 * classes * bins; i++) {
        EXPECT(x[i] == y[i]);
        total += x[i];
    }
    EXPECT(total > 0);
}

static submod_dataset *new_dataset(void)
{
    submod_dataset *d;
    EXPECT(submod_dataset_create(CLASSES, 0.001, &d) == SUBMOD_OK);
    return d;
}

/* Added together, and added by each rank and summed. */
static void datasets(uint64_t seed)
{
    size_t first, last;
    make(seed, &first, &last);
    submod_dataset *whole = new_dataset(), *ours = new_dataset(), *mine = new_dataset();
    submod_scores all = submod_scores_f32(scores, IMAGES, CLASSES, PIXELS);
    submod_labels truth = submod_labels_i64(labels, IMAGES, PIXELS);
    submod_scores part = submod_scores_f32(scores + first * VALUES, last - first, CLASSES, PIXELS);
    submod_labels its = submod_labels_i64(labels + first * PIXELS, last - first, PIXELS);
    EXPECT(submod_dataset_add(whole, &all, &truth, NULL, NULL) == SUBMOD_OK);
    EXPECT(submod_dataset_add(mine, &part, &its, NULL, NULL) == SUBMOD_OK);
    EXPECT(submod_dist_dataset_sum(comm, mine) == SUBMOD_OK);
    expect_same_dataset(whole, mine);
    EXPECT(submod_dist_dataset_add(comm, ours, &part, &its, NULL, NULL) == SUBMOD_OK);
    expect_same_dataset(whole, ours);
    submod_dataset_free(whole);
    submod_dataset_free(ours);
    submod_dataset_free(mine);
}

static void confusions(uint64_t seed)
{
    size_t first, last;
    make(seed, &first, &last);
    submod_confusion *whole, *mine;
    EXPECT(submod_confusion_create(CLASSES, &whole, NULL) == SUBMOD_OK);
    EXPECT(submod_confusion_create(CLASSES, &mine, NULL) == SUBMOD_OK);
    submod_labels p = submod_labels_i64(predictions, IMAGES, PIXELS);
    submod_labels t = submod_labels_i64(labels, IMAGES, PIXELS);
    EXPECT(submod_confusion_add(whole, &p, &t) == SUBMOD_OK);
    p = submod_labels_i64(predictions + first * PIXELS, last - first, PIXELS);
    t = submod_labels_i64(labels + first * PIXELS, last - first, PIXELS);
    EXPECT(submod_confusion_add(mine, &p, &t) == SUBMOD_OK);
    EXPECT(submod_dist_confusion_sum(comm, mine) == SUBMOD_OK);
    EXPECT(memcmp(submod_confusion_counts(mine), submod_confusion_counts(whole),
                  CLASSES * CLASSES * sizeof(int64_t)) == 0);
    submod_confusion_free(whole);
    submod_confusion_free(mine);
}

/* The last rank has more bins than the others: nobody's counts change. */
static void different_datasets(void)
{
    submod_dataset *mine;
    double delta = comm->rank == comm->ranks - 1 ? 0.001 : 0.01;
    EXPECT(submod_dataset_create(CLASSES, delta, &mine) == SUBMOD_OK);
    submod_dataset_counts(mine, NULL, NULL)[3] = 5;
    submod_status status = submod_dist_dataset_sum(comm, mine);
    EXPECT(status == (comm->ranks == 1 ? SUBMOD_OK : SUBMOD_EINVAL));
    EXPECT(submod_dataset_counts(mine, NULL, NULL)[3] == 5);
    submod_dataset_free(mine);
}

static int no_sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    (void)context, (void)numbers, (void)type, (void)count;
    return submod_fail(SUBMOD_ECOMM, "the net is down");
}

/* What a function of the comm says reaches the caller. */
static void words_of_the_transport(void)
{
    submod_comm broken = *comm;
    submod_dataset *mine = new_dataset();
    broken.sum = no_sum;
    if (comm->ranks > 1) {
        EXPECT_ERROR(submod_dist_dataset_sum(&broken, mine), SUBMOD_ECOMM,
                     "submod_dist_dataset_sum: comm.sum: the net is down");
    }
    submod_dataset_free(mine);
}

int main(int argc, char **argv)
{
    int provided;
    submod_comm *ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    EXPECT(submod_mpi_comm_create(MPI_COMM_WORLD, &ranks) == SUBMOD_OK);
    comm = ranks;
    for (uint64_t seed = 0; seed < 40; seed++) {
        datasets(seed);
        confusions(seed);
    }
    different_datasets();
    words_of_the_transport();
    submod_mpi_comm_free(ranks);
    MPI_Finalize();
    return 0;
}
