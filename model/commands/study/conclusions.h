/* conclusions.h - the sentence below a study's tables, made of the study's numbers.
 *
 * Pure functions: the same numbers produce the same sentence, other numbers another one. Rows
 * without a figure (-1) are ignored; if none remains, the sentence states that. `ret_text` is cut
 * at its end.
 */
#ifndef TIDE_MODEL_COMMANDS_STUDY_CONCLUSIONS_H
#define TIDE_MODEL_COMMANDS_STUDY_CONCLUSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "common/statistics.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_CONCLUSION_BYTES = 1024, TIDE_CONCLUSION_LABEL_BYTES = 160 };

/* A model of study parameters. */
typedef struct tide_conclusion_size {
    char label[TIDE_CONCLUSION_LABEL_BYTES];
    uint64_t n_parameters;
    uint64_t n_embedding; /* of them in the token embedding and lm_head */
    uint64_t train_bytes; /* parameters, gradients, the optimizer state in fp32 */
} tide_conclusion_size;

void tide_conclusion_of_parameters(const tide_conclusion_size *sizes, size_t n,
                                   char ret_text[TIDE_CONCLUSION_BYTES]);

/* A run of study memory. */
typedef struct tide_conclusion_peak {
    const char *size, *mode, *precision;    /* borrowed */
    uint64_t context_length;                /* tokens */
    char rest[TIDE_CONCLUSION_LABEL_BYTES]; /* other varied values: "batch 4, naive"; "" none */
    int64_t allocated_bytes;                /* at the peak; -1: it did not fit */
    int64_t eager_bytes;    /* at the peak of PyTorch's run; -1: none, or it does not fit */
    int64_t residual_bytes; /* of one residual-stream tensor */
    char tensor[TIDE_CONCLUSION_LABEL_BYTES];  /* the largest activations of a step; "" none */
    int64_t tensor_bytes;                      /* of each; -1: none */
    int64_t category_bytes[TIDE_N_CATEGORIES]; /* at the peak; all 0: not recorded */
} tide_conclusion_peak;

void tide_conclusion_of_memory(const tide_conclusion_peak *peaks, size_t n,
                               char ret_text[TIDE_CONCLUSION_BYTES]);

/* A block of study residuals. */
typedef struct tide_conclusion_block {
    const char *label;            /* borrowed: "2.7B-c512-b4-fp32" */
    int64_t kept_bytes;           /* for backward; -1: it did not fit */
    const char *largest;          /* borrowed: the largest tensor; "" none */
    int64_t largest_bytes;        /* of it */
    int64_t top_bytes;            /* of the n_top largest together */
    size_t n_top;                 /* their number */
    int64_t gradient_bytes;       /* that the block's backward makes */
    int64_t theory_bytes;         /* g (4 C^2 + 3 C F + 2 C) */
    int64_t allocated_drop_bytes; /* by which the block's backward lowers the live bytes */
} tide_conclusion_block;

/* Describes the first block in detail, and states the bytes of the others. */
void tide_conclusion_of_residuals(const tide_conclusion_block *blocks, size_t n,
                                  char ret_text[TIDE_CONCLUSION_BYTES]);

/* Times of a run, in ms; all -1 if there are none. */
typedef struct tide_conclusion_times {
    char label[TIDE_CONCLUSION_LABEL_BYTES]; /* the varied value: "medium", "0 steps",
                                                "bf16-mixed" */
    uint64_t n_parameters;
    tide_statistics forward_ms, backward_ms, step_ms;
} tide_conclusion_times;

void tide_conclusion_of_end_to_end(const tide_conclusion_times *runs, size_t n,
                                   char ret_text[TIDE_CONCLUSION_BYTES]);
/* Compares the other runs with the last one that has times. */
void tide_conclusion_of_warmup(const tide_conclusion_times *runs, size_t n,
                               char ret_text[TIDE_CONCLUSION_BYTES]);
/* Compares the other runs with the first one that has times. */
void tide_conclusion_of_precision(const tide_conclusion_times *runs, size_t n,
                                  char ret_text[TIDE_CONCLUSION_BYTES]);

/* Shares of time of study kernels, of one run; -1: not measured. */
typedef struct tide_conclusion_kernels {
    const char *label;    /* borrowed: of the run */
    const char *unit;     /* borrowed: "kernel", "operator" */
    const char *products; /* borrowed: the name of the gemm_ shares: "matrix products" */
    char top_forward[TIDE_CONCLUSION_LABEL_BYTES]; /* takes the most time in forward; "" none */
    double top_forward_share;                      /* of the phase's time: 0.5 is half */
    char top_step[TIDE_CONCLUSION_LABEL_BYTES];    /* in the whole step */
    double top_step_share;                         /* of the step's time */
    double gemm_forward_share, gemm_step_share;    /* of matrix products */
    double softmax_ms, products_ms;                /* of naive attention in forward */
    double softmax_flops, products_flops;          /* the same */
} tide_conclusion_kernels;

void tide_conclusion_of_kernels(const tide_conclusion_kernels *kernels,
                                char ret_text[TIDE_CONCLUSION_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
