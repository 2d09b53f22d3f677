#include "snapshot/format/gzip_file.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

#include "common/files/output_file.h"

enum {
    OUT_BYTES = 256 * 1024,
    LEVEL = 1,       /* columns of small numbers: 0.2 s per million events; level 6 takes 0.6 s */
    GZIP_WINDOW = 31 /* zlib: 15 bits of window, + 16 for the gzip header */
};

struct tide_gzip_writer {
    const tide_hostmem *mem;      /* borrowed */
    tide_output_file file;        /* where the bytes go */
    bool deflating;               /* zlib's state is initialised */
    z_stream zip;                 /* zlib's state */
    unsigned char out[OUT_BYTES]; /* compressed bytes for the file */
};

static void release(tide_gzip_writer *writer) {
    if (writer->deflating) {
        deflateEnd(&writer->zip);
    }
    writer->mem->release(writer->mem->ctx, writer);
}

static tide_status open_writer(const char *path, const tide_hostmem *mem, bool is_compressed,
                               tide_gzip_writer **ret_writer, tide_error *error) {
    tide_gzip_writer *writer = mem->alloc(mem->ctx, sizeof(*writer));
    if (writer == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(writer, 0, offsetof(tide_gzip_writer, out));
    writer->mem = mem;
    tide_status status = TIDE_NO_MEMORY;
    if (is_compressed &&
        deflateInit2(&writer->zip, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        goto fail_deflate;
    }
    writer->deflating = is_compressed;
    status = tide_output_file_open(path, &writer->file, error);
    if (status != TIDE_OK) {
        goto fail_deflate;
    }
    *ret_writer = writer;
    return TIDE_OK;

fail_deflate:
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

static tide_status deflate_all(tide_gzip_writer *writer, int flush) {
    do {
        writer->zip.next_out = writer->out;
        writer->zip.avail_out = OUT_BYTES;
        deflate(&writer->zip, flush);
        if (!tide_output_file_write(&writer->file, writer->out,
                                    OUT_BYTES - writer->zip.avail_out)) {
            return TIDE_IO;
        }
    } while (writer->zip.avail_out == 0);
    return TIDE_OK;
}

tide_status tide_gzip_writer_write(tide_gzip_writer *writer, const char *text, size_t n_bytes) {
    if (!writer->deflating) {
        return tide_output_file_write(&writer->file, text, n_bytes) ? TIDE_OK : TIDE_IO;
    }
    while (n_bytes > 0) {
        size_t n_now = n_bytes > INT_MAX ? INT_MAX : n_bytes;
        writer->zip.next_in = (const Bytef *)text;
        writer->zip.avail_in = (uInt)n_now;
        TIDE_TRY(deflate_all(writer, Z_NO_FLUSH));
        text += n_now;
        n_bytes -= n_now;
    }
    return writer->file.reason == 0 ? TIDE_OK : TIDE_IO;
}

tide_status tide_gzip_writer_commit(tide_gzip_writer *writer, tide_error *error) {
    writer->zip.avail_in = 0;
    if (writer->deflating) {
        tide_status sticks = deflate_all(writer, Z_FINISH);
        (void)sticks; /* until the file's commit */
    }
    tide_status status = tide_output_file_commit(&writer->file, error);
    release(writer);
    return status;
}

void tide_gzip_writer_abandon(tide_gzip_writer *writer) {
    tide_output_file_abandon(&writer->file);
    release(writer);
}
