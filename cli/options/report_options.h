/* report_options.h - the options that every command with a report has: --format, --table, --wide.
 */
#ifndef TIDE_CLI_REPORT_OPTIONS_H
#define TIDE_CLI_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/options.h"
#include "report/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values of the options of a report. */
typedef struct tide_report_options {
    const char *format; /* one of tide_format_name; NULL: text */
    const char *table;  /* NULL: not given */
    bool wide;
} tide_report_options;

/* The format that the options request. */
tide_format tide_format_chosen(const tide_report_options *options);

/* The number of rows (--top) of a table that sums all others in one more row. */
enum { TIDE_DEFAULT_TOP = 10, TIDE_MAX_TOP = 100000 };

/* False, with a message printed, if it is not in 1 to TIDE_MAX_TOP. */
bool tide_cli_check_top(const char *command, uint64_t top);

/* Ends a report: prints it on stdout, its notes on stderr, unless `status` is an earlier failure,
 * and releases it in any case. Returns the first failure. */
TIDE_NODISCARD tide_status tide_report_end(tide_report *report, tide_status status,
                                           tide_format format, tide_error *error);

/* The rows of a report's options in a table of options (options.h), for a tide_report_options at
 * that offset. */
#define TIDE_REPORT_ROWS(at)                                                                       \
    TIDE_OPTION_OF(CHOICE, "format", NULL, tide_format_name,                                       \
                   (at) + offsetof(tide_report_options, format),                                   \
                   "format of the report; csv has one table, json everything "                     \
                   "(docs/reference/json.md); default text"),                                      \
        TIDE_OPTION(TEXT, "table", "NAME", (at) + offsetof(tide_report_options, table),            \
                    "print only this table of the report; csv without it prints the first one"),   \
        TIDE_OPTION(FLAG, "wide", NULL, (at) + offsetof(tide_report_options, wide),                \
                    "show every cell of a text table whole, however narrow the terminal")
/* Their names, for tide_options_find_unused. */
#define TIDE_REPORT_OPTIONS "format table wide"

#ifdef __cplusplus
}
#endif

#endif
