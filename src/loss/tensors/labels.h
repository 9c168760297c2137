/* How label views are checked and read. */
#ifndef SUBMODI_TENSORS_LABELS_H
#define SUBMODI_TENSORS_LABELS_H

#include <stdbool.h>

#include <submod/tensor.h>

/* Which labels are classes, and which label is ignored. */
typedef struct submodi_label_rule {
    int32_t classes; /* at most SUBMODI_CLASSES_MAX */
    bool has_ignore;
    int64_t ignore_index;
} submodi_label_rule;

/* Leaves room in an int32_t for the two codes above the classes (submodi_labels_read). */
#define SUBMODI_CLASSES_MAX ((size_t)INT32_MAX - 2)

/* Bytes of a label of a known type. */
size_t submodi_label_size(submod_label_type type);

/* Refuses a view that is NULL, has an unknown type, a class_stride, no data although it has pixels,
 * or strides that no memory can hold. */
submod_status submodi_labels_require(const char *name, const submod_labels *view);

/* The labels of class c of a multilabel view, as one label per pixel. */
submod_labels submodi_labels_of_class(const submod_labels *view, size_t c);

/* The view from image b on. */
submod_labels submodi_labels_from(const submod_labels *view, size_t b);

/* Label i of image b. */
int64_t submodi_label(const submod_labels *view, size_t b, size_t i);

/* Labels first .. first+n-1 of image b as codes: the class itself, rule->classes for the ignored
 * label, rule->classes + 1 for anything else. */
void submodi_labels_read(const submod_labels *view, size_t b, size_t first, size_t n,
                         const submodi_label_rule *rule, int32_t *codes);

#endif
