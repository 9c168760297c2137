#include <stdlib.h>
#include <string.h>

#include "support.h"

int run_tests(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < count; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void assert_error(int status, int wanted, const char *words)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(submod_last_error(), words), "\"%s\" does not say \"%s\"",
                  submod_last_error(), words);
}
