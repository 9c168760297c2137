/* Pieces of JSON. */
#ifndef MIOU_JSON_H
#define MIOU_JSON_H

#include <stdio.h>

/* A string in quotes; what is not UTF-8 in it is replaced. */
void json_string(FILE *out, const char *text);

/* A number; NaN becomes null. */
void json_number(FILE *out, double value);

#endif
