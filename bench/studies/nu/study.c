/* Optimisers on min max(0, nu x1, x2) (paper's supplement, Fig. "ProxVsMomentum"): paths for nu =
 * 0.7, 1 and 1.3, a sweep over nu, step size and momentum, and the paper's claims as numbers.
 */
#include "nu/path.h"

#include <math.h>

/* The paths that are drawn. The paper does not give its start, step size or momentum, so these are
 * our choice. */
static const double drawn_nu[] = {0.7, 1.0, 1.3};
enum { DRAWN = sizeof drawn_nu / sizeof drawn_nu[0] };
static const double drawn_start[2] = {2, 0.73};
static const double drawn_eta = 0.05;
static const double drawn_alpha = 0.7;
static const size_t most_iterations = NU_POINTS - 1;

static nu_path path; /* large, and only one is needed at a time */

static void write_path(FILE *csv, double nu, const char *method)
{
    for (size_t k = 0; k < path.count; k++) {
        fprintf(csv, "%g,%s,%zu,%.10g,%.10g,%.10g\n", nu, method, k, path.x[k][0], path.x[k][1],
                path.f[k]);
    }
}

/* A whole number as text; NaN as a dash. */
static const char *number(double x, char *text, size_t size)
{
    snprintf(text, size, isnan(x) ? "-" : "%.0f", x);
    return text;
}

static void write_row(FILE *table, double nu, const char *method, const nu_measure *m)
{
    char coarse[32], fine[32];
    number(m->to_1e3, coarse, sizeof coarse);
    number(m->to_1e6, fine, sizeof fine);
    printf("  %4.1f  %-17s %9zu %6zu %8.3f %8s %8s\n", nu, method, m->crossings, m->away, m->detour,
           coarse, fine);
    fprintf(table, "%.1f,%s,%zu,%zu,%.3f,%s,%s\n", nu, method, m->crossings, m->away, m->detour,
            coarse, fine);
}

/* What the claims are judged by. */
typedef struct evidence {
    nu_measure of[DRAWN][NU_METHODS];
    double angle[DRAWN]; /* degrees between the first proximal step on the ridge and the best one */
} evidence;

/* The angle in degrees between the first step that begins on the ridge and the steepest descent
 * there; NaN: no step begins on the ridge. */
static double ridge_angle(double nu)
{
    double best[2];
    nu_best_direction(nu, best);
    for (size_t k = 0; k + 1 < path.count; k++) {
        const double *x = path.x[k];
        const double *y = path.x[k + 1];
        if (fabs(nu * x[0] - x[1]) < 1e-9 && path.f[k] > 0) {
            double d[2] = {y[0] - x[0], y[1] - x[1]};
            double sine = d[0] * best[1] - d[1] * best[0];
            double cosine = d[0] * best[0] + d[1] * best[1];
            return fabs(atan2(sine, cosine)) * 180 / acos(-1);
        }
    }
    return NAN;
}

static bool draw_paths(const study_options *options, evidence *e)
{
    FILE *csv = study_open(options, "paths.csv");
    FILE *table = study_open(options, "table.csv");
    bool good = csv && table;
    printf("  nu    method            crossings   away   detour  to 1e-3  to 1e-6\n");
    if (good) {
        fprintf(csv, "nu,method,iteration,x1,x2,f\n");
        fprintf(table, "nu,method,ridge crossings,steps away in a row,path / straight way,"
                       "iterations to 1e-3,iterations to 1e-6\n");
    }
    for (size_t i = 0; i < DRAWN && good; i++) {
        for (size_t m = 0; m < NU_METHODS && good; m++) {
            good = nu_walk(&nu_methods[m], drawn_nu[i], drawn_eta, drawn_alpha, drawn_start,
                           most_iterations, &path);
            if (good) {
                e->of[i][m] = nu_measure_path(&path, drawn_nu[i]);
                e->angle[i] = m == NU_PROX ? ridge_angle(drawn_nu[i]) : e->angle[i];
                write_path(csv, drawn_nu[i], nu_methods[m].name);
                write_row(table, drawn_nu[i], nu_methods[m].name, &e->of[i][m]);
            }
        }
    }
    good = (!csv || study_close(csv)) && good;
    return (!table || study_close(table)) && good;
}

