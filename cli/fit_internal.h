/* fit_internal.h - the parts of `tidemark fit`: options, the questions that they ask, and what is
 * printed of the answers.
 */
#ifndef TIDE_CLI_FIT_INTERNAL_H
#define TIDE_CLI_FIT_INTERNAL_H

#include "cli/fit_search.h"
#include "cli/profile_internal.h"
#include "cli/table.h"

enum { TIDE_FIT_NAME_BYTES = TIDE_PROFILE_NAME_BYTES };

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_fit_options {
    tide_profile_options run;  /* those of them that describe a run and its room */
    const char *find;          /* a name of tide_fit_what */
    uint64_t multiple_of;      /* 1 and more */
    tide_option_texts devices; /* specs; n 0: plain virtual */
} tide_fit_options;

/* A question and its answer: a row of the table. */
typedef struct tide_fit_row {
    tide_fit_question question;
    tide_fit_answer answer;
    bool has_eager;                   /* PyTorch has such a run */
    tide_fit_question eager_question; /* the same of PyTorch's allocations */
    tide_fit_answer eager;            /* its answer */
    tide_device_info device;          /* of the room */
    char name[TIDE_FIT_NAME_BYTES];   /* the run without what is varied: "2.7B-train-c512-fp32" */
} tide_fit_row;

/* All rows on stdout. */
TIDE_NODISCARD tide_status tide_fit_print(const tide_fit_row *rows, size_t n_rows,
                                          tide_format format);

#endif
