#include "cli/report_options.h"

tide_format tide_format_chosen(const tide_report_options *options) {
    int kind = options->format != NULL ? tide_format_from_name(options->format) : -1;
    return (tide_format){.kind = kind < 0 ? TIDE_FORMAT_TEXT : (tide_format_kind)kind,
                         .is_wide = options->wide,
                         .table = options->table};
}
