#define _XOPEN_SOURCE 700 /* fileno, fsync, getpid, realpath */

#include "viewer/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "viewer/page_internal.h"

enum {
    READ_BYTES = 3 * 16384, /* a multiple of 3, so that base64 needs no padding in between */
    TEMPORARY_TEXT = 32     /* room for ".PID.tmp" */
};

/* Writes `n` bytes (at most READ_BYTES) as base64; pads when n is no multiple of 3. */
static bool write_base64(FILE *out, const unsigned char *data, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[READ_BYTES / 3 * 4];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t group = (uint32_t)data[i] << 16;
        group |= i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0;
        group |= i + 2 < n ? data[i + 2] : 0;
        text[used++] = digits[group >> 18];
        text[used++] = digits[(group >> 12) & 63];
        text[used++] = i + 1 < n ? digits[(group >> 6) & 63] : '=';
        text[used++] = i + 2 < n ? digits[group & 63] : '=';
    }
    return fwrite(text, 1, used, out) == used;
}

/* Writes `text` so that it can stand between the double quotes of an attribute. */
static bool write_attribute(FILE *out, const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        const char *entity = *c == '&'   ? "&amp;"
                             : *c == '<' ? "&lt;"
                             : *c == '>' ? "&gt;"
                             : *c == '"' ? "&quot;"
                                         : NULL;
        if (entity != NULL ? fputs(entity, out) == EOF : fputc(*c, out) == EOF) {
            return false;
        }
    }
    return true;
}

static bool write_text(FILE *out, const char *text) {
    return fputs(text, out) != EOF;
}

static tide_status failed_write(const char *path, tide_error *error) {
    return tide_fail(error, TIDE_IO, "%s: cannot write: %s", path, strerror(errno));
}

/* A snapshot is gzip (1f 8b) or a JSON object; anything else was given by mistake. */
static bool looks_like_snapshot(const unsigned char *data, size_t n) {
    if (n >= 2 && data[0] == 0x1f && data[1] == 0x8b) {
        return true;
    }
    size_t i = 0;
    while (i < n && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t')) {
        i++;
    }
    return i < n && data[i] == '{';
}

/* The content of the input file as base64. */
static tide_status write_content(FILE *out, const char *path, const char *input_path,
                                 tide_error *error) {
    FILE *in = fopen(input_path, "rb");
    if (in == NULL) {
        return tide_fail(error, TIDE_IO, "%s: cannot open: %s", input_path, strerror(errno));
    }
    tide_status status = TIDE_OK;
    unsigned char data[READ_BYTES];
    bool is_first = true;
    size_t n = 0;
    while (status == TIDE_OK && (n = fread(data, 1, sizeof(data), in)) > 0) {
        if (is_first && !looks_like_snapshot(data, n)) {
            status = tide_fail(error, TIDE_FORMAT, "%s: not a snapshot: neither gzip nor JSON",
                               input_path);
        } else if (!write_base64(out, data, n)) {
            status = failed_write(path, error);
        }
        is_first = false;
    }
    if (status == TIDE_OK && ferror(in)) {
        status = tide_fail(error, TIDE_IO, "%s: cannot read: %s", input_path, strerror(errno));
    } else if (status == TIDE_OK && is_first) {
        status = tide_fail(error, TIDE_FORMAT, "%s: not a snapshot: the file is empty", input_path);
    }
    (void)fclose(in);
    return status;
}

static tide_status write_input(FILE *out, const char *path, const tide_report_input *input,
                               tide_error *error) {
    if (!write_text(out, "<script type=\"application/octet-stream\" class=\"tidemark-snapshot\" "
                         "data-label=\"") ||
        !write_attribute(out, input->label != NULL ? input->label : input->path) ||
        !write_text(out, "\">")) {
        return failed_write(path, error);
    }
    TIDE_TRY(write_content(out, path, input->path, error));
    return write_text(out, "</script>\n") ? TIDE_OK : failed_write(path, error);
}

static tide_status write_comparison(FILE *out, const char *path, const char *json,
                                    tide_error *error) {
    bool written =
        write_text(out, "<script type=\"application/octet-stream\" class=\"tidemark-comparison\">");
    size_t n_bytes = strlen(json);
    for (size_t at = 0; written && at < n_bytes; at += READ_BYTES) {
        size_t n = n_bytes - at < READ_BYTES ? n_bytes - at : READ_BYTES;
        written = write_base64(out, (const unsigned char *)json + at, n);
    }
    written = written && write_text(out, "</script>\n");
    return written ? TIDE_OK : failed_write(path, error);
}

static tide_status write_page(FILE *out, const char *path, const tide_report_input *inputs,
                              size_t n_inputs, const char *comparison_json, tide_error *error) {
    if (fwrite(tide_page_head, 1, tide_page_head_bytes, out) != tide_page_head_bytes) {
        return failed_write(path, error);
    }
    if (comparison_json != NULL) {
        TIDE_TRY(write_comparison(out, path, comparison_json, error));
    }
    for (size_t i = 0; i < n_inputs; i++) {
        TIDE_TRY(write_input(out, path, &inputs[i], error));
    }
    if (fwrite(tide_page_tail, 1, tide_page_tail_bytes, out) != tide_page_tail_bytes ||
        fflush(out) != 0) {
        return failed_write(path, error);
    }
    /* Some files, such as pipes and /dev/null, cannot be synchronised: EINVAL. */
    if (fsync(fileno(out)) != 0 && errno != EINVAL) {
        return failed_write(path, error);
    }
    return TIDE_OK;
}

/* Writes the page under the temporary name and gives it the target's; leaves nothing on failure. */
static tide_status write_and_rename(const char *path, const char *target, const char *temporary,
                                    const tide_report_input *inputs, size_t n_inputs,
                                    const char *comparison_json, tide_error *error) {
    FILE *out = fopen(temporary, "wb");
    if (out == NULL) {
        return tide_fail(error, TIDE_IO, "%s: cannot create: %s", path, strerror(errno));
    }
    tide_status status = write_page(out, path, inputs, n_inputs, comparison_json, error);
    if (fclose(out) != 0 && status == TIDE_OK) {
        status = failed_write(path, error);
    }
    if (status == TIDE_OK && rename(temporary, target) != 0) {
        status = tide_fail(error, TIDE_IO, "%s: cannot rename the finished file to it: %s", path,
                           strerror(errno));
    }
    if (status != TIDE_OK) {
        (void)remove(temporary);
    }
    return status;
}

tide_status tide_report_write(const char *path, const tide_report_input *inputs, size_t n_inputs,
                              const char *comparison_json, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    /* What a link leads to is replaced, not the link. */
    char *resolved = realpath(path, NULL); /* malloc's: released below */
    if (resolved == NULL && errno != ENOENT) {
        return failed_write(path, error);
    }
    const char *target = resolved != NULL ? resolved : path;
    size_t n_temporary = strlen(target) + TEMPORARY_TEXT;
    char *temporary = mem->alloc(mem->ctx, n_temporary);
    tide_status status = TIDE_NO_MEMORY;
    if (temporary != NULL) {
        snprintf(temporary, n_temporary, "%s.%ld.tmp", target, (long)getpid());
        status =
            write_and_rename(path, target, temporary, inputs, n_inputs, comparison_json, error);
        mem->release(mem->ctx, temporary);
    } else {
        tide_fail(error, status, "no host memory left to write %s", path);
    }
    free(resolved);
    return status;
}
