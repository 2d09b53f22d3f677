#define _POSIX_C_SOURCE 200809L
#include "common/assert.h"
#include "snapshot/format/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

enum {
    IN_BYTES = 256 * 1024,
    GZIP_WINDOW = 31 /* zlib: 15 bits of window, + 16 for the gzip header */
};

struct tide_gzip_reader {
    const char *path;        /* borrowed; for messages */
    const tide_hostmem *mem; /* borrowed */
    const tide_source *over; /* borrowed: the bytes of the file; NULL: they are read from fd */
    int fd;                  /* -1 with `over` */
    size_t max_bytes;        /* limit of the text */
    size_t n_text;           /* bytes of text returned */
    size_t n_read;           /* bytes read from the file */
    size_t n_in;             /* bytes in `in` */
    size_t n_taken;          /* of those, returned as they are: a plain file */
    bool is_compressed;      /* zip is in use */
    bool is_done;            /* the text has ended */
    z_stream zip;            /* its input is in `in` */
    unsigned char in[IN_BYTES];
};

static tide_status read_file(tide_gzip_reader *from, size_t *ret_bytes, tide_error *error) {
    ssize_t n = 0;
    do {
        n = read(from->fd, from->in, IN_BYTES);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return tide_fail(error, TIDE_IO, "cannot read '%s': %s", from->path, strerror(errno));
    }
    *ret_bytes = (size_t)n;
    return TIDE_OK;
}

static tide_status read_some(tide_gzip_reader *from, tide_error *error) {
    size_t n = 0;
    TIDE_TRY(from->over != NULL
                 ? from->over->read(from->over->ctx, (char *)from->in, IN_BYTES, &n, error)
                 : read_file(from, &n, error));
    from->n_read += n;
    from->n_in = n;
    from->n_taken = 0;
    from->zip.next_in = from->in;
    from->zip.avail_in = (uInt)n;
    return TIDE_OK;
}

static tide_status copy_plain(tide_gzip_reader *from, char *to, size_t n_room, size_t *ret_bytes,
                              tide_error *error) {
    if (from->n_taken == from->n_in) {
        TIDE_TRY(read_some(from, error));
    }
    TIDE_ASSERT(from->n_taken <= from->n_in);
    size_t n_left = from->n_in - from->n_taken;
    size_t n_now = n_left < n_room ? n_left : n_room;
    memcpy(to, from->in + from->n_taken, n_now);
    from->n_taken += n_now;
    from->is_done = n_now == 0;
    *ret_bytes = n_now;
    return TIDE_OK;
}

/* Nothing may follow the stream. */
static tide_status expect_end(tide_gzip_reader *from, tide_error *error) {
    size_t n_more = from->zip.avail_in;
    size_t n_end = from->n_read - n_more;
    if (n_more == 0) {
        TIDE_TRY(read_some(from, error));
        n_more = from->n_in;
    }
    from->is_done = true;
    return n_more == 0
               ? TIDE_OK
               : tide_fail(error, TIDE_FORMAT,
                           "'%s' goes on after the end of its gzip stream at byte %zu of the file",
                           from->path, n_end);
}

static tide_status inflate_some(tide_gzip_reader *from, char *to, size_t n_room, size_t *ret_bytes,
                                tide_error *error) {
    z_stream *zip = &from->zip;
    uInt n_out = n_room > INT_MAX ? INT_MAX : (uInt)n_room;
    zip->next_out = (unsigned char *)to;
    zip->avail_out = n_out;
    int result = Z_OK;
    while (zip->avail_out == n_out && result != Z_STREAM_END) {
        if (zip->avail_in == 0) {
            TIDE_TRY(read_some(from, error));
            if (from->n_in == 0) {
                return tide_fail(
                    error, TIDE_FORMAT,
                    "'%s' is truncated: its gzip stream does not end within the file's %zu bytes",
                    from->path, from->n_read);
            }
        }
        result = inflate(zip, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) {
            return TIDE_NO_MEMORY;
        }
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
            return tide_fail(error, TIDE_FORMAT,
                             "'%s' is damaged: its gzip stream breaks at byte %zu of the file (%s)",
                             from->path, from->n_read - zip->avail_in,
                             zip->msg != NULL ? zip->msg : "no reason known");
        }
    }
    *ret_bytes = n_out - zip->avail_out;
    return result == Z_STREAM_END ? expect_end(from, error) : TIDE_OK;
}

