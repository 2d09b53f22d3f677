#include "programs/launch/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Adds a row to the figures of its device. False: it contradicts the rows before it. */
static bool count(tide_calls *calls, size_t row) {
    const tide_run_call *call = &calls->rows[row];
    if (call->device >= TIDE_RUN_DEVICES) {
        return false;
    }
    tide_calls_device *of = &calls->devices[call->device];
    if (call->reserved_bytes > of->reserved_peak_bytes) {
        of->reserved_peak_bytes = call->reserved_bytes;
    }
    switch (call->action) {
    case TIDE_RUN_ALLOC:
        of->n_allocs++;
        if (call->address == 0 || call->n_bytes > UINT64_MAX - of->used_bytes) {
            return false;
        }
        of->used_bytes += call->n_bytes;
        if (of->used_bytes > of->used_peak_bytes) {
            of->used_peak_bytes = of->used_bytes;
            of->used_peak_row = row;
        }
        return true;
    case TIDE_RUN_FREE:
        of->n_frees++;
        if (call->n_bytes > of->used_bytes) {
            return false;
        }
        of->used_bytes -= call->n_bytes;
        return true;
    case TIDE_RUN_OOM:
        of->n_refused++;
        return true;
    default:
        return call->action == TIDE_RUN_GROW || call->action == TIDE_RUN_SHRINK;
    }
}

static tide_status read_rows(FILE *file, const char *path, tide_calls *calls, tide_error *error) {
    tide_run_calls_header header;
    if (fread(&header, sizeof(header), 1, file) != 1 || header.magic != TIDE_RUN_CALLS_MAGIC ||
        header.header_bytes != sizeof(header) || header.row_bytes != sizeof(tide_run_call)) {
        return tide_fail(error, TIDE_FORMAT, "%s: this is no recording of calls", path);
    }
    for (size_t n_room = 0;; calls->n_rows++) {
        tide_run_call row;
        if (fread(&row, sizeof(row), 1, file) != 1 || row.action == TIDE_RUN_NONE) {
            return ferror(file) != 0 ? tide_fail(error, TIDE_IO, "%s: it cannot be read", path)
                                     : TIDE_OK;
        }
        tide_run_call *rows =
            tide_hostmem_grow(calls->mem, calls->rows, &n_room, calls->n_rows + 1, sizeof(*rows));
        if (rows == NULL) {
            return TIDE_NO_MEMORY;
        }
        calls->rows = rows;
        calls->rows[calls->n_rows] = row;
        if (!count(calls, calls->n_rows)) {
            return tide_fail(error, TIDE_FORMAT, "%s: row %zu makes no sense", path,
                             calls->n_rows + 1);
        }
    }
}

tide_status tide_calls_read(const tide_hostmem *mem, const char *path, tide_calls *ret_calls,
                            tide_error *error) {
    *ret_calls = (tide_calls){.mem = mem};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return tide_fail(error, TIDE_IO, "%s: %s", path, strerror(errno));
    }
    tide_status status = read_rows(file, path, ret_calls, error);
    (void)fclose(file);
    return status;
}

void tide_calls_fini(tide_calls *calls) {
    if (calls->rows != NULL) {
        calls->mem->release(calls->mem->ctx, calls->rows);
    }
    *calls = (tide_calls){.mem = calls->mem};
}
