#include "snapshot/plan/texts.h"

#include <stdio.h>
#include <string.h>

const tide_plan_text tide_plan_texts[TIDE_PLAN_N_KINDS] = {
    [TIDE_PLAN_CHECKPOINT] = {"checkpoint", "checkpoint each %s",
                              "the forward pass of each block runs twice", NULL, TIDE_PLAN_SAME},
    [TIDE_PLAN_CHECKPOINT_HALF] = {"checkpoint_half", "checkpoint every second %s",
                                   "the forward pass of every second block runs twice", NULL,
                                   TIDE_PLAN_SAME},
    [TIDE_PLAN_CHECKPOINT_SELECTIVE] =
        {"checkpoint_selective", "checkpoint each %s, but keep matrix products and attention",
         "the other operators of each block run twice", NULL, TIDE_PLAN_SAME},
    [TIDE_PLAN_CHECKPOINT_LIBRARY] = {"checkpoint_library", "the library's own checkpointing",
                                      "the forward pass of each block runs twice", NULL,
                                      TIDE_PLAN_SAME},
    [TIDE_PLAN_OFFLOAD] =
        {"offload_activations", "activations in pinned host memory",
         "activations cross the bus twice a step, and the host needs as much pinned memory", NULL,
         TIDE_PLAN_SAME},
    [TIDE_PLAN_FUSED] = {"fused", "optimizer with fused=True", "", NULL, TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_NO_FOREACH] = {"no_foreach", "optimizer with foreach=False",
                              "a launch for each parameter", NULL, TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_OPTIMIZER_IN_BACKWARD] = {"optimizer_in_backward",
                                         "the optimizer steps in the backward pass",
                                         "no gradient may be clipped, scaled or accumulated", NULL,
                                         TIDE_PLAN_SAME},
    [TIDE_PLAN_SET_TO_NONE] =
        {"set_to_none", "zero_grad(set_to_none=True)",
         "parameters without a gradient in a step are skipped instead of decayed", NULL,
         TIDE_PLAN_SAME},
    [TIDE_PLAN_ADAFACTOR] = {"adafactor", "Adafactor instead of Adam",
                             "another optimizer, to be tuned anew", "optimizer", TIDE_PLAN_NUMBERS},
    [TIDE_PLAN_ADAMW8BIT] = {"adamw8bit", "AdamW with states of 8 bits",
                             "the states are rounded to 8 bits", "optimizer", TIDE_PLAN_NUMBERS},
    [TIDE_PLAN_AUTOCAST] = {"autocast", "autocast to bfloat16", "matrix products in bfloat16",
                            "precision", TIDE_PLAN_NUMBERS},
    [TIDE_PLAN_BF16] = {"bf16", "parameters in bfloat16",
                        "weights, gradients and optimizer states in bfloat16", "precision",
                        TIDE_PLAN_NUMBERS},
    [TIDE_PLAN_CHUNKED_LOSS] = {"chunked_loss", "cross-entropy in 8 checkpointed chunks", "", NULL,
                                TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_LINEAR_LOSS] = {"linear_loss", "head and cross-entropy together, in chunks",
                               "the logits are computed twice and never exist as a whole", NULL,
                               TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_MICRO_BATCH] = {"micro_batch", "1/%s of the batch at a time, with accumulation",
                               "more launches; the loss must be a mean over equal batches", NULL,
                               TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_OWN_BATCH] = {TIDE_PLAN_BATCH,
                             "1/%s of the batch at a time, by the program's own options",
                             "more launches", NULL, TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_OWN_PATCH] = {TIDE_PLAN_PATCH, "your patch", "", NULL, TIDE_PLAN_YOURS},
    [TIDE_PLAN_BUCKET_VIEW] = {"bucket_view", "DDP with gradient_as_bucket_view=True", "", NULL,
                               TIDE_PLAN_SAME},
    [TIDE_PLAN_FULLY_SHARD] = {"fully_shard", "fully_shard of each %s and of the root",
                               "parameters are gathered for each block", NULL, TIDE_PLAN_ROUNDING},
    [TIDE_PLAN_NO_GRAD_EVAL] = {"no_grad_eval", "no_grad while the model evaluates", "", NULL,
                                TIDE_PLAN_SAME},
    [TIDE_PLAN_COMPILE] = {"compile", "torch.compile", "compiled at its first step", "compile",
                           TIDE_PLAN_ROUNDING},
};

const char *tide_plan_risk_name(tide_plan_risk risk) {
    static const char *const NAMES[TIDE_PLAN_N_RISKS] = {"same numbers", "same up to rounding",
                                                         "your patch", "changes the numbers"};
    return NAMES[risk];
}

const tide_plan_text *tide_plan_text_of(const char *words, const char **ret_argument) {
    size_t n = strcspn(words, ":");
    *ret_argument = words[n] == ':' ? words + n + 1 : "";
    for (size_t i = 0; i < TIDE_PLAN_N_KINDS; i++) {
        const char *name = tide_plan_texts[i].name;
        if (strncmp(name, words, n) == 0 && name[n] == '\0') {
            return &tide_plan_texts[i];
        }
    }
    return NULL;
}

void tide_plan_title(const tide_plan_text *of, const char *argument, char *ret_title,
                     size_t n_room) {
    const char *gap = strstr(of->title, "%s");
    if (gap != NULL && argument[0] == '\0') {
        (void)snprintf(ret_title, n_room, "%s", of->name);
    } else if (gap != NULL) {
        (void)snprintf(ret_title, n_room, "%.*s%s%s", (int)(gap - of->title), of->title, argument,
                       gap + strlen("%s"));
    } else {
        (void)snprintf(ret_title, n_room, "%s", of->title);
    }
}
