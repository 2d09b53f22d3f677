/* Workspaces are reported once, while their block lives. */
#include "programs/live/workspaces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/event.h"
#include "programs/live/record.h"

static struct {
    bool is_open;
    size_t n;
    tide_live_label_row last;
    const char *text;
} told;

bool tide_live_is_open(void) {
    return told.is_open;
}

uint32_t tide_live_text(const char *text) {
    told.text = text;
    return 7;
}

void tide_live_label(const tide_live_label_row *label) {
    told.n++;
    told.last = *label;
}

static void test_told_once(void **state) {
    (void)state;
    static char block[2][4096] __attribute__((aligned(512)));
    told.is_open = true;
    tide_live_workspace_lent(block[0], "workspace of cuBLAS");
    assert_int_equal(told.n, 1);
    assert_true(told.last.address == (uint64_t)(uintptr_t)block[0]);
    assert_int_equal(told.last.certainty, TIDE_CERTAINTY_NAMED);
    assert_string_equal(told.text, "workspace of cuBLAS");
    tide_live_workspace_lent(block[0], "workspace of cuBLASLt");
    assert_int_equal(told.n, 1);
    tide_live_workspace_lent(block[1], "workspace of cuBLASLt");
    assert_int_equal(told.n, 2);
    /* Another block at the address is another workspace. */
    tide_live_workspace_freed((uint64_t)(uintptr_t)block[0]);
    tide_live_workspace_lent(block[1], "workspace of cuBLASLt");
    assert_int_equal(told.n, 2);
    tide_live_workspace_lent(block[0], "workspace of cuDNN");
    assert_int_equal(told.n, 3);
}

static void test_nothing_to_tell(void **state) {
    (void)state;
    size_t n = told.n;
    tide_live_workspace_lent(NULL, "workspace of cuBLAS");
    told.is_open = false;
    tide_live_workspace_lent(&told, "workspace of cuBLAS");
    assert_int_equal(told.n, n);
    told.is_open = true; /* memory from before the log is reported in it */
    tide_live_workspace_lent(&told, "workspace of cuBLAS");
    assert_int_equal(told.n, n + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_once),
        cmocka_unit_test(test_nothing_to_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
