#include "programs/plan/changes.h"

static const tide_plan_change CHANGES[TIDE_PLAN_N_KINDS] = {
    {&tide_plan_texts[TIDE_PLAN_CHECKPOINT], TIDE_PLAN_GROUP_ACTIVATIONS, 2, false,
     tide_plan_leave_recomputed},
    {&tide_plan_texts[TIDE_PLAN_CHECKPOINT_HALF], TIDE_PLAN_GROUP_ACTIVATIONS, 1, false,
     tide_plan_leave_recomputed_half},
    {&tide_plan_texts[TIDE_PLAN_CHECKPOINT_SELECTIVE], TIDE_PLAN_GROUP_ACTIVATIONS, 1, false,
     tide_plan_leave_recomputed_some},
    {&tide_plan_texts[TIDE_PLAN_CHECKPOINT_LIBRARY], TIDE_PLAN_GROUP_ACTIVATIONS, 0, false,
     tide_plan_leave_activations},
    {&tide_plan_texts[TIDE_PLAN_OFFLOAD], TIDE_PLAN_GROUP_NONE, 0, false,
     tide_plan_leave_activations},
    {&tide_plan_texts[TIDE_PLAN_FUSED], TIDE_PLAN_GROUP_OPTIMIZER, 0, true,
     tide_plan_leave_optimizer_temporaries},
    {&tide_plan_texts[TIDE_PLAN_NO_FOREACH], TIDE_PLAN_GROUP_OPTIMIZER, 0, false,
     tide_plan_leave_optimizer_temporaries},
    {&tide_plan_texts[TIDE_PLAN_OPTIMIZER_IN_BACKWARD], TIDE_PLAN_GROUP_NONE, 0, false,
     tide_plan_leave_gradients_and_temporaries},
    {&tide_plan_texts[TIDE_PLAN_SET_TO_NONE], TIDE_PLAN_GROUP_NONE, 0, false,
     tide_plan_leave_gradients},
    {&tide_plan_texts[TIDE_PLAN_ADAFACTOR], TIDE_PLAN_GROUP_OPTIMIZER, 0, true,
     tide_plan_leave_factored_state},
    {&tide_plan_texts[TIDE_PLAN_ADAMW8BIT], TIDE_PLAN_GROUP_OPTIMIZER, 0, true,
     tide_plan_leave_state_of_8_bits},
    {&tide_plan_texts[TIDE_PLAN_AUTOCAST], TIDE_PLAN_GROUP_PRECISION, 0, true,
     tide_plan_leave_half_of_activations},
    {&tide_plan_texts[TIDE_PLAN_BF16], TIDE_PLAN_GROUP_PRECISION, 0, true,
     tide_plan_leave_half_of_all},
    {&tide_plan_texts[TIDE_PLAN_CHUNKED_LOSS], TIDE_PLAN_GROUP_LOSS, 0, false,
     tide_plan_leave_loss},
    {&tide_plan_texts[TIDE_PLAN_LINEAR_LOSS], TIDE_PLAN_GROUP_LOSS, 0, false,
     tide_plan_leave_head_and_loss},
    {&tide_plan_texts[TIDE_PLAN_MICRO_BATCH], TIDE_PLAN_GROUP_BATCH, 0, false,
     tide_plan_leave_part_of_batch},
    {&tide_plan_texts[TIDE_PLAN_OWN_BATCH], TIDE_PLAN_GROUP_BATCH, 0, false,
     tide_plan_leave_part_of_batch},
    {&tide_plan_texts[TIDE_PLAN_OWN_PATCH], TIDE_PLAN_GROUP_NONE, 0, true, tide_plan_leave_nothing},
    {&tide_plan_texts[TIDE_PLAN_BUCKET_VIEW], TIDE_PLAN_GROUP_NONE, 0, false,
     tide_plan_leave_gradients},
    {&tide_plan_texts[TIDE_PLAN_FULLY_SHARD], TIDE_PLAN_GROUP_NONE, 0, false,
     tide_plan_leave_part_of_state},
    {&tide_plan_texts[TIDE_PLAN_NO_GRAD_EVAL], TIDE_PLAN_GROUP_NONE, 0, true,
     tide_plan_leave_evaluation},
    {&tide_plan_texts[TIDE_PLAN_COMPILE], TIDE_PLAN_GROUP_NONE, 0, true,
     tide_plan_leave_activations},
};

const tide_plan_change *tide_plan_change_of(const char *words, const char **ret_argument) {
    const tide_plan_text *text = tide_plan_text_of(words, ret_argument);
    for (size_t i = 0; i < TIDE_PLAN_N_KINDS; i++) {
        if (CHANGES[i].text == text) {
            return &CHANGES[i];
        }
    }
    return NULL;
}
