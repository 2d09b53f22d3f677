/* pack.c - a build tool: writes a file compressed, as text for a page in UTF-8, which boot.js
 * reads.
 *
 *     pack FILE PACKED
 *
 * A FILE that is gzip already is taken as it is. Status 1 when a file cannot be read or written;
 * the build says which.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum {
    MAX_BYTES = 4 << 20,
    GZIP_WINDOW = 15 + 16, /* the largest window; 16 more asks deflate for gzip's header */
    MEMORY_LEVEL = 9
};

/* Returns the bytes of the compressed text, or 0. `room` holds MAX_BYTES. */
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
    stream.avail_out = MAX_BYTES;
    int result = deflate(&stream, Z_FINISH);
    size_t n_packed = result == Z_STREAM_END ? (size_t)stream.total_out : 0;
    (void)deflateEnd(&stream);
    return n_packed;
}

/* A page in UTF-8 holds seven bits in a byte, where base64 holds six. What a parser of HTML would
 * change or take for markup does not stand for itself: 1 + its number here and the seven bits that
 * follow are one character of two bytes. */
static const unsigned char not_as_they_are[] = {'\0', '\r', '<'};

/* The seven bits of `data` from a bit on; zeros behind its end. */
static unsigned seven_bits(const unsigned char *data, size_t n, size_t bit) {
    size_t at = bit / 8;
    unsigned two = at < n ? (unsigned)data[at] << 8 : 0;
    two |= at + 1 < n ? data[at + 1] : 0;
    return (two >> (9 - bit % 8)) & 127;
}

/* The number of bytes, a space, and the bytes as text. */
static bool write_packed(FILE *out, const unsigned char *data, size_t n) {
    bool written = fprintf(out, "%zu ", n) > 0;
    for (size_t bit = 0; bit < n * 8 && written; bit += 7) {
        unsigned code = seven_bits(data, n, bit);
        const unsigned char *found = memchr(not_as_they_are, (int)code, sizeof(not_as_they_are));
        if (found == NULL) {
            written = fputc((int)code, out) != EOF;
            continue;
        }
        bit += 7;
        unsigned character =
            (unsigned)(found - not_as_they_are + 1) << 7 | seven_bits(data, n, bit);
        written = fputc((int)(0xc0 | character >> 6), out) != EOF &&
                  fputc((int)(0x80 | (character & 63)), out) != EOF;
    }
    return written;
}

/* Reads a whole file into `room`, which holds MAX_BYTES; returns its bytes, or 0. */
static size_t read_whole(const char *path, unsigned char *room) {
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return 0;
    }
    size_t n = fread(room, 1, MAX_BYTES, in);
    bool is_read = ferror(in) == 0 && n < MAX_BYTES;
    (void)fclose(in);
    return is_read ? n : 0;
}

/* `text` and `room` hold MAX_BYTES each. */
static bool pack(const char *path, const char *packed_path, unsigned char *text,
                 unsigned char *room) {
    size_t n = read_whole(path, text);
    bool is_gzip = n > 2 && text[0] == 0x1f && text[1] == 0x8b;
    if (!is_gzip) {
        n = n > 0 ? compress_text(text, n, room) : 0;
    }
    FILE *out = n > 0 ? fopen(packed_path, "wb") : NULL;
    if (out == NULL) {
        return false;
    }
    bool written = write_packed(out, is_gzip ? text : room, n);
    return fclose(out) == 0 && written;
}

int main(int n_args, char **args) {
    unsigned char *text = malloc(MAX_BYTES), *room = malloc(MAX_BYTES);
    bool packed = n_args == 3 && text != NULL && room != NULL && pack(args[1], args[2], text, room);
    free(text);
    free(room);
    return packed ? 0 : 1;
}
