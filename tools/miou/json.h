/* Pieces of JSON. */
#ifndef MIOU_JSON_H
#define MIOU_JSON_H

#include <stdio.h>

/* A string in quotes; what is not UTF-8 in it is replaced. */
void json_string(FILE *out, const char *text);

/* A number; NaN is what `nan` says, null or NaN. */
void json_number(FILE *out, double value, const char *nan);

#endif
