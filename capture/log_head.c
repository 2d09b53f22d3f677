/* log_head.c - the state of a log's writer, without the log. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "capture/recover.h"
#include "recorder/log_format_friend.h"

tide_status tide_recover_look(const char *path, tide_recover_head *ret, tide_error *error) {
    tide_log_header header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, &header, sizeof(header), 0) : -1;
    int reason = errno;
    if (fd >= 0) {
        (void)close(fd); /* was only read */
    }
    if (n < 0) {
        return tide_fail(error, TIDE_IO, "cannot read '%s': %s", path, strerror(reason));
    }
    if (n < (ssize_t)sizeof(header) ||
        memcmp(header.layout.magic, TIDE_LOG_MAGIC, sizeof(header.layout.magic)) != 0) {
        return tide_fail(error, TIDE_FORMAT, "'%s' is no log of tidemark", path);
    }
    *ret = (tide_recover_head){.process = (int64_t)header.layout.process_id,
                               .is_closed = atomic_load(&header.counters.is_closed) == 1,
                               .is_empty = atomic_load(&header.counters.n_written) == 0};
    return TIDE_OK;
}
