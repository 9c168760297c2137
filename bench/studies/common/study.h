/* What a study is, and what all of them need. */
#ifndef SUBMOD_STUDY_H
#define SUBMOD_STUDY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <submod.h>

typedef struct study_options {
    const char *out; /* directory that gets one folder per study */
    uint64_t seed;
    bool quick; /* a small version, for tests */
    /* Study brain: NIfTI files and what to look for in them; NULL: Debian's mricron-data. */
    const char *image, *labels, *label_ids;
} study_options;

typedef struct study {
    const char *name;  /* also the name of its folder */
    const char *title; /* one line */
    /* Prints its table, writes its files. False after saying on stderr what went wrong. */
    bool (*run)(const study_options *options);
} study;

extern const study study_nu, study_last_layer, study_bias, study_surfaces, study_dataset,
    study_brain, study_prox;

/* Says what went wrong; returns false, so that one can `return` it. */
bool study_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Hands on whether memory was got; if not, says so. */
static inline bool study_got(bool memory)
{
    if (!memory) {
        study_fail("out of memory");
    }
    return memory;
}

/* Opens OUT/STUDY/FILE for writing, making the folders. NULL after saying why not. */
FILE *study_open(const study_options *options, const char *name, const char *file);
/* Closes it; false, in words, when not everything could be written. */
bool study_close(FILE *file);

/* Runs gnuplot on OUT/STUDY/SCRIPT inside that folder. Without gnuplot it says so and goes on. */
bool study_plot(const study_options *options, const char *name, const char *script);
/* Writes text to OUT/STUDY/FILE. The paragraphs of notes.txt are shown in the report. */
bool study_write(const study_options *options, const char *name, const char *file,
                 const char *text);
/* study_write, then study_plot. */
bool study_draw(const study_options *options, const char *name, const char *script,
                const char *text);

/* A bar on stderr when that is a terminal, nothing otherwise; gone at done = total. */
void study_progress(const char *name, size_t done, size_t total);

/* One line of a table of claims ("the paper says,measured,verdict"), printed as well. */
void study_claim(FILE *csv, const char *text, const char *measured, bool held);

#endif
