/* The command line of submod-miou. */
#ifndef MIOU_OPTIONS_H
#define MIOU_OPTIONS_H

#include <stdbool.h>
#include <submod/metric.h>

#include "files.h"

typedef struct options {
    const char *prediction_dir, *truth_dir;
    const char *instance_dir; /* NULL: no iIoU; "" when counts are merged */
    bool merge;               /* a report of counts that were saved: */
    char *const *files;       /* of them */
    size_t file_count;
    const char *save; /* NULL or a path for the counts */
    const char *json; /* NULL, a path or "-" */
    bool quiet;
    bool cityscapes;        /* names and ids of Cityscapes */
    bool train_ids;         /* with cityscapes: the predictions hold train ids */
    string_list only;       /* if not empty: the keys of the images to look at */
    string_list names;      /* of the classes, one each */
    size_t classes;         /* in the report */
    size_t counted_classes; /* classes, plus one for void predictions, which is in no mean */
    string_list categories; /* their names; empty: there are none */
    int32_t *category;      /* of each counted class; one more for void predictions */
    int64_t first_id;       /* of instances */
    bool boundary;          /* boundary IoU: */
    double boundary_ratio;  /* distance / diagonal */
    double worst;           /* percent; 0: no fine-grained mIoUs */
    submod_metric_settings metric;
} options;

/* How many groups the categories are: one more where void predictions are counted. */
size_t category_groups(const options *o);

typedef enum parsed { PARSED_RUN, PARSED_HELP, PARSED_WRONG } parsed;

/* Fills *o. PARSED_WRONG: a message on stderr says what is wrong. */
parsed options_parse(int argc, char **argv, options *o);
void options_free(options *o);

#endif
