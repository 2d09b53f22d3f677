/* memory_model.h - the requested bytes of a run in closed form: the formulas of
 * docs/model/memory-model.md, written from that page and sharing no code with the transformer.
 */
#ifndef TIDE_MODEL_MEMORY_MEMORY_MODEL_H
#define TIDE_MODEL_MEMORY_MEMORY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_memory_model_run {
    tide_model_config model;  /* must have passed tide_model_config_check */
    tide_mode mode;           /* which phases a step has */
    bool keep_graph;          /* mode forward only */
    tide_precision precision; /* determines e, r, g and w */
    tide_attention attention; /* of every block */
    tide_recompute recompute; /* of every block */
    bool clips;               /* gradient clipping is on */
    bool is_captured;         /* a step will be captured: the optimizer keeps the step's size */
    uint64_t workspace_bytes; /* of the GEMM library; 0: none */
    size_t n_steps;           /* warm-up and measured steps; from 2 on it makes no difference */
} tide_memory_model_run;

/* All in requested bytes. */
typedef struct tide_memory_model {
    uint64_t workspace_bytes;       /* as given */
    uint64_t input_bytes;           /* tokens, targets, RoPE table */
    uint64_t parameter_bytes;       /* without copies */
    uint64_t gradient_bytes;        /* all of them together; 0 in mode forward */
    uint64_t optimizer_state_bytes; /* 0 unless mode is train */
    uint64_t saved_per_block_bytes; /* kept by a block for backward, including its input */
    uint64_t after_forward_bytes;   /* alive after the forward phase of the first step, including
                                       those of the above that exist */
    uint64_t peak_bytes;            /* the largest instant of the whole run */
    const char *peak_instant; /* static; a name of docs/model/memory-model.md: "cross-entropy" */
    int64_t peak_layer;       /* -1: not in a layer */
    uint64_t peak_weight_copy_bytes; /* of peak_bytes: copies of weights in two bytes */
} tide_memory_model;

void tide_memory_model_derive(const tide_memory_model_run *run, tide_memory_model *ret_model);

#ifdef __cplusplus
}
#endif

#endif
