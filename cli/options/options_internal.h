/* options_internal.h - shared by the files of the option parser.
 */
#ifndef TIDE_CLI_OPTIONS_INTERNAL_H
#define TIDE_CLI_OPTIONS_INTERNAL_H

#include "cli/options/options.h"

enum {
    TIDE_OPTIONS_LIST_TEXT = 1024, /* room for a list of names or choices */
    TIDE_OPTIONS_NAME_BYTES = 64   /* room for one name with its dashes */
};

/* The name as users write it: "--size" or "-o". Returns `text`. */
const char *tide_options_spelling(const tide_option *option, char text[TIDE_OPTIONS_NAME_BYTES]);

/* options_values.c. Writes the value `text` of an option to its member of `values`; a flag has no
 * text. */
TIDE_NODISCARD tide_status tide_options_store(const tide_option *option, const char *text,
                                              void *values, tide_error *error);

/* Appends to the text, cutting it at the buffer's end. */
void tide_options_append(char text[TIDE_OPTIONS_LIST_TEXT], const char *more);

/* The usage of the option: "--size SIZE", "-o FILE", "--mode forward|train". */
void tide_options_usage(const tide_option *option, char text[TIDE_OPTIONS_LIST_TEXT]);

/* Its description, with its aliases: "of weights (also --init)". */
void tide_options_meaning(const tide_option *option, char text[TIDE_OPTIONS_LIST_TEXT]);

/* Reads the comma-separated `text` given to `option`, which is spelled as users write it:
 * "--config". */
TIDE_NODISCARD tide_status tide_options_parse_files(const char *option, const char *text,
                                                    tide_option_files *ret_files,
                                                    tide_error *error);

#endif
