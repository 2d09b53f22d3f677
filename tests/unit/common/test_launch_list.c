/* test_launch_list.c - launch logs in memory: rows, texts, the stated clock, and what is
 * omitted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/wire/launch_list.h"
#include "support/hostmem_fault.h"

static const tide_run_launch KERNEL = {.kind = TIDE_RUN_KERNEL, .bytes = 7};

static void rows_and_clock(void **state) {
    (void)state;
    tide_launch_list list;
    tide_launch_list_init(&list, tide_hostmem_default());
    assert_int_equal(tide_launch_list_begin_step(&list), TIDE_OK);
    assert_int_equal(tide_launch_list_add(&list, "a", 100, KERNEL), TIDE_OK);
    assert_int_equal(tide_launch_list_add(&list, NULL, 30, KERNEL), TIDE_OK);
    assert_int_equal(tide_launch_list_add(&list, "a", 5, KERNEL), TIDE_OK);
    assert_int_equal(list.n_rows, 4);
    assert_int_equal(list.rows[0].kind, TIDE_RUN_LAUNCH_MARK);
    assert_string_equal(tide_strings_text(&list.texts, list.rows[0].name), "step begins");
    assert_int_equal(list.rows[0].host_ns, 0);
    assert_int_equal(list.rows[1].host_ns, 100); /* the host worked before the call */
    assert_int_equal(list.rows[1].bytes, 7);
    assert_int_equal(list.rows[2].host_ns, 130);
    assert_int_equal(list.rows[2].name, UINT32_MAX);
    assert_int_equal(list.rows[3].host_ns, 135);
    assert_int_equal(list.rows[3].name, list.rows[1].name);
    tide_launch_list_fini(&list);
}

/* A capture launches nothing, and what a graph launches takes no host time. */
static void quiet_and_free(void **state) {
    (void)state;
    tide_launch_list list;
    tide_launch_list_init(&list, tide_hostmem_default());
    list.is_quiet = true;
    assert_int_equal(tide_launch_list_add(&list, "a", 100, KERNEL), TIDE_OK);
    assert_int_equal(tide_launch_list_mark(&list, "backward begins"), TIDE_OK);
    assert_int_equal(list.n_rows, 0);
    list.is_quiet = false;
    list.is_free = true;
    assert_int_equal(tide_launch_list_add(&list, "a", 100, KERNEL), TIDE_OK);
    assert_int_equal(list.rows[0].host_ns, 0);
    assert_int_equal(tide_launch_list_mark(NULL, "step ends"), TIDE_OK);
    assert_int_equal(tide_launch_list_begin_step(NULL), TIDE_OK);
    tide_launch_list_fini(&list);
}

/* A list of a long run ends with a whole step. */
static void full(void **state) {
    (void)state;
    tide_launch_list list;
    tide_launch_list_init(&list, tide_hostmem_default());
    for (int i = 0; i < 1200; i++) {
        assert_int_equal(tide_launch_list_begin_step(&list), TIDE_OK);
        assert_int_equal(tide_launch_list_add(&list, "a", 1, KERNEL), TIDE_OK);
        assert_int_equal(tide_launch_list_mark(&list, "step ends"), TIDE_OK);
    }
    assert_int_equal(list.n_rows, 3 * 1000);
    tide_launch_list_fini(&list);
    tide_launch_list_init(&list, tide_hostmem_default());
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tide_launch_list_begin_step(&list), TIDE_OK);
        for (int k = 0; k < 200000; k++) {
            assert_int_equal(tide_launch_list_add(&list, "a", 1, KERNEL), TIDE_OK);
        }
    }
    assert_int_equal(list.n_rows, 2 * 200001); /* the second step began below 262,144 rows */
    tide_launch_list_fini(&list);
}

/* Every allocation of the host fails in turn. */
static void no_memory(void **state) {
    (void)state;
    for (size_t n = 1;; n++) {
        tide_hostmem_fault fault;
        tide_launch_list list;
        tide_hostmem_fault_init(&fault, n);
        tide_launch_list_init(&list, &fault.mem);
        tide_status status = tide_launch_list_add(&list, "a", 1, KERNEL);
        assert_int_equal(list.n_rows, status == TIDE_OK ? 1 : 0);
        tide_launch_list_fini(&list);
        assert_int_equal(fault.n_live, 0);
        if (status == TIDE_OK) {
            assert_true(n > 1);
            return;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_clock),
        cmocka_unit_test(quiet_and_free),
        cmocka_unit_test(full),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("common.launch_list", tests, NULL, NULL);
}
