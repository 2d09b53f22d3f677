/* scaler.c - torch.amp.GradScaler around the step of a run in fp16-mixed: it scales the loss before
 * backward, and divides the gradients by the same factor before the optimizer. Its tensors have one
 * element. No gradient of the run overflows: a step that the scaler skips makes none of the
 * optimizer's tensors, so the run with all steps needs the most memory. */
#include "model/eager/internal.h"

static bool scales(const tide_eager *e) {
    return tide_precision_scales_loss(e->config.precision) && e->status == TIDE_OK;
}

static tide_eager_tensor number(tide_eager *e, uint8_t n_bytes, tide_category category,
                                const char *name) {
    tide_eager_shape shape = tide_eager_shape_of(n_bytes, 0, NULL);
    return e->status == TIDE_OK ? tide_eager_new(e, &shape, category, name, "")
                                : (tide_eager_tensor){0};
}

tide_eager_tensor tide_eager_scaled_loss(tide_eager *e) {
    if (!scales(e)) {
        return tide_eager_retain(&e->loss);
    }
    if (e->scale.storage == NULL) { /* the first call makes the state */
        e->scale = number(e, TIDE_EAGER_FP32, TIDE_OPTIMIZER_STATE, "grad_scaler.scale");
        e->growth_tracker =
            number(e, TIDE_EAGER_INT32, TIDE_OPTIMIZER_STATE, "grad_scaler.growth_tracker");
    }
    return tide_eager_binary(e, TIDE_EAGER_MUL, &e->loss, &e->scale,
                             tide_eager_passing("loss.scaled"));
}

/* unscale_ computes the factor, scale.double().reciprocal().float(), and a flag. The kernel that
 * divides the gradients takes copies of both, because a copy goes to each device that has
 * gradients. Of them only the flag's copy outlives the call. */
void tide_eager_unscale(tide_eager *e) {
    if (!scales(e)) {
        return;
    }
    const uint8_t fp32 = TIDE_EAGER_FP32;
    tide_eager_enter(e, -1, "grad_scaler");
    tide_eager_tensor wide = number(e, TIDE_EAGER_FP64, TIDE_TEMPORARY, "grad_scaler.scale.fp64");
    tide_eager_tensor reciprocal =
        number(e, TIDE_EAGER_FP64, TIDE_TEMPORARY, "grad_scaler.inverse_scale.fp64");
    tide_eager_drop(e, &wide);
    tide_eager_tensor inverse = number(e, fp32, TIDE_TEMPORARY, "grad_scaler.inverse_scale");
    tide_eager_drop(e, &reciprocal);
    tide_eager_tensor found_inf = number(e, fp32, TIDE_TEMPORARY, "grad_scaler.found_inf");
    e->found_inf = number(e, fp32, TIDE_TEMPORARY, "grad_scaler.found_inf.copy");
    tide_eager_tensor copy = number(e, fp32, TIDE_TEMPORARY, "grad_scaler.inverse_scale.copy");
    tide_eager_drop(e, &copy);
    tide_eager_drop(e, &inverse);
    tide_eager_drop(e, &found_inf);
}

void tide_eager_update_scale(tide_eager *e) {
    tide_eager_drop(e, &e->found_inf);
}
