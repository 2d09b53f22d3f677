#define _XOPEN_SOURCE 700 /* realpath */
#include "snapshot/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

enum {
    OUT_BYTES = 256 * 1024,
    LEVEL = 1,        /* columns of small numbers: 0.2 s a million events, where 6 takes 0.6 */
    GZIP_WINDOW = 31, /* zlib: 15 bits of window, + 16 for the gzip header */
    MAX_ATTEMPTS = 100
};

struct tide_gzip_writer {
    const tide_hostmem *mem; /* borrowed */
    char *path;              /* owned; as the caller wrote it */
    char *target;            /* owned; what will be replaced: links are followed */
    char *temporary;         /* owned */
    int fd;                  /* of the temporary file */
    int reason;              /* errno of the first failed write; 0 */
    bool deflating;          /* zlib's state is alive */
    z_stream zip;
    unsigned char out[OUT_BYTES];
};

static void release(tide_gzip_writer *writer) {
    const tide_hostmem *mem = writer->mem;
    if (writer->deflating) {
        deflateEnd(&writer->zip);
    }
    mem->release(mem->ctx, writer->path);
    mem->release(mem->ctx, writer->target);
    mem->release(mem->ctx, writer->temporary);
    mem->release(mem->ctx, writer);
}

/* Sets path and target. An existing target must be a regular file: renaming over a device such as
 * /dev/null would replace it. */
static tide_status set_target(tide_gzip_writer *writer, const char *path, tide_error *error) {
    struct stat info;
    writer->path = tide_hostmem_text(writer->mem, path);
    if (writer->path == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (path[0] == '\0') {
        return tide_fail(error, TIDE_IO, "cannot write a file without a name");
    }
    char *resolved = NULL;
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode)) {
            return tide_fail(error, TIDE_IO, "cannot write '%s': it exists and is %s", path,
                             S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
        }
        resolved = realpath(path, NULL); /* malloc's: released below */
        if (resolved == NULL) {
            return tide_fail(error, TIDE_IO, "cannot write '%s': %s", path, strerror(errno));
        }
    }
    writer->target = tide_hostmem_text(writer->mem, resolved != NULL ? resolved : path);
    free(resolved);
    return writer->target != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status open_temporary(tide_gzip_writer *writer, tide_error *error) {
    const char *slash = strrchr(writer->target, '/');
    size_t n_folder = slash == NULL ? 0 : (size_t)(slash - writer->target) + 1;
    size_t n_bytes = n_folder + 64;
    writer->temporary = tide_hostmem_zeroed(writer->mem, n_bytes, 1);
    if (writer->temporary == NULL) {
        return TIDE_NO_MEMORY;
    }
    memcpy(writer->temporary, writer->target, n_folder);
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        snprintf(writer->temporary + n_folder, n_bytes - n_folder, ".tidemark-%ld-%d.tmp",
                 (long)getpid(), attempt);
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0 || errno != EEXIST) {
            break;
        }
    }
    if (writer->fd < 0) {
        return tide_fail(error, TIDE_IO, "cannot write '%s': %s; choose another place",
                         writer->path, strerror(errno));
    }
    return TIDE_OK;
}

static tide_status open_writer(const char *path, const tide_hostmem *mem, bool is_compressed,
                               tide_gzip_writer **ret_writer, tide_error *error) {
    tide_gzip_writer *writer = mem->alloc(mem->ctx, sizeof(*writer));
    if (writer == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(writer, 0, offsetof(tide_gzip_writer, out));
    writer->mem = mem;
    writer->fd = -1;
    tide_status status = set_target(writer, path, error);
    if (status != TIDE_OK) {
        goto fail_target;
    }
    if (is_compressed &&
        deflateInit2(&writer->zip, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        status = TIDE_NO_MEMORY;
        goto fail_target;
    }
    writer->deflating = is_compressed;
    status = open_temporary(writer, error);
    if (status != TIDE_OK) {
        goto fail_target;
    }
    *ret_writer = writer;
    return TIDE_OK;

fail_target:
    release(writer);
    return status;
}

tide_status tide_gzip_writer_open(const char *path, const tide_hostmem *mem,
                                  tide_gzip_writer **ret_writer, tide_error *error) {
    return open_writer(path, mem, true, ret_writer, error);
}

tide_status tide_gzip_writer_open_plain(const char *path, const tide_hostmem *mem,
                                        tide_gzip_writer **ret_writer, tide_error *error) {
    return open_writer(path, mem, false, ret_writer, error);
}

static bool write_all(tide_gzip_writer *writer, const void *bytes, size_t n_bytes) {
    const unsigned char *at = bytes;
    size_t n_written = 0;
    while (n_written < n_bytes && writer->reason == 0) {
        ssize_t n = write(writer->fd, at + n_written, n_bytes - n_written);
        if (n > 0) {
            n_written += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            writer->reason = n == 0 ? ENOSPC : errno;
        }
    }
    return writer->reason == 0;
}

static tide_status deflate_all(tide_gzip_writer *writer, int flush) {
    do {
        writer->zip.next_out = writer->out;
        writer->zip.avail_out = OUT_BYTES;
        deflate(&writer->zip, flush);
        if (!write_all(writer, writer->out, OUT_BYTES - writer->zip.avail_out)) {
            return TIDE_IO;
        }
    } while (writer->zip.avail_out == 0);
    return TIDE_OK;
}

tide_status tide_gzip_writer_write(tide_gzip_writer *writer, const char *text, size_t n_bytes) {
    if (!writer->deflating) {
        return write_all(writer, text, n_bytes) ? TIDE_OK : TIDE_IO;
    }
    while (n_bytes > 0) {
        size_t n_now = n_bytes > INT_MAX ? INT_MAX : n_bytes;
        writer->zip.next_in = (const Bytef *)text;
        writer->zip.avail_in = (uInt)n_now;
        TIDE_TRY(deflate_all(writer, Z_NO_FLUSH));
        text += n_now;
        n_bytes -= n_now;
    }
    return writer->reason == 0 ? TIDE_OK : TIDE_IO;
}

tide_status tide_gzip_writer_commit(tide_gzip_writer *writer, tide_error *error) {
    writer->zip.avail_in = 0;
    if (writer->reason == 0 && writer->deflating) {
        (void)deflate_all(writer, Z_FINISH); /* a failure stands in reason */
    }
    /* On the disk before it takes the older file's name; EINVAL: nothing that can be synced. */
    if (writer->reason == 0 && fsync(writer->fd) != 0 && errno != EINVAL) {
        writer->reason = errno;
    }
    if (close(writer->fd) != 0 && writer->reason == 0) {
        writer->reason = errno;
    }
    writer->fd = -1;
    if (writer->reason == 0 && rename(writer->temporary, writer->target) != 0) {
        writer->reason = errno;
    }
    if (writer->reason == 0) {
        release(writer);
        return TIDE_OK;
    }
    tide_status status =
        tide_fail(error, TIDE_IO, "cannot write '%s': %s; nothing was changed there", writer->path,
                  strerror(writer->reason));
    unlink(writer->temporary);
    release(writer);
    return status;
}

void tide_gzip_writer_abandon(tide_gzip_writer *writer) {
    (void)close(writer->fd); /* nothing of it is kept */
    unlink(writer->temporary);
    release(writer);
}
