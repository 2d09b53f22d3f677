/* The file of a digest. */
#include <string.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

#include "snapshot/format/gzip_file.h"
#include "snapshot/ranks/digest_writer_internal.h"

enum { GZIP_WINDOW = 31, LEVEL = 9 };

/* Text that grows. */
typedef struct growing {
    const tide_hostmem *mem; /* borrowed */
    char *bytes;             /* owned */
    size_t n_bytes, capacity;
} growing;

static tide_status grow(void *ctx, const char *text, size_t n_bytes) {
    growing *to = ctx;
    char *grown = tide_hostmem_grow(to->mem, to->bytes, &to->capacity, to->n_bytes + n_bytes, 1);
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->bytes = grown;
    memcpy(to->bytes + to->n_bytes, text, n_bytes);
    to->n_bytes += n_bytes;
    return TIDE_OK;
}

static tide_status write_text(const tide_digest *digest, growing *to) {
    tide_json_writer *json = to->mem->alloc(to->mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->n_bytes = 0;
    tide_json_writer_init(json, grow, to);
    tide_digest_write_document(json, digest);
    tide_status status = tide_json_writer_finish(json);
    to->mem->release(to->mem->ctx, json);
    return status;
}

tide_status tide_digest_text(const tide_digest *digest, tide_arena *arena, const char **ret_text,
                             size_t *ret_bytes) {
    growing text = {.mem = arena->mem};
    tide_status status = write_text(digest, &text);
    char *copy = status == TIDE_OK ? tide_arena_text_n(arena, text.bytes, text.n_bytes) : NULL;
    if (copy != NULL) {
        *ret_text = copy;
        *ret_bytes = text.n_bytes;
    }
    arena->mem->release(arena->mem->ctx, text.bytes);
    return copy != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The compressed text; TIDE_LIMIT: it has more than TIDE_DIGEST_BYTES. */
static tide_status compress_text(const growing *text, unsigned char *out, size_t *ret_bytes) {
    z_stream zip;
    memset(&zip, 0, sizeof(zip));
    if (deflateInit2(&zip, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return TIDE_NO_MEMORY;
    }
    zip.next_in = (const Bytef *)text->bytes;
    zip.avail_in = (uInt)text->n_bytes;
    zip.next_out = out;
    zip.avail_out = TIDE_DIGEST_BYTES;
    int result = deflate(&zip, Z_FINISH);
    *ret_bytes = TIDE_DIGEST_BYTES - zip.avail_out;
    deflateEnd(&zip);
    return result == Z_STREAM_END ? TIDE_OK : TIDE_LIMIT;
}

static tide_status write_file(const char *path, const tide_hostmem *mem, const char *bytes,
                              size_t n_bytes, tide_error *error) {
    tide_gzip_writer *file = NULL;
    TIDE_TRY(tide_gzip_writer_open_plain(path, mem, &file, error));
    tide_status sticks = tide_gzip_writer_write(file, bytes, n_bytes);
    (void)sticks; /* until commit */
    return tide_gzip_writer_commit(file, error);
}

tide_status tide_digest_save(tide_digest *digest, const char *path, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_path = strlen(path);
    bool is_plain = n_path > 5 && strcmp(path + n_path - 5, ".json") == 0;
    growing text = {.mem = mem};
    size_t n_bytes = 0;
    unsigned char *out = mem->alloc(mem->ctx, TIDE_DIGEST_BYTES);
    tide_status status = out != NULL ? TIDE_LIMIT : TIDE_NO_MEMORY;
    while (status == TIDE_LIMIT) {
        status = write_text(digest, &text);
        if (status == TIDE_OK) {
            status = compress_text(&text, out, &n_bytes);
        }
        if (status == TIDE_LIMIT && !tide_digest_shrink(digest)) {
            status = tide_fail(error, TIDE_LIMIT, "a digest of '%s' has more than %d bytes",
                               digest->file, (int)TIDE_DIGEST_BYTES);
            break;
        }
    }
    if (status == TIDE_OK) {
        status = is_plain ? write_file(path, mem, text.bytes, text.n_bytes, error)
                          : write_file(path, mem, (const char *)out, n_bytes, error);
    }
    mem->release(mem->ctx, text.bytes);
    mem->release(mem->ctx, out);
    return status;
}
