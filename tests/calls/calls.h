/* The table of calls: one row for each kind of public call, to which test_calls.c applies every law
 * (memory, bits, NULL, cancelling, callbacks, threads, fork), and which the soak test repeats.
 *
 * A row makes one call. It says by NEEDED and OPTIONAL which pointers must be given, and gets its
 * outputs from VALUE, INFO, ARRAY and OBJECT, so that a law can replace pointers by NULL, compare
 * outputs and free objects without knowing the call. */
#ifndef SUBMOD_TESTS_CALLS_H
#define SUBMOD_TESTS_CALLS_H

#include <stdbool.h>
#include <submod.h>

enum { CALL_IMAGES = 2, CALL_CLASSES = 3, CALL_SIDE = 16, CALL_OUTPUTS = 16 };

/* ---- what calls read ---- */

/* A set function for the rows that take one. */
typedef struct call_subject {
    const char *name;
    submod_fn *fn;
    bool fast; /* all methods end soon: few elements */
} call_subject;

/* Inputs, shared by all threads. The arrays lie in memory that cannot be written to. */
typedef struct call_data {
    size_t side, pixels;          /* images are side x side */
    const float *scores;          /* CALL_IMAGES x CALL_CLASSES x pixels, logits */
    const float *probabilities;   /* likewise */
    const uint8_t *truth;         /* CALL_IMAGES x pixels */
    const uint8_t *prediction;    /* likewise */
    const uint8_t *marks;         /* 0 or 1, for each score */
    const double *x, *tied;       /* pixels numbers; few different ones */
    const double *weight;         /* pixels numbers > 0 */
    const uint64_t *multiplicity; /* pixels numbers > 0 */
    const int32_t *order;         /* a permutation of pixels elements */
    const double *gram;           /* CALL_SIDE x CALL_SIDE, positive definite */
    call_subject *subjects;       /* functions of the library, then functions with callbacks */
    size_t subject_count, user_begin;
    void *arena;
    size_t arena_size, arena_used;
} call_data;

/* NULL when memory or the library fails. side: at least CALL_SIDE. family_size: also one function
 * of each family of support.h. */
call_data *call_data_new(size_t side, size_t family_size);
void call_data_free(call_data *data);

/* Adds the functions with callbacks (user_functions.c). */
submod_status call_add_user_functions(call_data *data);
/* Takes over fn, unless status is an error. Returns status. */
submod_status call_add_subject(call_data *data, submod_status status, const char *name,
                               submod_fn *fn, bool fast);

/* What callbacks do: they count themselves, and number `at` of them fails. */
typedef struct callback_plan {
    long at;   /* from 1 on; 0: none fails */
    long made; /* calls so far */
    long late; /* calls after the one that failed */
} callback_plan;

extern _Thread_local callback_plan callbacks;
/* Is called by every callback, if it is not NULL. */
extern _Thread_local void (*callback_alarm)(void);
/* Counts a callback; SUBMOD_ECALLBACK if it is to fail. */
submod_status callback_made(void);

/* ---- one call ---- */

typedef uint64_t digest;
/* Adds to *d, which begins anywhere. */
void digest_bytes(digest *d, const void *bytes, size_t size);

typedef struct call_output {
    void *at;
    size_t size, first, last; /* bytes; those from first to last - 1 are compared */
    bool kept;                /* untouched after an error */
    void (*found)(const void *object, digest *d); /* objects: what is compared of them */
    void (*release)(void *object);
} call_output;

typedef struct call {
    const call_data *data;
    const call_subject *subject; /* of rows with CALL_ON_FUNCTION */
    const submod_fn *fn;
    size_t n; /* of fn */
    submod_work *work;
    call_output out[CALL_OUTPUTS];
    size_t outs;
    void *own[CALL_OUTPUTS]; /* objects that the row has prepared, freed afterwards */
    void (*release_own[CALL_OUTPUTS])(void *object);
    size_t owns;
    int pointers, null_at; /* pointers so far; the one to replace by NULL, -1: none */
    bool null_needed;      /* the replaced one must be given */
    const void *null_was;  /* and what it was */
    int taken;             /* counts destroyed contexts; see CONTEXT */
    bool has_context;
} call;

