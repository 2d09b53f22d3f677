/* internal.h - the parts of `tidemark fit` for our own model: the questions, and the report of the
 * answers.
 */
#ifndef TIDE_MODEL_COMMANDS_FIT_INTERNAL_H
#define TIDE_MODEL_COMMANDS_FIT_INTERNAL_H

#include "model/run/fit.h"
#include "report/table.h"

/* One row of the table: the implementation that runs the model, and the answer. */
typedef struct tide_fit_reply {
    bool is_pytorch;            /* true: the forecast of PyTorch in eager mode; false: our own
                                   model */
    const char *unknown;        /* why there is no forecast, static; NULL: there is an answer */
    tide_fit_question question; /* with the attention of this run */
    tide_fit_answer answer;     /* if known */
} tide_fit_reply;

enum { TIDE_FIT_MAX_REPLIES = 3 };

/* A question about PyTorch and about our own model. */
typedef struct tide_fit_row {
    tide_fit_question question;                   /* the question of the command line */
    tide_fit_reply replies[TIDE_FIT_MAX_REPLIES]; /* PyTorch's first, our own last */
    size_t n_replies;                             /* 2: its attention is named, or unknown */
    tide_device_info device;                      /* the device that the limits name */
    char name[TIDE_RUN_NAME_BYTES];               /* the run without the varied quantity:
                                                     "2.7B-train-c512-fp32" */
} tide_fit_row;

/* The reply that decides the exit status: PyTorch's first one, or our own if there is none. */
const tide_fit_reply *tide_fit_deciding(const tide_fit_row *row);

/* All rows on stdout. */
TIDE_NODISCARD tide_status tide_fit_print(const tide_fit_row *rows, size_t n_rows,
                                          tide_format format, tide_error *error);

#endif
