/* The Lovász hinge for two pixels and the four ground truths (paper, Fig. 1), as a function of the
 * relative margins r_i = 1 - F_i y_i: loss(r) = f(max(r, 0)), f the extension of the Jaccard loss.
 * Dots: the discrete Jaccard loss of the predictions in which the pixels with r_i = 1 are wrong.
 */
#include <math.h>

#include "study.h"

static const char name[] = "surfaces";
static const double low = -0.5, high = 2;

/* The ground truths in the paper's order: [-1 -1], [-1 1], [1 -1], [1 1]. */
static const uint8_t truths[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};

static submod_status hinge(const submod_fn *jaccard, double r1, double r2, double *loss)
{
    const double margins[2] = {fmax(r1, 0), fmax(r2, 0)};
    return submod_lovasz(jaccard, margins, loss, NULL, NULL, NULL, NULL);
}

/* One surface as a gnuplot grid: x y z, a blank line after each row. */
static bool write_surface(const submod_fn *jaccard, int steps, FILE *file)
{
    for (int i = 0; i <= steps; i++) {
        for (int j = 0; j <= steps; j++) {
            double r1 = low + (high - low) * i / steps;
            double r2 = low + (high - low) * j / steps;
            double loss;
            if (hinge(jaccard, r1, r2, &loss) != SUBMOD_OK) {
                return study_fail("%s", submod_last_error());
            }
            fprintf(file, "%.6g %.6g %.6g\n", r1, r2, loss);
        }
        fprintf(file, "\n");
    }
    return true;
}

/* The four discrete values, written as dots and printed beside the surrogate at the same place. */
static bool write_dots(const submod_fn *jaccard, const uint8_t *truth, FILE *file)
{
    printf("  [%2d, %2d]  ", truth[0] ? 1 : -1, truth[1] ? 1 : -1);
    for (int wrong = 0; wrong < 4; wrong++) {
        int32_t set[2];
        size_t k = 0;
        for (int e = 0; e < 2; e++) {
            if (wrong >> e & 1) {
                set[k++] = e;
            }
        }
        double discrete, surrogate;
        double r1 = wrong & 1;
        double r2 = wrong >> 1;
        if (submod_fn_eval(jaccard, set, k, &discrete) != SUBMOD_OK ||
            hinge(jaccard, r1, r2, &surrogate) != SUBMOD_OK) {
            return study_fail("%s", submod_last_error());
        }
        fprintf(file, "%g %g %.6g\n", r1, r2, discrete);
        printf("   %5.3f / %5.3f", surrogate, discrete);
    }
    printf("\n");
    return true;
}

static bool write_truth(const study_options *options, int which)
{
    char file[64];
    submod_fn *jaccard = NULL;
    if (submod_fn_jaccard(2, truths[which], &jaccard) != SUBMOD_OK) {
        return study_fail("%s", submod_last_error());
    }
    snprintf(file, sizeof file, "hinge_%d.dat", which + 1);
    FILE *surface = study_open(options, name, file);
    snprintf(file, sizeof file, "dots_%d.dat", which + 1);
    FILE *dots = study_open(options, name, file);
    bool good = surface && dots && write_surface(jaccard, options->quick ? 10 : 50, surface) &&
                write_dots(jaccard, truths[which], dots);
    good = (!surface || study_close(surface)) && good;
    good = (!dots || study_close(dots)) && good;
    submod_fn_free(jaccard);
    return good;
}

static const char plot[] =
    "truths = '[-1,-1] [-1,+1] [+1,-1] [+1,+1]'\n"
    "set palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#08306b')\n"
    "unset colorbox\n"
    "unset key\n"
    "set view 58, 325, 1.05\n"
    "set xyplane 0\n"
    "set ticslevel 0\n"
    "set pm3d scansautomatic border lc rgb '#40606060' lw 0.3\n"
    "set xrange [-0.5:2]\n"
    "set yrange [-0.5:2]\n"
    "set xlabel 'r_1' offset 0,-0.5\n"
    "set ylabel 'r_2' offset 0,-0.5\n"
    "set xtics 1 offset 0,-0.3\n"
    "set ytics 1 offset 0,-0.3\n"
    "set ztics 1\n"
    "set zrange [0:2]\n"
    "do for [format in 'png svg'] {\n"
    "  if (format eq 'png') {\n"
    "    set terminal pngcairo size 1000,820 font 'sans,13'\n"
    "  } else {\n"
    "    set terminal svg size 1000,820 font 'sans,13' background rgb 'white'\n"
    "  }\n"
    "  set output 'surfaces.'.format\n"
    "  set multiplot layout 2,2 title \\\n"
    "    'Lovász hinge of the Jaccard loss for two pixels; red: the discrete loss' font ',16'\n"
    "  do for [i=1:4] {\n"
    "    set title 'ground truth '.word(truths, i) offset 0,0.5\n"
    "    splot sprintf('hinge_%d.dat', i) using 1:2:3 every 2:2 with pm3d, \\\n"
    "          sprintf('dots_%d.dat', i) using 1:2:($3+0.01) with points pt 7 ps 1.8 lc rgb "
    "'#d62728'\n"
    "  }\n"
    "  unset multiplot\n"
    "}\n";

static bool run(const study_options *options)
{
    printf("  truth       wrong: none       pixel 1          pixel 2          both\n");
    for (int which = 0; which < 4; which++) {
        if (!write_truth(options, which)) {
            return false;
        }
    }
    printf("  (surrogate / discrete loss: equal, because the extension interpolates)\n");
    FILE *script = study_open(options, name, "surfaces.gp");
    if (!script) {
        return false;
    }
    fputs(plot, script);
    return study_close(script) && study_plot(options, name, "surfaces.gp");
}

const study study_surfaces = {name, "Lovász hinge for two pixels, four ground truths", run};
