#define _POSIX_C_SOURCE 200809L
#include "snapshot/gzip_file.h"

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

typedef struct input {
    const char *path;        /* borrowed; for messages */
    const tide_hostmem *mem; /* borrowed */
    int fd;
    size_t max_bytes; /* limit of the text */
    char *text;       /* owned until handed out */
    size_t n_bytes;   /* text so far */
    size_t capacity;  /* of text */
    size_t n_read;    /* bytes taken from the file */
    unsigned char in[IN_BYTES];
} input;

/* Room for at least one more byte and the NUL at the end. */
static tide_status make_room(input *from, tide_error *error) {
    if (from->n_bytes > from->max_bytes) {
        return tide_fail(error, TIDE_LIMIT, "'%s' holds more than the limit of %zu bytes of text",
                         from->path, from->max_bytes);
    }
    char *text = tide_hostmem_grow(from->mem, from->text, &from->capacity, from->n_bytes + 2, 1);
    if (text == NULL) {
        return TIDE_NO_MEMORY;
    }
    from->text = text;
    return TIDE_OK;
}

static tide_status read_some(input *from, size_t *ret_bytes, tide_error *error) {
    ssize_t n = 0;
    do {
        n = read(from->fd, from->in, IN_BYTES);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return tide_fail(error, TIDE_IO, "cannot read '%s': %s", from->path, strerror(errno));
    }
    from->n_read += (size_t)n;
    *ret_bytes = (size_t)n;
    return TIDE_OK;
}

static tide_status copy_plain(input *from, size_t n_in, tide_error *error) {
    while (n_in > 0) {
        for (size_t n_copied = 0; n_copied < n_in;) {
            TIDE_TRY(make_room(from, error));
            size_t n_room = from->capacity - 1 - from->n_bytes;
            size_t n_now = n_in - n_copied < n_room ? n_in - n_copied : n_room;
            memcpy(from->text + from->n_bytes, from->in + n_copied, n_now);
            from->n_bytes += n_now;
            n_copied += n_now;
        }
        TIDE_TRY(read_some(from, &n_in, error));
    }
    return TIDE_OK;
}

static tide_status inflate_step(input *from, z_stream *zip, bool *ret_done, tide_error *error) {
    TIDE_TRY(make_room(from, error));
    size_t n_room = from->capacity - 1 - from->n_bytes;
    zip->next_out = (unsigned char *)from->text + from->n_bytes;
    zip->avail_out = n_room > INT_MAX ? INT_MAX : (uInt)n_room;
    uInt n_before = zip->avail_out;
    int result = inflate(zip, Z_NO_FLUSH);
    from->n_bytes += n_before - zip->avail_out;
    if (result == Z_MEM_ERROR) {
        return TIDE_NO_MEMORY;
    }
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return tide_fail(error, TIDE_FORMAT,
                         "'%s' is damaged: its gzip stream breaks at byte %zu of the file (%s)",
                         from->path, from->n_read - zip->avail_in,
                         zip->msg != NULL ? zip->msg : "no reason known");
    }
    *ret_done = result == Z_STREAM_END;
    return TIDE_OK;
}

static tide_status inflate_all(input *from, z_stream *zip, size_t n_in, tide_error *error) {
    bool done = false;
    while (!done) {
        if (n_in == 0) {
            return tide_fail(
                error, TIDE_FORMAT,
                "'%s' is truncated: its gzip stream does not end within the file's %zu bytes",
                from->path, from->n_read);
        }
        zip->next_in = from->in;
        zip->avail_in = (uInt)n_in;
        do {
            TIDE_TRY(inflate_step(from, zip, &done, error));
        } while (!done && (zip->avail_in > 0 || zip->avail_out == 0));
        if (!done) {
            TIDE_TRY(read_some(from, &n_in, error));
        }
    }
    size_t n_more = zip->avail_in;
    size_t n_end = from->n_read - n_more;
    if (n_more == 0) {
        TIDE_TRY(read_some(from, &n_more, error));
    }
    if (n_more > 0) {
        return tide_fail(error, TIDE_FORMAT,
                         "'%s' goes on after the end of its gzip stream at byte %zu of the file",
                         from->path, n_end);
    }
    return TIDE_OK;
}

static tide_status read_all(input *from, tide_error *error) {
    size_t n_in = 0;
    TIDE_TRY(read_some(from, &n_in, error));
    if (n_in < 2 || from->in[0] != 0x1F || from->in[1] != 0x8B) {
        return copy_plain(from, n_in, error);
    }
    z_stream zip;
    memset(&zip, 0, sizeof(zip));
    if (inflateInit2(&zip, GZIP_WINDOW) != Z_OK) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = inflate_all(from, &zip, n_in, error);
    inflateEnd(&zip);
    return status;
}

tide_status tide_gzip_read(const char *path, const tide_hostmem *mem, size_t max_bytes,
                           char **ret_text, size_t *ret_bytes, tide_error *error) {
    struct stat info;
    input *from = mem->alloc(mem->ctx, sizeof(*from));
    if (from == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(from, 0, offsetof(input, in));
    from->path = path;
    from->mem = mem;
    from->max_bytes = max_bytes;
    from->fd = open(path, O_RDONLY | O_CLOEXEC);
    tide_status status = TIDE_OK;
    if (from->fd < 0) {
        status = tide_fail(error, TIDE_IO, "cannot open '%s': %s", path, strerror(errno));
        goto fail_open;
    }
    if (fstat(from->fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        status = tide_fail(error, TIDE_IO, "cannot read '%s': it is a folder", path);
        goto fail_read;
    }
    status = read_all(from, error);
    if (status == TIDE_OK) {
        status = make_room(from, error);
    }
    if (status == TIDE_OK) {
        from->text[from->n_bytes] = '\0';
        *ret_text = from->text;
        *ret_bytes = from->n_bytes;
        from->text = NULL;
    }

fail_read:
    close(from->fd);
fail_open:
    mem->release(mem->ctx, from->text);
    mem->release(mem->ctx, from);
    return status;
}
