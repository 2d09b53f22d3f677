/* test_layer_kinds.c - the kind of a layer comes from a tensor's name or, if the name has none,
 * from its scopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snapshot/compare/compare_rows.h"

static void kinds_of_names_and_scopes(void **state) {
    (void)state;
    static const struct {
        const char *name, *path;
        tide_layer_kind kind;
    } CASES[] = {{"layers.*.attn.q", "", TIDE_LAYER_ATTENTION},
                 {"h.*.mlp.c_fc.weight", "forward > attention", TIDE_LAYER_MLP},
                 {"layers.*.ffn.w1.weight.exp_avg", "", TIDE_LAYER_MLP},
                 {"layers.*.ln1.rstd", "forward > layer * > attention", TIDE_LAYER_NORM},
                 {"blk.*.attn_norm.weight", "", TIDE_LAYER_NORM},
                 {"ln_final.weight", "", TIDE_LAYER_NORM},
                 {"token_embeddings.weight", "", TIDE_LAYER_EMBEDDING},
                 {"wte.weight", "", TIDE_LAYER_EMBEDDING},
                 {"lm_head.weight.grad", "", TIDE_LAYER_LM_HEAD},
                 {"logits", "forward > lm_head", TIDE_LAYER_LM_HEAD},
                 {"layers.*.out", "forward > layer * > ffn", TIDE_LAYER_MLP},
                 {"", "forward > SelfAttention", TIDE_LAYER_ATTENTION},
                 {"", "attention > ffn > mul", TIDE_LAYER_MLP},
                 {"", "", TIDE_LAYER_OTHER},
                 {"..", " > >", TIDE_LAYER_OTHER},
                 {"gemm.workspace", "setup", TIDE_LAYER_OTHER},
                 {"lnx", "", TIDE_LAYER_OTHER},
                 {"vln", "", TIDE_LAYER_OTHER}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        if (tide_layer_kind_of(CASES[i].name, CASES[i].path) != CASES[i].kind) {
            fail_msg("'%s' in '%s'", CASES[i].name, CASES[i].path);
        }
    }
    assert_string_equal(tide_layer_kind_name(TIDE_LAYER_MLP), "mlp");
    assert_string_equal(tide_layer_kind_name(TIDE_N_LAYER_KINDS), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_names_and_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
