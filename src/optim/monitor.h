/* What every run does beside its own iterations: watches when to stop, tells the trace, keeps the
 * best point and the last good one, and says in the end what happened. */
#ifndef SUBMODI_OPTIM_MONITOR_H
#define SUBMODI_OPTIM_MONITOR_H

#include <stdbool.h>

#include "optim/oracle.h"

typedef struct submodi_monitor {
    submodi_oracle oracle;
    const submod_run_settings *settings;
    submod_optim_info info;
    double started, paused; /* clock readings, seconds spent in metric and trace callbacks */
    bool full;              /* the directions are of the full batch: their norm means something */
    bool certified;         /* a gap is asked for in any case */
    submod_stop end;        /* why the method itself ends here; SUBMOD_STOP_NONE: it does not */
    double *best;           /* n numbers; NULL unless the best point is to be kept */
    double best_f;
    double *last; /* n numbers: the last point where everything was finite */
    double last_f;
    bool kept; /* there is a last point */
} submodi_monitor;

/* Refuses settings out of range, in words. */
submod_status submodi_run_check(const char *who, const submod_run_settings *settings);
submod_run_settings submodi_run_defaults(void);

/* Starts the clock; takes its vectors from work. SUBMOD_ENOMEM. settings are borrowed. */
submod_status submodi_monitor_start(submodi_monitor *w, const char *who,
                                    const submod_problem *problem,
                                    const submod_run_settings *settings, submod_work *work);

/* Before the step of iteration k from x, along a direction of this norm, with step size eta.
 * *f = J(x), or NaN if it is not known yet: evaluated if it is needed. True in *stop: no more
 * steps, info says why. */
submod_status submodi_monitor_look(submodi_monitor *w, size_t k, const double *x, double norm,
                                   double eta, double *f, bool *stop);

/* The step is about to change x, where J is f or NaN. */
void submodi_monitor_keep(submodi_monitor *w, const double *x, double f);

/* The end. status: how the iterations ended; f: J(x), or NaN. Puts into x what is to be handed
 * back, fills *info (may be NULL) and returns the status of the run. */
submod_status submodi_monitor_finish(submodi_monitor *w, submod_status status, double f, double *x,
                                     submod_optim_info *info);

#endif
