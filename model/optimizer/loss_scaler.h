/* loss_scaler.h - the scale of the loss in fp16-mixed, by the rules of torch.amp.GradScaler.
 *
 * The gradient of the loss is multiplied by the scale, to keep small gradients from rounding to 0
 * in fp16. Before the optimizer the gradients are divided by it. A step whose gradients hold an
 * infinity or a NaN is skipped, and the scale halves; after 2000 steps without one it doubles. The
 * scale is a number of the host: operators get it as an argument. */
#ifndef TIDE_MODEL_OPTIMIZER_LOSS_SCALER_H
#define TIDE_MODEL_OPTIMIZER_LOSS_SCALER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_loss_scaler {
    bool is_on;        /* false: the scale stays 1 */
    float scale;       /* factor of the gradient of the loss in the next step */
    int64_t n_clean;   /* steps without infinity and NaN since the scale changed last */
    int64_t n_skipped; /* steps that the optimizer did not take */
} tide_loss_scaler;

/* The scale is 65536 if it is on, and 1 otherwise. */
tide_loss_scaler tide_loss_scaler_make(bool is_on);
/* Call it after a step's optimizer; `found_inf`: the step was skipped. Does nothing if scaling is
 * off. */
void tide_loss_scaler_update(tide_loss_scaler *scaler, bool found_inf);

#ifdef __cplusplus
}
#endif

#endif
