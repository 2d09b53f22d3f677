/* Comma lists of files on the command line. */
#include <string.h>

#include "cli/options/options_internal.h"

const char *tide_option_files_at(const tide_option_files *files, size_t i) {
    return i < files->n ? files->names + files->at[i] : NULL;
}

size_t tide_option_files_list(const tide_option_files *files,
                              const char *ret_names[TIDE_OPTION_LIST_ITEMS]) {
    for (size_t i = 0; i < files->n; i++) {
        ret_names[i] = tide_option_files_at(files, i);
    }
    return files->n;
}

/* Adds the name that was copied to names + at. */
static tide_status add_file(const char *option, tide_option_files *files, size_t at,
                            tide_error *error) {
    if (files->names[at] == '\0') {
        return tide_fail(error, TIDE_INVALID, "%s: a file in the list has no name", option);
    }
    if (files->n == TIDE_OPTION_LIST_ITEMS) {
        return tide_fail(error, TIDE_LIMIT, "%s: a list may hold at most %d files", option,
                         (int)TIDE_OPTION_LIST_ITEMS);
    }
    for (size_t i = 0; i < files->n; i++) {
        if (strcmp(tide_option_files_at(files, i), files->names + at) == 0) {
            return tide_fail(error, TIDE_INVALID, "%s: %s is in the list twice", option,
                             files->names + at);
        }
    }
    files->at[files->n++] = (uint16_t)at;
    return TIDE_OK;
}

tide_status tide_options_parse_files(const char *option, const char *text,
                                     tide_option_files *ret_files, tide_error *error) {
    size_t n_text = strlen(text);
    if (n_text >= TIDE_OPTION_FILES_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "%s: the names of the files have more than %d bytes",
                         option, (int)TIDE_OPTION_FILES_BYTES - 1);
    }
    tide_option_files files = {0};
    for (size_t at = 0; at <= n_text;) {
        size_t n = strcspn(text + at, ",");
        memcpy(files.names + at, text + at, n); /* the NUL after it is already set */
        TIDE_TRY(add_file(option, &files, at, error));
        at += n + 1;
    }
    *ret_files = files;
    return TIDE_OK;
}
