#include "viewer/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/files/output_file.h"
#include "viewer/page_internal.h"

enum { READ_BYTES = TIDE_PAGE_PART_BYTES };

/* `out` keeps the first failure until its commit, so the functions below return none. */

void tide_page_write_base64(tide_output_file *out, const unsigned char *data, size_t n) {
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
    (void)tide_output_file_write(out, text, used);
}

static void write_text(tide_output_file *out, const char *text) {
    (void)tide_output_file_write(out, text, strlen(text));
}

/* Writes `text` so that it can stand between the double quotes of an attribute. */
static void write_attribute(tide_output_file *out, const char *text) {
    while (*text != '\0') {
        size_t n_plain = strcspn(text, "&<>\"");
        (void)tide_output_file_write(out, text, n_plain);
        text += n_plain;
        write_text(out, *text == '&'   ? "&amp;"
                        : *text == '<' ? "&lt;"
                        : *text == '>' ? "&gt;"
                        : *text == '"' ? "&quot;"
                                       : "");
        text += *text != '\0';
    }
}

/* True for gzip (1f 8b) or a JSON object; any other file was given by mistake. */
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

/* Writes the content of the input file as base64. */
static tide_status write_content(tide_output_file *out, const char *input_path, tide_error *error) {
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
        } else {
            tide_page_write_base64(out, data, n);
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

static tide_status write_input(tide_output_file *out, const tide_report_input *input,
                               tide_error *error) {
    write_text(out, "<script type=\"application/octet-stream\" class=\"tidemark-snapshot\" "
                    "data-label=\"");
    write_attribute(out, input->label != NULL ? input->label : input->path);
    write_text(out, "\">");
    TIDE_TRY(write_content(out, input->path, error));
    write_text(out, "</script>\n");
    return TIDE_OK;
}

static void write_comparison(tide_output_file *out, const char *json) {
    write_text(out, "<script type=\"application/octet-stream\" class=\"tidemark-comparison\">");
    size_t n_bytes = strlen(json);
    for (size_t at = 0; at < n_bytes; at += READ_BYTES) {
        size_t n = n_bytes - at < READ_BYTES ? n_bytes - at : READ_BYTES;
        tide_page_write_base64(out, (const unsigned char *)json + at, n);
    }
    write_text(out, "</script>\n");
}

tide_status tide_report_write(const char *path, const tide_report_input *inputs, size_t n_inputs,
                              const char *comparison_json, tide_error *error) {
    tide_output_file out;
    TIDE_TRY(tide_output_file_open(path, &out, error));
    (void)tide_output_file_write(&out, tide_page_head, tide_page_head_bytes);
    if (comparison_json != NULL) {
        write_comparison(&out, comparison_json);
    }
    for (size_t i = 0; i < n_inputs; i++) {
        tide_status status = write_input(&out, &inputs[i], error);
        if (status != TIDE_OK) {
            tide_output_file_abandon(&out);
            return status;
        }
    }
    (void)tide_output_file_write(&out, tide_page_tail, tide_page_tail_bytes);
    return tide_output_file_commit(&out, error);
}
