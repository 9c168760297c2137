/* Label views of three types and any strides: made, checked, and read as codes of one type. */
#include "loss/tensors/labels.h"

#include "base/internal.h"
#include "loss/tensors/row_loops.h"

static submod_labels contiguous(const void *data, submod_label_type type, size_t batch,
                                size_t pixels)
{
    return (submod_labels){data, type, batch, pixels, submodi_dense_stride(pixels, 1), 1, 0};
}

submod_labels submod_labels_u8(const uint8_t *data, size_t batch, size_t pixels)
{
    return contiguous(data, SUBMOD_LABEL_U8, batch, pixels);
}

submod_labels submod_labels_i32(const int32_t *data, size_t batch, size_t pixels)
{
    return contiguous(data, SUBMOD_LABEL_I32, batch, pixels);
}

submod_labels submod_labels_i64(const int64_t *data, size_t batch, size_t pixels)
{
    return contiguous(data, SUBMOD_LABEL_I64, batch, pixels);
}

submod_labels submod_labels_multilabel(const void *data, submod_label_type type, size_t batch,
                                       size_t classes, size_t pixels)
{
    submod_labels view = contiguous(data, type, batch, pixels);
    view.batch_stride = submodi_dense_stride(classes, pixels);
    view.class_stride = submodi_dense_stride(pixels, 1);
    return view;
}

size_t submodi_label_size(submod_label_type type)
{
    static const size_t size[] = {
        [SUBMOD_LABEL_U8] = 1, [SUBMOD_LABEL_I32] = 4, [SUBMOD_LABEL_I64] = 8};
    return size[type];
}

submod_labels submodi_labels_of_class(const submod_labels *view, size_t c)
{
    submod_labels one = *view;
    if (c > 0) { /* data may be NULL */
        ptrdiff_t bytes =
            (ptrdiff_t)c * view->class_stride * (ptrdiff_t)submodi_label_size(view->type);
        one.data = (const char *)view->data + bytes;
    }
    one.class_stride = 0;
    return one;
}

submod_labels submodi_labels_from(const submod_labels *view, size_t b)
{
    submod_labels from = *view;
    ptrdiff_t bytes = (ptrdiff_t)b * view->batch_stride * (ptrdiff_t)submodi_label_size(view->type);
    from.data = (const char *)view->data + bytes;
    return from;
}

submod_status submodi_labels_require(const char *name, const submod_labels *view)
{
    if (!view) {
        return submodi_fail(SUBMOD_EINVAL, "%s is NULL", name);
    }
    switch (view->type) {
    case SUBMOD_LABEL_U8:
    case SUBMOD_LABEL_I32:
    case SUBMOD_LABEL_I64: break;
    default:
        return submodi_fail(SUBMOD_EINVAL, "%s.type = %d is unknown; see submod_label_type", name,
                            (int)view->type);
    }
    if (view->class_stride != 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s.class_stride = %td must be 0: a pixel has one label",
                            name, view->class_stride);
    }
    if (view->batch && view->pixels > SIZE_MAX / view->batch) {
        return submodi_fail(SUBMOD_EINVAL, "%s has more labels than size_t can count", name);
    }
    if (!view->data && view->batch && view->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s.data is NULL", name);
    }
    if (!submodi_reachable((size_t[]){view->batch, view->pixels, 1},
                           (ptrdiff_t[]){view->batch_stride, view->pixel_stride, 0},
                           submodi_label_size(view->type))) {
        return submodi_fail(SUBMOD_EINVAL, "the strides of %s reach beyond all memory", name);
    }
    return SUBMOD_OK;
}

/* Element k. */
static inline int64_t element(const void *data, submod_label_type type, ptrdiff_t k)
{
    switch (type) {
    case SUBMOD_LABEL_U8: return ((const uint8_t *)data)[k];
    case SUBMOD_LABEL_I32: return ((const int32_t *)data)[k];
    default: return ((const int64_t *)data)[k];
    }
}

static inline ptrdiff_t position(const submod_labels *view, size_t b, size_t i)
{
    return (ptrdiff_t)b * view->batch_stride + (ptrdiff_t)i * view->pixel_stride;
}

int64_t submodi_label(const submod_labels *view, size_t b, size_t i)
{
    return element(view->data, view->type, position(view, b, i));
}

/* Any strides, any ignored label. */
static void read_slowly(const submod_labels *view, ptrdiff_t at, size_t n,
                        const submodi_label_rule *rule, int32_t *codes)
{
    int32_t C = rule->classes;
    for (size_t i = 0; i < n; i++) {
        int64_t label = element(view->data, view->type, at + (ptrdiff_t)i * view->pixel_stride);
        int32_t code = label >= 0 && label < C ? (int32_t)label : C + 1;
        codes[i] = rule->has_ignore && label == rule->ignore_index ? C : code;
    }
}

void submodi_labels_read(const submod_labels *view, size_t b, size_t first, size_t n,
                         const submodi_label_rule *rule, int32_t *codes)
{
    ptrdiff_t at = position(view, b, first);
    bool fits = rule->ignore_index == (int32_t)rule->ignore_index;
    if (view->pixel_stride != 1 || (rule->has_ignore && !fits)) {
        read_slowly(view, at, n, rule, codes);
        return;
    }
    int32_t C = rule->classes;
    submodi_label_codes to = {C, -1, C + 1, C + 1}; /* -1 is no class, ignored or not */
    if (rule->has_ignore) {
        to.ignored = (int32_t)rule->ignore_index;
        to.of_ignored = C;
    }
    const char *from = (const char *)view->data + at * (ptrdiff_t)submodi_label_size(view->type);
    submodi_rows()->codes[view->type](from, n, &to, codes);
}
