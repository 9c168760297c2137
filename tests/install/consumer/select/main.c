/* Selects an element with the installed library submod_select. */
#include <submod/select.h>

int main(void)
{
    const double benefit[3] = {1, 3, 2};
    submod_fn *fn;
    int32_t set[1];
    size_t size = 0;
    submod_maximize_info info;
    if (submod_fn_facility(3, 1, benefit, &fn) != SUBMOD_OK ||
        submod_maximize(fn, 1, NULL, 0, set, NULL, &size, NULL, &info) != SUBMOD_OK) {
        return 1;
    }
    submod_fn_free(fn);
    return size == 1 && set[0] == 1 && info.value == 3 ? 0 : 1;
}
