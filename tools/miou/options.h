/* The command line of submod-miou. */
#ifndef MIOU_OPTIONS_H
#define MIOU_OPTIONS_H

#include <stdbool.h>
#include <submod/metric.h>

#include "files.h"

typedef struct options {
    const char *prediction_dir, *truth_dir;
    const char *json; /* NULL, a path or "-" */
    bool quiet;
    bool cityscapes;        /* names and ids of Cityscapes */
    bool train_ids;         /* with cityscapes: the predictions hold train ids */
    string_list only;       /* if not empty: the keys of the images to look at */
    string_list names;      /* of the classes, one each */
    size_t classes;         /* in the report */
    size_t counted_classes; /* classes, plus one for void predictions, which is in no mean */
    submod_metric_settings metric;
} options;

typedef enum parsed { PARSED_RUN, PARSED_HELP, PARSED_WRONG } parsed;

/* Fills *o. PARSED_WRONG: a message on stderr says what is wrong. */
parsed options_parse(int argc, char **argv, options *o);
void options_free(options *o);

#endif
