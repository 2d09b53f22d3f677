/* test_workspaces.c - the memory that the program lends to cuBLAS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "programs/virtual_cuda/card/workspaces.h"

static void test_addresses_come_once_in_their_order(void **state) {
    (void)state;
    tidemark_workspaces_forget();
    assert_int_equal(tidemark_workspace(0, 1), 0);
    tide_vc_workspace_add((void *)0x1000, 64, TIDE_VC_BY_CALL);
    tide_vc_workspace_add((void *)0x2000, 64, TIDE_VC_BY_HANDLE);
    tide_vc_workspace_add((void *)0x2000, 64, TIDE_VC_BY_CALL);
    tide_vc_workspace_add(NULL, 64, TIDE_VC_BY_HANDLE);
    tide_vc_workspace_add((void *)0x3000, 0, TIDE_VC_BY_HANDLE);
    assert_int_equal(tidemark_workspace(0, 0), 0x2000);
    assert_int_equal(tidemark_workspace(1, 0), 0);
    assert_int_equal(tidemark_workspace(0, 1), 0x1000);
    assert_int_equal(tidemark_workspace(1, 1), 0x2000);
    assert_int_equal(tidemark_workspace(2, 1), 0);
    tide_vc_workspace_add((void *)0x1000, 64, TIDE_VC_BY_HANDLE); /* now it stays with a handle */
    assert_int_equal(tidemark_workspace(0, 0), 0x1000);
}

static void test_the_table_ends(void **state) {
    (void)state;
    tidemark_workspaces_forget();
    for (uintptr_t i = 1; i <= 300; i++) {
        tide_vc_workspace_add((void *)(i * 0x1000), 64, TIDE_VC_BY_HANDLE);
    }
    assert_int_equal(tidemark_workspace(255, 0), 256 * 0x1000);
    assert_int_equal(tidemark_workspace(256, 0), 0);
    tidemark_workspaces_forget();
    assert_int_equal(tidemark_workspace(0, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_come_once_in_their_order),
        cmocka_unit_test(test_the_table_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
