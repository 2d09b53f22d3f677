/* outputs.h - checks where a command may write its output.
 *
 * It never overwrites a file that it reads, never writes content under the ending of another
 * format, and never replaces a user's file under a name that the program chose.
 */
#ifndef TIDE_CLI_OUTPUTS_H
#define TIDE_CLI_OUTPUTS_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_content {
    TIDE_CONTENT_SNAPSHOT = 0, /* tidemark's JSON, compressed unless the name ends in .json */
    TIDE_CONTENT_PAGE,         /* HTML */
    TIDE_CONTENT_PICKLE,       /* a snapshot in PyTorch's format */
    TIDE_CONTENT_JSON,         /* the JSON of another tool */
    TIDE_CONTENT_CSV,
    TIDE_CONTENT_STACKS,   /* folded call stacks */
    TIDE_CONTENT_ROWS,     /* the rows of a sweep: JSON Lines */
    TIDE_CONTENT_LOG,      /* an event log */
    TIDE_CONTENT_LAUNCHES, /* a launch log */
    TIDE_CONTENT_SVG,      /* a picture of shapes */
    TIDE_CONTENT_PNG,      /* a picture of pixels */
    TIDE_N_CONTENTS
} tide_content;

typedef enum tide_output_name {
    TIDE_OUTPUT_NAMED = 0, /* the user named the file: an older one is replaced */
    TIDE_OUTPUT_AGAIN,     /* the program named it: it replaces only a file that it wrote itself */
    TIDE_OUTPUT_NEW,       /* the program named it: it replaces nothing */
    TIDE_OUTPUT_OWN /* the user named the file: it has the ending of its content, and replaces only
                       a file that the program wrote itself */
} tide_output_name;

/* A file that is to be written. */
typedef struct tide_output {
    const char *path;          /* borrowed, like every pointer here */
    tide_content content;      /* its content */
    tide_output_name name;     /* the chooser of the path */
    const char *const *inputs; /* the files that the command reads; NULL entries are skipped */
    size_t n_inputs;           /* entries of inputs */
} tide_output;

/* Checks the name without opening the file for writing. TIDE_INVALID, with the remedy, if the name
 * is empty, has the ending of another content, leads to one of the inputs by any path or link, or
 * belongs to a file that must not be replaced. */
TIDE_NODISCARD tide_status tide_output_check_name(const tide_output *output, tide_error *error);

/* Also checks that the file can be written, by making and removing a file next to it, so a long run
 * does not fail at its end. The message of TIDE_IO names the path, the reason and the remedy. No
 * file remains. */
TIDE_NODISCARD tide_status tide_output_check(const tide_output *output, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
