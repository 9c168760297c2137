/* The Jaccard loss of a batch that is spread over processes is not the mean of their losses.
 *
 *     mpicc ranks_mpi.c $(pkg-config --cflags --libs submod_mpi) && mpirun -n 4 ./a.out
 *
 * Each rank has two images. It computes the loss of its own, as data-parallel training does it, and
 * that of all images. Rank 0 then checks the second against one process that has them all. Exit
 * code 0 if it is the same, to the last bit. */
#include <stdio.h>
#include <stdlib.h>
#include <submod.h>
#include <submod/mpi.h>

enum { IMAGES = 2, CLASSES = 4, PIXELS = 10000 };

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "ranks_mpi: %s\n", submod_last_error());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

/* Some images have little of a class, so that it weighs much there and little in the whole. */
static void make_images(int rank, float *scores, int64_t *labels)
{
    submod_rng rng;
    submod_rng_seed(&rng, (uint64_t)rank);
    for (size_t b = 0; b < IMAGES; b++) {
        size_t rare = 1 + submod_rng_below(&rng, 999);
        for (size_t i = 0; i < PIXELS; i++) {
            size_t label = i < rare ? 0 : 1 + i % (CLASSES - 1);
            labels[b * PIXELS + i] = (int64_t)label;
            for (size_t c = 0; c < CLASSES; c++) {
                scores[(b * CLASSES + c) * PIXELS + i] =
                    (float)(2 * (c == label) + submod_rng_normal(&rng));
            }
        }
    }
}

/* By one process; the images of all ranks. */
static double loss_of_all(int ranks, const submod_loss_settings *settings)
{
    size_t images = (size_t)ranks * IMAGES;
    float *scores = malloc(images * CLASSES * PIXELS * sizeof *scores);
    int64_t *labels = malloc(images * PIXELS * sizeof *labels);
    double loss = 0;
    require(scores && labels ? SUBMOD_OK : submod_fail(SUBMOD_ENOMEM, "out of memory"));
    for (int r = 0; r < ranks; r++) {
        size_t first = (size_t)r * IMAGES;
        make_images(r, scores + first * CLASSES * PIXELS, labels + first * PIXELS);
    }
    submod_scores x = submod_scores_f32(scores, images, CLASSES, PIXELS);
    submod_labels y = submod_labels_i64(labels, images, PIXELS);
    require(submod_lovasz_softmax(&x, &y, &loss, NULL, settings, NULL, NULL));
    free(scores);
    free(labels);
    return loss;
}

int main(int argc, char **argv)
{
    static float scores[IMAGES * CLASSES * PIXELS], derivative[IMAGES * CLASSES * PIXELS];
    static int64_t labels[IMAGES * PIXELS];
    int provided;
    submod_comm *comm;
    double own, global;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    require(submod_mpi_comm_create(MPI_COMM_WORLD, &comm));

    make_images(comm->rank, scores, labels);
    submod_scores x = submod_scores_f32(scores, IMAGES, CLASSES, PIXELS);
    submod_labels y = submod_labels_i64(labels, IMAGES, PIXELS);
    submod_gradient gradient = submod_gradient_dense(derivative, CLASSES, PIXELS);
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = SUBMOD_ENGINE_HISTOGRAM;

    require(submod_lovasz_softmax(&x, &y, &own, NULL, &settings, NULL, NULL));
    require(submod_dist_lovasz_softmax(comm, &x, &y, &global, &gradient, &settings, NULL, NULL));

    int wrong = 0;
    double mean = own;
    MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    mean /= comm->ranks;
    if (comm->rank == 0) {
        printf("%d ranks, %d images each\n", comm->ranks, IMAGES);
        printf("mean of the losses of the ranks   %.4f\n", mean);
        printf("loss of all images                %.4f\n", global);
        wrong = global != loss_of_all(comm->ranks, &settings);
        printf("one process with all images:      %s\n", wrong ? "ANOTHER" : "the same bits");
    }
    submod_mpi_comm_free(comm);
    MPI_Finalize();
    return wrong;
}