/* A pointer that must be given, or may be NULL. */
#define NEEDED(p) call_pointer(c, (p), true)
#define OPTIONAL(p) call_pointer(c, (p), false)
void *call_pointer(call *c, const void *p, bool needed);

/* A number or struct, untouched after an error. */
#define VALUE(type) ((type *)call_output_new(c, sizeof(type), 0, sizeof(type), true))
/* An info struct: only its fields from `from` up to the one before `to` are compared. */
#define INFO(type, from, to) \
    ((type *)call_output_new(c, sizeof(type), offsetof(type, from), offsetof(type, to), true))
/* An array, unspecified after an error. */
#define ARRAY(type, count) \
    ((type *)call_output_new(c, (count) * sizeof(type), 0, (count) * sizeof(type), false))
void *call_output_new(call *c, size_t size, size_t first, size_t last, bool kept);
/* A pointer to an object, untouched after an error. */
void *call_object(call *c, void (*found)(const void *, digest *), void (*release)(void *));
/* The same for a set function. */
submod_fn **call_function(call *c);
/* A context that a function takes over on success, and destroys by call_context_destroy. */
void *call_context(call *c);
void call_context_destroy(void *context);
/* Frees object after the call. Returns it. */
void *call_own(call *c, void *object, void (*release)(void *));

/* ---- rows ---- */

enum {
    CALL_ON_FUNCTION = 1, /* on each subject */
    CALL_FAST = 2,        /* on the fast ones alone */
    CALL_PARALLEL = 4,    /* large inputs are shared by threads */
    CALL_CANCELS = 8,     /* can be cancelled */
    CALL_SEVERAL = 16,    /* makes several calls: pointers and messages are not looked at */
    CALL_FUSED = 32,      /* the baseline of x86-64 has other last bits */
    CALL_QUIET = 64       /* allocates nothing once the workspace has grown */
};

typedef struct call_row {
    const char *name; /* the function, then, after ':', which use of it */
    unsigned flags;
    submod_status (*run)(call *c);
} call_row;

typedef struct call_table {
    const call_row *rows;
    size_t count;
} call_table;

extern const call_table base_calls, submod_calls, prox_calls, loss_calls, metric_calls, optim_calls;

/* ---- all calls of the table ---- */

typedef struct call_site {
    const call_row *row;
    const call_subject *subject; /* NULL without CALL_ON_FUNCTION */
} call_site;

enum { CALL_NAME = 128 };
/* "submod_prox: by decomposition (cut)". */
void call_site_name(const call_site *site, char name[CALL_NAME]);

/* Every row with every subject that supports it; call_sites_free frees it. */
typedef struct call_sites {
    call_site *at;
    size_t count;
} call_sites;

/* user: on the functions with callbacks, and no rows without functions; else all others. */
call_sites call_sites_new(const call_data *data, bool user);
void call_sites_free(call_sites *sites);

/* What came of a call. */
typedef struct call_result {
    submod_status status;
    digest bits;                 /* of the status and all outputs; of the status after errors */
    digest output[CALL_OUTPUTS]; /* of each output that is not NULL, else 0 */
    bool kept;                   /* values, infos and objects are as before */
    bool context_safe;           /* destroyed once if taken over, and not otherwise */
    int pointers;
    bool null_needed, null_output; /* the pointer replaced must be given; is an output */
} call_result;

/* null_at: the pointer to replace by NULL, or -1. */
call_result call_make(const call_site *site, const call_data *data, submod_work *work, int null_at);

/* The same with a function that is called after the call itself, before its results are looked at:
 * for laws that change the allocator. */
extern _Thread_local void (*call_after)(void);

#endif
