/* For killed.sh: ranks that count, save and add up, again and again, until one of them is killed.
 *
 *     killed FOLDER STEPS    under mpirun: rank 1 kills itself in this step, before the collective
 *                            call; 0: it waits to be killed, its number is in FOLDER/pid
 *     killed FOLDER          exit code 0 if the files of all three ranks are whole
 */
#include <signal.h>
#include <unistd.h>

#include "expect.h"

enum { CLASSES = 3, PIXELS = 2000, RANKS = 3, VICTIM = 1, MANY = 100000 };

static float scores[CLASSES * PIXELS];
static int64_t labels[PIXELS];

static void make(int rank, submod_scores *x, submod_labels *y)
{
    submod_rng rng;
    submod_rng_seed(&rng, (uint64_t)rank);
    for (size_t i = 0; i < CLASSES * PIXELS; i++) {
        scores[i] = (float)submod_rng_normal(&rng);
    }
    for (size_t i = 0; i < PIXELS; i++) {
        labels[i] = (int64_t)submod_rng_below(&rng, CLASSES);
    }
    *x = submod_scores_f32(scores, 1, CLASSES, PIXELS);
    *y = submod_labels_i64(labels, 1, PIXELS);
}

static void file_of(const char *folder, int rank, char *path, size_t size)
{
    snprintf(path, size, "%s/rank-%d.submod", folder, rank);
}

/* Written whole and renamed, so that the script reads a number or nothing. */
static void tell_pid(const char *folder)
{
    char path[512], ready[512];
    snprintf(path, sizeof path, "%s/pid.new", folder);
    snprintf(ready, sizeof ready, "%s/pid", folder);
    FILE *file = fopen(path, "w");
    EXPECT(file);
    fprintf(file, "%ld\n", (long)getpid());
    EXPECT(fclose(file) == 0);
    EXPECT(rename(path, ready) == 0);
}

/* Ends by a signal. */
static void count_until_killed(const char *folder, int steps)
{
    char path[512];
    submod_comm *comm;
    submod_dataset *mine, *ours;
    submod_scores x;
    submod_labels y;
    EXPECT(submod_mpi_comm_create(MPI_COMM_WORLD, &comm) == SUBMOD_OK);
    EXPECT(comm->ranks == RANKS);
    make(comm->rank, &x, &y);
    file_of(folder, comm->rank, path, sizeof path);
    EXPECT(submod_dataset_create(CLASSES, 0.001, &mine) == SUBMOD_OK);
    EXPECT(submod_dataset_create(CLASSES, 0.001, &ours) == SUBMOD_OK);
    for (int step = 1; step < MANY; step++) {
        EXPECT(submod_dataset_add(mine, &x, &y, NULL, NULL) == SUBMOD_OK);
        EXPECT(submod_dataset_save(mine, path) == SUBMOD_OK);
        if (comm->rank == VICTIM && step == steps) {
            raise(SIGKILL);
        }
        EXPECT(submod_dist_dataset_add(comm, ours, &x, &y, NULL, NULL) == SUBMOD_OK);
        if (comm->rank == VICTIM && step == 1) {
            tell_pid(folder);
        }
    }
}

/* The counts of the file are a whole number of times those of the rank's batch. */
static int is_whole(const char *folder, int rank)
{
    char path[512];
    submod_dataset *saved, *once;
    submod_scores x;
    submod_labels y;
    size_t classes, bins;
    file_of(folder, rank, path, sizeof path);
    make(rank, &x, &y);
    if (submod_dataset_load(path, &saved) || submod_dataset_create(CLASSES, 0.001, &once) ||
        submod_dataset_add(once, &x, &y, NULL, NULL)) {
        fprintf(stderr, "%s\n", submod_last_error());
        return 0;
    }
    const double *a = submod_dataset_counts(saved, &classes, &bins);
    const double *b = submod_dataset_counts(once, NULL, NULL);
    double times = 0;
    int whole = 1;
    for (size_t i = 0; i < 2 * classes * bins; i++) {
        times = b[i] > 0 && times == 0 ? a[i] / b[i] : times;
        whole = whole && a[i] == times * b[i];
    }
    whole = whole && times >= 1 && times == (double)(int)times;
    printf("rank %d: %g steps saved%s\n", rank, times, whole ? "" : ", DAMAGED");
    submod_dataset_free(saved);
    submod_dataset_free(once);
    return whole;
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        int whole = 1;
        for (int rank = 0; rank < RANKS; rank++) {
            whole = is_whole(argv[1], rank) && whole;
        }
        return whole ? 0 : 1;
    }
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    count_until_killed(argv[1], (int)strtol(argv[2], NULL, 10));
    MPI_Finalize();
    return 0;
}
