/* Both limits, the engines and the softmax baselines in turns, on three kinds of data. */
#include "losses/engines.h"

#include <math.h>
#include <stdlib.h>

#include "losses/limits.h"
#include "losses/task.h"

/* Each returns its loss. */
typedef double contender(task *t);

static double traffic(task *t)
{
    return limits_traffic(&t->data, t->memory, t->threads);
}

static double limit(task *t)
{
    return limits_cross_entropy(&t->data, t->memory, t->threads);
}

static double lovasz(task *t, submod_engine engine)
{
    submod_loss_settings settings = submod_loss_defaults();
    submod_loss_info info;
    double loss;
    settings.engine = engine;
    require(submod_lovasz_softmax(&t->scores, &t->labels, &loss, &t->gradient, &settings, &info,
                                  t->work));
    t->workspace = info.workspace;
    return loss;
}

static double histogram(task *t)
{
    return lovasz(t, SUBMOD_ENGINE_HISTOGRAM);
}

static double exact(task *t)
{
    return lovasz(t, SUBMOD_ENGINE_EXACT);
}

static double counting(task *t)
{
    return lovasz(t, SUBMOD_ENGINE_COUNTING);
}

static double cross_entropy(task *t)
{
    double loss;
    require(submod_cross_entropy(&t->scores, &t->labels, &loss, &t->gradient, NULL, t->work));
    return loss;
}

static double soft_dice(task *t)
{
    double loss;
    require(submod_soft_dice(&t->scores, &t->labels, &loss, &t->gradient, NULL, t->work));
    return loss;
}

static double soft_jaccard(task *t)
{
    double loss;
    require(submod_soft_jaccard(&t->scores, &t->labels, &loss, &t->gradient, NULL, t->work));
    return loss;
}

enum { TRAFFIC, LIMIT };
static const struct {
    const char *name;
    contender *run;
} contenders[CONTENDERS] = {
    {"traffic: read twice, write once", traffic},
    {"hand-written cross-entropy", limit},
    {"histogram", histogram},
    {"exact", exact},
    {"counting", counting},
    {"submod_cross_entropy", cross_entropy},
    {"submod_soft_dice", soft_dice},
    {"submod_soft_jaccard", soft_jaccard},
};

static double sum_of_sizes(const task *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->data.count; i++) {
        sum += (double)fabsf(t->memory[i]);
    }
    return sum;
}

/* A limit that computes something else is none. */
static void check_limit(task *t)
{
    double loss = limit(t);
    double sizes = sum_of_sizes(t);
    double loss_error = fabs(loss - cross_entropy(t));
    double size_error = fabs(sizes / sum_of_sizes(t) - 1);
    if (!(loss_error < 1e-4 && size_error < 1e-3)) {
        fprintf(stderr, "bench-losses: the hand-written cross-entropy is wrong: %g, %g\n",
                loss_error, size_error);
        exit(EXIT_FAILURE);
    }
}

/* One call of each; the first turn is not counted. */
static void take_turn(task *t, int team, bool counted, engines_result *r)
{
    double rate = clock_rate();
    r->clock = rate > r->clock ? rate : r->clock;
    for (int i = 0; i < CONTENDERS; i++) {
        t->workspace = 0;
        double start = seconds();
        contenders[i].run(t);
        if (counted) {
            samples_add(&r->times[i][team], start);
        }
        r->workspace[i] = t->workspace;
    }
}

engines_result engines_measure(const options *o, int kind)
{
    task t = task_make(o, kind);
    engines_result r = {.kind = t.kind, .scores = t.data.count};
    task_use_threads(&t, o->threads);
    check_limit(&t);
    for (int i = 0; i <= o->repeats; i++) {
        for (int team = 0; team < TEAMS; team++) {
            task_use_threads(&t, team_threads(o, team));
            take_turn(&t, team, i > 0, &r);
        }
    }
    task_free(&t);
    return r;
}

void engines_print(const engines_result *r, const options *o)
{
    printf("\n%s, %zu scores, core at %.2f GHz\n", r->kind, r->scores, 1e-9 * r->clock);
    printf("%-32s %7s %8s %8s %8s %8s %8s %8s %8s\n", "", "threads", "best", "median", "cycles",
           "/traffic", "/limit", "speed-up", "scratch");
    for (int team = 0; team < TEAMS; team++) {
        double least = samples_best(&r->times[TRAFFIC][team]);
        double entropy = samples_best(&r->times[LIMIT][team]);
        for (int i = 0; i < CONTENDERS; i++) {
            double best = samples_best(&r->times[i][team]);
            double each = best / (double)r->scores;
            printf("%-32s %7d %8.3f %8.3f %8.2f %8.2f %8.2f", contenders[i].name,
                   team_threads(o, team), 1e9 * each,
                   1e9 * samples_median(&r->times[i][team]) / (double)r->scores, each * r->clock,
                   best / least, best / entropy);
            if (team > 0) {
                printf(" %8.2f", samples_best(&r->times[i][0]) / best);
            }
            if (team > 0 && r->workspace[i] > 0) {
                printf(" %8.3f", (double)r->workspace[i] / (double)r->scores);
            }
            printf("\n");
        }
    }
    fflush(stdout);
}

void engines_json(const engines_result *r, const options *o, FILE *file)
{
    fprintf(file, "  {\"kind\": \"%s\", \"scores\": %zu, \"clock_ghz\": %.4f, \"rows\": [\n",
            r->kind, r->scores, 1e-9 * r->clock);
    for (int i = 0; i < CONTENDERS * TEAMS; i++) {
        const samples *s = &r->times[i / TEAMS][i % TEAMS];
        fprintf(file,
                "   {\"who\": \"%s\", \"threads\": %d, \"best_ns\": %.4f, \"median_ns\": %.4f, "
                "\"workspace\": %zu}%s\n",
                contenders[i / TEAMS].name, team_threads(o, i % TEAMS),
                1e9 * samples_best(s) / (double)r->scores,
                1e9 * samples_median(s) / (double)r->scores, r->workspace[i / TEAMS],
                i + 1 < CONTENDERS * TEAMS ? "," : "]}");
    }
}
