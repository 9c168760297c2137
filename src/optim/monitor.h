/* What every run does beside its own iterations: decides when to stop, calls the trace, keeps the
 * best point and the last good one, and reports at the end what happened. */
#ifndef SUBMODI_OPTIM_MONITOR_H
#define SUBMODI_OPTIM_MONITOR_H

#include <stdbool.h>

#include "optim/oracle.h"

typedef struct submodi_monitor {
    submodi_oracle oracle;
    const submod_run_settings *settings;
    submod_optim_info info;
    double started, paused; /* clock readings, seconds spent in metric and trace callbacks */
    bool full;              /* directions are of the full batch: their norm may end the run */
    bool certified;         /* the method always aims at a gap */
    submod_stop end;        /* why the method itself ends here, or SUBMOD_STOP_NONE */
    double *best;           /* n numbers; NULL unless settings->keep_best */
    double best_f;
    double *lowest; /* n numbers: the point with the lowest J that was evaluated */
    double lowest_f;
    bool contradicted; /* the bound is above that J by more than rounding and tolerance */
    double *last;      /* n numbers: the last point where everything was finite */
    double last_f;
    bool kept; /* there is a last point */
} submodi_monitor;

/* Refuses settings out of range, with an error message. */
submod_status submodi_run_check(const submod_run_settings *settings);
submod_run_settings submodi_run_defaults(void);
/* Of methods that end at a gap. */
submod_run_settings submodi_gap_defaults(void);

/* Starts the clock; takes its vectors from work. SUBMOD_ENOMEM. settings are borrowed. */
submod_status submodi_monitor_start(submodi_monitor *w, const submod_problem *problem,
                                    const submod_run_settings *settings, submod_work *work);

/* Call before the step of iteration k from x, with the norm of its direction and the step size eta.
 * *f = J(x), or NaN if it is not known yet; it is then evaluated if needed. *stop = true: no more
 * steps, info says why. */
submod_status submodi_monitor_look(submodi_monitor *w, size_t k, const double *x, double norm,
                                   double eta, double *f, bool *stop);

/* Whether time_limit or the cancel flag ends the run at the next look. For methods whose iterations
 * are long: they may then cut one short. */
bool submodi_monitor_over(const submodi_monitor *w);

/* Keeps x as the last good point, before a step changes it. f: J(x), or NaN. */
void submodi_monitor_keep(submodi_monitor *w, const double *x, double f);

/* Ends the run. status: how the iterations ended; f: J(x), or NaN. Writes the point to return into
 * x, fills *info (may be NULL) and returns the status of the run. */
submod_status submodi_monitor_finish(submodi_monitor *w, submod_status status, double f, double *x,
                                     submod_optim_info *info);

#endif
