#include "cli/options/run_options.h"

#include "programs/runs/limits.h"

void tide_run_options_init(tide_run_options *options) {
    *options = (tide_run_options){
        .d_model = TIDE_NOT_GIVEN,
        .n_layers = TIDE_NOT_GIVEN,
        .n_heads = TIDE_NOT_GIVEN,
        .d_ff = TIDE_NOT_GIVEN,
        .vocab_size = TIDE_NOT_GIVEN,
        .new_tokens = TIDE_NOT_GIVEN,
        .device = "auto",
        .memory_limit_bytes = TIDE_RUN_UNLIMITED,
    };
}
