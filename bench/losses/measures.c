/* Tversky, Hamming, callbacks that compute the Jaccard loss, and weights of pixels, in turns with
 * Jaccard itself. */
#include "losses/measures.h"

#include "losses/task.h"

static double jaccard(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    (void)ctx;
    return a + b > 0 ? (a + b) / (P + b) : 0;
}

static void jaccards(size_t count, const double *a, const double *b, double P, double N, double *F,
                     void *ctx)
{
    for (size_t i = 0; i < count; i++) {
        F[i] = jaccard(a[i], b[i], P, N, ctx);
    }
}

static const char *const names[MEASURES] = {"Jaccard",
                                            "Tversky, alpha 0.7, beta 1.5",
                                            "Hamming",
                                            "Jaccard as a callback, value",
                                            "Jaccard as a callback, values",
                                            "Jaccard, pixels with weights"};
enum { WEIGHTED = MEASURES - 1 };

static submod_measure measure_of(int which)
{
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = jaccard}, NULL);
    switch (which) {
    case WEIGHTED:
    case 0: return submod_jaccard();
    case 1: return submod_tversky(0.7, 1.5);
    case 2: return submod_hamming();
    case 3: return m;
    default: m.ops.values = jaccards; return m;
    }
}

static void run(task *t, int which, int engine)
{
    submod_measure m = measure_of(which);
    submod_loss_settings settings = submod_loss_defaults();
    double loss;
    settings.engine = (submod_engine)engine;
    settings.measure = &m;
    settings.pixel_weights = which == WEIGHTED ? &t->weights : NULL;
    require(submod_lovasz_softmax(&t->scores, &t->labels, &loss, &t->gradient, &settings, NULL,
                                  t->work));
}

/* One call of each; the first turn is not counted. */
static void take_turn(task *t, int team, bool counted, measures_result *r)
{
    for (int i = 0; i < MEASURES * ENGINES; i++) {
        double start = seconds();
        run(t, i / ENGINES, i % ENGINES);
        if (counted) {
            samples_add(&r->times[i / ENGINES][i % ENGINES][team], start);
        }
    }
}

measures_result measures_measure(const options *o, int kind)
{
    task t = task_make(o, kind);
    measures_result r = {.kind = t.kind, .scores = t.data.count};
    for (int i = 0; i <= o->repeats; i++) {
        for (int team = 0; team < TEAMS; team++) {
            task_use_threads(&t, team_threads(o, team));
            take_turn(&t, team, i > 0, &r);
        }
    }
    task_free(&t);
    return r;
}

void measures_print(const measures_result *r, const options *o)
{
    static const char *const engines[ENGINES] = {"exact", "histogram"};
    printf("\nmeasures, %s, %zu scores\n", r->kind, r->scores);
    printf("%-32s %9s %7s %8s %8s %10s\n", "", "engine", "threads", "best", "median", "to Jaccard");
    for (int engine = 0; engine < ENGINES; engine++) {
        for (int team = 0; team < TEAMS; team++) {
            double plain = samples_best(&r->times[0][engine][team]);
            for (int i = 0; i < MEASURES; i++) {
                const samples *s = &r->times[i][engine][team];
                printf("%-32s %9s %7d %8.3f %8.3f %10.2f\n", names[i], engines[engine],
                       team_threads(o, team), 1e9 * samples_best(s) / (double)r->scores,
                       1e9 * samples_median(s) / (double)r->scores, samples_best(s) / plain);
            }
        }
    }
    fflush(stdout);
}

void measures_json(const measures_result *r, const options *o, FILE *file)
{
    fprintf(file, "  {\"kind\": \"%s\", \"scores\": %zu, \"rows\": [\n", r->kind, r->scores);
    enum { ALL = MEASURES * ENGINES * TEAMS };
    for (int i = 0; i < ALL; i++) {
        int engine = i / TEAMS % ENGINES;
        const samples *s = &r->times[i / TEAMS / ENGINES][engine][i % TEAMS];
        fprintf(file,
                "   {\"measure\": \"%s\", \"engine\": \"%s\", \"threads\": %d, "
                "\"best_ns\": %.4f, \"median_ns\": %.4f}%s\n",
                names[i / TEAMS / ENGINES], engine ? "histogram" : "exact",
                team_threads(o, i % TEAMS), 1e9 * samples_best(s) / (double)r->scores,
                1e9 * samples_median(s) / (double)r->scores, i + 1 < ALL ? "," : "]}");
    }
}