tide_status tide_gzip_reader_read(void *reader, char *to, size_t n_room, size_t *ret_bytes,
                                  tide_error *error) {
    tide_gzip_reader *from = reader;
    size_t n_bytes = 0;
    if (!from->is_done) {
        TIDE_TRY(from->is_compressed ? inflate_some(from, to, n_room, &n_bytes, error)
                                     : copy_plain(from, to, n_room, &n_bytes, error));
    }
    TIDE_ASSERT(n_bytes <= n_room && from->n_text <= from->max_bytes);
    if (n_bytes > from->max_bytes - from->n_text) {
        return tide_fail(error, TIDE_LIMIT, "'%s' holds more than the limit of %zu bytes of text",
                         from->path, from->max_bytes);
    }
    from->n_text += n_bytes;
    *ret_bytes = n_bytes;
    return TIDE_OK;
}

static tide_status open_file(tide_gzip_reader *from, tide_error *error) {
    struct stat info;
    from->fd = open(from->path, O_RDONLY | O_CLOEXEC);
    if (from->fd < 0) {
        return tide_fail(error, TIDE_IO, "cannot open '%s': %s", from->path, strerror(errno));
    }
    if (fstat(from->fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        return tide_fail(error, TIDE_IO, "cannot read '%s': it is a folder", from->path);
    }
    return TIDE_OK;
}

static tide_status begin(tide_gzip_reader *from, tide_error *error) {
    if (from->over == NULL) {
        TIDE_TRY(open_file(from, error));
    }
    TIDE_TRY(read_some(from, error));
    if (from->n_in >= 2 && from->in[0] == 0x1F && from->in[1] == 0x8B) {
        if (inflateInit2(&from->zip, GZIP_WINDOW) != Z_OK) {
            return TIDE_NO_MEMORY;
        }
        from->is_compressed = true;
    }
    return TIDE_OK;
}

static tide_status open_reader(const char *path, const tide_source *over, const tide_hostmem *mem,
                               size_t max_bytes, tide_gzip_reader **ret_reader, tide_error *error) {
    tide_gzip_reader *from = mem->alloc(mem->ctx, sizeof(*from));
    if (from == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(from, 0, offsetof(tide_gzip_reader, in));
    from->path = path;
    from->mem = mem;
    from->over = over;
    from->fd = -1;
    from->max_bytes = max_bytes;
    tide_status status = begin(from, error);
    if (status != TIDE_OK) {
        tide_gzip_reader_close(from);
        return status;
    }
    *ret_reader = from;
    return TIDE_OK;
}

tide_status tide_gzip_reader_open(const char *path, const tide_hostmem *mem, size_t max_bytes,
                                  tide_gzip_reader **ret_reader, tide_error *error) {
    return open_reader(path, NULL, mem, max_bytes, ret_reader, error);
}

tide_status tide_gzip_reader_open_part(const char *path, const tide_source *part,
                                       const tide_hostmem *mem, size_t max_bytes,
                                       tide_gzip_reader **ret_reader, tide_error *error) {
    return open_reader(path, part, mem, max_bytes, ret_reader, error);
}

void tide_gzip_reader_close(tide_gzip_reader *reader) {
    if (reader == NULL) {
        return;
    }
    if (reader->is_compressed) {
        inflateEnd(&reader->zip);
    }
    if (reader->fd >= 0) {
        close(reader->fd);
    }
    reader->mem->release(reader->mem->ctx, reader);
}

bool tide_gzip_reader_can_repeat(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}
