/* log_file_close.c - replaces a complete log by a copy without its unused room. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/checksum.h"
#include "common/files/temporary_file.h"
#include "recorder/log_file_internal.h"

static bool put(int descriptor, const void *data, size_t n_bytes) {
    const char *bytes = data;
    while (n_bytes > 0) {
        ssize_t n = write(descriptor, bytes, n_bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

/* The header of a file whose areas are as large as their contents. A full ring keeps its length,
 * because event i is in row i % max_events. */
static void shrink(const tide_log_file *file, tide_log_header *ret_header) {
    const tide_log_header *from = file->header;
    memcpy(ret_header, from, sizeof(*ret_header));
    tide_log_layout *layout = &ret_header->layout;
    uint64_t n_written = atomic_load(&from->counters.n_written);
    layout->journal_bytes = atomic_load(&from->counters.journal_used_bytes);
    layout->max_scopes = atomic_load(&from->counters.n_scopes);
    layout->max_base = atomic_load(&from->counters.n_base_used);
    layout->max_events = n_written < layout->max_events ? n_written : layout->max_events;
    layout->journal_offset = TIDE_LOG_HEADER_BYTES;
    layout->scopes_offset = layout->journal_offset + layout->journal_bytes;
    layout->base_offset = layout->scopes_offset + layout->max_scopes * sizeof(tide_scope_row);
    layout->events_offset = layout->base_offset + layout->max_base * layout->event_bytes;
    layout->file_bytes = layout->events_offset + layout->max_events * layout->event_bytes;
    layout->checksum = tide_crc32(0, layout, offsetof(tide_log_layout, checksum));
}

static bool copy(const tide_log_file *file, int descriptor) {
    unsigned char header[TIDE_LOG_HEADER_BYTES] = {0};
    tide_log_header shrunk;
    shrink(file, &shrunk);
    memcpy(header, &shrunk, sizeof(shrunk));
    const tide_log_layout *layout = &shrunk.layout;
    return put(descriptor, header, sizeof(header)) &&
           put(descriptor, file->journal, (size_t)layout->journal_bytes) &&
           put(descriptor, file->scopes, (size_t)layout->max_scopes * sizeof(tide_scope_row)) &&
           put(descriptor, file->base, (size_t)layout->max_base * layout->event_bytes) &&
           put(descriptor, file->events, (size_t)layout->max_events * layout->event_bytes);
}

void tide_log_file_abandon(tide_log_file *file) {
    (void)munmap(file->bytes, file->mapped_bytes);
    (void)close(file->descriptor); /* was only for its lock */
}

tide_status tide_log_file_compact(const tide_log_file *file) {
    tide_temporary_file temporary;
    if (tide_temporary_file_open(file->path, S_IRUSR | S_IWUSR, &temporary) != 0) {
        return TIDE_IO;
    }
    bool is_written = copy(file, temporary.fd);
    is_written = close(temporary.fd) == 0 && is_written;
    is_written = is_written && rename(temporary.path, file->path) == 0;
    tide_temporary_file_remove(&temporary); /* already renamed, or useless */
    return is_written ? TIDE_OK : TIDE_IO;
}
