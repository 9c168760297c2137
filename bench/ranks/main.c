/* The Lovász-Softmax loss of a batch over ranks of MPI: what it sends, and where its time goes.
 *
 *   mpirun -n 2 bench-ranks bytes                          bytes that rank 0 hands to its comm
 *   mpirun -n 2 bench-ranks time IMAGES SIDE CLASSES BINS  seconds, as one line
 *
 * time: images of SIDE x SIDE pixels in all, dealt out to the ranks in order, scores as a network
 * has them that is mostly right; loss and gradient. The best of several calls, from a barrier to
 * the end of the slowest rank. A line is
 *
 *   ranks threads images side classes bins total check+count talk rest
 *
 * check+count: until the sum begins, without its gathers. talk: gathers and sum, waiting for
 * others included. rest: solve, gradient. Of rank 0, in the call that was the best. With one
 * rank the library is not asked to talk, and only the total is known. run.sh makes a table of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <submod.h>
#include <submod/mpi.h>

/* ---- a comm that counts and times ---- */

typedef struct watched {
    const submod_comm *inner;
    size_t sum, gather;              /* bytes */
    double talk;                     /* seconds inside */
    double begins, sum_begins, ends; /* of the call, of its sum */
    double talk_before_sum;
} watched;

static int watch_sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    watched *w = context;
    double start = MPI_Wtime();
    int code = w->inner->sum(w->inner->context, numbers, type, count);
    if (w->sum == 0) {
        w->sum_begins = start;
        w->talk_before_sum = w->talk;
    }
    w->talk += MPI_Wtime() - start;
    w->sum += count * (type == SUBMOD_COMM_I32 ? 4 : 8);
    return code;
}

static int watch_gather(void *context, const void *mine, size_t bytes, void *all)
{
    watched *w = context;
    double start = MPI_Wtime();
    int code = w->inner->gather(w->inner->context, mine, bytes, all);
    w->talk += MPI_Wtime() - start;
    w->gather += bytes;
    return code;
}

static submod_comm watch(watched *w, const submod_comm *inner)
{
    submod_comm comm = *inner;
    *w = (watched){.inner = inner};
    comm.context = w;
    comm.sum = watch_sum;
    comm.gather = watch_gather;
    return comm;
}

/* ---- instances ---- */

static void require(submod_status status)
{
    if (status < 0) {
        fprintf(stderr, "bench-ranks: %s\n", submod_last_error());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    if (!memory) {
        fprintf(stderr, "bench-ranks: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* The part of a rank. */
typedef struct part {
    size_t images, classes, pixels;
    float *scores, *gradient;
    int64_t *labels;
} part;

static part make_part(const submod_comm *comm, size_t images, size_t classes, size_t pixels)
{
    size_t ranks = (size_t)comm->ranks, rank = (size_t)comm->rank;
    size_t first = images * rank / ranks;
    part p = {images * (rank + 1) / ranks - first, classes, pixels, NULL, NULL, NULL};
    p.scores = allocate(p.images * classes * pixels * sizeof(float));
    p.gradient = allocate(p.images * classes * pixels * sizeof(float));
    p.labels = allocate(p.images * pixels * sizeof(int64_t));
    for (size_t b = 0; b < p.images; b++) {
        submod_rng rng;
        submod_rng_seed(&rng, first + b); /* the same image, whoever has it */
        int64_t *y = p.labels + b * pixels;
        for (size_t i = 0; i < pixels; i++) {
            y[i] = (int64_t)(i * classes / pixels);
        }
        for (size_t c = 0; c < classes; c++) {
            float *x = p.scores + (b * classes + c) * pixels;
            for (size_t i = 0; i < pixels; i++) {
                x[i] = (float)((y[i] == (int64_t)c ? 4 : 0) + 4 * submod_rng_uniform(&rng));
            }
        }
    }
    return p;
}

static void free_part(part *p)
{
    free(p->scores);
    free(p->gradient);
    free(p->labels);
}

/* Seconds, of the slowest rank. */
static double call(const submod_comm *comm, const part *p, size_t bins, submod_work *work)
{
    watched *w = comm->context;
    submod_loss_settings settings = submod_loss_defaults();
    settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    settings.bins = bins;
    submod_scores scores = submod_scores_f32(p->scores, p->images, p->classes, p->pixels);
    submod_labels labels = submod_labels_i64(p->labels, p->images, p->pixels);
    submod_gradient gradient = submod_gradient_dense(p->gradient, p->classes, p->pixels);
    double loss;
    MPI_Barrier(MPI_COMM_WORLD);
    w->begins = MPI_Wtime();
    require(submod_dist_lovasz_softmax(comm, &scores, &labels, &loss, &gradient, &settings, NULL,
                                       work));
    w->ends = MPI_Wtime();
    double time = w->ends - w->begins;
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return time;
}

/* ---- the two tables ---- */

static void count_bytes(const submod_comm *comm)
{
    const size_t sides[] = {64, 128, 256, 512};
    const size_t bins[] = {1024, 4096};
    if (comm->rank == 0) {
        printf("%d ranks, 4 images, 21 classes; bytes that rank 0 hands to its comm\n"
               "bins     side   pixels      sum   gather\n",
               comm->ranks);
    }
    for (size_t k = 0; k < sizeof bins / sizeof *bins; k++) {
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            watched w;
            submod_comm counted = watch(&w, comm);
            part p = make_part(comm, 4, 21, sides[i] * sides[i]);
            call(&counted, &p, bins[k], NULL);
            if (comm->rank == 0) {
                printf("%-6zu %6zu %8zu %8zu %8zu\n", bins[k], sides[i], 4 * sides[i] * sides[i],
                       w.sum, w.gather);
            }
            free_part(&p);
        }
    }
}

static void time_calls(const submod_comm *comm, size_t images, size_t side, size_t classes,
                       size_t bins)
{
    enum { CALLS = 9 };
    part p = make_part(comm, images, classes, side * side);
    watched best = {0};
    submod_work *work;
    double total = 0;
    require(submod_work_create(&work));
    for (int i = 0; i < CALLS; i++) {
        watched w;
        submod_comm timed = watch(&w, comm);
        double time = call(&timed, &p, bins, work);
        if (i == 0 || time < total) {
            total = time;
            best = w;
        }
    }
    if (comm->rank == 0) {
        printf("%d %d %zu %zu %zu %zu %.6f", comm->ranks, submod_get_num_threads(), images, side,
               classes, bins, total);
        if (comm->ranks > 1) {
            double count = best.sum_begins - best.begins - best.talk_before_sum;
            printf(" %.6f %.6f %.6f\n", count, best.talk,
                   best.ends - best.begins - count - best.talk);
        } else {
            printf(" - - -\n");
        }
    }
    submod_work_free(work);
    free_part(&p);
}

int main(int argc, char **argv)
{
    int provided, failed = 0;
    submod_comm *comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    require(submod_mpi_comm_create(MPI_COMM_WORLD, &comm));
    if (argc == 2 && strcmp(argv[1], "bytes") == 0) {
        count_bytes(comm);
    } else if (argc == 6 && strcmp(argv[1], "time") == 0) {
        size_t n[4];
        for (int i = 0; i < 4; i++) {
            n[i] = strtoul(argv[i + 2], NULL, 10);
        }
        time_calls(comm, n[0], n[1], n[2], n[3]);
    } else {
        fprintf(stderr,
                "usage: mpirun -n RANKS bench-ranks bytes | time IMAGES SIDE CLASSES BINS\n");
        failed = 2;
    }
    submod_mpi_comm_free(comm);
    MPI_Finalize();
    return failed;
}
