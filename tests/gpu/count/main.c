/* What the histogram engine asks of a GPU, counted without one: nvcc's PTX for compute_80,
 * translated to C, runs on fibers, and every access and instruction is counted.
 *
 *   bench-gpu --count [BATCH CLASSES SIDE]      default: 4 21 512, images of SIDE x SIDE
 *   bench-gpu --count --many ..                 by the kernels for more than 22 classes
 *   bench-gpu --count --float ..                not channels last, not half precision: half the
 * time
 *
 * Scores: random (standard normal), trained (labels in squares of 32 x 32 pixels, whose scores are
 * lifted by 3), confident (the same, by 12); labels of one byte; 4096 bins; loss and gradient.
 * Every block is counted. docs/gpu.md says what the numbers mean and what the model assumes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/model.h"
#include "count/warps.h"
#include "gpu/losses.h"
#include "losses/data.h"
#include "shim.h"

static const struct {
    const char *name;
    size_t block;
    double lift;
    submod_score_type type;
    bool channels_last;
} cases[] = {{"random", 1, 0, SUBMOD_SCORE_F32, false},
             {"trained", 32, 3, SUBMOD_SCORE_F32, false},
             {"confident", 32, 12, SUBMOD_SCORE_F32, false},
             {"trained, last", 32, 3, SUBMOD_SCORE_F32, true},
             {"trained, half", 32, 3, SUBMOD_SCORE_BF16, false},
             {"half and last", 32, 3, SUBMOD_SCORE_BF16, true}};
enum { CASES = sizeof cases / sizeof *cases, FLOAT_CASES = 3 };

/* ---- a batch ---- */

typedef struct problem {
    submod_scores scores;
    submod_labels labels;
    submod_gradient gradient;
    void *memory[3];
    size_t count; /* of scores */
} problem;

static size_t bytes_of(submod_score_type type)
{
    return type == SUBMOD_SCORE_F32 ? sizeof(float) : sizeof(uint16_t);
}

static problem make_problem(int which, const size_t shape[3])
{
    recipe r = {shape[0], shape[1], shape[2], shape[2], cases[which].block, cases[which].lift};
    batch b = batch_make(&r);
    size_t C = b.classes, N = b.pixels, size = bytes_of(cases[which].type);
    bool last = cases[which].channels_last;
    char *x = allocate(b.count, size);
    float *g = allocate(b.count, sizeof *g);
    uint8_t *y = allocate(b.images * N, 1);
    for (size_t i = 0; i < b.count; i++) {
        size_t image = i / (C * N), c = i / N % C, n = i % N;
        size_t to = last ? (image * N + n) * C + c : i;
        uint32_t bits;
        memcpy(&bits, &b.scores[i], sizeof bits);
        uint16_t upper = (uint16_t)(bits >> 16); /* a bfloat16, rounded towards 0 */
        memcpy(x + to * size, size == 2 ? (const void *)&upper : &bits, size);
    }
    for (size_t i = 0; i < b.images * N; i++) {
        y[i] = (uint8_t)b.labels[i];
    }
    problem p = {.scores = submod_scores_f32((float *)(void *)x, b.images, C, N),
                 .labels = submod_labels_u8(y, b.images, N),
                 .gradient = submod_gradient_dense(g, C, N),
                 .memory = {x, g, y},
                 .count = b.count};
    p.scores.type = cases[which].type;
    if (last) {
        p.scores.class_stride = p.gradient.class_stride = 1;
        p.scores.pixel_stride = p.gradient.pixel_stride = (ptrdiff_t)C;
    }
    batch_free(&b);
    return p;
}

static void free_problem(problem *p)
{
    for (int i = 0; i < 3; i++) {
        free(p->memory[i]);
    }
}

/* ---- counting ---- */

static uint64_t cleared; /* bytes */
static submod_status (*clear_of_shim)(const submodi_gpu_backend *b, void *memory, size_t bytes);

static submod_status clear_and_count(const submodi_gpu_backend *b, void *memory, size_t bytes)
{
    cleared += bytes;
    return clear_of_shim(b, memory, bytes);
}

static void name_arrays(const problem *p, const submodi_gpu_plan *plan)
{
    const submodi_gpu_job *j = &plan->job;
    size_t tables = (size_t)plan->wave * j->classes;
    size_t labels = p->scores.batch * p->scores.pixels;
    warps_forget_names();
    warps_name(SCORES, p->scores.data, p->count * bytes_of(p->scores.type));
    warps_name(LABELS, p->labels.data, labels);
    warps_name(GRADIENT, p->gradient.data, p->count * sizeof(float));
    warps_name(TABLES, j->table, tables * (2 * (size_t)j->bins + 1) * sizeof *j->table);
    warps_name(COUNTERS, j->count, tables * 2 * j->bins * plan->counter);
    if (plan->few) {
        size_t words = plan->window / sizeof *j->partial;
        warps_name(PARTIAL, j->partial,
                   (size_t)plan->wave * j->chunks * words * sizeof *j->partial);
    }
}