/* ---- the sweep: means over starts ---- */
static const double etas[] = {0.01, 0.02, 0.05, 0.1, 0.2};
static const double alphas[] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
enum { ETAS = sizeof etas / sizeof etas[0], ALPHAS = sizeof alphas / sizeof alphas[0] };
enum { FIRST_TENTH = 5, LAST_TENTH = 20, NUS = LAST_TENTH - FIRST_TENTH + 1 }; /* of 10 nu */

typedef struct sweep {
    FILE *csv;
    int starts;
    uint64_t seed;
    int momentum, oscillating; /* number of settings; of those with two or more crossings */
    double iterations[NU_METHODS][NUS][ETAS]; /* to 1e-6; with the last momentum */
} sweep;

/* A start at distance 2 from the corner, within the quadrant where f > 0. */
static void random_start(submod_rng *rng, double *start)
{
    double angle = acos(-1) / 2 * submod_rng_uniform(rng);
    start[0] = 2 * cos(angle);
    start[1] = 2 * sin(angle);
}

static bool sweep_point(sweep *s, size_t m, size_t i, size_t j, double alpha)
{
    submod_rng rng;
    submod_rng_seed(&rng, s->seed); /* the same starts for all methods */
    double nu = (double)(FIRST_TENTH + i) / 10;
    double crossings = 0, away = 0, detour = 0, coarse = 0, fine = 0;
    for (int k = 0; k < s->starts; k++) {
        double start[2];
        random_start(&rng, start);
        if (!nu_walk(&nu_methods[m], nu, etas[j], alpha, start, most_iterations, &path)) {
            return false;
        }
        nu_measure found = nu_measure_path(&path, nu);
        crossings += (double)found.crossings / s->starts;
        away += (double)found.away / s->starts;
        detour += found.detour / s->starts;
        coarse += found.to_1e3 / s->starts;
        fine += found.to_1e6 / s->starts;
    }
    fprintf(s->csv, "%s,%.1f,%g,%g,%.4g,%.4g,%.6g,%.6g,%.6g\n", nu_methods[m].name, nu, etas[j],
            alpha, crossings, away, detour, coarse, fine);
    s->momentum += m == NU_MOMENTUM;
    s->oscillating += m == NU_MOMENTUM && crossings >= 2;
    s->iterations[m][i][j] = fine;
    return true;
}

static bool sweep_all(const study_options *options, sweep *s)
{
    s->csv = study_open(options, "sweep.csv");
    s->starts = options->quick ? 2 : 50;
    s->seed = options->seed;
    if (!s->csv) {
        return false;
    }
    fprintf(s->csv, "method,nu,eta,alpha,crossings,away,detour,to 1e-3,to 1e-6\n");
    bool good = true;
    for (size_t m = 0; m < NU_METHODS; m++) {
        size_t count = nu_methods[m].has_momentum ? ALPHAS : 1;
        for (size_t i = 0; i < NUS; i++) {
            study_progress(options, m * NUS + i, (size_t)NU_METHODS * NUS);
            for (size_t j = 0; j < ETAS; j++) {
                for (size_t a = 0; a < count && good; a++) {
                    good = sweep_point(s, m, i, j, nu_methods[m].has_momentum ? alphas[a] : 0);
                }
            }
        }
    }
    study_progress(options, 1, 1);
    return study_close(s->csv) && good;
}

/* How many steps prox saves over gradient descent, as a share, on average over the sweep. */
static double saved_share(const sweep *s)
{
    double sum = 0;
    for (size_t i = 0; i < NUS; i++) {
        for (size_t j = 0; j < ETAS; j++) {
            sum += 1 - s->iterations[NU_PROX][i][j] / s->iterations[NU_GD][i][j];
        }
    }
    return sum / (NUS * ETAS);
}

