/* What a study is, and what all studies need: files, claims, and the way to the report. */
#ifndef SUBMOD_STUDY_H
#define SUBMOD_STUDY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <submod.h>

struct study;

typedef struct study_options {
    const struct study *current; /* the study that runs; its files go to OUT/NAME/ */
    const char *out;             /* directory that gets one folder per study */
    uint64_t seed;
    bool quick;       /* a small version for tests; its verdicts are not meaningful */
    const char *date; /* date of the run, YYYY-MM-DD */
} study_options;

/* A folder of bench/studies/. */
typedef struct study {
    const char *name;  /* of that folder */
    const char *notes; /* its notes.md: "# title", then text with {name} for measured values */
    const char *plot;  /* its plot.gp */
    /* study_NAME of its study.c: prints its table, writes its files. False after saying on stderr
     * what went wrong. */
    bool (*run)(const study_options *options);
} study;

/* All of them in the order of studies.list. The build makes this table (see CMakeLists.txt). */
extern const study studies[];
extern const size_t studies_count;
#include "studies.h" /* study_NAME of each; made by the build as well */

/* Says what went wrong; returns false, so that one can `return` it. */
bool study_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether memory was obtained; if not, says so. */
static inline bool study_got(bool memory)
{
    if (!memory) {
        study_fail("out of memory");
    }
    return memory;
}

/* ---- files (output.c) ---- */

/* Opens OUT/NAME/FILE of the current study for writing and makes the folders on the way. NULL after
 * saying why not. */
FILE *study_open(const study_options *options, const char *file);
/* Closes it. False, after saying so, if not everything could be written. */
bool study_close(FILE *file);

/* Shows the progress and the approximate remaining time of a study part on stderr. A part begins
 * with done = 0 and ends with done = total. A terminal gets a bar, which disappears at the end; a
 * file gets a line every ten seconds. */
void study_progress(const study_options *options, size_t done, size_t total);

/* Writes the run stamp to text: version, seed and date and, for a quick run, a note that its
 * verdicts are not meaningful. Returns text. */
const char *study_stamp(const study_options *options, char *text, size_t size);

/* What was measured shows the claim, shows that it is wrong, or shows neither. */
typedef enum study_verdict { STUDY_HELD, STUDY_NOT_SHOWN, STUDY_NOT_HELD } study_verdict;

/* A study's claims table, OUT/NAME/table_claims.csv, which is printed as well. Each row contains
 * the run stamp. The report begins with the claims of all studies. It adds the data that they were
 * judged on, from the paragraph "Data: .." of notes.md. */
typedef struct study_claims {
    FILE *file;
    char run[120];
} study_claims;

/* Opens the table. On failure, prints the reason and returns false. */
bool study_claims_open(const study_options *options, study_claims *claims);
/* Adds one row. */
void study_judge(study_claims *claims, const char *text, const char *measured,
                 study_verdict verdict);
/* Adds one row for a claim without random variation. */
void study_claim(study_claims *claims, const char *text, const char *measured, bool held);
/* Closes the table. If writing failed, prints an error and returns false. */
bool study_claims_close(study_claims *claims);

/* ---- the way to the report (publish.c) ---- */

/* Values of this run by name: variables of plot.gp, and what {name} in notes.md stands for. */
enum { STUDY_VALUES = 12 };
typedef struct study_values {
    size_t count;
    bool overflow; /* something did not fit */
    char name[STUDY_VALUES][24], text[STUDY_VALUES][80];
} study_values;

/* Adds one value, written as gnuplot reads it: a number, or text in quotes. */
void study_set(study_values *values, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes text to file, with the value of NAME in place of each {NAME}. False after saying which
 * name has no value. */
bool study_fill(FILE *file, const char *text, const study_values *values);

/* Publishes a study, as its last step. Writes notes.md, values.gp and plot.gp to OUT/NAME/ and runs
 * gnuplot. notes.md has its values filled in and ends with the run stamp, the paragraph "Run: ..".
 * Without gnuplot, prints a note and succeeds. */
bool study_publish(const study_options *options, const study_values *values);

/* Writes a notes.md that holds the title and this text alone: for a study that could not run. */
bool study_excuse(const study_options *options, const char *text);

/* The title without "# "; *length: up to the end of its line. */
const char *study_title(const study *s, size_t *length);

#endif
