/* test_together.c - which commands can share an import, and which process ran which set. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/together/together.h"

#define COMMAND(...)                                                                               \
    (char *const[]) {                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void only_python_with_a_script_shares(void **state) {
    (void)state;
    assert_true(tide_launch_can_share_import(COMMAND("python", "train.py", "--batch", "8")));
    assert_true(tide_launch_can_share_import(COMMAND("/opt/bin/python3.11", "-u", "-B", "a/b.py")));
    assert_false(tide_launch_can_share_import(COMMAND("python", "-m", "train.py")));
    assert_false(tide_launch_can_share_import(COMMAND("python", "-c", "import a.py")));
    assert_false(tide_launch_can_share_import(COMMAND("python", "-I", "train.py")));
    assert_false(tide_launch_can_share_import(COMMAND("python", "train")));
    assert_false(tide_launch_can_share_import(COMMAND("python")));
    assert_false(tide_launch_can_share_import(COMMAND("torchrun", "train.py")));
}

static void the_command_has_the_sets_before_the_script(void **state) {
    (void)state;
    tide_launch launch = {.python = "/package"};
    const tide_launch_config config = {.arguments = COMMAND("python", "-u", "train.py", "--batch"),
                                       .sets = "observe,a;observe,b"};
    tide_launch_together_command made;
    assert_int_equal(tide_launch_together(&config, &launch, &made, NULL), TIDE_OK);
    const char *const expected[] = {
        "python",   "-u",     "/package/tidemark/changes/many.py", "observe,a;observe,b",
        "train.py", "--batch"};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_string_equal(made.arguments[i], expected[i]);
    }
    assert_null(made.arguments[6]);
    tide_launch_together_fini(&made);
    const tide_launch_config module = {.arguments = COMMAND("python", "-m", "train"), .sets = "a"};
    assert_int_equal(tide_launch_together(&module, &launch, &made, NULL), TIDE_INVALID);
    tide_launch_together_fini(&made);
}

/* A line that a killed process did not end does not count, nor does a set that begins alike. */
static void a_set_has_the_process_that_ran_it(void **state) {
    (void)state;
    const char *sets = "observe,a;observe,a,b;observe,c";
    tide_launch launch = {.folder = "/tmp/tidemark-together-XXXXXX"};
    char path[TIDE_LAUNCH_PATH_BYTES + 16];
    assert_non_null(mkdtemp(launch.folder));
    assert_int_equal(tide_launch_process_of_set(&launch, sets, 0), -1);
    (void)snprintf(path, sizeof(path), "%s/together", launch.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("17\tobserve,a,b\n18\tobserve,a\n19\tobserve,c", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tide_launch_count_sets(sets), 3);
    assert_int_equal(tide_launch_process_of_set(&launch, sets, 0), 18);
    assert_int_equal(tide_launch_process_of_set(&launch, sets, 1), 17);
    assert_int_equal(tide_launch_process_of_set(&launch, sets, 2), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(launch.folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_python_with_a_script_shares),
        cmocka_unit_test(the_command_has_the_sets_before_the_script),
        cmocka_unit_test(a_set_has_the_process_that_ran_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