/* ---- the claims ---- */
static void judge(study_claims *claims, const evidence *e, const sweep *s)
{
    char text[200];
    const nu_measure(*of)[NU_METHODS] = e->of;
    bool all = true, fewer = true;
    for (size_t i = 0; i < DRAWN; i++) {
        all = all && of[i][NU_MOMENTUM].crossings >= 2;
        fewer = fewer && of[i][NU_PROX].to_1e6 < of[i][NU_GD].to_1e6;
    }
    snprintf(text, sizeof text,
             "%zu, %zu, %zu ridge crossings; two or more in %d of the %d settings of the sweep",
             of[0][NU_MOMENTUM].crossings, of[1][NU_MOMENTUM].crossings,
             of[2][NU_MOMENTUM].crossings, s->oscillating, s->momentum);
    study_claim(claims, "paper: momentum oscillates around the edge for each of the three nu", text,
                all);
    all = of[0][NU_GD].crossings >= 2 && of[1][NU_GD].crossings >= 2 && of[2][NU_GD].crossings >= 2;
    snprintf(text, sizeof text, "%zu, %zu, %zu ridge crossings", of[0][NU_GD].crossings,
             of[1][NU_GD].crossings, of[2][NU_GD].crossings);
    study_claim(claims, "paper: so does gradient descent", text, all);
    snprintf(text, sizeof text, "%zu steps in a row (nu = 0.7: %zu, nu = 1: %zu)",
             of[2][NU_MOMENTUM].away, of[0][NU_MOMENTUM].away, of[1][NU_MOMENTUM].away);
    study_claim(
        claims,
        "paper: at nu = 1.3 momentum takes several steps away from the edge before returning", text,
        of[2][NU_MOMENTUM].away >= 2);
    all = true;
    for (size_t i = 0; i < DRAWN; i++) {
        all = all && of[i][NU_PROX].crossings == 0 && e->angle[i] < 1e-3;
    }
    snprintf(text, sizeof text,
             "%zu, %zu, %zu crossings; first step on the edge %.1g, %.1g, %.1g degrees off",
             of[0][NU_PROX].crossings, of[1][NU_PROX].crossings, of[2][NU_PROX].crossings,
             e->angle[0], e->angle[1], e->angle[2]);
    study_claim(claims, "paper: prox takes the best direction at once", text, all);
    snprintf(text, sizeof text,
             "%.0f, %.0f, %.0f iterations to 1e-6 against %.0f, %.0f, %.0f; "
             "%.1f%% fewer over the sweep",
             of[0][NU_PROX].to_1e6, of[1][NU_PROX].to_1e6, of[2][NU_PROX].to_1e6,
             of[0][NU_GD].to_1e6, of[1][NU_GD].to_1e6, of[2][NU_GD].to_1e6, 100 * saved_share(s));
    study_claim(claims, "paper: prox needs fewer steps than gradient descent of the same step size",
                text, fewer);
}

/* How much further gradient descent walks than prox does on path i, in percent. */
static double further(const evidence *e, size_t i)
{
    return 100 * (e->of[i][NU_GD].detour / e->of[i][NU_PROX].detour - 1);
}

static bool publish(const study_options *options, const evidence *e, const sweep *s)
{
    study_values values = {0};
    double least = further(e, 0), most = least;
    for (size_t i = 1; i < DRAWN; i++) {
        least = fmin(least, further(e, i));
        most = fmax(most, further(e, i));
    }
    study_set(&values, "eta", "%g", drawn_eta);
    study_set(&values, "alpha", "%g", drawn_alpha);
    study_set(&values, "starts", "%d", s->starts);
    study_set(&values, "least_further", "%.0f", least);
    study_set(&values, "most_further", "%.0f", most);
    return study_publish(options, &values);
}

bool study_nu(const study_options *options)
{
    evidence e = {0};
    sweep s = {0};
    if (!draw_paths(options, &e) || !sweep_all(options, &s)) {
        return false;
    }
    study_claims claims;
    if (!study_claims_open(options, &claims)) {
        return false;
    }
    judge(&claims, &e, &s);
    return study_claims_close(&claims) && publish(options, &e, &s);
}
