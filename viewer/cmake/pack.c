/* pack.c - a build tool: compresses a file with gzip and writes it as base64, without line breaks.
 *   pack FILE PACKED
 * Status 1 when a file cannot be read or written; the build says which.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum {
    MAX_TEXT_BYTES = 4 << 20,
    GZIP_WINDOW = 15 + 16, /* the largest window; 16 more asks deflate for gzip's header */
    MEMORY_LEVEL = 9
};

/* Returns the bytes of the compressed text, or 0. `room` holds MAX_TEXT_BYTES. */
static size_t compress_text(unsigned char *text, size_t n, unsigned char *room) {
    z_stream stream;
    memset(&stream, 0, sizeof(stream));
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    stream.next_in = text;
    stream.avail_in = (uInt)n;
    stream.next_out = room;
    stream.avail_out = MAX_TEXT_BYTES;
    int result = deflate(&stream, Z_FINISH);
    size_t n_packed = result == Z_STREAM_END ? (size_t)stream.total_out : 0;
    (void)deflateEnd(&stream);
    return n_packed;
}

static bool write_base64(FILE *out, const unsigned char *data, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool written = true;
    for (size_t i = 0; i < n && written; i += 3) {
        unsigned group = (unsigned)data[i] << 16;
        group |= i + 1 < n ? (unsigned)data[i + 1] << 8 : 0;
        group |= i + 2 < n ? data[i + 2] : 0;
        const char four[4] = {digits[group >> 18], digits[(group >> 12) & 63],
                              i + 1 < n ? digits[(group >> 6) & 63] : '=',
                              i + 2 < n ? digits[group & 63] : '='};
        written = fwrite(four, 1, sizeof(four), out) == sizeof(four);
    }
    return written;
}

static bool pack(const char *path, const char *packed_path, unsigned char *text,
                 unsigned char *room) {
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return false;
    }
    size_t n = fread(text, 1, MAX_TEXT_BYTES, in);
    bool is_read = ferror(in) == 0 && n > 0 && n < MAX_TEXT_BYTES;
    (void)fclose(in);
    size_t n_packed = is_read ? compress_text(text, n, room) : 0;
    FILE *out = n_packed > 0 ? fopen(packed_path, "wb") : NULL;
    if (out == NULL) {
        return false;
    }
    bool written = write_base64(out, room, n_packed);
    return fclose(out) == 0 && written;
}

int main(int n_args, char **args) {
    unsigned char *text = malloc(MAX_TEXT_BYTES), *room = malloc(MAX_TEXT_BYTES);
    bool packed = n_args == 3 && text != NULL && room != NULL && pack(args[1], args[2], text, room);
    free(text);
    free(room);
    return packed ? 0 : 1;
}
