/* source.c - the bytes of a file as the page gives them, in place of snapshot/format/gzip_reader.c:
 * the same functions. The page decompresses a file before the engine reads it, because it has a
 * decompressor of the browser's.
 */
#include <stdint.h>
#include <string.h>

#include "snapshot/format/gzip_file.h"
#include "snapshot/wasm/engine.h"

TIDE_IMPORT(read) size_t tide_page_read(void *to, size_t n_room);
TIDE_IMPORT(rewind) void tide_page_rewind(void);

enum { GZIP_MAGIC_0 = 0x1F, GZIP_MAGIC_1 = 0x8B };

struct tide_gzip_reader {
    const tide_hostmem *mem; /* borrowed */
    const char *path;        /* borrowed; for messages */
    size_t max_bytes;        /* limit of the text */
    size_t n_text;           /* bytes handed out */
};

tide_status tide_gzip_reader_open(const char *path, const tide_hostmem *mem, size_t max_bytes,
                                  tide_gzip_reader **ret_reader, tide_error *error) {
    (void)error;
    tide_gzip_reader *from = mem->alloc(mem->ctx, sizeof(*from));
    if (from == NULL) {
        return TIDE_NO_MEMORY;
    }
    *from = (tide_gzip_reader){.mem = mem, .path = path, .max_bytes = max_bytes};
    tide_page_rewind();
    *ret_reader = from;
    return TIDE_OK;
}

tide_status tide_gzip_reader_read(void *reader, char *to, size_t n_room, size_t *ret_bytes,
                                  tide_error *error) {
    tide_gzip_reader *from = reader;
    size_t n_bytes = tide_page_read(to, n_room);
    if (n_bytes > n_room) {
        return tide_fail(error, TIDE_IO, "cannot read '%s'", from->path);
    }
    const unsigned char *bytes = (const unsigned char *)to;
    if (from->n_text == 0 && n_bytes >= 2 && bytes[0] == GZIP_MAGIC_0 && bytes[1] == GZIP_MAGIC_1) {
        return tide_fail(error, TIDE_UNSUPPORTED, "'%s' is still compressed", from->path);
    }
    if (n_bytes > from->max_bytes - from->n_text) {
        return tide_fail(error, TIDE_LIMIT, "'%s' holds more than the limit of %zu bytes of text",
                         from->path, from->max_bytes);
    }
    from->n_text += n_bytes;
    *ret_bytes = n_bytes;
    return TIDE_OK;
}

/* Only for snapshots inside of pages (no_pages.c). */
tide_status tide_gzip_reader_open_part(const char *path, const tide_source *part,
                                       const tide_hostmem *mem, size_t max_bytes,
                                       tide_gzip_reader **ret_reader, tide_error *error) {
    (void)part;
    (void)mem;
    (void)max_bytes;
    (void)ret_reader;
    return tide_fail(error, TIDE_UNSUPPORTED, "'%s' has no snapshot", path);
}

void tide_gzip_reader_close(tide_gzip_reader *reader) {
    if (reader != NULL) {
        reader->mem->release(reader->mem->ctx, reader);
    }
}

bool tide_gzip_reader_can_repeat(const char *path) {
    (void)path;
    return true;
}
