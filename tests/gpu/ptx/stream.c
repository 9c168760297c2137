/* Streams and graphs of the stand-in for CUDA's runtime. */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct list {
    work *item;
    size_t count, room;
} list;

static list waiting;
static list *captured; /* NULL: nothing is being captured */
static char error[700];

static void append(list *l, work w)
{
    if (l->count == l->room) {
        l->room = 2 * l->room + 16;
        l->item = realloc(l->item, l->room * sizeof *l->item);
    }
    l->item[l->count++] = w;
}

static work copy_of(const work *w)
{
    work c = *w;
    if (w->parameters) {
        c.parameters = aligned_alloc(256, w->kernel->parameter_bytes / 256 * 256 + 256);
        memcpy(c.parameters, w->parameters, w->kernel->parameter_bytes);
    }
    return c;
}

static void clear(list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->item[i].parameters);
    }
    free(l->item);
    *l = (list){0};
}

static void perform(const work *w)
{
    switch (w->kind) {
    case SET: memset(w->to, w->value, w->bytes); break;
    case COPY: memmove(w->to, w->from, w->bytes); break;
    case KERNEL: {
        const char *wrong =
            ptx_run(w->module, w->kernel, w->blocks, w->threads, w->shared, w->parameters);
        if (wrong) {
            snprintf(error, sizeof error, "%s: %s", w->kernel->name, wrong);
            fprintf(stderr, "kernel %s\n", error);
        }
        break;
    }
    }
}

cudaError_t stream_queue(work w)
{
    append(captured ? captured : &waiting, w);
    return cudaSuccess;
}

cudaError_t stream_wait(void)
{
    if (captured) {
        return cudaErrorStreamCaptureUnsupported;
    }
    for (size_t i = 0; i < waiting.count && !*error; i++) {
        perform(&waiting.item[i]);
    }
    clear(&waiting);
    return *error ? cudaErrorLaunchFailure : cudaSuccess;
}

const char *stream_error(void)
{
    return *error ? error : NULL;
}

/* ---- streams ---- */

cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    *s = malloc(1);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    free(s);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    (void)s;
    return stream_wait();
}

cudaError_t cudaDeviceSynchronize(void)
{
    return stream_wait();
}

/* ---- graphs: lists of work ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    (void)s, (void)mode;
    if (captured) {
        return cudaErrorIllegalState;
    }
    captured = calloc(1, sizeof *captured);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    (void)s;
    *g = (cudaGraph_t)captured;
    captured = NULL;
    return *g ? cudaSuccess : cudaErrorIllegalState;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long flags)
{
    (void)flags;
    const list *from = (const list *)g;
    list *to = calloc(1, sizeof *to);
    for (size_t i = 0; i < from->count; i++) {
        append(to, copy_of(&from->item[i]));
    }
    *e = (cudaGraphExec_t)to;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s)
{
    (void)s;
    const list *l = (const list *)e;
    for (size_t i = 0; i < l->count; i++) {
        append(captured ? captured : &waiting, copy_of(&l->item[i]));
    }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    clear((list *)g);
    free(g);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    clear((list *)e);
    free(e);
    return cudaSuccess;
}
