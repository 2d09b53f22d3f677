/* test_left_failures.c - which failed request and which process every command reports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/launch/left/peaks.h"

/* A program may catch the first failure and ask again. */
static void the_first_of_several_requests(void **state) {
    (void)state;
    uint8_t actions[] = {TIDE_ACTION_ALLOC, TIDE_ACTION_OOM, TIDE_ACTION_ALLOC, TIDE_ACTION_OOM};
    tide_snapshot snapshot = {.n_events = 4, .events.action = actions};
    assert_int_equal(tide_left_first_failure(&snapshot), 1);
    actions[1] = TIDE_ACTION_ALLOC;
    assert_int_equal(tide_left_first_failure(&snapshot), 3);
    snapshot.n_events = 3;
    assert_int_equal(tide_left_first_failure(&snapshot), -1);
    assert_int_equal(tide_left_first_failure(NULL), -1);
}

/* A process that caught its failure did not end of it. */
static void the_first_process_to_end(void **state) {
    (void)state;
    tide_left processes[] = {{.ended_unix_us = 5},
                             {.ended_unix_us = 30, .is_out_of_memory = true},
                             {.ended_unix_us = 20, .is_out_of_memory = true},
                             {.ended_unix_us = 20, .is_out_of_memory = true}};
    tide_left_list list = {.processes = processes, .n_processes = 4};
    size_t process = 9;
    assert_true(tide_left_first_out(&list, &process));
    assert_int_equal(process, 2);
    list.n_processes = 1;
    assert_false(tide_left_first_out(&list, &process));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_several_requests),
        cmocka_unit_test(the_first_process_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