static void count(const problem *p, bool many, tally *of_kernels)
{
    submod_loss_settings s = submod_loss_defaults();
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_task task;
    submodi_gpu_plan plan;
    submod_gpu_result result;
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    tuning.few = many ? 0 : tuning.few;
    require(submodi_gpu_loss_start(&task, "bench-gpu", SUBMODI_LOVASZ_SOFTMAX, &p->scores,
                                   &p->labels, &s));
    require(submodi_batch_shape(&task.batch, &p->gradient));
    require(submodi_gpu_plan_make(&task, &tuning, &plan));
    void *memory = aligned_alloc(256, (plan.bytes + 255) / 256 * 256);
    submodi_gpu_plan_place(&plan, &task.batch, &p->gradient, &result, memory);
    submodi_gpu_backend b = shim_backend("bench-gpu");
    clear_of_shim = b.clear;
    b.clear = clear_and_count;
    cleared = 0;
    name_arrays(p, &plan);
    warps_begin(of_kernels);
    require(submodi_gpu_run(&b, &task.batch, &plan));
    warps_end();
    require(submod_gpu_result_status(&result));
    of_kernels[SUBMODI_GPU_KERNEL_begin].sectors_written[REST] += cleared / 32;
    free(memory);
}

/* ---- printing ---- */

static const char *const kernel_names[] = {
#define SUBMODI_GPU_NAME(name) #name,
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
};

static double per(uint64_t x, double n)
{
    return (double)x / n;
}

static void print_traffic(const char *name, const tally *t, double scores, double ideal)
{
    double moved[ARRAYS], asked = 0, all = 0;
    for (int a = 0; a < ARRAYS; a++) {
        moved[a] = 32 * per(t->sectors_read[a] + t->sectors_written[a], scores);
        asked += per(t->bytes_read[a] + t->bytes_written[a], scores);
        all += moved[a];
    }
    double atomics = model_atomics(t) / scores;
    printf("%-14s %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f %6.0f%% %6.2f  %6.3f %6.3f "
           "%6.3f\n",
           name, moved[SCORES], moved[GRADIENT], moved[LABELS], moved[TABLES], moved[COUNTERS],
           moved[PARTIAL], moved[REST], all, 100 * asked / all, atomics,
           model_memory_bytes(t) / scores / ideal, all / ideal, (all + atomics) / ideal);
}

static void print_operations(const char *name, const tally *t, double scores)
{
    double all = 0;
    for (int k = 0; k < KINDS_OF_INSTRUCTIONS; k++) {
        all += 32 * per(t->instructions[k], scores);
    }
    printf("%-14s %7.4f %7.4f  %7.3f %7.3f %6.2f %6.2f  %6.1f %5.1f %5.1f %5.2f %5.1f %5.1f %5.1f "
           "%5.2f\n",
           name, per(t->atomics, scores), per(t->atomic_repeats, scores),
           per(t->shared_atomics, scores), per(t->shared_atomic_repeats, scores),
           per(t->shared_atomic_passes,
               (double)(t->shared_atomic_requests + !t->shared_atomic_requests)),
           per(t->shared_passes, (double)(t->shared_requests + !t->shared_requests)), all,
           32 * per(t->instructions[FLOAT32], scores), 32 * per(t->instructions[INTEGER], scores),
           32 * per(t->instructions[DIVIDE], scores), 32 * per(t->instructions[CONVERT], scores),
           32 * per(t->instructions[MEMORY], scores), 32 * per(t->instructions[CONTROL], scores),
           32 * per(t->instructions[FLOAT64], scores));
}

/* Where it comes from. */
static void print_kernels(const char *name, const tally *of_kernels, double scores)
{
    printf("%-14s", name);
    for (int k = 0; k < SUBMODI_GPU_KERNEL_COUNT; k++) {
        const tally *t = &of_kernels[k];
        double instructions = 0;
        for (int i = 0; i < KINDS_OF_INSTRUCTIONS; i++) {
            instructions += 32 * per(t->instructions[i], scores);
        }
        if (t->launches > 0) {
            printf("  %s %.2f bytes, %.1f instructions", kernel_names[k], model_sectors(t) / scores,
                   instructions);
        }
    }
    printf("\n");
}

