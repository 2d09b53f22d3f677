/* pytorch_files.h - real snapshots by PyTorch, and the figures that must be read from them. Tests
 * use them if they are present.
 */
#ifndef TIDE_TESTS_SUPPORT_PYTORCH_FILES_H
#define TIDE_TESTS_SUPPORT_PYTORCH_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot/document/snapshot.h"

enum { PYTORCH_N_FILES = 7, PYTORCH_PATH_BYTES = 1024 };

typedef struct pytorch_file {
    const char *name;
    size_t n_events;       /* of the traces of all devices */
    const char *start_mib; /* by requested sizes; NULL: unknown */
    const char *peak_mib;
    const char *end_mib;
    size_t reserved_mib; /* by segments, of all devices */
} pytorch_file;

extern const pytorch_file PYTORCH_FILES[PYTORCH_N_FILES];

/* Ends the program if the name is unknown. */
const pytorch_file *pytorch_file_named(const char *name);

/* False if the file is missing. */
bool pytorch_file_path(const pytorch_file *file, char path[PYTORCH_PATH_BYTES]);

/* Ends the program when it cannot be read. The caller destroys it. */
tide_snapshot *pytorch_file_load(const pytorch_file *file);

#endif
