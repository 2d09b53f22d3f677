/* export_internal.h - the export to a folder. */
#ifndef TIDE_CLI_COMMANDS_EXPORT_INTERNAL_H
#define TIDE_CLI_COMMANDS_EXPORT_INTERNAL_H

#include <stdbool.h>

#include "cli/load.h"
#include "common/status.h"

typedef struct tide_export_folder {
    const char *input;  /* a snapshot or a log */
    const char *output; /* the folder; NULL: not given */
    bool is_part;       /* an event or a device was chosen */
    bool strip_private;
    const tide_load_options *load; /* how a snapshot is read; not for logs */
} tide_export_folder;

/* export_parquet.c */
TIDE_NODISCARD tide_status tide_export_to_folder(const tide_export_folder *of, tide_error *error);

#endif
