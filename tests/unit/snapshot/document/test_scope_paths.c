/* test_scope_paths.c - the path of one scope as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/scope_paths.h"

enum { STEP, FORWARD, LAYER, FFN, N_TEXTS, N_DEEP = 20 };
static const char *const TEXTS[N_TEXTS] = {"step", "forward", "layer", "ffn"};

static const tide_scope_row SCOPES[] = {
    {.parent = TIDE_NONE, .kind = TIDE_SCOPE_STEP, .name = STEP, .index = 1},
    {.parent = 0, .kind = TIDE_SCOPE_PHASE, .name = FORWARD, .index = -1},
    {.parent = 1, .kind = TIDE_SCOPE_LAYER, .name = LAYER, .index = 3},
    {.parent = 2, .kind = TIDE_SCOPE_OPERATOR, .name = FFN, .index = -1},
};

static tide_snapshot *make(const tide_scope_row *scopes, size_t n_scopes) {
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->strings = TEXTS;
    made->n_strings = N_TEXTS;
    made->scopes = scopes;
    made->n_scopes = n_scopes;
    return made;
}

static void paths_end_at_a_kind(void **state) {
    char text[64];
    tide_snapshot *made = make(SCOPES, sizeof(SCOPES) / sizeof(SCOPES[0]));
    (void)state;
    assert_int_equal(tide_scope_describe(made, 3, TIDE_N_SCOPE_KINDS, true, text, sizeof(text)),
                     TIDE_NONE);
    assert_string_equal(text, "step 1 > forward > layer 3 > ffn");
    assert_int_equal(tide_scope_describe(made, 3, TIDE_SCOPE_STEP, false, text, sizeof(text)), 0);
    assert_string_equal(text, "forward > layer > ffn");
    assert_int_equal(tide_scope_describe(made, 1, TIDE_SCOPE_PHASE, false, text, sizeof(text)), 1);
    assert_string_equal(text, "");
    assert_int_equal(
        tide_scope_describe(made, TIDE_NONE, TIDE_SCOPE_STEP, false, text, sizeof(text)),
        TIDE_NONE);
    assert_string_equal(text, "");
    tide_snapshot_destroy(made);
}

/* Of many components, the innermost are shown. */
static void deep_paths_are_cut(void **state) {
    tide_scope_row deep[N_DEEP];
    char text[512];
    (void)state;
    for (uint32_t i = 0; i < N_DEEP; i++) {
        deep[i] = (tide_scope_row){.parent = i == 0 ? TIDE_NONE : i - 1,
                                   .kind = TIDE_SCOPE_LAYER,
                                   .name = LAYER,
                                   .index = (int32_t)i};
    }
    tide_snapshot *made = make(deep, N_DEEP);
    (void)tide_scope_describe(made, N_DEEP - 1, TIDE_N_SCOPE_KINDS, true, text, sizeof(text));
    assert_int_equal(strncmp(text, "layer 4 > layer 5", strlen("layer 4 > layer 5")), 0);
    tide_snapshot_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_end_at_a_kind),
        cmocka_unit_test(deep_paths_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
