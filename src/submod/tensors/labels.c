/* Label views of three types and any strides: made, checked, and read as codes of one type. */
#include "submod/tensors/labels.h"

#include "base/error.h"
#include "base/memory.h"
#include "submod/tensors/row_loops.h"

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

submod_status submodi_labels_require(const char *who, const char *name, const submod_labels *view)
{
    if (!view) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, name);
    }
    switch (view->type) {
    case SUBMOD_LABEL_U8:
    case SUBMOD_LABEL_I32:
    case SUBMOD_LABEL_I64: break;
    default:
        return submodi_fail(SUBMOD_EINVAL, "%s: %s.type = %d is unknown; see submod_label_type",
                            who, name, (int)view->type);
    }
    if (view->class_stride != 0) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: %s.class_stride = %td must be 0: a pixel has one label", who, name,
                            view->class_stride);
    }
    if (view->batch && view->pixels > SIZE_MAX / view->batch) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s has more labels than size_t can count", who,
                            name);
    }
    if (!view->data && view->batch && view->pixels) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s.data is NULL", who, name);
    }
    if (!submodi_reachable((size_t[]){view->batch, view->pixels, 1},
                           (ptrdiff_t[]){view->batch_stride, view->pixel_stride, 0},
                           submodi_label_size(view->type))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the strides of %s reach beyond all memory", who,
                            name);
    }
    return SUBMOD_OK;
}

/* Element k. Loops call this with a constant type, so that nothing is left of the switch. */
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

static inline void narrow_all(submod_label_type type, const submod_labels *view, ptrdiff_t from,
                              size_t n, int32_t outside, int32_t *labels)
{
    for (size_t i = 0; i < n; i++) {
        labels[i] = submodi_narrow(
            element(view->data, type, from + (ptrdiff_t)i * view->pixel_stride), outside);
    }
}

/* Labels to codes, in place. */
static void encode(int32_t C, int32_t ignore, int32_t of_ignored, int32_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t label = codes[i];
        int32_t c = label >= 0 && label < C ? label : C + 1;
        codes[i] = label == ignore ? of_ignored : c;
    }
}

void submodi_labels_read(const submod_labels *view, size_t b, size_t first, size_t n,
                         const submodi_label_rule *rule, int32_t *codes)
{
    bool fits = rule->ignore_index == (int32_t)rule->ignore_index;
    bool by_code = rule->has_ignore && fits;
    int32_t C = rule->classes;
    int32_t ignore = by_code ? (int32_t)rule->ignore_index : -1;
    int32_t outside = ignore == -1 ? -2 : -1; /* neither a class nor the ignored label */
    ptrdiff_t from = position(view, b, first);
    switch (view->type) {
    case SUBMOD_LABEL_U8: narrow_all(SUBMOD_LABEL_U8, view, from, n, outside, codes); break;
    case SUBMOD_LABEL_I32: narrow_all(SUBMOD_LABEL_I32, view, from, n, outside, codes); break;
    case SUBMOD_LABEL_I64:
        if (view->pixel_stride == 1) {
            submodi_rows()->narrow((const int64_t *)view->data + from, n, outside, codes);
        } else {
            narrow_all(SUBMOD_LABEL_I64, view, from, n, outside, codes);
        }
        break;
    }
    encode(C, ignore, by_code ? C : C + 1, codes, n);
    for (size_t i = 0; i < n && rule->has_ignore && !fits; i++) { /* rare, so it may be slow */
        if (submodi_label(view, b, first + i) == rule->ignore_index) {
            codes[i] = C;
        }
    }
}
