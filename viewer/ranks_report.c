/* The page of many ranks: the texts of their digests, compressed into one part of the page. */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

#include "viewer/page_internal.h"
#include "viewer/report.h"

enum { GZIP_WINDOW = 31 /* the largest window, with gzip's header */ };

/* `out` keeps the first failure until its commit. Compressed bytes wait in `part` until it is full.
 */
typedef struct packed_part {
    tide_output_file *out;
    z_stream stream;
    unsigned char part[TIDE_PAGE_PART_BYTES];
} packed_part;

/* Compresses `n` bytes; at the end of the text, all that waits is written. */
static void pack(packed_part *to, const char *text, size_t n, bool is_last) {
    int result = Z_OK;
    do {
        size_t n_now = n < UINT_MAX ? n : UINT_MAX;
        to->stream.next_in = (const unsigned char *)text;
        to->stream.avail_in = (uInt)n_now;
        text += n_now;
        n -= n_now;
        do {
            result = deflate(&to->stream, is_last && n == 0 ? Z_FINISH : Z_NO_FLUSH);
            if (to->stream.avail_out == 0 || result == Z_STREAM_END) {
                tide_page_write_base64(to->out, to->part, sizeof(to->part) - to->stream.avail_out);
                to->stream.next_out = to->part;
                to->stream.avail_out = sizeof(to->part);
            }
        } while (to->stream.avail_in > 0 || (is_last && result == Z_OK));
    } while (n > 0);
}

static void pack_text(packed_part *to, const char *text) {
    pack(to, text, strlen(text), false);
}

static bool begins_as_object(const tide_report_digest *digest) {
    size_t i = 0;
    while (i < digest->n_bytes && strchr(" \n\r\t", digest->text[i]) != NULL &&
           digest->text[i] != '\0') {
        i++;
    }
    return i < digest->n_bytes && digest->text[i] == '{';
}

static tide_status write_digests(tide_output_file *out, const tide_report_digest *digests, size_t n,
                                 tide_error *error) {
    packed_part to = {.out = out};
    if (deflateInit2(&to.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "there is no host memory to compress the digests");
    }
    to.stream.next_out = to.part;
    to.stream.avail_out = sizeof(to.part);
    pack_text(&to, "{\"format\":\"tidemark-ranks\",\"version\":1,\"digests\":[");
    for (size_t i = 0; i < n; i++) {
        pack_text(&to, i > 0 ? ",\n" : "");
        pack(&to, digests[i].text, digests[i].n_bytes, false);
    }
    pack(&to, "]}", 2, true);
    (void)deflateEnd(&to.stream);
    return TIDE_OK;
}

tide_status tide_report_write_ranks(const char *path, const tide_report_digest *digests, size_t n,
                                    tide_error *error) {
    static const char BEGIN[] = "<script type=\"application/octet-stream\" "
                                "class=\"tidemark-snapshot\" data-label=\"ranks\">";
    static const char END[] = "</script>\n";
    if (n == 0) {
        return tide_fail(error, TIDE_FORMAT, "%s: there is no digest for this page", path);
    }
    for (size_t i = 0; i < n; i++) {
        if (!begins_as_object(&digests[i])) {
            return tide_fail(error, TIDE_FORMAT, "%s: digest %zu is no JSON object", path, i);
        }
    }
    tide_output_file out;
    TIDE_TRY(tide_output_file_open(path, &out, error));
    (void)tide_output_file_write(&out, tide_page_head, tide_page_head_bytes);
    (void)tide_output_file_write(&out, BEGIN, sizeof(BEGIN) - 1);
    tide_status status = write_digests(&out, digests, n, error);
    if (status != TIDE_OK) {
        tide_output_file_abandon(&out);
        return status;
    }
    (void)tide_output_file_write(&out, END, sizeof(END) - 1);
    (void)tide_output_file_write(&out, tide_page_tail, tide_page_tail_bytes);
    return tide_output_file_commit(&out, error);
}
