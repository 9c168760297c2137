/* Makes calls of the table and compares what they write (see calls.h). */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILL = 0x5A };

_Thread_local void (*call_after)(void);

/* FNV-1a. */
void digest_bytes(digest *d, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        *d = (*d ^ at[i]) * 0x100000001b3u;
    }
}

/* ---- pointers and outputs ---- */

void *call_pointer(call *c, const void *p, bool needed)
{
    if (c->pointers++ != c->null_at) {
        return (void *)p;
    }
    c->null_needed = needed;
    c->null_was = p;
    return NULL;
}

static call_output *add_output(call *c, size_t size)
{
    call_output *out = &c->out[c->outs];
    if (c->outs == CALL_OUTPUTS || !(out->at = malloc(size + 1))) {
        abort(); /* more outputs than planned */
    }
    memset(out->at, FILL, size);
    out->size = out->last = size;
    c->outs++;
    return out;
}

void *call_output_new(call *c, size_t size, size_t first, size_t last, bool kept)
{
    call_output *out = add_output(c, size);
    out->first = first;
    out->last = last;
    out->kept = kept;
    return out->at;
}

void *call_object(call *c, void (*found)(const void *, digest *), void (*release)(void *))
{
    call_output *out = add_output(c, sizeof(void *));
    out->kept = true;
    out->found = found;
    out->release = release;
    return out->at;
}

void *call_own(call *c, void *object, void (*release)(void *))
{
    if (c->owns == CALL_OUTPUTS) {
        abort();
    }
    c->own[c->owns] = object;
    c->release_own[c->owns++] = release;
    return object;
}

/* ---- objects ---- */

/* A function: its name and its gains along the elements in order. */
static void found_function(const void *object, digest *d)
{
    const submod_fn *fn = object;
    size_t n = submod_fn_size(fn);
    int32_t *order = malloc(n * sizeof *order);
    double *gains = malloc(n * sizeof *gains);
    for (size_t i = 0; order && i < n; i++) {
        order[i] = (int32_t)i;
    }
    if (order && gains && submod_fn_chain(fn, order, n, gains, NULL) == SUBMOD_OK) {
        digest_bytes(d, gains, n * sizeof *gains);
    }
    digest_bytes(d, submod_fn_name(fn), strlen(submod_fn_name(fn)));
    free(order);
    free(gains);
}

static void release_function(void *object)
{
    submod_fn_free(object);
}

submod_fn **call_function(call *c)
{
    return call_object(c, found_function, release_function);
}

void *call_context(call *c)
{
    c->has_context = true;
    return &c->taken;
}

void call_context_destroy(void *context)
{
    ++*(int *)context;
}

/* ---- results ---- */

static bool is_filled(const call_output *out)
{
    const unsigned char *at = out->at;
    size_t i = 0;
    while (i < out->size && at[i] == FILL) {
        i++;
    }
    return i == out->size;
}

/* What an output holds after a success; the object is freed. */
static digest found_in(const call_output *out)
{
    digest d = 1;
    if (is_filled(out)) {
        return d;
    }
    if (!out->release) {
        digest_bytes(&d, (char *)out->at + out->first, out->last - out->first);
        return d;
    }
    void *object;
    memcpy(&object, out->at, sizeof object);
    if (out->found) {
        out->found(object, &d);
    }
    out->release(object);
    return d;
}

static void look_at_outputs(const call *c, call_result *r)
{
    r->kept = true;
    for (size_t k = 0; k < c->outs; k++) {
        const call_output *out = &c->out[k];
        if (r->status < 0) {
            r->kept = r->kept && (!out->kept || is_filled(out));
        } else if (out->at == c->null_was) {
            r->null_output = true;
        } else {
            r->output[k] = found_in(out);
            digest_bytes(&r->bits, &r->output[k], sizeof r->output[k]);
        }
    }
}

static void clear(call *c)
{
    for (size_t k = 0; k < c->outs; k++) {
        free(c->out[k].at);
    }
    while (c->owns > 0) {
        c->owns--;
        c->release_own[c->owns](c->own[c->owns]);
    }
}

call_result call_make(const call_site *site, const call_data *data, submod_work *work, int null_at)
{
    call c = {.data = data, .subject = site->subject, .work = work, .null_at = null_at};
    call_result r = {.bits = 1};
    if (site->subject) {
        c.fn = site->subject->fn;
        c.n = submod_fn_size(c.fn);
    }
    r.status = site->row->run(&c);
    if (call_after) {
        call_after();
    }
    r.pointers = c.pointers;
    r.null_needed = c.null_needed;
    digest_bytes(&r.bits, &r.status, sizeof r.status);
    bool early = c.taken > 0;
    look_at_outputs(&c, &r);
    r.context_safe = !early && (!c.has_context || c.taken == (r.status == SUBMOD_OK));
    clear(&c);
    return r;
}

/* ---- all calls of the table ---- */

static const call_table *const tables[] = {&base_calls, &submod_calls, &prox_calls,
                                           &loss_calls, &metric_calls, &optim_calls};
enum { TABLES = sizeof tables / sizeof *tables };

void call_site_name(const call_site *site, char name[CALL_NAME])
{
    snprintf(name, CALL_NAME, site->subject ? "%s (%s)" : "%s", site->row->name,
             site->subject ? site->subject->name : "");
}

/* Methods that the subject does not support have no results. */
static void add_site(call_sites *sites, const call_data *data, call_site site)
{
    if (call_make(&site, data, NULL, -1).status != SUBMOD_EUNSUPPORTED) {
        sites->at[sites->count++] = site;
    }
}

static void add_row(call_sites *sites, const call_data *data, const call_row *row, bool user)
{
    if (!(row->flags & CALL_ON_FUNCTION)) {
        if (!user) {
            sites->at[sites->count++] = (call_site){row, NULL};
        }
        return;
    }
    size_t begin = user ? data->user_begin : 0;
    size_t end = user ? data->subject_count : data->user_begin;
    for (size_t k = begin; k < end; k++) {
        const call_subject *subject = &data->subjects[k];
        if (subject->fast || !(row->flags & CALL_FAST)) {
            add_site(sites, data, (call_site){row, subject});
        }
    }
}

call_sites call_sites_new(const call_data *data, bool user)
{
    size_t most = 0;
    for (size_t t = 0; t < TABLES; t++) {
        most += tables[t]->count * (data->subject_count + 1);
    }
    call_sites sites = {malloc(most * sizeof *sites.at), 0};
    for (size_t t = 0; sites.at && t < TABLES; t++) {
        for (size_t k = 0; k < tables[t]->count; k++) {
            add_row(&sites, data, &tables[t]->rows[k], user);
        }
    }
    return sites;
}

void call_sites_free(call_sites *sites)
{
    free(sites->at);
    *sites = (call_sites){NULL, 0};
}
