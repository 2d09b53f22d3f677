/* host.h - the machine this runs on, and small things of its file system.
 */
#ifndef TIDE_CLI_HOST_H
#define TIDE_CLI_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PATH_BYTES = 4096 }; /* of a file name with its NUL, at most */

typedef struct tide_host {
    char name[128];          /* node name; "" unknown */
    char os[160];            /* "Linux 6.1.0 x86_64" */
    char cpu[160];           /* model name as the kernel tells it; "" unknown */
    int64_t n_cpus;          /* on line; -1 unknown */
    int64_t total_bytes;     /* of memory; -1 unknown */
    int64_t available_bytes; /* that a new program can have without swapping; -1 unknown */
} tide_host;

void tide_host_describe(tide_host *ret_host);

/* TIDE_IO, naming path, reason and remedy, when a file at `path` could not be created or replaced:
 * found out by creating and removing a file beside it. Nothing is left behind. */
TIDE_NODISCARD tide_status tide_host_check_writable(const char *path, tide_error *error);

/* Opens `path` in the desktop's browser. TIDE_UNSUPPORTED, with the remedy, where there is none. */
TIDE_NODISCARD tide_status tide_host_open_browser(const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
