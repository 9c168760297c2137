/* Runs a suite under ctest, and checks error messages. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* SUBMOD_ISA asks for an instruction set that is not there: nothing new would be tested. */
static bool wish_is_in_vain(void)
{
    const char *wish = getenv("SUBMOD_ISA");
    return wish && *wish && strcmp(wish, submod_isa()) != 0;
}

int run_tests(const char *name, const TTest *const *tests, size_t count)
{
    if (wish_is_in_vain()) {
        printf("skipped: SUBMOD_ISA=%s, but this machine has %s\n", getenv("SUBMOD_ISA"),
               submod_isa());
        return 77;
    }
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 600);
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

/* Adds the error message to the file SUBMOD_REFUSALS, which tests/refusals.py reads. */
static void note_message(void)
{
    const char *path = getenv("SUBMOD_REFUSALS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", submod_last_error());
        fclose(file);
    }
}

void assert_error(int status, int wanted, const char *words)
{
    note_message();
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(submod_last_error(), words), "\"%s\" does not say \"%s\"",
                  submod_last_error(), words);
}

static int read_flag(void *flag)
{
    return *(const volatile int *)flag;
}

void poll_flag(const volatile int *flag)
{
    submod_set_poll(flag ? read_flag : NULL, (void *)flag);
}
