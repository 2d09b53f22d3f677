#include "programs/plan/changes.h"

#include <string.h>

#include "programs/plan/own.h"

static const tide_plan_change CHANGES[] = {
    {"checkpoint", "checkpoint each %s", "the forward pass of each block runs twice", NULL,
     TIDE_PLAN_GROUP_ACTIVATIONS, TIDE_PLAN_SAME, 2, false, tide_plan_leave_recomputed},
    {"checkpoint_half", "checkpoint every second %s",
     "the forward pass of every second block runs twice", NULL, TIDE_PLAN_GROUP_ACTIVATIONS,
     TIDE_PLAN_SAME, 1, false, tide_plan_leave_recomputed_half},
    {"checkpoint_selective", "checkpoint each %s, but keep matrix products and attention",
     "the other operators of each block run twice", NULL, TIDE_PLAN_GROUP_ACTIVATIONS,
     TIDE_PLAN_SAME, 1, false, tide_plan_leave_recomputed_some},
    {"checkpoint_library", "the library's own checkpointing",
     "the forward pass of each block runs twice", NULL, TIDE_PLAN_GROUP_ACTIVATIONS, TIDE_PLAN_SAME,
     0, false, tide_plan_leave_activations},
    {"offload_activations", "activations in pinned host memory",
     "activations cross the bus twice a step, and the host needs as much pinned memory", NULL,
     TIDE_PLAN_GROUP_NONE, TIDE_PLAN_SAME, 0, false, tide_plan_leave_activations},
    {"fused", "optimizer with fused=True", "", NULL, TIDE_PLAN_GROUP_OPTIMIZER, TIDE_PLAN_ROUNDING,
     0, true, tide_plan_leave_optimizer_temporaries},
    {"no_foreach", "optimizer with foreach=False", "a launch for each parameter", NULL,
     TIDE_PLAN_GROUP_OPTIMIZER, TIDE_PLAN_ROUNDING, 0, false,
     tide_plan_leave_optimizer_temporaries},
    {"optimizer_in_backward", "the optimizer steps in the backward pass",
     "no gradient may be clipped, scaled or accumulated", NULL, TIDE_PLAN_GROUP_NONE,
     TIDE_PLAN_SAME, 0, false, tide_plan_leave_gradients_and_temporaries},
    {"set_to_none", "zero_grad(set_to_none=True)",
     "parameters without a gradient in a step are skipped instead of decayed", NULL,
     TIDE_PLAN_GROUP_NONE, TIDE_PLAN_SAME, 0, false, tide_plan_leave_gradients},
    {"adafactor", "Adafactor instead of Adam", "another optimizer, to be tuned anew", "optimizer",
     TIDE_PLAN_GROUP_OPTIMIZER, TIDE_PLAN_NUMBERS, 0, true, tide_plan_leave_factored_state},
    {"adamw8bit", "AdamW with states of 8 bits", "the states are rounded to 8 bits", "optimizer",
     TIDE_PLAN_GROUP_OPTIMIZER, TIDE_PLAN_NUMBERS, 0, true, tide_plan_leave_state_of_8_bits},
    {"autocast", "autocast to bfloat16", "matrix products in bfloat16", "precision",
     TIDE_PLAN_GROUP_PRECISION, TIDE_PLAN_NUMBERS, 0, true, tide_plan_leave_half_of_activations},
    {"bf16", "parameters in bfloat16", "weights, gradients and optimizer states in bfloat16",
     "precision", TIDE_PLAN_GROUP_PRECISION, TIDE_PLAN_NUMBERS, 0, true,
     tide_plan_leave_half_of_all},
    {"chunked_loss", "cross-entropy in 8 checkpointed chunks", "", NULL, TIDE_PLAN_GROUP_LOSS,
     TIDE_PLAN_ROUNDING, 0, false, tide_plan_leave_loss},
    {"linear_loss", "head and cross-entropy together, in chunks",
     "the logits are computed twice and never exist as a whole", NULL, TIDE_PLAN_GROUP_LOSS,
     TIDE_PLAN_ROUNDING, 0, false, tide_plan_leave_head_and_loss},
    {"micro_batch", "1/%s of the batch at a time, with accumulation",
     "more launches; the loss must be a mean over equal batches", NULL, TIDE_PLAN_GROUP_BATCH,
     TIDE_PLAN_ROUNDING, 0, false, tide_plan_leave_part_of_batch},
    {TIDE_PLAN_BATCH, "1/%s of the batch at a time, by the program's own options", "more launches",
     NULL, TIDE_PLAN_GROUP_BATCH, TIDE_PLAN_ROUNDING, 0, false, tide_plan_leave_part_of_batch},
    {TIDE_PLAN_PATCH, "your patch", "", NULL, TIDE_PLAN_GROUP_NONE, TIDE_PLAN_YOURS, 0, true,
     tide_plan_leave_nothing},
    {"bucket_view", "DDP with gradient_as_bucket_view=True", "", NULL, TIDE_PLAN_GROUP_NONE,
     TIDE_PLAN_SAME, 0, false, tide_plan_leave_gradients},
    {"fully_shard", "fully_shard of each %s and of the root",
     "parameters are gathered for each block", NULL, TIDE_PLAN_GROUP_NONE, TIDE_PLAN_ROUNDING, 1,
     false, tide_plan_leave_part_of_state},
    {"no_grad_eval", "no_grad while the model evaluates", "", NULL, TIDE_PLAN_GROUP_NONE,
     TIDE_PLAN_SAME, 0, true, tide_plan_leave_evaluation},
    {"compile", "torch.compile", "compiled at its first step", "compile", TIDE_PLAN_GROUP_NONE,
     TIDE_PLAN_ROUNDING, 0, true, tide_plan_leave_activations},
};

const char *tide_plan_risk_name(tide_plan_risk risk) {
    static const char *const NAMES[TIDE_PLAN_N_RISKS] = {"same numbers", "same up to rounding",
                                                         "your patch", "changes the numbers"};
    return NAMES[risk];
}

const tide_plan_change *tide_plan_change_of(const char *words, const char **ret_argument) {
    size_t n = strcspn(words, ":");
    *ret_argument = words[n] == ':' ? words + n + 1 : "";
    for (size_t i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++) {
        if (strncmp(CHANGES[i].name, words, n) == 0 && CHANGES[i].name[n] == '\0') {
            return &CHANGES[i];
        }
    }
    return NULL;
}
