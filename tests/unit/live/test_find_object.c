/* test_find_object.c - our own _dl_find_object() compared with glibc's, and libgcc's unwinder on
 * top of it. */
#define _GNU_SOURCE /* RTLD_NEXT, dl_find_object */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include <cmocka.h>

/* What unwinding depends on. */
static void compare(const void *address) {
    int (*theirs)(void *, struct dl_find_object *) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "_dl_find_object");
    struct dl_find_object expected = {.dlfo_flags = 0};
    struct dl_find_object found = {.dlfo_flags = 0};
    char *at = NULL;
    memcpy(&at, &address, sizeof(at));
    memcpy(&theirs, &symbol, sizeof(theirs));
    if (theirs == NULL) {
        skip(); /* glibc before 2.35 */
    }
    assert_int_equal(_dl_find_object(at, &found), theirs(at, &expected));
    assert_ptr_equal(found.dlfo_eh_frame, expected.dlfo_eh_frame);
}

static void test_tables_are_those_of_glibc(void **state) {
    (void)state;
    const char *names[] = {"qsort", "_cmocka_run_group_tests", "dlsym", "getpid"};
    int local = 0;
    void *own = dlsym(RTLD_DEFAULT, "no such function");
    assert_null(own);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *function = dlsym(RTLD_DEFAULT, names[i]);
        assert_non_null(function);
        compare(function);
        compare((const char *)function - 1);
    }
    int (*here)(void *, struct dl_find_object *) = _dl_find_object;
    void *code = NULL;
    memcpy(&code, &here, sizeof(code));
    compare(code);
    compare(&local); /* no code */
    compare(NULL);
}

static _Unwind_Reason_Code count(struct _Unwind_Context *frame, void *ctx) {
    size_t *n = ctx;
    *n += _Unwind_GetIP(frame) != 0;
    return _URC_NO_REASON;
}

static size_t n_within; /* qsort has no argument for it */

static int order(const void *a, const void *b) {
    n_within = 0;
    (void)_Unwind_Backtrace(count, &n_within);
    return *(const char *)a - *(const char *)b;
}

/* Through a function of the C library. */
static void test_stacks_are_walked_whole(void **state) {
    char texts[] = "ba";
    size_t n = 0;
    (void)state;
    (void)_Unwind_Backtrace(count, &n);
    assert_true(n >= 4); /* this function, cmocka, main, _start */
    qsort(texts, 2, 1, order);
    assert_true(n_within > n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_those_of_glibc),
        cmocka_unit_test(test_stacks_are_walked_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