/* Milliseconds on each device, and by what its two longest kernels are limited. */
static void print_times(const char *name, const tally *of_kernels)
{
    printf("%-14s", name);
    for (int d = 0; d < DEVICES; d++) {
        double seconds = 0, longest[2] = {0, 0};
        limit by[2] = {BY_MEMORY, BY_MEMORY};
        int which[2] = {0, 0};
        for (int k = 0; k < SUBMODI_GPU_KERNEL_COUNT; k++) {
            limit l;
            double own = model_seconds(&devices[d], &of_kernels[k], &l);
            seconds += own + (double)of_kernels[k].launches * seconds_per_launch;
            int at = own > longest[0] ? 0 : own > longest[1] ? 1 : 2;
            if (at == 0) {
                longest[1] = longest[0];
                by[1] = by[0];
                which[1] = which[0];
            }
            if (at < 2) {
                longest[at] = own;
                by[at] = l;
                which[at] = k;
            }
        }
        printf("  %s %.3f ms", devices[d].name, 1e3 * seconds);
        for (int i = 0; i < 2; i++) {
            printf("%s%s %.3f by %s", i ? ", " : " (", kernel_names[which[i]], 1e3 * longest[i],
                   limit_names[by[i]]);
        }
        printf(")");
    }
    printf("\n");
}

static void print_heads(const size_t shape[3], bool many)
{
    printf("%zu x %zu x %zu x %zu, %s; per score\n", shape[0], shape[1], shape[2], shape[2],
           many ? "kernels for many classes" : "kernels for few classes");
    printf("bytes of sectors moved by loads and stores, and the share of them that was asked for; "
           "atomics, 32\n"
           "bytes each; then by two reads and a write: scores, gradient and labels alone, all "
           "sectors, all\n"
           "sectors and atomics\n");
    printf("%-14s %6s %6s %6s %6s %6s %6s %6s %6s %7s %6s  %6s %6s %6s\n", "", "scores", "gradnt",
           "labels", "tables", "countr", "blocks", "rest", "all", "asked", "atomic", "memory",
           "all", "with a");
}

static void print_cross_entropy(double scores)
{
    static const struct {
        const char *name;
        double bytes;
    } ways[] = {{"one kernel forward, one backward: 2 reads, 1 write", 12},
                {"log_softmax, nll_loss and their backwards: 3 reads, 3 writes", 24}};
    printf("\ncross-entropy by the same model, its traffic alone\n");
    for (int i = 0; i < 2; i++) {
        printf("%-62s", ways[i].name);
        for (int d = 0; d < DEVICES; d++) {
            printf("  %s %.3f ms", devices[d].name,
                   1e3 * model_traffic(&devices[d], ways[i].bytes * scores));
        }
        printf("\n");
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: bench-gpu --count [--many] [--float] [BATCH CLASSES SIDE]\n");
    return 2;
}

/* What was asked for; false: nothing that there is. */
typedef struct options {
    size_t shape[3];
    bool many;
    int cases;
} options;

static bool read_options(int argc, char **argv, options *o)
{
    *o = (options){{4, 21, 512}, false, CASES};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        bool floats = strcmp(argv[i], "--float") == 0;
        if (!floats && strcmp(argv[i], "--many") != 0) {
            return false;
        }
        o->many = o->many || !floats;
        o->cases = floats ? FLOAT_CASES : o->cases;
    }
    for (int k = 0; k < 3 && argc - i == 3; k++) {
        o->shape[k] = (size_t)strtoull(argv[i + k], NULL, 10);
    }
    return (argc == i || argc - i == 3) && o->shape[0] && o->shape[1] >= 2 && o->shape[1] <= 256 &&
           o->shape[2];
}

int main(int argc, char **argv)
{
    options o;
    if (!read_options(argc, argv, &o)) {
        return usage();
    }
    double scores = (double)(o.shape[0] * o.shape[1] * o.shape[2] * o.shape[2]);
    static tally of_kernels[CASES][SUBMODI_GPU_KERNEL_COUNT];
    tally all[CASES];
    memset(all, 0, sizeof all);
    print_heads(o.shape, o.many);
    for (int i = 0; i < o.cases; i++) {
        problem p = make_problem(i, o.shape);
        count(&p, o.many, of_kernels[i]);
        free_problem(&p);
        for (int k = 0; k < SUBMODI_GPU_KERNEL_COUNT; k++) {
            tally_add(&all[i], &of_kernels[i][k]);
        }
        print_traffic(cases[i].name, &all[i], scores, 2.0 * (double)bytes_of(cases[i].type) + 4);
        fflush(stdout);
    }
    printf("\natomics of threads on global memory, and of them on an address of another lane; the "
           "same on\n"
           "shared memory, and turns of a request; turns of other shared requests; instructions of "
           "warps,\n"
           "32 each: all, floats, integers, divisions of integers, conversions, memory, control, "
           "doubles\n");
    for (int i = 0; i < o.cases; i++) {
        print_operations(cases[i].name, &all[i], scores);
    }
    printf("\nby kernel\n");
    for (int i = 0; i < o.cases; i++) {
        print_kernels(cases[i].name, of_kernels[i], scores);
    }
    printf("\nmodelled times\n");
    for (int i = 0; i < o.cases; i++) {
        print_times(cases[i].name, of_kernels[i]);
    }
    print_cross_entropy(scores);
    return 0;
}
