/* tiny_workload.h - the smallest workload with every feature: one training step of a transformer of
 * a few thousand parameters, which takes milliseconds.
 */
#ifndef TIDE_TESTS_TINY_WORKLOAD_H
#define TIDE_TESTS_TINY_WORKLOAD_H

#include "model/workload/workload.h"

static inline tide_workload_config tiny_workload(size_t n_layers) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = (tide_model_config){.size = "custom",
                                       .vocab_size = 17,
                                       .d_model = 8,
                                       .d_ff = 16,
                                       .n_layers = n_layers,
                                       .n_heads = 2,
                                       .context_length = 4,
                                       .batch_size = 1,
                                       .rope_theta = 10000};
    config.clip_grad_norm = 1;
    config.warmup_steps = 0;
    config.steps = 1;
    return config;
}

#endif
