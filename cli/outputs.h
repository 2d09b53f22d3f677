/* outputs.h - what a command may write where: nothing over a file that it reads, nothing under a
 * name that says something else, and nothing of the user's under a name that the program chose.
 */
#ifndef TIDE_CLI_OUTPUTS_H
#define TIDE_CLI_OUTPUTS_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_content {
    TIDE_CONTENT_SNAPSHOT = 0, /* of tidemark: JSON, compressed unless its name ends in .json */
    TIDE_CONTENT_PAGE,         /* HTML */
    TIDE_CONTENT_PICKLE,       /* a snapshot in PyTorch's format */
    TIDE_CONTENT_JSON,         /* of another tool */
    TIDE_CONTENT_CSV,
    TIDE_CONTENT_STACKS, /* folded call stacks */
    TIDE_CONTENT_ROWS,   /* of a sweep: JSON Lines */
    TIDE_CONTENT_LOG,    /* of events */
    TIDE_N_CONTENTS
} tide_content;

typedef enum tide_output_name {
    TIDE_OUTPUT_NAMED = 0, /* the user named the file: an older one is replaced */
    TIDE_OUTPUT_AGAIN,     /* the program did: it replaces what it wrote itself before */
    TIDE_OUTPUT_NEW        /* the program did: it replaces nothing */
} tide_output_name;

/* A file that is to be written. */
typedef struct tide_output {
    const char *path;          /* borrowed, as all here */
    tide_content content;      /* of it */
    tide_output_name name;     /* who chose the path */
    const char *const *inputs; /* files that the command reads; NULL in it: none */
    size_t n_inputs;           /* of them */
} tide_output;

/* Opens nothing for writing. TIDE_INVALID, with the remedy: no name, the ending of another content,
 * one of the inputs under whatever name, or a file that must not be replaced. */
TIDE_NODISCARD tide_status tide_output_check_name(const tide_output *output, tide_error *error);

/* And TIDE_IO, naming path, reason and remedy, when it could not be written: found out by making
 * and removing a file beside it. Nothing is left behind. */
TIDE_NODISCARD tide_status tide_output_check(const tide_output *output, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
