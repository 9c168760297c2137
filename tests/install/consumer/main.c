/* A program outside this project: exit code 0 if header and library agree and a value is right. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <submod.h>

int main(void)
{
    if (strcmp(submod_version(), SUBMOD_VERSION_STRING) != 0) {
        fprintf(stderr, "header %s, library %s\n", SUBMOD_VERSION_STRING, submod_version());
        return 1;
    }

    /* P = 2 pixels in the foreground. From the largest x to the smallest: pixel 0 (foreground),
     * 2 (background), 1 (foreground), so F = (a + b) / (P + b) runs through 1/2, 2/3, 1 and
     * f(x) = 6 * 1/2 + 3 * 1/6 + 1 * 1/3 = 23/6. */
    const uint8_t foreground[3] = {1, 1, 0};
    const double x[3] = {6, 1, 3};
    const double expected = 23.0 / 6;

    submod_fn *jaccard = NULL;
    double value = 0;
    submod_status status = submod_fn_jaccard(3, foreground, &jaccard);
    if (status == SUBMOD_OK) {
        status = submod_lovasz(jaccard, x, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL);
    }
    submod_fn_free(jaccard);
    if (status != SUBMOD_OK) {
        fprintf(stderr, "%s\n", submod_last_error());
        return 1;
    }
    if (!(fabs(value - expected) <= 1e-14 * expected)) {
        fprintf(stderr, "f(x) = %.17g instead of %.17g\n", value, expected);
        return 1;
    }
    return 0;
}
