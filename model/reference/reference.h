/* reference.h - compares the transformer with recorded PyTorch results.
 *
 * A reference file (tests/reference/make_reference.py) holds parameters and a batch, and PyTorch's
 * results for them: logits, loss, gradients, and parameters and loss after some AdamW steps. The
 * transformer of the file's shape is built on a device, given the same parameters and batch, and
 * run; each result becomes a row with its relative error in the L2 norm and the tolerance that
 * reference_tolerance.c and reference_tolerance_bf16.c derive for it.
 */
#ifndef TIDE_MODEL_REFERENCE_REFERENCE_H
#define TIDE_MODEL_REFERENCE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "device/device.h"
#include "model/config.h"
#include "model/ops.h"
#include "model/layers/transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_reference tide_reference;

/* A file's description of itself. */
typedef struct tide_reference_info {
    tide_model_config model;   /* size "custom" */
    tide_precision precision;  /* fp32 files are computed in float64 */
    tide_adamw_settings adamw; /* constants of the optimizer */
    uint64_t steps;            /* AdamW steps between "before" and "after", at most 100,000 */
    bool own_storage;          /* rounded where this project stores bf16, as by `attention` */
    tide_attention attention;  /* meaningful with own_storage */
} tide_reference_info;

/* Reads and checks everything: metadata, and the shape and type of every tensor that a check needs,
 * and that tokens are below the vocabulary. `mem` is borrowed and outlives it. The message of a
 * failure names the file and the place. */
TIDE_NODISCARD tide_status tide_reference_open(const tide_hostmem *mem, const char *path,
                                               tide_reference **ret_reference, tide_error *error);
/* NULL is allowed. */
void tide_reference_close(tide_reference *reference);
/* Valid until the reference is closed. */
const tide_reference_info *tide_reference_get_info(const tide_reference *reference);

typedef struct tide_reference_run {
    tide_device *device;      /* borrowed; must compute */
    tide_attention attention; /* of every block */
    tide_recompute recompute; /* of every block */
    /* borrowed; NULL: the file's. An fp32 file may also be run in bf16-mixed and bf16-true, and is
     * then compared with their tolerances. */
    const tide_precision *precision;
    /* Called when the transformer has been built and before its parameters are copied in: tests
     * install a wrong operator there. NULL: not called. */
    void (*prepare)(void *ctx, tide_transformer *transformer);
    void *prepare_ctx; /* borrowed; prepare's first argument */
} tide_reference_run;

enum { TIDE_REFERENCE_NAME = TIDE_PARAMETER_NAME + 8 };

/* "logits", "loss", "grad/NAME", "step/NAME", "param/NAME", "loss_after". A step row measures p -
 * p_reference against p_reference - p_before, beyond the part that tiny gradients explain: see
 * reference_tolerance.c. */
typedef struct tide_reference_row {
    char name[TIDE_REFERENCE_NAME]; /* as above */
    double error;                   /* |got - expected| / |expected|; NAN if the result has one */
    double tolerance;               /* 0 or more */
    bool ok;                        /* error <= tolerance */
} tide_reference_row;

typedef struct tide_reference_report {
    const tide_hostmem *mem;  /* borrowed; the heap of the rows */
    tide_reference_row *rows; /* owned; the same rows in the same order for every run of a file */
    size_t n_rows;            /* 3 + 3 per parameter */
    size_t n_failed;          /* rows that are not ok */
} tide_reference_report;

/* Runs the file. TIDE_OK: every row is within its tolerance. TIDE_GATE: some are not; the report is
 * filled in this case as well. Any other status: the check could not be made. */
TIDE_NODISCARD tide_status tide_reference_check(const tide_reference *reference,
                                                const tide_reference_run *run,
                                                tide_reference_report *ret_report,
                                                tide_error *error);
void tide_reference_report_fini(tide_reference_report *report);

#ifdef __cplusplus
}
#endif

#endif
