#include "cli/own_model.h"

#define OF_MODEL(name)                                                                             \
    { (name), TIDE_NO_OWN_MODEL }
const tide_option_unneeded TIDE_OWN_MODEL_OPTIONS[] = {
    OF_MODEL("size"),
    OF_MODEL("model-size"),
    OF_MODEL("workload"),
    OF_MODEL("language-model"),
    OF_MODEL("new-tokens"),
    OF_MODEL("d-model"),
    OF_MODEL("dim"),
    OF_MODEL("layers"),
    OF_MODEL("num-layers"),
    OF_MODEL("heads"),
    OF_MODEL("num-heads"),
    OF_MODEL("d-ff"),
    OF_MODEL("vocab"),
    OF_MODEL("vocab-size"),
    OF_MODEL("config"),
    OF_MODEL("no-head"),
    OF_MODEL("batch"),
    OF_MODEL("batch-size"),
    OF_MODEL("context"),
    OF_MODEL("context-length"),
    OF_MODEL("mode"),
    OF_MODEL("only-forward"),
    OF_MODEL("keep-graph"),
    OF_MODEL("precision"),
    OF_MODEL("dtype"),
    OF_MODEL("mixed-precision"),
    OF_MODEL("attention"),
    OF_MODEL("recompute"),
    OF_MODEL("emulate"),
    OF_MODEL("edition"),
    OF_MODEL("clip-grad-norm"),
    OF_MODEL("seed"),
    OF_MODEL("warmup"),
    OF_MODEL("warmup-steps"),
    OF_MODEL("find"),
    OF_MODEL("alloc-conf"),
    {NULL, NULL},
};

tide_status tide_own_model_refuse(const char *what, tide_error *error) {
    return tide_fail(error, TIDE_UNSUPPORTED, "%s: %s", what, TIDE_NO_OWN_MODEL);
}
