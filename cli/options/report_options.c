#include "cli/options/report_options.h"

#include "cli/cli.h"

tide_format tide_format_chosen(const tide_report_options *options) {
    int kind = options->format != NULL ? tide_format_from_name(options->format) : -1;
    return (tide_format){.kind = kind < 0 ? TIDE_FORMAT_TEXT : (tide_format_kind)kind,
                         .is_wide = options->wide,
                         .table = options->table};
}

tide_status tide_report_end(tide_report *report, tide_status status, tide_format format,
                            tide_error *error) {
    if (status == TIDE_OK) {
        status = tide_report_print(report, format, stdout, stderr, error);
    }
    tide_report_fini(report);
    return status;
}

bool tide_cli_check_top(const char *command, uint64_t top) {
    if (top == 0 || top > TIDE_MAX_TOP) {
        tide_cli_note(command, "--top must be between 1 and %d", (int)TIDE_MAX_TOP);
        return false;
    }
    return true;
}
