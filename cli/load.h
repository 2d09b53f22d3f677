/* load.h - loads snapshots for commands, and reports invalid values of a file once.
 */
#ifndef TIDE_CLI_LOAD_H
#define TIDE_CLI_LOAD_H

#include "cli/options/options.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a file is read. All NULL: unchanged. */
typedef struct tide_load_options {
    const char *user_path; /* --user-path: folder of the program's own code; borrowed */
    const char *rules;     /* --rules: file of rules of categories; borrowed */
} tide_load_options;

/* The rows of these options in a table of options (options.h), for a tide_load_options at that
 * offset. */
#define TIDE_LOAD_ROWS(at)                                                                         \
    TIDE_OPTION(TEXT, "user-path", "DIR", (at) + offsetof(tide_load_options, user_path),           \
                "count the Python code below this folder as the program's own, even if it is "     \
                "within installed packages"),                                                      \
        TIDE_OPTION(TEXT, "rules", "FILE", (at) + offsetof(tide_load_options, rules),              \
                    "give unnamed blocks categories by the rules of this file: on each "           \
                    "line a category and a regular expression for file:function; see "             \
                    "docs/reference/categories.md")

/* tide_snapshot_load, and a line on stderr if values of the file were not valid but could be read
 * as unknown: their number, and the place of the first one. `options` may be NULL. */
TIDE_NODISCARD tide_status tide_cli_load(const char *path, const tide_load_options *options,
                                         tide_snapshot **ret_snapshot, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
