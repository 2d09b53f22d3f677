/* manual.h - the manual page and the completion for bash, written from the same tables as --help.
 */
#ifndef TIDE_CLI_MANUAL_H
#define TIDE_CLI_MANUAL_H

#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A variable, a file or a command line, and its purpose. */
typedef struct tide_program_item {
    const char *name; /* NULL ends a list */
    const char *text; /* a phrase without a full stop; may be long */
} tide_program_item;

/* Commands that the help lists under one title. */
typedef struct tide_command_group {
    const char *title;
    size_t n_commands;
} tide_command_group;

/* The contents of the manual. */
typedef struct tide_program {
    const char *version;
    const char *title;         /* a description in a few words; no full stop */
    const char *intro;         /* its purpose: complete lines of --help */
    const char *syntax;        /* rules for all command lines: complete lines of --help */
    const char *exit_statuses; /* complete lines of --help */
    const tide_program_item *environment; /* every variable that the program reads */
    const tide_program_item *files;       /* files that it reads and writes under these names */
    const tide_program_item *examples;    /* command lines that work unchanged */
    const tide_command *const *commands;  /* by group */
    size_t n_commands;
    const tide_command_group *groups; /* together they have n_commands */
    size_t n_groups;
    const tide_option *options; /* options that replace a command, without --help */
    size_t n_options;
} tide_program;

/* The manual page, section 1, with the man macros. */
void tide_manual_print(const tide_program *program, FILE *out);

/* A script for bash to source. */
void tide_completion_print(const tide_program *program, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
