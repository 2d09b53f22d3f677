/* first_loss.h - the expected loss of a transformer's first step, at the initialisation of
 * parameters.h and with random targets: a check of a whole forward pass that needs no reference
 * file.
 */
#ifndef TIDE_MODEL_WORKLOAD_FIRST_LOSS_H
#define TIDE_MODEL_WORKLOAD_FIRST_LOSS_H

#include <stdbool.h>

#include "model/config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_first_loss {
    double expected;  /* ln V + C / (C + V) */
    double tolerance; /* the largest distance from `expected` that chance and rounding explain
                         (first_loss.c) */
} tide_first_loss;

/* Of a step in that precision. The config must have passed tide_model_config_check. */
tide_first_loss tide_first_loss_of(const tide_model_config *config, tide_precision precision);

/* Also false for NaN. */
bool tide_first_loss_is_near(const tide_first_loss *first, double loss);

#ifdef __cplusplus
}
#endif

#endif
